# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# For scripts that run inside a virtual machine (tests/vm/boot). To be sourced.

. scripts/lib.sh

# Has ranks believe that they have one processor together, so that they yield while they wait: the
# device, which is software, needs processors too. Done by a control group's limit, which the
# programs read and which here limits nobody.
vm_one_processor() {
	mount -t tmpfs cgroup /sys/fs/cgroup && echo 100000 100000 >/sys/fs/cgroup/cpu.max
}

# vm_network [MTU [ROUTER]]: the network of one machine: two soft-RoCE devices, rxe0 and rxe1, at
# the ends of a cable (a pair of interfaces v0 and v1), 10.9.0.1 and 10.9.1.1. Packets between the
# two really cross the cable: without the rules below the kernel would take the short way and the
# devices would never see them. With ROUTER, a network name space, v0 and v1 are cables to it: their
# two subnets have nothing else in common. Where the network is there already nothing is done.
vm_network() {
	local i mtu=${1:-9000} router=${2-} via

	[ ! -e /sys/class/infiniband/rxe1 ] || return 0
	hostname vm0
	vm_one_processor
	ip link set lo up
	[ -n "$router" ] || ip link add v0 type veth peer name v1
	for i in 0 1; do
		if [ -n "$router" ]; then
			ip link add v$i type veth peer name r$i netns "$router"
			ip -n "$router" addr add 10.9.$i.254/24 dev r$i
			ip -n "$router" link set r$i mtu "$mtu" up
		fi
		sysctl -qw net.ipv6.conf.v$i.accept_dad=0
		ip link set v$i mtu "$mtu"
		ip addr add 10.9.$i.1/32 dev v$i
		ip link set v$i up
	done
	[ -z "$router" ] || ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1
	sysctl -qw net.ipv4.conf.all.accept_local=1 net.ipv4.conf.v0.accept_local=1 \
		net.ipv4.conf.v1.accept_local=1 net.ipv4.conf.all.rp_filter=0 \
		net.ipv4.conf.v0.rp_filter=0 net.ipv4.conf.v1.rp_filter=0
	for i in 0 1; do
		via=${router:+via 10.9.$i.254 onlink}
		ip rule add pref 1$i iif v$i lookup local
		# shellcheck disable=SC2086 # words, or none
		ip route add 10.9.$((1 - i)).1/32 $via dev v$i src 10.9.$i.1 table 10$((i + 1))
		ip rule add pref 2$i from 10.9.$i.1 to 10.9.$((1 - i)).1 lookup 10$((i + 1))
		ip neigh add "10.9.$([ -n "$router" ] && echo $i.254 || echo $((1 - i)).1)" \
			lladdr "$(vm_far_address $i "$router")" dev v$i nud permanent
	done
	ip rule add pref 30 lookup local
	ip rule del pref 0
	rdma link add rxe0 type rxe netdev v0 && rdma link add rxe1 type rxe netdev v1 || return
	# Addresses come to the devices a moment later than to their interfaces.
	for ((i = 0; i < 50; i++)); do
		ibv_ready rxe0 && ibv_ready rxe1 && return
		sleep 0.1
	done
	echo "the devices have no addresses" >&2
	return 1
}

# vm_far_address I ROUTER: the address of the station at the other end of interface vI.
vm_far_address() {
	if [ -n "$2" ]; then
		ip netns exec "$2" cat "/sys/class/net/r$1/address"
	else
		cat "/sys/class/net/v$((1 - $1))/address"
	fi
}

# Whether a device has an IPv4 address.
ibv_ready() {
	grep -qs '^0000:0000:0000:0000:0000:ffff:' "/sys/class/infiniband/$1/ports/1/gids/"*
}

# vm_wanted NAME PATTERN: whether to run the test: without FB_FULL only what matches.
vm_wanted() {
	[ -n "${FB_FULL-}" ] || [[ $1 =~ ^($2)$ ]]
}

# vm_run SECONDS RANKS PROGRAM...: under $MPI; exit code as scripts/launch's. Ranks yield within
# MPI too.
vm_run() {
	local seconds=$1

	shift
	OMPI_MCA_mpi_yield_when_idle=1 timeout -k 5 $((seconds * ${FB_SLOW:-1})) scripts/launch "$@"
}

# verdict NAME RC LOG: prints the result of a test, and its log where it failed.
verdict() {
	if [ "$2" -eq 0 ]; then
		echo "PASS $1"
	else
		sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' "$3" | tail -n 25
		echo "FAIL $1: exit code $2"
	fi
}
