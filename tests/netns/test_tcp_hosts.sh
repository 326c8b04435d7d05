#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks on two hosts: the tcp transport by itself, and all_reduce with shared memory inside the
# hosts and tcp between them. Open MPI only: MPICH's UCX hangs in MPI_Finalize between name spaces.
# timeout: 400

set -u
. scripts/lib.sh

name=netns/test_tcp_hosts
. tests/netns/lib.sh
build=$(dirname "$FB_BUILD")/openmpi
need_hosts "$build/tests/test_tcp"

before=$(ip -o link)
start_hosts 3

across h0:2,h1:2 4 "$build/tests/test_tcp" >"$log" 2>&1
rc=$?
# It says which way it took: both ranks of the own host, both of the other.
if [ $rc -eq 0 ] && { [ "$(grep -c 'tcp lo 127.0.0.1$' "$log")" -ne 8 ] ||
	[ "$(grep -c 'tcp eth0 10.77.0.11$' "$log")" -ne 16 ]; }; then
	rc="0, but the ways taken are not the expected ones"
	sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' "$log"
	echo "FAIL $name-links: exit code $rc"
else
	verdict_of links "$rc" "$log"
fi
across h0:1,h1:1,h2:1 3 "$build/tests/test_tcp" >"$log" 2>&1
verdict_of three-hosts $? "$log"
across h0:1,h1:1,h2:1 3 "$build/tests/test_tcp_faults" >"$log" 2>&1
verdict_of faults $? "$log"

# Interfaces that look as good as eth0, come first and lead nowhere, as bridges of containers do.
for i in 0 1; do
	"$hosts" sh h$i ip link add x0 index 50 type veth peer name x1 &&
		"$hosts" sh h$i ip addr add 172.17.0.$((i + 1))/16 dev x0 &&
		"$hosts" sh h$i ip link set x0 up && "$hosts" sh h$i ip link set x1 up
done >"$log" 2>&1
across h0:1,h1:1 2 "$build/tests/test_tcp" >>"$log" 2>&1
rc=$?
[ $rc -ne 0 ] || grep -q 'tcp x0 172' "$log" || rc=1
verdict_of dead-end $rc "$log"

if [ -x "$build/bin/all_reduce" ]; then
	across h0:2,h1:2 4 "$build/bin/all_reduce" --engine host --transport auto --verify yes \
		--algorithm ring,tree,halving_doubling,hierarchical --bytes 8,4096,1000000 \
		--min-samples 3 --max-samples 10 --max-time 0.2s --csv "$FB_HOSTS/csv" --raw-ranks \
		>"$log" 2>&1
	rc=$?
	# All rows are good and some really went over tcp.
	[ $rc -ne 0 ] || awk -F, '
		FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["status"] == "wrong" || $column["status"] == "fault" { bad++ }
		$column["status"] ~ /ok|few/ && $column["transport"] ~ /tcp/ { good++ }
		END { exit bad || !good }' "$FB_HOSTS"/csv/*all_reduce*.csv >>"$log" 2>&1 || rc=1
	verdict_of all_reduce "$rc" "$log"
	# Who is where, and times of single ranks, which have no clock in common.
	rc=0
	grep -Eq '^run,,,run.ranks_of_hosts,h0:0-1 h1:2-3$' "$FB_HOSTS/csv/environment.csv" &&
		awk -F, 'NR > 1 && ($7 != "" || $8 == "") { bad++ } END { exit bad || NR < 13 }' \
			"$FB_HOSTS/csv/ranks.csv" || rc=1
	{
		grep ranks_of "$FB_HOSTS/csv/environment.csv"
		head -n 5 "$FB_HOSTS/csv/ranks.csv"
	} >"$log" 2>&1
	verdict_of ranks "$rc" "$log"
else
	echo "SKIP $name-all_reduce: $build/bin/all_reduce has not been built"
