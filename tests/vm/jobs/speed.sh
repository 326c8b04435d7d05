#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: engine rdma and perftest by turns; see tests/vm/speed, which sets
# FB_ROUNDS, FB_PATTERN, FB_SIZES and FB_INSTRUCTIONS.
#
#	speed.sh BUILD
#
# Both have the same processors, window, device and address. What is compared is the 5th percentile
# of the mean times of short batches of messages, of all rounds: whatever else the machine does
# makes batches longer and none shorter. perftest's latency programs print every message, from
# which batches are made here; of its bandwidth programs each run is one batch, as long as this
# project's (twice the window).
. tests/vm/lib.sh
build=$1
vm_network || exit
umount /sys/fs/cgroup # ranks shall spin, as perftest does
fb_mpi_env openmpi
gid=$(grep -l '0a09:0001' /sys/class/infiniband/rxe0/ports/1/gids/* | sed 's|.*/||')
batch_us=250 # of a batch of latency, about that of cadence streaming

# The rank that posts runs where perftest's client does, on the first processor: FIRST.
cat >/tmp/pinned <<'END'
#!/bin/bash
exec taskset -c $(((OMPI_COMM_WORLD_RANK + FIRST) % $(nproc))) "$@"
END
chmod +x /tmp/pinned

# theirs TOOL OPTION...: what the client of a perftest pair prints.
theirs() {
	local i server

	taskset -c $(($(nproc) - 1)) "$@" -d rxe0 -x "$gid" -F >/dev/null 2>&1 &
	server=$!
	for ((i = 0; i < 200; i++)); do
		grep -qs ':4853 [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6 && break
		sleep 0.05
	done
	taskset -c 0 timeout $limit "$@" -d rxe0 -x "$gid" -F 127.0.0.1 2>&1 || kill $server
	wait $server
}

# Means of batches, in us, of lines "NUMBER, US".
batches() {
	awk -F'[, \t]+' -v most=$batch_us '/^[0-9]+,/ { sum += $2; n++ }
		sum >= most { print sum / n; sum = n = 0 } END { if (n) print sum / n }'
}

# us a message, of perftest's table of bandwidths: the rate has few digits where it is low.
per_message() {
	awk '/^ *[0-9]+ +[0-9]+ / { print ($5 > 0.001 ? 1 / $5 : $1 / ($4 * 1.048576)) }'
}

# ours OPERATION SIZE OPTION...: this project's samples of the operation's row, in us.
ours() {
	local program=bandwidth row first=0

	[ "$1" = one_way ] || program=latency
	[[ " ${*:3} " != *' get '* ]] || first=1
	rm -rf /tmp/ours
	FIRST=$first timeout $limit mpirun.openmpi --oversubscribe --bind-to none -n 2 /tmp/pinned \
		"$build/bin/$program" --engine rdma --cadence streaming --bytes "$2" \
		--rdma-device rxe0 --raw --quiet \
		--csv /tmp/ours --run t --max-time $seconds --ci 0.1% "${@:3}" >/tmp/log 2>&1 ||
		cat /tmp/log >&2
	# bandwidth has a row of two_way as well, before or after.
	row=$(tail -n +2 "/tmp/ours/$program.csv" | cut -d, -f6 | grep -nx "$1" | cut -d: -f1)
	awk -F, -v row="$((row - 1))" 'NR > 1 && $4 == row { print $6 }' /tmp/ours/samples.csv
}

# The 5th percentile; the least of few.
low() {
	sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 19) / 20)] }'
}

window() {
	local window=$((33554432 / $1))

	[ $window -gt 64 ] && window=64
	[ $window -lt 4 ] && window=4
	echo $window
}

# compare NAME SIZE TOOL OPERATION OPTION...: a line of the table; TOOL is a command with options.
compare() {
	local name=$1 size=$2 operation=$4 round run window n a b
	local -a tool

	[[ $name =~ $FB_PATTERN ]] || return
	read -ra tool <<<"$3"
	window=$(window "$size")
	n=$((2000000 / (size + 4000)))
	[ $n -lt 20 ] && n=20
	: >/tmp/a
	: >/tmp/b
	for ((round = 0; round < FB_ROUNDS; round++)); do
		case $name in
		*-lat) theirs "${tool[@]}" -n $n -U | batches >>/tmp/a ;;
		*) for ((run = 0; run < 3; run++)); do
			theirs "${tool[@]}" -n $((2 * window)) -t "$window" | per_message >>/tmp/a
		done ;;
		esac
		ours "$operation" "$size" "${@:5}" >>/tmp/b
	done
	a=$(low /tmp/a) b=$(low /tmp/b)
	awk -v name="$name" -v size="$size" -v a="$a" -v b="$b" -v na="$(wc -l </tmp/a)" \
		-v nb="$(wc -l </tmp/b)" 'BEGIN { printf "%-11s %9d %12.2f %12.2f %8.3f %6d %6d\n",
			name, size, a, b, (a > 0 ? b / a : 0), na, nb }'
}

seconds=0.4s limit=120
# Where time is instructions, it jumps while the machine waits for the host.
[ -z "$FB_INSTRUCTIONS" ] || FB_ROUNDS=1 seconds=0.2s limit=36000
# Reads all files once.
theirs ib_write_lat -n 20 >/dev/null
ours one_way 8 --window 1 --algorithm get --protocol read >/dev/null
printf '%-11s %9s %12s %12s %8s %6s %6s\n' what bytes "perftest us" "ours us" ratio n n
for s in $FB_SIZES; do
	if [ -z "$FB_INSTRUCTIONS" ]; then
		compare write-lat "$s" "ib_write_lat -s $s" ping_pong --algorithm send \
			--protocol write
		compare send-lat "$s" "ib_send_lat -s $s" ping_pong --algorithm send \
			--protocol send
		compare send-bw "$s" "ib_send_bw -s $s" one_way --algorithm send --protocol send
	fi
	compare read-lat "$s" "ib_read_lat -s $s" one_way --window 1 --algorithm get --protocol read
	[ "$s" -ne 8 ] || compare atomic-lat 8 "ib_atomic_lat -A FETCH_AND_ADD" one_way \
		--window 1 --algorithm get --protocol fetch_add
	compare write-bw "$s" "ib_write_bw -s $s" one_way --algorithm put --protocol write
	compare read-bw "$s" "ib_read_bw -s $s" one_way --algorithm get --protocol read
done
