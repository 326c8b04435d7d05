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

gpu=gpu.0000:01:00.0
facts "run,,,$gpu.nvlinks,18 of 18" run,,,$gpu.fabric,completed run,,,$gpu.fabric_clique,ab.7 \
	"run,,,gpu.0000:02:00.0.nvlinks,0 of 12" run,,,gpu.0000:02:00.0.fabric_clique,ab.7
judged 0 --all
expect "a good fabric" "$(tail -n 1 "$FB_TMP/out")" "1 node: 4 checks good, 0 in doubt, 0 bad"
facts "node,n1,,$gpu.nvlinks,17 of 18" "node,n2,,$gpu.nvlinks,0 of 18" \
	"node,n1,,$gpu.fabric,completed" "node,n2,,$gpu.fabric,in progress" \
	"node,n1,,$gpu.fabric_clique,ab.7" "node,n2,,$gpu.fabric_clique,ab.8"
judged 1
expect "a bad fabric" "$(tail -n 1 "$FB_TMP/out")" "2 nodes: 1 checks good, 1 in doubt, 3 bad"
holds "$FB_TMP/out" '^bad    n1: NVLinks of the GPU are up'
holds "$FB_TMP/out" '^bad    n2: GPU is registered at the NVLink fabric'
holds "$FB_TMP/out" 'found   2 cliques; the first: ab.7'
facts "run,,,$gpu.c2c_links,10 of 10" "run,,,$gpu.c2c_link_MBps,44712"
judged 0 --all
expect "good links to the processor" "$(tail -n 1 "$FB_TMP/out")" \
	"1 node: 2 checks good, 0 in doubt, 0 bad"
facts "node,n1,,$gpu.c2c_links,9 of 10" "node,n1,,$gpu.c2c_link_MBps,\"44712, least 20000\"" \
	"node,n2,,$gpu.c2c_links,0 of 10" "node,n3,,$gpu.c2c_link_MBps,40000"
judged 1
expect "bad links to the processor" "$(grep -c 'NVLink-C2C to the pro\|NVLink-C2C carr' \
	"$FB_TMP/out")" 4
holds "$FB_TMP/out" '^bad    n2: NVLink-C2C to the processor is up'
holds "$FB_TMP/out" '^doubt  n1: NVLink-C2C carries its rate'
holds "$FB_TMP/out" 'c2c_link_MBps: 40000 of 44712'
verdict doctor_fabric

facts node,n1,,nvidia.driver,580.1 node,n2,,nvidia.driver,570.9 node,n1,,hostname,n1 \
	node,n2,,hostname,n2
judged 0
holds "$FB_TMP/out" '^doubt  nodes are alike'
holds "$FB_TMP/out" 'found   nvidia.driver: n1 580.1; n2 570.9;'
expect "differences" "$(grep -c 'nodes are alike' "$FB_TMP/out")" 1
holds "$FB_TMP/out" '^2 nodes: '
verdict doctor_nodes

# Two ranks of n1 on the processors of the other's GPU, and on one each; n2 is as it should be.
bound=("run,,,numa.node0.cpus,0-3" "run,,,numa.node1.cpus,4-7"
	"run,,,gpu.0000:0a:00.0.numa_node,0" "run,,,gpu.0000:0b:00.0.numa_node,1")
gpus=("rank,n1,0,program.all_reduce.0.rank.gpu,0 at 0000:0A:00.0"
	"rank,n1,1,program.all_reduce.0.rank.gpu,1 at 0000:0B:00.0"
	"rank,n2,2,program.all_reduce.0.rank.gpu,0 at 0000:0A:00.0"
	"rank,n2,3,program.all_reduce.0.rank.gpu,1 at 0000:0B:00.0")
facts "${bound[@]}" rank,n1,0,bind.cpus,4 rank,n1,1,bind.cpus,2 \
	rank,n2,2,bind.cpus,0-3 \
	rank,n2,3,bind.cpus,4-7 "${gpus[@]}"
judged 0 --all
holds "$FB_TMP/out" '^doubt  n1: ranks run near their GPU'
holds "$FB_TMP/out" 'found   2 of 2 ranks do not: rank 0 runs on processors 4, its GPU 0 at'
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

