#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: RoCE v2 across a router, between two subnets, with queue pairs that meet
# through MPI and through the connection manager.
#
#	router.sh BUILD
#
# soft-RoCE of Linux 6.1 has its sockets and its devices in the first network name space only: made
# in another one, a device appears in the first, without an interface, and `rdma dev set` cannot
# move it ("Operation not supported"), although `rdma system set netns exclusive` is accepted. So
# both devices are in the first name space, each with a rule of its own for its packets, and the
# router alone is a name space. Packets really pass it: what arrives has its hop limit lowered by
# one, and nothing arrives while it does not forward.
. tests/vm/lib.sh
build=$1
export MPI=openmpi
fb_mpi_env openmpi
log=/tmp/log

ip netns add router
vm_network 9000 router || exit
for module in sch_ingress cls_u32 act_gact; do modprobe $module || exit; done

# Counts what arrives at each device from the other one: hop limit 63, and traffic class 104 or not.
for i in 0 1; do
	tc qdisc add dev v$i clsact
	for class in 104 0; do
		tc filter add dev v$i ingress protocol ip prio $((class + 1)) u32 \
			match ip protocol 17 0xff match ip dport 4791 0xffff \
			match u8 63 0xff at 8 match u8 $class 0xff at 1 action ok
	done
	tc filter add dev v$i ingress protocol ip prio 200 u32 \
		match ip protocol 17 0xff match ip dport 4791 0xffff action ok
done

# arrived DEVICE CLASS: packets of RoCE with hop limit 63 and that class (other: all the rest).
arrived() {
	local prio=200

	[ "$2" = other ] || prio=$(($2 + 1))
	tc -s filter show dev "$1" ingress prio "$prio" |
		awk '$1 == "Sent" { sum += $4 } END { print sum + 0 }'
}

# across PROGRAM OPTION...: rank 0 on one side of the router, rank 1 on the other one.
across() {
	local program=$build/bin/$1 n
	local options=("${@:2}" --quiet --rdma-timeout 17 --rdma-traffic-class 104 --bytes 5000
		--min-samples 3 --max-samples 6 --max-time 0.1s --timeout 60s)

	OMPI_MCA_mpi_yield_when_idle=1 timeout -k 5 150 mpirun.openmpi --oversubscribe \
		--bind-to none -n 1 "$program" --rdma-device rxe0:1 "${options[@]}" : \
		-n 1 "$program" --rdma-device rxe1:1 "${options[@]}" >$log 2>&1
	n=$?
	return "$(fb_exit_code $n)"
}

# check NAME ROWS PROGRAM OPTION...: so many good rows, and their packets went by the router.
check() {
	local name=$1 rows=$2 before0 before1 rc

	before0=$(arrived v0 104) before1=$(arrived v1 104)
	across "${@:3}"
	rc=$?
	[ $rc -ne 0 ] || [ "$(grep -cE ',(ok|few),.*rdma rxe[01]:1 RoCE v2, IPv4 10\.9\.' $log)" \
		-eq "$rows" ] || rc=1
	if [ $rc -eq 0 ] && { [ "$(arrived v0 104)" -lt $((before0 + 10)) ] ||
		[ "$(arrived v1 104)" -lt $((before1 + 10)) ]; }; then
		echo "few packets of class 104 came across the router" >>$log
		rc=1
	fi
	verdict "vm/router-$name" $rc $log
}

plans=(all_reduce --engine host --algorithm ring --protocol "simple,ll,direct" --transport rdma
	--nodes-as 2)
for way in mpi cm; do
	if [ $way = cm ] && grep -q 'built without librdmacm' "$build/bin/latency"; then
		echo "SKIP vm/router-cm: built without librdmacm headers"
		continue
	fi
	check $way-messages 7 latency --engine rdma --algorithm all --rdma-connect $way
	check $way-plans 3 "${plans[@]}" --rdma-connect $way
	# The manager's own packets have class 0; without it there are no others.
	[ "$(($(arrived v0 other) + $(arrived v1 other)))" -eq 0 ] &&
		{ [ $way = cm ] || [ "$(arrived v1 0)" -eq 0 ]; }
	verdict vm/router-$way-hops $? $log
done

# Without the router nothing arrives: the sender reports that nobody answers.
ip netns exec router sysctl -qw net.ipv4.ip_forward=0
across latency --engine rdma --protocol send
rc=$?
[ $rc -eq 5 ] && grep -q 'the peer did not answer' $log
verdict vm/router-stopped $? $log
exit 0
