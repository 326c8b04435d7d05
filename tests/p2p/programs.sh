#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# Every point-to-point program with engines host and mpi, every verb, protocol and transport they
# have, on two to four ranks of each MPI: all data right, every row there, its keys those that were
# asked for.

set -u
export LC_ALL=C
. tests/shell/lib.sh

small=(--quiet --max-samples 30 --min-samples 5 --ci 50% --timeout "$((60 * slow))s")
time=5ms

# go FAMILY RANKS PROGRAM OPTION...: runs into a new file; sets rc and csv. Where no engine is
# named, with those that are on any machine.
go() {
	local family=$1 ranks=$2 program=$3 engines=(--engine "host,mpi")

	shift 3
	case "$program $*" in
	*" --engine "* | registration* | connection*) engines=() ;;
	esac
	csv=$FB_TMP/$family-$ranks-$program-$((++runs))
	scripts/launch "$ranks" "build/$family/bin/$program" --csv "$csv" --run t "${small[@]}" \
		--max-time "$time" "${engines[@]}" "$@" >"$FB_TMP/out" 2>&1 </dev/null
	rc=$?
	csv=$csv/$program.csv
	[ "$rc" -eq 0 ] && return
	fail "$program on $ranks ranks ($family): exit code $rc"
	said "$FB_TMP/out"
}

# rows CSV PATTERN: how many rows match.
rows() {
	tail -n +2 "$1" | grep -cE -- "$2"
}