# finds LEVEL CHECK FOUND LINE...: of these facts one check says this. "none": it says nothing.
finds() {
	local level=$1 check=$2 found=$3 got

	shift 3
	facts run,,,cpu.model,some "$@"
	"$doctor" --all "$folder" >"$FB_TMP/out" 2>&1
	got=$(sed -nE "s/^(good|doubt|bad)  *(n[0-9]: )?$check\$/\1/p" "$FB_TMP/out" |
		sort -u | paste -sd,)
	expect "$check" "${got:-none}" "$level"
	[ -z "$found" ] || holds "$FB_TMP/out" "$found"
}

other=infiniband.mlx5_1.port1
pair=("run,,,$ports.state,4: ACTIVE" "run,,,$other.state,4: ACTIVE"
	"run,,,$ports.link_layer,InfiniBand" "run,,,$other.link_layer,InfiniBand")
faster="RDMA port is as fast as the node's others"
finds doubt,good "$faster" "port1.rate: 200 Gb/sec, fastest 400" "${pair[@]}" \
	 "run,,,$ports.rate,200 Gb/sec" "run,,,$other.rate,400 Gb/sec"
finds good "$faster" '' "${pair[@]}" \
	"run,,,$ports.rate,200 Gb/sec" "run,,,$other.rate,400 Gb/sec" \
	"run,,,infiniband.mlx5_0.type,MT4123" "run,,,infiniband.mlx5_1.type,MT4129"
judged 1 --expect-rate 400
holds "$FB_TMP/out" 'found   infiniband.mlx5_0.port1.rate: 200 Gb/sec, expected 400'
judged 0 --expect-rate 200

devices=("run,,,gpu.0000:0a:00.0.numa_node,0"
	"run,,,gpu.0000:0a:00.0.pci_path,pci0000:00/0000:00:01.0/0000:08:00.0/0000:0a:00.0"
	"run,,,infiniband.mlx5_0.pci_path,pci0000:00/0000:00:01.0/0000:09:00.0/0000:0b:00.0"
	"run,,,infiniband.mlx5_0.numa_node,0" "run,,,infiniband.mlx5_1.numa_node,1"
	"run,,,infiniband.mlx5_1.pci_path,pci0000:80/0000:80:01.0/0000:81:00.0")
near="GPU has an active adapter near it"
finds good "$near" 'gpu.0000:0a:00.0: nearest mlx5_0, behind one PCIe switch; active mlx5_0' \
	"${pair[@]}" "${devices[@]}"
finds doubt "$near" 'active mlx5_1, on another NUMA node' "${devices[@]}" \
	"run,,,$ports.state,1: DOWN" "${pair[1]}"
finds none "$near" '' "${devices[@]}" "run,,,$ports.state,1: DOWN"

finds good "origin of the RDMA driver" 'mlx5_core is of the kernel' \
	"run,,,module.mlx5_core.origin,the kernel"
finds none "origin of the RDMA driver" '' "run,,,module.mlx5_ib,loaded"
finds bad "RDMA device may be opened" 'Permission denied' \
	"run,,,infiniband.mlx5_0.device_file,uverbs0: Permission denied"
finds good "RDMA device may be opened" '' "run,,,infiniband.mlx5_0.device_file,uverbs0: opens"
finds doubt "interrupts go to the device's NUMA node" 'interrupts_near: 7 of 16' \
	"run,,,infiniband.mlx5_0.interrupts_near,7 of 16"
finds good "interrupts go to the device's NUMA node" '' \
	"run,,,network.eth0.interrupts_near,8 of 16"

roce=("run,,,$ports.state,4: ACTIVE" "run,,,$ports.link_layer,Ethernet"
	"run,,,$ports.interfaces,eth2 eth2.7")
lossless="RoCE port has flow control or congestion marks"
finds doubt "$lossless" 'eth2: priorities with PFC none, with ECN none to send' "${roce[@]}" \
	"run,,,network.eth2.pfc,none" "run,,,network.eth2.ecn_sender,none"
finds good "$lossless" '' "${roce[@]}" "run,,,network.eth2.pfc,3"
finds good "$lossless" '' "${roce[@]}" "run,,,network.eth2.ecn_sender,3" \
	"run,,,network.eth2.ecn_receiver,3"
