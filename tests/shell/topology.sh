#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# The tool topology: GPUs and RDMA devices of two nodes from facts that are written here, as a table
# and as rates that scripts/plot matrix draws; and the files that NCCL dumps, in NCCL's form.

set -u
export LC_ALL=C
. tests/shell/lib.sh
topology=$FB_BUILD/bin/topology
[ -x "$topology" ] || { echo "SKIP topology: not built (no libcsv)"; exit 0; }
folder=$FB_TMP/facts
mkdir -p "$folder"

a=gpu.0000:1b:00.0 b=gpu.0000:5d:00.0
{
	echo scope,host,rank,key,value
	for node in n1 n2; do
		for gpu in "$a" "$b"; do
			printf 'node,%s,,%s\n' $node "nvidia.$gpu,NVIDIA H100 80GB HBM3" \
				$node "$gpu.numa_node,0" $node "$gpu.pci_lanes,16 of 16" \
				$node "$gpu.pci_speed,32.0 GT/s PCIe"
		done
		echo "node,$node,,infiniband.mlx5_0.port1.rate,400 Gb/sec (4X NDR)"
	done
	printf '%s\n' "node,n1,,$a.nvlinks,18 of 18" "node,n1,,$a.nvlink_MBps,25000" \
		"node,n1,,$a.nvlinks_to,0000:5d:00.0 18" "node,n1,,$b.nvlinks,17 of 18" \
		"node,n1,,$b.nvlink_MBps,25000" "node,n1,,$b.nvlinks_to,0000:1b:00.0 17" \
		'node,n1,,'"$a"'.pci_to,"0000:5d:00.0 NODE, mlx5_0 PIX"' \
		'node,n1,,'"$b"'.pci_to,"0000:1b:00.0 NODE, mlx5_0 SYS"' \
		'node,n2,,'"$a"'.pci_to,"0000:5d:00.0 PXB, mlx5_0 PHB"'
} >"$folder/environment.csv"

"$topology" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code" $? 0
holds "$FB_TMP/out" '^n1: 2 GPUs, 1 RDMA devices$'
holds "$FB_TMP/out" '^GPU0   X      NV18   PIX    0$'
holds "$FB_TMP/out" '^GPU1   NV17   X      SYS    0$'
holds "$FB_TMP/out" '^GPU0   X      PXB    PHB    0$'
holds "$FB_TMP/out" \
	'GPU1 = 0000:5d:00.0, NVIDIA H100.*NVLinks up: 17 of 18, PCIe lanes: 16 of 16, NVLink 450'
holds "$FB_TMP/out" 'NIC0 = mlx5_0, 400 Gb/sec \(4X NDR\), 50 GB/s$'
scripts/doctor --from "$folder" --all >"$FB_TMP/doctor" 2>"$FB_TMP/err"
holds "$FB_TMP/doctor" '^GPU0   X      NV18   PIX    0$'
holds "$FB_TMP/doctor" '^2 nodes: '
verdict topology_table

"$topology" --matrix "$folder" >"$FB_TMP/matrix.txt" 2>"$FB_TMP/err"
expect "exit code" $? 0
holds "$FB_TMP/matrix.txt" '^ 0       N/A    450.00     50.00$'
holds "$FB_TMP/matrix.txt" '^ 1    425.00       N/A     50.00$'
# n2: by PCIe, 16 lanes of generation 5.
holds "$FB_TMP/matrix.txt" '^ 0       N/A     63.02     50.00$'
if command -v gnuplot >/dev/null; then
	FB_BIN=$FB_BUILD/bin scripts/plot matrix --out "$FB_TMP/figure" "$FB_TMP/matrix.txt" \
		>"$FB_TMP/out" 2>&1
	expect "exit code of plot" $? 0
	[ -s "$FB_TMP/figure.svg" ] && [ -s "$FB_TMP/figure-2.svg" ] || fail "a figure is missing"
	holds "$FB_TMP/figure.svg" 'n1: links GPU'
	FB_BIN=$FB_BUILD/bin scripts/plot topology "$folder" >"$FB_TMP/out" 2>&1
	expect "exit code of plot topology" $? 0
	[ -s "$folder/topology.svg" ] && [ -s "$folder/topology-2.svg" ] ||
		fail "a figure is missing: $(cat "$FB_TMP/out")"
fi
# A GPU and a NIC exchange what both of their links to the processor carry: of a superchip C2C.
printf '%s\n' "node,n2,,$a.c2c_links,1 of 1" "node,n2,,$a.c2c_link_MBps,40000" \
	>>"$folder/environment.csv"
