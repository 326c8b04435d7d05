#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: everything that goes wrong with RDMA devices ends in a message that
# names the reason, with the right exit code, in time.
#
#	faults.sh BUILD [PATTERN]          only tests whose name matches
. tests/vm/lib.sh
build=$1
# Without FB_FULL one of each kind of fault, to keep `make test` short.
usual='^(pair|unknown-device|mtu-mismatch|killed)$'
[ -z "${FB_FULL-}" ] || usual=.
pattern=${2:-$usual}
export MPI=openmpi
vm_network || exit
log=/tmp/log

common=(--engine host --algorithm ring --protocol simple --nodes-as 2 --quiet
	--rdma-timeout 17)
short=("${common[@]}" --bytes 64K --min-samples 3 --max-samples 5 --max-time 0.1s)

# A fault is told within the watchdog's time (--timeout, 30 s without it), and by the device in the
# time of all its retries, each at most four times as long as is asked for: 7 x 4 x 0.54 s with
# --rdma-timeout 17. Counted from when it was brought about, or else from the start, and then a run
# without a fault says how long this machine takes for all the rest.
promised=$((30 * ${FB_SLOW:-1})) calm=$promised acted=/tmp/acted

# fault NAME CODE PATTERN COMMAND...: the command must end with the code, say the pattern, in time.
fault() {
	local name=$1 code=$2 line=$3 rc start=$SECONDS took allowed

	shift 3
	[[ $name =~ $pattern ]] || return
	rm -f $acted
	"$@" >$log 2>&1
	rc=$?
	took=$((SECONDS - start)) allowed=$((promised + calm))
	[ ! -s $acted ] || took=$((SECONDS - $(cat $acted))) allowed=$promised
	[ "$name" != pair ] || calm=$took
	if [ $rc -ne "$code" ]; then
		sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' $log | tail -n 20
		echo "FAIL vm/faults-$name: exit code $rc, not $code"
	elif ! grep -qE -- "$line" $log; then
		sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' $log | tail -n 20
		echo "FAIL vm/faults-$name: no line matches '$line'"
	elif [ $took -gt $allowed ]; then
		sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' $log | tail -n 20
		echo "FAIL vm/faults-$name: $took s, not $allowed"
	else
		echo "PASS vm/faults-$name"
		grep -m 1 -oE -- "fabricbench: .*" $log | cut -c 1-300
	fi
	echo "  $took s of $allowed"
}

# pair OPTIONS...: `program` between rank 0, or the `first` ranks, on rxe0 and the last on rxe1,
# across the cable.
program=all_reduce first=1
pair() {
	local n

	fb_mpi_env openmpi
	n=$(OMPI_MCA_mpi_yield_when_idle=1 timeout -k 5 150 mpirun.openmpi --oversubscribe \
		--bind-to none \
		-n "$first" "$build/bin/$program" --rdma-device rxe0:1 "$@" : \
		-n 1 "$build/bin/$program" --rdma-device rxe1:1 "$@" >&2
		echo $?)
	return "$(fb_exit_code "$n")"
}

one() {
	vm_run 90 "$1" "$build/bin/all_reduce" "${short[@]}" "${@:2}"
}

fault pair 0 'rdma rxe[01]:1' pair "${short[@]}" --transport rdma
fault unknown-device 3 "option --rdma-device: 'mlx5_7' is not accepted: there are rxe0, rxe1" \
	one 2 --transport rdma --rdma-device mlx5_7
fault no-such-gid 3 "option --rdma-gid-index: '77' is not accepted" \
	one 2 --transport rdma --rdma-gid-index 77

without_manager() {
	FABRICBENCH_LIBRDMACM=librdmacm.so.none one "$@"
}

fault no-manager 0 '(librdmacm.so.none not found: |built without librdmacm headers)' \
	without_manager 2 --transport rdma --rdma-connect cm
fault no-paging 5 'for paging on demand: .*without --rdma-odp it may work' \
	one 2 --transport rdma --rdma-odp

# Addresses that lead nowhere: the queue pairs connect, and packets go to a station that does not
# exist.
for i in 0 1; do
	ip addr add 10.66.$i.1/32 dev v$i
	ip route add 10.66.$((1 - i)).1/32 dev v$i src 10.66.$i.1 table 10$((i + 3))
	ip rule add pref 2$((i + 3)) from 10.66.$i.1 lookup 10$((i + 3))
	ip neigh add 10.66.$((1 - i)).1 lladdr 02:00:00:00:00:99 dev v$i nud permanent