finds none "$lossless" '' "${roce[@]}"
finds none "$lossless" '' "${pair[@]}" "run,,,network.eth2.pfc,none"
verdict doctor_ports

up=("run,,,network.eth0.state,up" "run,,,network.eth1.state,up"
	"run,,,network.eth0.speed_Mbps,10000" "run,,,network.eth1.speed_Mbps,400000")
subnets="each interface has a subnet of its own"
finds doubt,good "$subnets" 'eth0 and eth1 are in 10.0.0.0/16' "${up[@]}" \
	"run,,,network.eth0.subnets,10.0.0.0/16" "run,,,network.eth1.subnets,fd00::/64 10.0.0.0/16"
finds good "$subnets" '' "${up[@]}" "run,,,network.eth0.subnets,10.0.0.0/16" \
	"run,,,network.eth1.subnets,10.1.0.0/16" "run,,,network.eth3.subnets,10.0.0.0/16"
same="RoCE interfaces of one name share a subnet"
finds doubt "$same" 'eth2: n1 is in 10.0.0.0/16, n2 in 10.1.0.0/16' "${roce[@]}" \
	node,n1,,network.eth2.subnets,10.0.0.0/16 node,n2,,network.eth2.subnets,10.1.0.0/16
finds good "$same" '' "${roce[@]}" run,,,network.eth2.subnets,10.0.0.0/16
finds none "$same" '' "${roce[@]}" node,n1,,network.eth2.subnets,10.0.0.0/31 \
	node,n2,,network.eth2.subnets,10.0.0.2/31
finds none "$same" '' "${roce[@]}" node,n1,,network.eth0.subnets,10.0.0.0/16 \
	node,n2,,network.eth0.subnets,10.1.0.0/16
fastest="NCCL's sockets take the fastest interface"
finds doubt "$fastest" 'NCCL_SOCKET_IFNAME=eth0: 10000 Mbit/s, the fastest has 400000' "${up[@]}" \
	"run,,,variable.NCCL_SOCKET_IFNAME,eth0"
finds good "$fastest" '' "${up[@]}" "run,,,variable.NCCL_SOCKET_IFNAME,=eth1"
finds good "$fastest" '' "${up[@]}" "run,,,variable.NCCL_SOCKET_IFNAME,\"^eth0,lo\""
finds none "$fastest" '' "${up[@]}" "${pair[@]}" "run,,,variable.NCCL_SOCKET_IFNAME,eth0"
finds bad "NCCL_SOCKET_IFNAME names an interface" '' "${up[@]}" \
	"run,,,variable.NCCL_SOCKET_IFNAME,=eth"
large="fast interface has large packets"
finds doubt "$large" 'eth1: MTU 1500 at 400000 Mbit/s' "${up[@]}" run,,,network.eth1.mtu,1500
finds good "$large" '' "${up[@]}" run,,,network.eth1.mtu,9000
finds none "$large" '' "${up[@]}" run,,,network.eth0.mtu,1500
finds none "$large" '' "${up[@]}" run,,,network.eth3.mtu,1500
finds none "$large" '' run,,,network.ib0.state,up run,,,network.ib0.speed_Mbps,400000 \
	run,,,network.ib0.mtu,2044
verdict doctor_networks

pod=("run,,,container.engine,kubernetes" "run,,,nvidia.driver,580")
resource="pod with GPUs has an RDMA resource"
finds doubt "$resource" 'no RDMA device, no PCIDEVICE variable' "${pod[@]}"
finds good "$resource" 'PCIDEVICE_NVIDIA_COM_VF' "${pod[@]}" run,,,device.infiniband,there \
	"run,,,variable.PCIDEVICE_NVIDIA_COM_VF,0000:0b:00.1"
finds none "$resource" '' "run,,,container.engine,none found" "run,,,nvidia.driver,580"
virtual=("run,,,infiniband.mlx5_0.function,virtual" "run,,,device.infiniband_namespaces,exclusive")
finds bad "virtual function has a GID" 'others 0; network namespaces are exclusive' \
	"${virtual[@]}" "run,,,$ports.gids,\"RoCE v2 0, others 0\""