"$topology" --matrix "$folder" >"$FB_TMP/matrix.txt" 2>"$FB_TMP/err"
holds "$FB_TMP/matrix.txt" '^ 0       N/A     40.00     40.00$'
"$topology" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" 'PCIe lanes: 16 of 16, C2C links up: 1 of 1'
verdict topology_matrix

cat >"$FB_TMP/topology.xml" <<'END'
<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:16:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:07:00.0" count="5" tclass="0x068000"/>
          <nvlink target="0000:19:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020000" link_speed="" link_width="0">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
END
cat >"$FB_TMP/graph.xml" <<'END'
<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="20"
    speedinter="12" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel>
      <net dev="0"/>
      <gpu dev="0"/>
      <gpu dev="1"/>
      <net dev="0"/>
    </channel>
    <channel>
      <gpu dev="1"/>
      <gpu dev="0"/>
    </channel>
  </graph>
  <graph id="1" pattern="1" crossnic="0" nchannels="0" speedintra="0"
    speedinter="0" typeintra="LOC" typeinter="LOC"/>
</graphs>
END
"$topology" --nccl "$FB_TMP/topology.xml" "$FB_TMP/graph.xml" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code" $? 0
expect "what NCCL found" "$(cat "$FB_TMP/out")" "NUMA node 0, x86_64 GenuineIntel
  switch 0000:16:00.0, 32.0 GT/s PCIe x 16
    slot 0000:18:00.0, 32.0 GT/s PCIe x 16
      GPU 0, rank 0, sm_90, GPUDirect RDMA yes
        5 NVLinks to 0000:07:00.0, an NVSwitch
        4 NVLinks to 0000:19:00.0
    slot 0000:19:00.0
      nic
        network device 0 (mlx5_0), 400 Gbit/s, GPUDirect RDMA yes
ring: 2 channels, 20 GB/s each within a node (NVL), 12 GB/s between nodes (PIX)
  channel: net0 gpu0 gpu1 net0
  channel: gpu1 gpu0
tree: 0 channels, 0 GB/s each within a node (LOC), 0 GB/s between nodes (LOC)"
verdict topology_nccl

# Broken files end with a message, not with a crash.
for cut in 1 40 90 200 500 900; do
	head -c $cut "$FB_TMP/topology.xml" >"$FB_TMP/cut.xml"
	"$topology" --nccl "$FB_TMP/cut.xml" >"$FB_TMP/out" 2>&1
	code=$?
	[ $code -eq 0 ] || [ $code -eq 3 ] || fail "exit code $code of a file of $cut bytes"
done
echo '<html><body/></html>' >"$FB_TMP/cut.xml"
"$topology" --nccl "$FB_TMP/cut.xml" >"$FB_TMP/out" 2>&1
expect "exit code of another file" $? 3
holds "$FB_TMP/out" 'expected a file that NCCL wrote'
echo scope,host,rank,key,value >"$folder/environment.csv"
echo run,,,cpu.count,2 >>"$folder/environment.csv"
"$topology" "$folder" >"$FB_TMP/out" 2>&1
expect "exit code without a GPU" $? 3
verdict topology_input

# Rates of each sender by each RDMA device, from rows as program bandwidth writes them.
. tests/shell/lib_rows.sh
mkdir "$FB_TMP/nics"
rows_to "$FB_TMP/nics/bandwidth.csv"
usual+=(program=bandwidth operation=one_way engine=rdma algorithm=put protocol=write
	transport=rdma memory=device bytes=8388608)
row variant='dst=2;nic=mlx5_0;src=0' busbw_GBps=48.1
row variant='dst=2;nic=mlx5_1;src=0' busbw_GBps=22
row variant='dst=3;nic=mlx5_0;src=1' busbw_GBps=21.5
row variant='dst=3;nic=mlx5_1;src=1' busbw_GBps=47.9
row variant='dst=3;nic=mlx5_2;src=1' status=skipped reason='no such device'
row operation=two_way variant='dst=3;nic=mlx5_0;src=1' busbw_GBps=90
scripts/gpu-nic --from "$FB_TMP/nics" >"$FB_TMP/out" 2>&1
expect "exit code of gpu-nic" $? 0
expect "rates by device" "$(tr -s ' ' <"$FB_TMP/out")" "GB/s of one direction
rank mlx5_0 mlx5_1 fastest
0 48.1 22 mlx5_0
1 21.5 47.9 mlx5_1"
sed -i '/,ok,/d' "$FB_TMP/nics/bandwidth.csv"
scripts/gpu-nic --from "$FB_TMP/nics" >"$FB_TMP/out" 2>&1
expect "exit code of gpu-nic without a rate" $? 6
expect "what it says" "$(cat "$FB_TMP/out")" "no such device"
verdict topology_gpu_nic
exit "$bad"
