#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: engine rdma and perftest by turns; see tests/vm/speed, which sets
# FB_ROUNDS, FB_PATTERN, FB_SIZES, FB_INSTRUCTIONS and FB_LIMIT.
#
#	speed.sh BUILD
#
# Both have the same processors, window, device and address. A round is a start of each, as a
# process may keep a speed of its own from its start to its end. For latency both run at the same
# time, but stopped by turns, each for 20 ms: processors outside may be moved apart or together
# within a second (see tests/mpi/take_turns.c), or be slowed by others' work on the same core. What
# is compared is the median, as both report it, of the mean times of short batches; perftest prints
# every message, from which batches are made here. Its bandwidth programs run alone and print a
# mean, which is compared with that of this project's batches: perftest's has no gaps between
# batches.

. tests/vm/lib.sh
. tests/lib_speed.sh
build=$1
vm_network || exit
umount /sys/fs/cgroup # ranks shall spin, as perftest does
fb_mpi_env openmpi
gid=$(grep -l '0a09:0001' /sys/class/infiniband/rxe0/ports/1/gids/* | sed 's|.*/||')
batch_us=1000 # of a batch of latency, that of cadence streaming

# The rank that posts runs where perftest's client does, on the first processor: FIRST.
cat >/tmp/pinned <<'END'
#!/bin/bash
exec taskset -c $(((OMPI_COMM_WORLD_RANK + FIRST) % $(nproc))) "$@"
END
chmod +x /tmp/pinned

# start_theirs TOOL OPTION...: a perftest pair; sets server and client. What the client prints goes
# into /tmp/theirs.
start_theirs() {
	local i

	taskset -c $(($(nproc) - 1)) "$@" -d rxe0 -x "$gid" -F >/dev/null 2>&1 &
	server=$!
	for ((i = 0; i < 200; i++)); do
		grep -qs ':4853 [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6 && break
		sleep 0.05
	done
	taskset -c 0 "$@" -d rxe0 -x "$gid" -F 127.0.0.1 >/tmp/theirs 2>&1 &
	client=$!
}

end_theirs() {
	wait "$client" || kill "$server"
	wait "$server"
}

# perftest's messages of /tmp/theirs, lines "NUMBER, US", as batches: lines "BEGIN_US END_US US". A
# batch is as long as this project's, 1 ms, and has two messages at least; one for which the pair
# was stopped is a batch. For a ping-pong perftest gives half the time of a message.
batches() {
	local share=1

	[ "$operation" != ping_pong ] || share=2
	awk -F'[, \t]+' -v most=$batch_us -v share=$share -v gap=$((turn_us / 2)) '
		/^[0-9]+,/ {
			stopped = share * $2 > gap
			if (stopped) {
				begin = end
				sum = n = 0
			}
			end += share * $2
			sum += $2
			n++
			if (stopped || (share * sum >= most && n >= 2)) {
				printf "%.1f %.1f %.3f\n", begin, end, sum / n
				begin = end
				sum = n = 0
			}
		}' /tmp/theirs
}

# us a message, of perftest's table of bandwidths: the rate has few digits where it is low.
per_message() {
	awk '/^ *[0-9]+ +[0-9]+ / { print ($5 > 0.001 ? 1 / $5 : $1 / ($4 * 1.048576)) }' \
		/tmp/theirs
}

# start_ours OPERATION SIZE SECONDS OPTION...: this project's program; sets ours and program. File 9
# reads its table.
start_ours() {
	local first=0

	program=bandwidth
	[ "$1" = one_way ] || program=latency
	[[ " ${*:4} " != *' get '* ]] || first=1
	rm -rf /tmp/ours
	exec 9< <(FIRST=$first exec timeout $limit mpirun.openmpi --oversubscribe --bind-to none \
		-n 2 /tmp/pinned "$build/bin/$program" --engine rdma --cadence streaming \
		--bytes "$2" --rdma-device rxe0 --raw --raw-ranks --max-samples 1000000 \
		--csv /tmp/ours --run t --max-time "$3" --whole-time --span 1 "${@:4}" 2>/tmp/log)
	ours=$!
}

# end_ours OPERATION: its batches into /tmp/samples, as speed_own_batches gives them.
end_ours() {
	local line

	# bandwidth has a row of two_way as well. Nothing is started while it runs: looks into its
	# file each 50 ms stopped messages for some 10 ms, and perftest's time had no such looks.
	while read -r -u 9 line; do
		[[ $line != "$1 "* ]] || break
	done
	kill "$ours" 2>/dev/null
	wait "$ours"
	grep -qs ",$1," "/tmp/ours/$program.csv" || cat /tmp/log >&2
	speed_own_batches /tmp/ours "$program" "$1" >/tmp/samples
}

window() {
	local window=$((33554432 / $1))

	[ $window -gt 64 ] && window=64
	[ $window -lt 4 ] && window=4
	echo $window
}

# ours_pieces SIZE VERB: what each piece of a KV cache takes.
ours_pieces() {
	rm -rf /tmp/ours
	# shellcheck disable=SC2046
	FIRST=0 timeout $limit mpirun.openmpi --oversubscribe --bind-to none -n 2 /tmp/pinned \
		"$build/bin/handoff" --engine rdma --rdma-device rxe0 --algorithm "$2" \
		$(speed_pieces "$1") --raw --quiet --csv /tmp/ours --run t --max-time $seconds \
		--whole-time >/tmp/log 2>&1 || cat /tmp/log >&2
	speed_of_pieces /tmp/ours "$1"
}

# For speed_turns, in compare.
speed_ours() {
	if [ "$operation" = pieces ]; then
		ours_pieces "$size" "${options[0]}" | $statistic
		return
	fi
	start_ours "$operation" "$size" $seconds "${options[@]}"
	end_ours "$operation"
	cut -d' ' -f3 /tmp/samples | $statistic
}

speed_theirs() {
	local -a every=()

	[[ $name != *-lat ]] || every=(-U) # prints each message
	start_theirs "${tool[@]}" -n $n "${every[@]}"
	end_theirs
	case $name in
	*-lat) batches | cut -d' ' -f3 | $statistic ;;
	*) per_message ;;
	esac
}