finds good "virtual function has a GID" '' "${virtual[@]}" \
	"run,,,$ports.gids,\"RoCE v2 1, others 1\""
finds none "virtual function has a GID" '' "run,,,$ports.gids,\"RoCE v2 0, others 0\""
seen="interface of RoCE's GIDs is visible"
finds bad "$seen" 'port1.interfaces: eth2 eth2.7' "${roce[@]}" run,,,network.eth0.mtu,1500
finds good "$seen" '' "${roce[@]}" run,,,network.eth0.mtu,1500 run,,,network.eth2.7.mtu,9000
finds none "$seen" '' "run,,,$ports.interfaces,ib0" run,,,network.eth0.mtu,1500
verdict doctor_pods

finds doubt "one NCCL is loaded" '/opt/torch/libnccl.so.2 and /usr/lib/libnccl.so.2' \
	run,,,library.libnccl.path,/opt/torch/libnccl.so.2 \
	run,,,library.libnccl.2.path,/usr/lib/libnccl.so.2
finds good "one NCCL is loaded" '' run,,,library.libnccl.path,/usr/lib/libnccl.so.2
sharp="reduction in the network has what it needs"
finds doubt "$sharp" 'no plugin, libsharp, no daemon' run,,,variable.NCCL_COLLNET_ENABLE,1 \
	run,,,library.libsharp_coll.path,/opt/libsharp_coll.so.5
finds good "$sharp" 'plugin, libsharp, a daemon' run,,,variable.NCCL_COLLNET_ENABLE,1 \
	run,,,library.libsharp_coll.path,/opt/libsharp_coll.so.5 run,,,daemon.sharpd,running \
	run,,,library.libnccl-net.path,/opt/libnccl-net.so
finds none "$sharp" '' run,,,variable.NCCL_COLLNET_ENABLE,0
host=("run,,,container.engine,none found" "run,,,device.nvswitch,there")
finds bad "fabric manager runs" '' "${host[@]}"
finds good "fabric manager runs" '' "${host[@]}" run,,,daemon.nv-fabricmanager,running
finds none "fabric manager runs" '' run,,,container.engine,docker run,,,device.nvswitch,there
finds bad "NCCL_P2P_DISABLE is not left on" "1 .from a file of NCCL's." \
	run,,,nccl.conf.NCCL_P2P_DISABLE,1
given="NCCL_TOPO_FILE can be read"
finds bad "$given" 'No such file' "run,,,nccl.topology_file,NCCL_TOPO_FILE: No such file"
finds good "$given" '' "run,,,nccl.topology_file,NCCL_TOPO_FILE: 1200 bytes"
finds doubt "nodes are alike" 'n1 NCCL_TOPO_FILE: 12 bytes; n2 NCCL_TOPO_FILE: 13 bytes' \
	"node,n1,,nccl.topology_file,NCCL_TOPO_FILE: 12 bytes" \
	"node,n2,,nccl.topology_file,NCCL_TOPO_FILE: 13 bytes"
direct="NCCL may use the adapters' direct path to GPU memory"
finds doubt "$direct" '0000:03:00.0, variable 0' run,,,device.data_direct,0000:03:00.0 \
	run,,,variable.NCCL_IB_DATA_DIRECT,0
finds good "$direct" '0000:03:00.0, variable not set' run,,,device.data_direct,0000:03:00.0
finds none "$direct" '' run,,,variable.NCCL_IB_DATA_DIRECT,0
newer="driver is as new as the CUDA runtime"
finds doubt "$newer" 'driver for CUDA 12.4, runtime 12.8' "run,,,cuda.driver_version,12.4" \
	"run,,,cuda.runtime_version,12.8"
finds good "$newer" '' "run,,,cuda.driver_version,13.0" "run,,,cuda.runtime_version,12.8"
ecc="GPU memory had no uncorrected error"
finds doubt "$ecc" '' "run,,,gpu.0000:0a:00.0.ecc_errors,\"corrected 5, uncorrected 2\""
finds good "$ecc" '' "run,,,gpu.0000:0a:00.0.ecc_errors,\"corrected 5, uncorrected 0\""
finds bad "no repair of GPU memory waits" '' \
	"run,,,gpu.0000:0a:00.0.remapped_rows,waiting for a reset"
