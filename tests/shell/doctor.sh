#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 120
#
# The doctor: every kind of rule finds what is wrong in facts that are written here, and nothing in
# facts that are good; nodes that differ are named; rates far below their bound are doubted. The
# script gathers this machine's facts.

set -u
export LC_ALL=C
. tests/shell/lib.sh
doctor=$FB_BUILD/bin/doctor
folder=$FB_TMP/facts
mkdir -p "$folder"

# facts LINE...: scope,host,rank,key,value
facts() {
	printf '%s\n' scope,host,rank,key,value "$@" >"$folder/environment.csv"
}

# judged CODE OPTION...: what the tool says of them.
judged() {
	local code=$1

	shift
	"$doctor" "$@" "$folder" >"$FB_TMP/out" 2>&1
	expect "exit code" $? "$code"
}

ports=infiniband.mlx5_0.port1
facts "run,,,$ports.state,4: ACTIVE" run,,,$ports.link_layer,Ethernet \
	"run,,,$ports.gids,\"RoCE v2 2, others 2\"" "run,,,infiniband.mlx5_0.pci_lanes,16 of 16" \
	run,,,device.infiniband,there "run,,,nvidia.driver,Open Kernel Module 580" \
	"run,,,network.port_range,32768 60999" run,,,memory.lock_limit_bytes,unlimited \
	run,,,numa.balancing,0 run,,,variable.NCCL_SOCKET_NTHREADS,8 \
	run,,,variable.NCCL_NSOCKS_PERTHREAD,8 run,,,variable.NCCL_P2P_DISABLE,0 \
	run,,,cpu.count,64 "node,n1,,host.load_average,0.10 0.20 0.30"
judged 0 --all
expect "good facts" "$(tail -n 1 "$FB_TMP/out")" "1 node: 11 checks good, 0 in doubt, 0 bad"
verdict doctor_good

facts "run,,,$ports.state,1: DOWN" run,,,$ports.link_layer,Ethernet \
	"run,,,$ports.gids,\"RoCE v2 0, others 2\"" \
	"run,,,infiniband.mlx5_0.pci_lanes,8 of 16" \
	run,,,device.infiniband,missing "run,,,nvidia.driver,Kernel Module" \
	"run,,,network.port_range,60000 60999" run,,,memory.lock_limit_bytes,65536 \
	run,,,numa.balancing,1 run,,,variable.NCCL_SOCKET_NTHREADS,16 \
	run,,,variable.NCCL_NSOCKS_PERTHREAD,8 run,,,variable.NCCL_P2P_DISABLE,1 \
	run,,,variable.NCCL_ALGO,Ring run,,,cpu.count,64 "node,n1,,host.load_average,60.0 1 1"
judged 1
expect "bad facts" "$(tail -n 1 "$FB_TMP/out")" "1 node: 0 checks good, 6 in doubt, 6 bad"
for said in '^bad    RDMA port is active' 'found   infiniband.mlx5_0.pci_lanes: 8 of 16' \
	'^bad    RoCE port has a GID of version 2' '^bad    /dev/infiniband is there' \
	'^bad    threads x sockets is within' 'found   128$' \
	'^bad    NCCL_P2P_DISABLE is not left on' \
	'^doubt  RDMA devices reach GPU memory' '^doubt  range of ephemeral ports' \
	'^doubt  no algorithm is left forced' '^doubt  n1: node is idle' 'load 60.00 of 64'; do
	holds "$FB_TMP/out" "$said"
done
expect "widest line" "$(awk 'length > 110' "$FB_TMP/out" | wc -l)" 0
verdict doctor_bad

facts node,n1,,nvidia.driver,580.1 node,n2,,nvidia.driver,570.9 node,n1,,hostname,n1 \
	node,n2,,hostname,n2
judged 0
holds "$FB_TMP/out" '^doubt  nodes are alike'
holds "$FB_TMP/out" 'found   nvidia.driver: n1 580.1; n2 570.9;'
expect "differences" "$(grep -c 'nodes are alike' "$FB_TMP/out")" 1
holds "$FB_TMP/out" '^2 nodes: '
verdict doctor_nodes