# stop_ours, stop_theirs: starts both processes of a program, and has them wait for their turns.
stop_ours() {
	start_ours "$operation" "$size" $seconds "${options[@]}"
	speed_two "$program" || return
	mine=("${speed_pids[@]}")
	sleep 2
	kill -STOP "${mine[@]}"
}

stop_theirs() {
	start_theirs "${tool[@]}" -n $((turns * turn_us / message)) -U
	sleep 0.7
	kill -STOP "$server" "$client"
}

# stop_by_turns ROUND: both go on, one at a time; prints "OURS THEIRS" of the turns that can be
# compared (see speed_of_pairs). A turn is of 20 messages at least, about. In one that is longer for
# that the processors' distance seldom stays, and adds little to a message. Who starts first, and
# has the first turn, changes from round to round: compared with itself, the READ of perftest's that
# was started first took 0.91 to 1.66 times as long, 1.10 at the median of 12 rounds.
stop_by_turns() {
	local -a mine
	local message=$((15 + size / 60)) turn_us=20000 turns=60 seconds any=''
	local first=$(($1 % 2 + 1))

	[ $turn_us -gt $((20 * message)) ] || turn_us=$((20 * message)) any=any
	[ $((turns * turn_us)) -lt 2400000 ] || turns=$((2400000 / turn_us + 4))
	seconds=$((2 * turns * turn_us / 1000 + 3000))ms

	if [ $first -eq 1 ]; then
		stop_ours && stop_theirs || return
		set -- "${mine[@]}" -- "$server" "$client"
	else
		stop_theirs && stop_ours || { kill -KILL "$server" "$client"; return; }
		set -- "$server" "$client" -- "${mine[@]}"
	fi
	# Ahead of the processes on its processor: it cannot wait for a tick to stop them.
	chrt -f 1 "$build/tests/take_turns" $((turn_us / 1000)) $turns "$@" >/tmp/turns
	# Together, as no later gap shall be longer than that before the first turn.
	kill -CONT "$server" "$client" "${mine[@]}" 2>/dev/null
	end_theirs
	end_ours "$operation"
	speed_of_turns $first /tmp/turns </tmp/samples >/tmp/mine
	batches | speed_of_turns $((3 - first)) /tmp/turns >/tmp/other
	speed_of_pairs /tmp/turns /tmp/mine /tmp/other $any
}