finds good "no repair of GPU memory waits" '' "run,,,gpu.0000:0a:00.0.remapped_rows,some"
finds bad "GPU memory could be repaired" '' "run,,,gpu.0000:0a:00.0.remapped_rows,failed"
verdict doctor_libraries

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
verdict doctor_rates

# Links: NVLink by the model, a port by its rate; what passed no link that is known is not judged.
facts "run,,,nvidia.gpu.0000:01:00.0,NVIDIA H100 80GB HBM3" \
	"run,,,infiniband.mlx5_0.port1.rate,400 Gb/sec (4X NDR)" \
	run,,,network.eth0.speed_Mbps,100000
rows_to "$folder/bandwidth.csv"
usual+=(program=bandwidth operation=one_way)
row engine=copy memory=device busbw_GBps=380 "variant=dst=1;src=0" "path=kernels push NVLink"
row engine=copy memory=device busbw_GBps=200 "variant=dst=0;src=1" "path=kernels push NVLink"
row engine=cuda memory=device busbw_GBps=300 "variant=dst=0;src=1" "path=kernels push NVLink"
row engine=rdma busbw_GBps=30 "variant=dst=2;src=0" "path=rdma mlx5_0:1 InfiniBand"
row engine=host busbw_GBps=12 "variant=dst=3;src=0" "path=tcp eth0"
row engine=host busbw_GBps=1 "variant=dst=4;src=0" path=shm
row engine=rdma busbw_GBps=1 bytes=8 "variant=dst=2;src=0" "path=rdma mlx5_0:1"
rm "$folder/all_reduce.csv"
judged 0 --all
expect "links" "$(tail -n 1 "$FB_TMP/out")" "1 node: 2 checks good, 2 in doubt, 0 bad"
holds "$FB_TMP/out" 'found   rank 0 to 1, NVLink: 380 of 450 GB/s, by engine copy'
holds "$FB_TMP/out" 'found   rank 1 to 0, NVLink: 300 of 450 GB/s, by engine cuda'
holds "$FB_TMP/out" 'wanted  315 GB/s or more, 70% of the link.s rate'
holds "$FB_TMP/out" 'found   rank 0 to 2, rdma mlx5_0:1: 30 of 50 GB/s, by engine rdma'
holds "$FB_TMP/out" 'found   rank 0 to 3, tcp eth0: 12 of 12.5 GB/s, by engine host'
judged 0 --link-least 50%
expect "a lower bar" "$(tail -n 1 "$FB_TMP/out")" "1 node: 4 checks good, 0 in doubt, 0 bad"

# Without a switch a peer has 4 of the 12 links: of 300 GB/s by the model, or by the links' speed.
# Where a switch gives all that are up to each peer, one that is down takes nothing from the bound.
a100="run,,,nvidia.$gpu,NVIDIA A100-SXM4-40GB"
rows_to "$folder/bandwidth.csv"
row engine=copy memory=device busbw_GBps=90 "variant=dst=1;src=0" "path=kernels push NVLink"
peers="0000:02:00.0 4, 0000:03:00.0 4, 0000:04:00.0 4"
facts "$a100" "run,,,$gpu.nvlinks,12 of 12" "run,,,$gpu.nvlinks_to,\"$peers\""
judged 0 --all
holds "$FB_TMP/out" 'found   rank 0 to 1, NVLink: 90 of 100 GB/s, by engine copy'
facts "$a100" "run,,,$gpu.nvlinks,12 of 12" "run,,,$gpu.nvlink_MBps,24000" \
	"run,,,$gpu.nvlinks_to,\"$peers\""
judged 0 --all
holds "$FB_TMP/out" 'found   rank 0 to 1, NVLink: 90 of 96 GB/s, by engine copy'
facts "$a100" "run,,,$gpu.nvlinks,11 of 12" "run,,,$gpu.nvlinks_to,\"${peers// 4/ 11}\""
judged 1 --all
holds "$FB_TMP/out" 'found   rank 0 to 1, NVLink: 90 of 300 GB/s, by engine copy'