runs=0
for family in $FB_MPIS; do
	ranks=4
	[ "$family" = mpich ] && ranks=2
	windows "$family"
	go "$family" 2 latency --bytes 1,8,100001 --algorithm all
	# 3 sizes: send by 5 protocols, put, get; and the library's three verbs.
	expect "rows of latency" "$(rows "$csv" ',(ok|few),')" $((3 * (5 + 2 + 3)))
	expect "rows of ping_pong" "$(rows "$csv" ',ping_pong,')" $((3 * (5 + 1)))
	expect "one-sided rows of latency" "$(rows "$csv" ',one_way,.*,(put|get),')" $((3 * 4))
	build/"$family"/bin/csvcheck "$csv" >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
	go "$family" 2 bandwidth --bytes 8,200000 --algorithm all
	expect "rows of bandwidth" "$(rows "$csv" ',(ok|few),')" $((2 * 2 * (5 + 2 + 3)))
	# Both directions together, by the time of one message.
	awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ flows = $at["operation"] == "two_way" ? 2 : 1 }
		{ ratio = $at["messages_per_s"] * $at["median_us"] / 1e6 / flows }
		ratio < 0.98 || ratio > 1.02 { bad++ }
		END { exit bad || FNR < 2 }' "$csv" || fail "messages_per_s: $(cat "$csv")"
	go "$family" 2 latency --bytes 8,300000 --transport tcp --engine host
	expect "rows over tcp" "$(rows "$csv" ',(ok|few),.*,tcp lo[^,]*,')" 4
	expect "rows that tcp cannot do" "$(rows "$csv" ',skipped,tcp has no protocol')" 6
	# Counters of all that the case did, around each case of every program: lo counts twice.
	holds "$csv" ',tcp lo.*,lo=[0-9]+'
	# Others may use lo meanwhile, but not each time.
	for ((i = 0; i < 5; i++)); do
		go "$family" 2 all_reduce --engine host --algorithm ring --protocol simple \
			--transport shm,tcp --bytes 1M
		awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ split($at["traffic"], part, ";"); bytes = 0
		  for (i in part) if (part[i] ~ /^lo=/) bytes = substr(part[i], 4) + 0 }
		$at["transport"] == "tcp" && bytes < 4e6 { bad++ }
		$at["transport"] == "shm" && bytes > 4e6 { bad++ }
		{ seen = seen $at["transport"] " " }
		END { exit bad || seen !~ /tcp/ || seen !~ /shm/ }' "$csv" && break
	done
	[ "$i" -lt 5 ] || fail "traffic: $(cat "$csv")"
	time=50ms go "$family" 2 steady --transport shm,tcp
	expect "rows of steady" "$(rows "$csv" ',(ok|few),.*,(time|nmax),')" 3
	expect "protocols of steady" "$(cut -d, -f7,9 "$csv" | sort -u | tr '\n' ' ')" \
		"engine,protocol host,simple mpi,library "
	# The least is not more than any other window's.
	awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["least_GBps"] <= 0 || $at["least_GBps"] > $at["algbw_GBps"] * 1.0001 ||
			$at["least_at_s"] == "" { bad++ }
		{ ratio = $at["algbw_GBps"] / $at["least_GBps"] / $at["slowest_ratio"] }
		ratio < 0.999 || ratio > 1.001 { bad++ }
		END { exit bad || FNR != 4 }' "$csv" || fail "the least of steady: $(cat "$csv")"
	go "$family" 2 steady --engine rdma
	holds "$csv" ',one_way,rdma,send,send,rdma,.*,(skipped|ok|few),'
	# More than the kernel takes at once, so that the rest leaves by later calls.
	go "$family" 2 latency --bytes 1M --transport tcp --protocol direct --engine host \
		--tcp-send-buffer 64K
	expect "rows of messages sent in parts" "$(rows "$csv" ',direct,tcp,.*,(ok|few),')" 1
	go "$family" 2 bandwidth --bytes 8,300000 --transport tcp --protocol direct --slots 3
	expect "rows of posted messages" "$(rows "$csv" ',direct,tcp,.*,(ok|few),')" 4
	go "$family" 2 bandwidth --bytes 8,300001 --transport tcp --protocol simple,direct \
		--engine host --tcp-sockets 3 --tcp-stripe 1000 --tcp-zerocopy
	expect "rows over several sockets" "$(rows "$csv" \
		';tcp_sockets=3;tcp_stripe=1000;tcp_zerocopy=1;.*,(ok|few),.*,tcp lo [0-9.]* x3')" 8
	go "$family" "$ranks" all_pairs --bytes 64 --protocol ll
	# One way between ordered pairs; there and back once for both directions.
	expect "rows of all_pairs" "$(rows "$csv" ',(ok|few),')" \
		$((2 * (ranks * (ranks - 1) * 3 / 2)))
	verdict "p2p_pairs_$family"

	go "$family" "$ranks" multi_pair --bytes 8,100000 --algorithm all
	counts=$((ranks / 2))
	expect "rows of multi_pair" "$(rows "$csv" ',(ok|few),')" $((2 * 2 * counts * (5 + 2 + 3)))
	go "$family" "$ranks" incast --bytes 8,100000 --algorithm all --root 1
	counts=$((ranks == 4 ? 3 : 1))
	expect "rows of incast" "$(rows "$csv" ',(ok|few),')" $((2 * 2 * counts * (5 + 2 + 3)))
	go "$family" "$ranks" incast --bytes 100000 --transport tcp --protocol simple
	go "$family" "$ranks" loaded_latency --probes 5 --load-bytes 50000 --transport shm,tcp
	expect "loads of loaded_latency" \
		"$(tail -n +2 "$csv" | grep -oE ';load=[0-9]+' | sort -u | tr -d '\n')" \
		"$([ "$ranks" = 4 ] && echo ';load=0;load=1' || echo ';load=0')"
	scripts/launch 4 "build/$family/bin/loaded_latency" --engine host,rdma --bytes 8 --list \
		--load-service-level 0 --load-traffic-class 106 >"$FB_TMP/out" 2>&1 </dev/null
	holds "$FB_TMP/out" 'host .*load=1;.*;load_service_level=0;.* only engine rdma marks'
	holds "$FB_TMP/out" 'rdma .*load=1;.*;load_service_level=0;load_traffic_class=106;'
	expect "marks without a load" "$(grep -c 'load=0.*load_service' "$FB_TMP/out")" 0
	verdict "p2p_many_$family"

	go "$family" "$ranks" registration --bytes 1,5000,1M
	# Pinning may be limited; everything else works everywhere.
	expect "rows of registration" "$(rows "$csv" ',(ok|few),|,lock,.*,skipped,')" 15
	go "$family" "$ranks" connection
	expect "rows of connection" "$(rows "$csv" ',(ok|few),')" 3
	# Pages and options of the network are keys: no row is taken for the plain one.
	go "$family" 2 registration --engine host,mpi --bytes 5000 --memory host,hugepage
	expect "rows of usual pages" "$(rows "$csv" ',(map|share|window|allocate),.*,host,')" 4
	expect "rows of huge pages" "$(rows "$csv" ',(map|window),.*,hugepage,.*,(ok|few),')" 2
	holds "$csv" ',window,.*,hugepage,.*,library \((THP [0-9]+%|4K pages)\),'
	if [ "$family" = openmpi ]; then
		export OMPI_MCA_btl_vader_single_copy_mechanism=none
		go "$family" 2 registration --engine mpi --bytes 5000
		unset OMPI_MCA_btl_vader_single_copy_mechanism
		holds "$csv" ',window,.*(,ok,|,few,|,skipped,Open MPI v[^,]*: MPI_Win_create fails)'
		expect "rows of MPI's memory" "$(rows "$csv" ',allocate,.*,(ok|few),')" 1
	fi
	for options in "" "--tcp-sockets 3"; do
		# shellcheck disable=SC2086
		scripts/launch 2 "build/$family/bin/connection" --csv "$FB_TMP/keys-$family" \
			--run t "${small[@]}" --max-time 5ms --engine host --resume $options \
			>"$FB_TMP/out" 2>&1 </dev/null || fail "connection $options --resume"
	done
	csv=$FB_TMP/keys-$family/connection.csv
	expect "rows of connect_tcp" "$(rows "$csv" ',connect_tcp,.*,(ok|few),')" 2
	expect "rows of connect_tcp by three sockets" "$(rows "$csv" \
		',connect_tcp,.*,tcp_sockets=3,(ok|few),')" 1
	scripts/launch 2 "build/$family/bin/connection" --memory hugetlb >"$FB_TMP/out" 2>&1 \
		</dev/null
	expect "exit code of connection --memory hugetlb" $? 3
	holds "$FB_TMP/out" "option --memory: 'hugetlb' is not accepted"
	go "$family" 1 connection
	expect "rows of connection on one rank" "$(rows "$csv" ',skipped,a connection')" 2
	verdict "p2p_costs_$family"