fi
if [ -x "$build/tests/test_mover" ] && [ -x "$build/bin/kv_reshard" ]; then
	across h0:2,h1:1 3 "$build/tests/test_mover" tcp >"$log" 2>&1
	verdict_of mover $? "$log"
	# A KV cache from two ranks of one host to two of the other; what needs one host says so.
	rm -rf "$FB_HOSTS/csv"
	across h0:2,h1:2 4 "$build/bin/kv_reshard" --engine tcp,shm --layout hnd,nhd --quiet \
		--prefill-tp 1,2 --decode-tp 1,2 --placement disjoint --tokens 100 --layers 3 \
		--min-samples 3 --max-samples 5 --max-time 0.2s --csv "$FB_HOSTS/csv" >"$log" 2>&1
	rc=$?
	[ $rc -ne 0 ] || awk -F, '
		FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["engine"] == "shm" { refused += /,skipped,ranks on several hosts,/; next }
		$column["status"] !~ /ok|few/ || $column["median_us"] <= 0 { print; bad++ }
		$column["path"] ~ /^tcp eth0 10.77.0.1/ { far++ }
		{ good++ }
		END { print good, far, refused; exit bad || good != 24 || !far || refused != 24 }' \
		"$FB_HOSTS/csv/kv_reshard.csv" >>"$log" 2>&1 || rc=1
	verdict_of kv_reshard "$rc" "$log"
else
	echo "SKIP $name-mover: test_mover and kv_reshard have not been built"
fi
# Pages of emulated GPUs on unlike hosts, through host memory: 3 verbs of tcp and one of MPI, by 4
# kinds of staging, packed and quantised.
if [ -x "$build/tests/fake_gpu/handoff" ]; then
	rm -rf "$FB_HOSTS/csv"
	FB_FAKE_GPU_WORKS=right across h0:1,h1:1 2 "$build/tests/fake_gpu/handoff" \
		--engine tcp,mpi --algorithm all --staging pageable,pinned,pipelined,mapped \
		--staging-bytes 4K --wire packed,fp8 --tokens 300 --quiet --min-samples 3 \
		--max-samples 5 --max-time 0.2s --csv "$FB_HOSTS/csv" >"$log" 2>&1
	rc=$?
	good=$(grep -cE ',device,.*;staging=.*,(ok|few),.*GPU pages staged, ' \
		"$FB_HOSTS/csv/handoff.csv")
	[ "$good" -eq 32 ] || rc="$rc, $good good rows"
	verdict_of staged_pages "$rc" "$log"
else
	echo "SKIP $name-staged_pages: built without CUDA"
fi
# The transport's options: what was asked for is a key of the row, what it became in the path.
# option NAME KEYS PATH OPTION...: all rows over tcp are good and have KEYS and PATH.
option() {
	local what=$1 keys=$2 path=$3 program protocols algorithms rc=0

	shift 3
	rm -rf "$FB_HOSTS/csv"
	for program in bandwidth all_reduce; do
		protocols=simple,direct algorithms=send
		[ $program = bandwidth ] || { protocols=simple algorithms=ring,tree; }
		across h0:1,h1:1 2 "$build/bin/$program" --engine host --transport tcp --quiet \
			--protocol $protocols --algorithm $algorithms \
			--bytes 12,100004,1000004 --min-samples 3 --max-samples 5 \
			--max-time 0.2s --csv "$FB_HOSTS/csv" "$@" >"$log" 2>&1 || rc=$?
	done
	[ $rc -ne 0 ] || cat "$FB_HOSTS"/csv/bandwidth.csv "$FB_HOSTS"/csv/all_reduce.csv |
		awk -F, -v keys="$keys" -v path="$path" '
			$1 == "schema" { next }
			$23 !~ /^(ok|few)$/ || !index($22, keys) || $0 !~ path { print; bad++ }
			{ rows++ }
			END { print rows, "rows"; exit bad || rows < 18 }' >>"$log" 2>&1 || rc=1
	verdict_of "option-$what" "$rc" "$log"
}

if [ -x "$build/bin/all_reduce" ] && [ -x "$build/bin/bandwidth" ]; then
	option sockets "tcp_sockets=3;tcp_stripe=1000;tcp_zerocopy=1" 'tcp eth0 10.77.0.11 x3' \
		--tcp-sockets 3 --tcp-stripe 1000 --tcp-zerocopy
	keys="tcp_busy_poll=50;tcp_congestion=reno"
	option socket-options "$keys;tcp_receive_buffer=100000;tcp_send_buffer=200000" \
		'tcp eth0 10.77.0.11 reno sndbuf 400000 rcvbuf 200000 busy-poll 50' \
		--tcp-send-buffer 200000 --tcp-receive-buffer 100000 --tcp-congestion reno \
		--tcp-busy-poll 50 --tcp-interface 10.77.0.0/16
	rc=0
	across h0:1,h1:1 2 "$build/bin/bandwidth" --engine host --transport tcp \
		--tcp-interface x7 >"$log" 2>&1 || rc=$?
	[ $rc -eq 3 ] && grep -q 'option --tcp-interface: host h1 has no address on x7' "$log"
	verdict_of option-refused $? "$log"