# Collectives of GPUs: NVLinks of a GPU; between nodes as many active ports as ranks, at most.
facts "run,,,nvidia.$gpu,NVIDIA H100" "node,n1,,$ports.state,4: ACTIVE" \
	"node,n1,,${ports/_0/_1}.state,4: ACTIVE" "node,n1,,${ports/_0/_2}.state,1: DOWN" \
	"node,n1,,$ports.rate,400 Gb/sec" "node,n2,,$ports.state,4: ACTIVE"
rows_to "$folder/bandwidth.csv"
usual+=(operation=all_reduce memory=device engine=nccl ranks=8 "path=NCCL via NET/IB/mlx5_0:1")
row busbw_GBps=179 "path=NCCL via SHM/direct"
row busbw_GBps=400 memory=host
row busbw_GBps=41 nodes=2
row busbw_GBps=10 nodes=8 operation=all_gather
judged 1 --all
holds "$FB_TMP/out" 'found   all_reduce, NVLink: 179 of 450 GB/s, by engine nccl'
holds "$FB_TMP/out" 'found   all_reduce, RDMA ports of a node: 41 of 100 GB/s, by engine nccl'
holds "$FB_TMP/out" 'wanted  20 GB/s or more, 40% of the link.s rate'
expect "doubts" "$(grep -c '^doubt' "$FB_TMP/out")" 2
rm "$folder/environment.csv"
judged 3
verdict doctor_links

NP=2 timeout $((90 * slow)) scripts/doctor --results "$FB_TMP/here" --no-rates --all \
	>"$FB_TMP/out" 2>&1
code=$?
[ "$code" -le 1 ] || fail "exit code of scripts/doctor: $code"
holds "$FB_TMP/out" '^1 node: [1-9][0-9]* checks good'
scripts/doctor --from "$FB_TMP/here" >"$FB_TMP/again" 2>&1
expect "exit code of --from" $? "$code"
(cd "$FB_TMP" && "$OLDPWD/scripts/doctor" --from here) >"$FB_TMP/out" 2>&1
expect "exit code of --from, a folder of the caller's" $? "$code"
NP=two scripts/doctor --results "$FB_TMP/never" >"$FB_TMP/out" 2>&1
expect "exit code of NP=two" $? 3
scripts/doctor --results >"$FB_TMP/out" 2>&1
expect "exit code without a value" $? 3
verdict doctor_here

# A running process that has two libraries of that name, and a variable that was left set.
for place in a b; do
	mkdir "$FB_TMP/$place"
	cp "$FB_BUILD/tests/libstale.so" "$FB_TMP/$place/libnccl.so.2"
done
# started VARIABLE=VALUE...: a process with them, $!, when it has loaded all.
started() {
	env "$@" sleep 100 &
	while [ "$(cat "/proc/$!/comm")" != sleep ] || ! grep -q libc.so "/proc/$!/maps"; do
		sleep 0.05
	done
}
started LD_PRELOAD="$FB_TMP/a/libnccl.so.2 $FB_TMP/b/libnccl.so.2" NCCL_P2P_DISABLE=1 \
	NCCL_NET_KEY=hidden NCCL_ALGO='"Ring,Tree"'
scripts/doctor --process $! --all --expect-rate 400 >"$FB_TMP/out" 2>&1
expect "exit code of --process" $? 1
kill $!
holds "$FB_TMP/out" '^doubt  one NCCL is loaded'
holds "$FB_TMP/out" 'found   .*/a/libnccl.so.2 and'
holds "$FB_TMP/out" '^bad    NCCL_P2P_DISABLE is not left on'
holds "$FB_TMP/out" 'variable.NCCL_ALGO: "Ring,Tree"'
grep -q hidden "$FB_TMP/out" && fail "a secret was printed"
started LD_PRELOAD="$FB_TMP/a/libnccl.so.2"
scripts/doctor --process $! --all >"$FB_TMP/out" 2>&1
expect "exit code of a good process" $? 0
kill $!
holds "$FB_TMP/out" '^good   one NCCL is loaded'
scripts/doctor --process 999999999 >"$FB_TMP/out" 2>&1
expect "exit code without a process" $? 3
verdict doctor_process
exit "$bad"