done

# Pretended nodes: shared memory inside, sockets between, in one job.
family=${FB_MPIS%% *}
go "$family" 4 multi_pair --bytes 100000 --nodes-as 2 --engine host --protocol simple,split
holds "$csv" ',shm\+tcp,.*,pairs=2;window=[0-9]+,(ok|few),'
holds "$csv" ',skipped,tcp has no protocol split,'
go "$family" 4 all_pairs --bytes 64,16K --nodes-as 2 --engine host --protocol simple,direct
holds "$csv" ',dst=1;src=0;window=[0-9]+,(ok|few),.*,shm,'
holds "$csv" ',dst=2;src=0;window=[0-9]+,(ok|few),.*,tcp lo'
verdict p2p_nodes

# Streams over one socket, of which the longer ones have no frames, between those that have; with
# three peers all have them. A flow's messages beside each other, and all at one place.
go "$family" 4 multi_pair --bytes 8,16383,16K,100001,3000001 --engine host --transport tcp \
	--protocol direct
expect "rows of streams" "$(rows "$csv" ',(ok|few),')" 20
go "$family" 2 bandwidth --bytes 100001 --engine host --transport tcp --protocol direct \
	--tcp-send-buffer 8K
expect "rows of streams that the kernel takes in pieces" "$(rows "$csv" ',(ok|few),')" 2
go "$family" 2 bandwidth --bytes 8,16K,100001 --engine host --transport tcp,shm \
	--protocol direct,simple --span 1
check=$FB_TMP/check
build/"$family"/bin/csvcheck "$csv" >"$check" || fail "$(cat "$check")"
expect "rows of streams from one place" \
	"$(rows "$csv" ',dst=1;span=1;src=0;window=64,(ok|few),')" 24
go "$family" 4 incast --bytes 16K,100001 --engine host --transport tcp --protocol direct \
	--span 32K
expect "rows of several streams at an end" \
	"$(rows "$csv" ',degree=[12];span=32768;window=64,(ok|few),')" 8
verdict p2p_streams

# NUMA nodes: what every machine can say of them. Two nodes: tests/vm/test_numa.sh.
go "$family" 2 latency --bytes 8,64K --protocol simple --engine host \
	--numa any,local,0,0:0,remote,63:63 --memory host,hugetlb_1g
if [ -e /sys/devices/system/node/node0/cpulist ] && ! grep -q 'mbind to NUMA' "$csv"; then
	holds "$csv" ';numa=local;.*,(ok|few),.*,"shm \(threads on [0-9+>]+, pages on [0-9+>]+'
	holds "$csv" ',host,.*;numa=0:0;.*,(ok|few),.*,"shm \(threads on 0, pages on 0[,)]'
	expect "rows on node 0, whose names are one" "$(rows "$csv" ',shm,host,.*;numa=0:0;')" 2
	holds "$csv" ';numa=63:63;.*,skipped,no NUMA node 63'
	[ -e /sys/devices/system/node/node1 ] ||
		holds "$csv" ';numa=remote;.*,skipped,there is one NUMA node only,'
fi
expect "rows of places" "$(rows "$csv" '')" $((2 * 2 * 5))
verdict p2p_numa

# What carried the bytes is in the path: all of them twice through lo, there and back.
go "$family" 2 bandwidth --bytes 1M --transport tcp --protocol simple --engine host --window 16
holds "$csv" ',one_way,.*,"?tcp lo [^,]*\(lo 2\.[0-9]+\)'
verdict p2p_path
exit "$bad"
