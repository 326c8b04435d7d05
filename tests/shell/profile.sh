#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# The tool profile: kinds of links, their best figures and worst pairs, from rows that are written
# here, and from a reference of four GPUs.

set -u
export LC_ALL=C
. tests/shell/lib.sh
. tests/shell/lib_rows.sh
profile=$FB_BUILD/bin/profile
[ -x "$profile" ] || { echo "SKIP profile: not built (no libcsv)"; exit 0; }
folder=$FB_TMP/links
mkdir -p "$folder"
printf '%s\n' scope,host,rank,key,value \
	"run,,,infiniband.mlx5_0.port1.rate,200 Gb/sec (4X HDR)" >"$folder/environment.csv"
usual+=(program=bandwidth operation=one_way bytes=1048576 engine=rdma "path=rdma mlx5_0:1 RoCE"
	nodes=2)
rows_to "$folder/bandwidth.csv"
row busbw_GBps=20 "variant=dst=1;src=0;window=1"
row busbw_GBps=24 "variant=dst=1;src=0;window=64"
row busbw_GBps=12 engine=ucx "variant=dst=2;src=0;window=64"
row busbw_GBps=10 "variant=dst=2;src=0;window=64"
row busbw_GBps=99 status=wrong "variant=dst=1;src=0;window=64"
row busbw_GBps=99 bytes=65536 "variant=dst=1;src=0;window=64"
row busbw_GBps=40 operation=two_way "variant=dst=1;src=0;window=64"
row busbw_GBps=7 engine=mpi transport=library nodes=1 path= "variant=dst=1;src=0"
rows_to "$folder/latency.csv"
usual+=(operation=ping_pong bytes=8)
row median_us=2.5
row median_us=1.75 engine=ucx
row median_us=1.00 bytes=65536

"$profile" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code" $? 0
holds "$FB_TMP/out" '^rdma mlx5_0:1  +nodes +1\.75 +24\.0 +25\.0 +96%  ucx, rdma +rank 0 to 2, 12'
holds "$FB_TMP/out" '^mpi  +- +- +7\.0 +- +-  -, mpi +-$'
expect "kinds" "$(wc -l <"$FB_TMP/out")" 3
"$profile" --large 64K "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" '^rdma mlx5_0:1  +nodes +1\.75 +99\.0 '
"$profile" --small 64K "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" '^rdma mlx5_0:1  +nodes +1\.00 +24\.0 '
# NVLink-C2C to the processor in place of PCIe: of ten links, one of which is down.
gpu=gpu.0000:01:00.0
printf '%s\n' scope,host,rank,key,value "run,,,$gpu.pci_lanes,16 of 16" \
	"run,,,$gpu.pci_speed,32.0 GT/s PCIe" >"$folder/environment.csv"
usual+=(program=host_device operation=h2d bytes=268435456 engine=copy transport=p2p nodes=1
	"path=copy engine, host to GPU link")
rows_to "$folder/host_device.csv"
row busbw_GBps=50
"$profile" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" '^host to GPU link +- +- +50\.0 +63\.0 +79%'
printf '%s\n' "run,,,$gpu.c2c_links,9 of 10" "run,,,$gpu.c2c_link_MBps,44712" \
	>>"$folder/environment.csv"
"$profile" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" '^host to GPU link, C2C +- +- +50\.0 +447\.1 +11%'
# A GPU of another host has no C2C: its slot is the least. Peers have the rate of their slots.
rows_to "$folder/bandwidth.csv"
row busbw_GBps=50 program=bandwidth operation=one_way "path=cuda, PCIe" "variant=dst=1;src=0"
cp "$folder/environment.csv" "$FB_TMP/superchip.csv"
printf '%s\n' "node,n2,,gpu.0000:02:00.0.pci_lanes,16 of 16" \
	"node,n2,,gpu.0000:02:00.0.pci_speed,32.0 GT/s PCIe" >>"$folder/environment.csv"
"$profile" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" '^host to GPU link +- +- +50\.0 +63\.0 +79%'
holds "$FB_TMP/out" '^PCIe +.* +50\.0 +63\.0 +79%'
mv "$FB_TMP/superchip.csv" "$folder/environment.csv"
# Links of which none is active leave PCIe.
sed -i 's/9 of 10/0 of 10/; /c2c_link_MBps/d' "$folder/environment.csv"
"$profile" "$folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/out" '^host to GPU link +- +- +50\.0 +63\.0 +79%'
verdict profile_rows

"$profile" results/reference/h200x4 >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code" $? 0
holds "$FB_TMP/out" '^NVLink +- +0\.[0-9]+ +39[0-9]\.[0-9] +450\.0 +87%  cuda, copy +rank 1 to 0'
holds "$FB_TMP/out" '^host to GPU link +- .* +63\.0 +80%'
"$profile" results/reference/xeon-8 >"$FB_TMP/out" 2>&1
expect "exit code without such rows" $? 3
verdict profile_reference
exit "$bad"