# Two ranks of n1 on the processors of the other's GPU, and on one each; n2 is as it should be.
bound=(run,,,numa.node0.cpus,0-3 run,,,numa.node1.cpus,4-7
	run,,,gpu.0000:0a:00.0.numa_node,0 run,,,gpu.0000:0b:00.0.numa_node,1)
gpus=(rank,n1,0,program.all_reduce.0.rank.gpu,"0 at 0000:0A:00.0"
	rank,n1,1,program.all_reduce.0.rank.gpu,"1 at 0000:0B:00.0"
	rank,n2,2,program.all_reduce.0.rank.gpu,"0 at 0000:0A:00.0"
	rank,n2,3,program.all_reduce.0.rank.gpu,"1 at 0000:0B:00.0")
facts "${bound[@]}" rank,n1,0,bind.cpus,4 rank,n1,1,bind.cpus,2 rank,n2,2,bind.cpus,0-3 \
	rank,n2,3,bind.cpus,4-7 "${gpus[@]}"
judged 0 --all
holds "$FB_TMP/out" '^doubt  n1: ranks run near their GPU'
holds "$FB_TMP/out" 'found   2 of 2 ranks do not: rank 0 runs on processors 4, its GPU 0 at 0000:0A:00.0'
holds "$FB_TMP/out" '^good   n2: ranks run near their GPU'
holds "$FB_TMP/out" 'found   1 rank on 1 processor .4.'
expect "far ranks" "$(tail -n 1 "$FB_TMP/out")" "2 nodes: 3 checks good, 3 in doubt, 0 bad"
# What only the folder of the rates knows; three ranks of one set.
facts "${bound[@]}" run,,,bind.cpus,0-3 run,,,run.ranks,3 run,,,run.nodes,1
mkdir -p "$folder/rates"
printf '%s\n' scope,host,rank,key,value "${gpus[0]}" run,,,bind.cpus,7 \
	>"$folder/rates/environment.csv"
judged 0 --all
holds "$FB_TMP/out" 'found   3 ranks on 4 processors .0-3.'
holds "$FB_TMP/out" '^good   n1: ranks run near their GPU'
rm -r "$folder/rates"
verdict doctor_bind

facts run,,,cpu.count,2
. tests/shell/lib_rows.sh
rows_to "$folder/all_reduce.csv" efficiency
usual+=(bytes=67108864)
row engine=host memory=host efficiency=0.10
row engine=mpi memory=host efficiency=0.25
row engine=copy memory=device efficiency=0.90
row engine=copy memory=managed bytes=8 efficiency=0.01
judged 0 --all
holds "$FB_TMP/out" 'found   all_reduce in memory host: 0.25 of the bound, by engine mpi'
holds "$FB_TMP/out" 'found   all_reduce in memory device: 0.90'
expect "rates" "$(tail -n 1 "$FB_TMP/out")" "1 node: 1 checks good, 1 in doubt, 0 bad"
judged 0 --least 20%
expect "a lower bar" "$(tail -n 1 "$FB_TMP/out")" "1 node: 2 checks good, 0 in doubt, 0 bad"
rm "$folder/environment.csv"
judged 3
verdict doctor_rates

NP=2 timeout 90 scripts/doctor --results "$FB_TMP/here" --no-rates --all >"$FB_TMP/out" 2>&1
code=$?
[ "$code" -le 1 ] || fail "exit code of scripts/doctor: $code"
holds "$FB_TMP/out" '^1 node: [1-9][0-9]* checks good'
scripts/doctor --from "$FB_TMP/here" >"$FB_TMP/again" 2>&1
expect "exit code of --from" $? "$code"
scripts/doctor --results >"$FB_TMP/out" 2>&1
expect "exit code without a value" $? 3
verdict doctor_here
exit "$bad"