else
	echo "SKIP $name-option: the programs have not been built"
fi
# Bytes that take another interface than the option names: the row has the flag, and names it. stray
# NAME FLAGS PATH OPTION...: all rows have these flags (a pattern) and such a path.
stray() {
	local what=$1 flags=$2 path=$3 rc=0

	shift 3
	rm -rf "$FB_HOSTS/csv"
	across h0:1,h1:1 2 "$build/bin/bandwidth" --engine host --transport tcp --quiet \
		--tcp-interface 10.77.0.0/16 --protocol direct --bytes 1M --min-samples 3 \
		--max-samples 5 --max-time 0.2s --csv "$FB_HOSTS/csv" "$@" >"$log" 2>&1 || rc=$?
	[ $rc -ne 0 ] || awk -F, -v flags="$flags" -v path="$path" '
		FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$0 !~ path || $0 !~ (",[0-9]+,[a-z;-]*" flags "[a-z;-]*,") { print; bad++ }
		!flags && /stray-traffic/ { print; bad++ }
		{ rows++ }
		END { print rows, "rows"; exit bad || !rows }' \
		"$FB_HOSTS/csv/bandwidth.csv" >>"$log" 2>&1 || rc=1
	verdict_of "stray-$what" "$rc" "$log"
}

# A second interface each, on the same switch, whose address nobody uses.
second() {
	local i switch pid

	switch=$(cat "$FB_HOSTS/switch.pid")
	for i in 0 1; do
		pid=$(cat "$FB_HOSTS/h$i.pid")
		# Each interface answers for itself alone, but takes whatever comes.
		nsenter -t "$pid" -n sysctl -qw net.ipv4.conf.all.arp_ignore=1 \
			net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0 || return
		nsenter -t "$pid" -n ip link add eth1 type veth peer name "q$i" netns "$switch" &&
			nsenter -t "$switch" -n ip link set "q$i" master br0 up &&
			nsenter -t "$pid" -n ip addr add "10.78.0.$((10 + i))/24" dev eth1 &&
			nsenter -t "$pid" -n ip link set eth1 up || return
		nsenter -t "$pid" -n sysctl -qw net.ipv4.conf.eth1.rp_filter=0 || return
	done
}

if [ -x "$build/bin/bandwidth" ] && second >"$log" 2>&1; then
	stray none "" 'tcp eth0 10.77.0.1[01] [(]eth0 [12]'
	"$hosts" sh h0 ip route add 10.77.0.11/32 dev eth1 src 10.77.0.10
	stray sender stray-traffic 'tcp eth0 10.77.0.11 [(]eth1 [12]' --pairs 0-1
	"$hosts" sh h0 ip route del 10.77.0.11/32
	# Right on the way out, and then to the wrong door, which the switch has to look for.
	"$hosts" sh h0 ip link set eth1 down
	"$hosts" sh h1 ip neigh flush all # it has learned to answer that interface
	"$hosts" sh h0 ip neigh replace 10.77.0.11 dev eth0 nud permanent \
		lladdr "$("$hosts" sh h1 cat /sys/class/net/eth1/address)"
	stray receiver stray-traffic \
		'tcp eth0 10.77.0.11 [(]eth0 [12][0-9.]*, h1: (eth0 [0-9.]*, )?eth1' --pairs 0-1
	"$hosts" sh h0 ip neigh del 10.77.0.11 dev eth0
else
	echo "SKIP $name-stray: the programs have not been built, or there is no second interface"
fi
if [ -n "${FB_TCP_SPEED-}" ]; then
	tests/netns/speed
fi
if [ "$before" = "$(ip -o link)" ]; then
	echo "PASS $name-nothing-left"
else
	echo "FAIL $name-nothing-left: the machine's own interfaces have changed"
fi