done
sleep 1
index=$(grep -l '0a42:0001' /sys/class/infiniband/rxe0/ports/1/gids/* | sed 's|.*/||')
fault wrong-gid 5 '(cannot reach rank [01] at 10\.66\.|the peer did not answer)' \
	pair "${short[@]}" --transport rdma --rdma-gid-index "${index:-2}"
ip addr del 10.66.0.1/32 dev v0
ip addr del 10.66.1.1/32 dev v1

# The ends carry packets of different lengths: auto takes the smaller, a wrong wish is refused.
ip link set v1 mtu 1500
sleep 0.5
fault mtu-smaller-wins 0 'mtu (1024|4096)' pair "${short[@]}" --transport rdma
fault mtu-mismatch 3 "option --rdma-mtu: '4096' is not accepted: port rxe1:1 carries at most 1024" \
	pair "${short[@]}" --transport rdma --rdma-mtu 4096
ip link set v1 mtu 9000

fault queue-pairs 5 'no further queue pair|no completion queue' bash -c "
	mkdir -p /tmp/cg && mount -t cgroup2 none /tmp/cg &&
	echo +rdma >/tmp/cg/cgroup.subtree_control && mkdir /tmp/cg/few &&
	echo 'rxe0 hca_object=8' >/tmp/cg/few/rdma.max && echo \$\$ >/tmp/cg/few/cgroup.procs &&
	. tests/vm/lib.sh && vm_run 90 2 $build/bin/all_reduce ${short[*]} --transport rdma \
		--rdma-device rxe0 --rdma-qps 16"
fault memlock 5 'cannot register .* host memory.*ulimit -l' \
	setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock bash -c ". tests/vm/lib.sh
	ulimit -l 16
	vm_run 90 2 $build/bin/all_reduce ${short[*]} --transport rdma"

# While something is under way. The second rank's process alone has rxe1 in its command line. On a
# busy machine the device takes long to notice: the watchdog shall not be first.
many=(--bytes 1M --min-samples 1000000 --max-samples 1000000 --max-time 60s --timeout 120s
	--verify no)
long=("${common[@]}" --transport rdma "${many[@]}")

# Waits until more than `packets` go across the cable in a fifth of a second of an idle machine.
packets=200
pause=$(awk -v slow="${FB_SLOW:-1}" 'BEGIN { print 0.2 * slow }')
under_way() {
	local i before=0 now

	# Each look is FB_SLOW times as long, so 60 s for an idle machine grow with it.
	for ((i = 0; i < 300; i++)); do
		now=$(cat /sys/class/net/v1/statistics/rx_packets)
		[ "$before" -gt 0 ] && [ $((now - before)) -gt $packets ] && return
		before=$now
		sleep "$pause"
	done
	return 1
}

# A signal for the second rank's process. Without a process for each that is looked at, of which a
# hundred took ten seconds.
second() {
	local p words

	for p in /proc/[0-9]*; do
		{ mapfile -d '' -t words <"$p/cmdline"; } 2>/dev/null || continue
		[[ ${words[0]:-} == */$program && " ${words[*]} " == *' rxe1:1 '* ]] &&
			kill "$1" "${p#/proc/}"
	done
}

# during ACTION NAME...: a fault that something brings about while bytes are under way.
during() {
	local action=$1

	shift
	[[ $1 =~ $pattern ]] || return
	(under_way && {
		echo $SECONDS >$acted
		$action
	}) &
	fault "$@"
	kill $! 2>/dev/null
	wait $!
}

during "second -KILL" killed 5 'rank 1 on vm0 .* has died' pair "${long[@]}"
# Who waits has made its next request, and takes it back.
program=latency
during "second -KILL" killed-ping-pong 5 "rank 1 on vm0 .* has died|the peer did not answer" \
	pair --engine rdma --algorithm send --protocol write --quiet --rdma-timeout 17 "${many[@]}"
# Programs of KV transfers, whose pages mover rdma carries; the first rank of serve has no pages.
# Two of them compute most of the time.
packets=20
for program in handoff stream serve; do
	case $program in
	handoff) load=(--tokens 600) ;;
	stream) load=(--tokens 64) ;;
	serve) load=(--requests 4000 --rate 20 --scale 0.02 --algorithm disaggregated) first=2 ;;
	esac
	during "second -KILL" killed-$program 5 "rank $first on vm0 .* has died" \
		pair --engine rdma --quiet --rdma-timeout 17 "${load[@]}" "${many[@]:2}"
done
first=1 packets=200
program=all_reduce
failed='(the peer did not answer|its port is down).*the own port is'
during "ip link set v1 down" link-down 5 "$failed|own port rxe[01]:1 has been down" \
	pair "${long[@]}"

# The second rank sends nothing, so that nothing of the first one's is under way when the link goes
# down: no request fails. Messages are long, as between them both ranks wait by other means.
stop_and_cut() {
	second -STOP
	sleep 1
	ip link set v1 down
}

# With what its going down took away.
ip link set v1 up
ip route replace 10.9.0.1/32 dev v1 src 10.9.1.1 table 102
ip neigh replace 10.9.0.1 lladdr "$(cat /sys/class/net/v0/address)" dev v1 nud permanent
longer=("${long[@]/#1M/64M}")
during stop_and_cut nothing-under-way 5 'own port rxe0:1 has been down for [0-9]+ s' \
	pair "${longer[@]/#17/16}" # all retries: 8 s
exit 0