# compare NAME SIZE TOOL OPERATION OPTION...: a line of the table; TOOL is a command with options.
compare() {
	local name=$1 size=$2 operation=$4 statistic=speed_median window n least=5 i
	local -a tool options=("${@:5}")

	[[ $name =~ $FB_PATTERN ]] || return
	read -ra tool <<<"$3"
	window=$(window "$size")
	[[ $name == *-lat ]] || { statistic=speed_mean least=$((2 * window)); }
	n=$((run_us / (20 + size / 100))) # about what a message takes
	[ $n -gt $least ] || n=$least
	if [[ $name == *-lat ]] && [ -z "$FB_INSTRUCTIONS" ]; then
		for ((i = 0; i < FB_ROUNDS; i++)); do
			stop_by_turns $i
		done >/tmp/rounds
	else
		# Every round counts, as each start of perftest's has a speed of its own.
		speed_turns /tmp/rounds "$FB_ROUNDS"
	fi
	awk '{ print $1 / $2 }' /tmp/rounds >/tmp/ratios
	speed_row "$name" "$size" "$(cut -d' ' -f2 /tmp/rounds | speed_median)" \
		"$(cut -d' ' -f1 /tmp/rounds | speed_median)" /tmp/ratios
}

# soft-RoCE wakes the kernel's softirq thread for every READ, which by then has nothing left to do.
# If it takes the processor at once, the message takes 5 us more (by instructions), and whether it
# does is the scheduler's choice, from one tick to the next: a third of perftest's messages, two
# thirds of those of a rank beside which another spins on the one processor. So what is woken waits
# for its turn while READ and atomics run, of either program.
preempt() {
	echo "$1WAKEUP_PREEMPTION" >/sys/kernel/debug/sched/features
}
[ -e /sys/kernel/debug/sched/features ] || mount -t debugfs debugfs /sys/kernel/debug || exit

turn_us=1000000000 # where nothing stops
seconds=0.3s run_us=300000 limit=120
# Where time is instructions, it jumps while the machine waits for the host.
[ -z "$FB_INSTRUCTIONS" ] || seconds=0.2s run_us=100000 limit=36000
# Reads all files once.
start_theirs ib_write_lat -n 20
end_theirs
start_ours one_way 8 10ms --window 1 --algorithm get --protocol read
end_ours one_way
speed_head perftest rounds
for s in $FB_SIZES; do
	if [ -z "$FB_INSTRUCTIONS" ]; then
		compare write-lat "$s" "ib_write_lat -s $s" ping_pong --algorithm send \
			--protocol write
		compare send-lat "$s" "ib_send_lat -s $s" ping_pong --algorithm send \
			--protocol send
		compare send-bw "$s" "ib_send_bw -s $s" one_way --algorithm send --protocol send
	fi
	preempt NO_
	compare read-lat "$s" "ib_read_lat -s $s" one_way --window 1 --algorithm get --protocol read
	[ "$s" -ne 8 ] || compare atomic-lat 8 "ib_atomic_lat -A FETCH_AND_ADD" one_way \
		--window 1 --algorithm get --protocol fetch_add
	preempt ''
	compare write-bw "$s" "ib_write_bw -s $s" one_way --algorithm put --protocol write
	compare read-bw "$s" "ib_read_bw -s $s" one_way --algorithm get --protocol read
done
# A KV cache in pieces of 1 MiB, by the mover's WRITEs and READs.
if [ -z "$FB_INSTRUCTIONS" ]; then
	compare pieces-put 1048576 "ib_write_bw -s 1048576" pieces put
	compare pieces-get 1048576 "ib_read_bw -s 1048576" pieces get
fi
speed_verdict rdma_speed
