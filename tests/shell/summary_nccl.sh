#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# summary --asked and --crossings with rows made up, whose answers are known: each value that was
# asked of NCCL stands once, each disagreement is a finding; sizes where one way passes another.

set -u
export LC_ALL=C
. tests/shell/lib.sh
. tests/shell/lib_rows.sh
summary=$FB_BUILD/bin/summary
[ -x "$summary" ] || { echo "SKIP summary_nccl: not built (no libcsv)"; exit 0; }
out=$FB_TMP/out

usual+=(engine=nccl transport=library memory=device launch=graph algorithm=library
	protocol=library median_us=10 median_low_us=9 median_high_us=11)
ran="NCCL 2.28.9 ncclAllReduce:"
rows_to "$FB_TMP/asked.csv"
row algorithm=ring protocol=ll path="$ran ring ll via P2P/CUMEM" channels=4
row algorithm=ring protocol=ll bytes=16 path="$ran ring ll128 via P2P/CUMEM" channels=4
row algorithm=ring protocol=ll bytes=32 path="$ran untold"
row algorithm=tree status=skipped reason="NCCL ran ring:ll128 where tree:library was forced: no"
row algorithm=pat status=skipped reason="NCCL has no pat for all_reduce"
row algorithm=pat bytes=16 status=skipped reason="pat needs a GPU for each node"
row algorithm=pat bytes=32 status=skipped reason="pat needs a GPU for each node"
row algorithm=ring protocol=ll bytes=64 status=skipped reason="no calls"
row registration=window path="$ran symmetric AllReduce_AGxLL_R" channels=1
row registration=window bytes=16 path="$ran ring ll via P2P/CUMEM"
row registration=window-copy path="$ran zero CTAs, symmetric AllGather_STMC"
row registration=window-copy bytes=16 path="$ran zero CTAs, copyengine"
row algorithm=symk protocol=agxll_r path="$ran symmetric AllReduce_AGxLL_R" channels=2
row registration=registered path="$ran ring simple via P2P/CUMEM/read"
row variant=channels=2 path="$ran ring ll via P2P/CUMEM" channels=2
row variant=channels=2 bytes=16 path="$ran ring ll via P2P/CUMEM" channels=8
row variant=env.NCCL_P2P_DISABLE=1 path="$ran ring ll via P2P/CUMEM"
row variant=env.NCCL_P2P_DISABLE=1 bytes=16 path="$ran ring ll via SHM/direct"
# NCCL names all ways between two ranks of a ring; any of them may be the one ruled out.
row variant=env.NCCL_P2P_DISABLE=1 bytes=32 path="$ran ring ll via SHM/direct, P2P/CUMEM"
row variant=env.NCCL_IB_DISABLE=1 path="$ran ring ll via P2P/IPC, NET/IB/mlx5_0, network IB"
row variant=env.NCCL_IB_DISABLE=1 bytes=16 \
	path="$ran ring ll via P2P/IPC, NET/Socket/0, network Socket, 2 warnings: no NET/IB"
row variant=env.NCCL_BUFFSIZE=65536 path="$ran ring simple via P2P/CUMEM"
row variant='env.NCCL_ALGO=Tree' path="$ran ring ll via P2P/CUMEM clusters of 4"
row variant='env.NCCL_ALGO=ring%3Ballreduce:tree' path="$ran ring ll via P2P/CUMEM"
row variant='env.NCCL_ALGO=ring%3Ballgather:tree' path="$ran ring ll via P2P/CUMEM"
row variant='env.NCCL_ALGO=allgather:tree' path="$ran ring ll via P2P/CUMEM"
row variant='env.NCCL_PROTO=^LL128%3BAllReduce:^Simple,LL' path="$ran ring ll via P2P/CUMEM"
row variant='env.NCCL_PROTO=^LL128,Simple' path="$ran ring ll via P2P/CUMEM"
# Kernels of windows do not follow NCCL_PROTO.
row variant='env.NCCL_PROTO=Simple' operation=all_gather registration=window \
	path="$ran symmetric AllGather_LL"
row variant='env.NCCL_MAX_CTAS=4' path="$ran ring ll clusters of 4 via P2P/CUMEM" channels=8
row variant='env.NCCL_NET=IB' path="$ran ring ll via NET/Socket/0, network Socket"
row variant='env.NCCL_CGA_CLUSTER_SIZE=2' path="$ran ring ll clusters of 4 via P2P/CUMEM"
row variant='env.NCCL_CUMEM_ENABLE=0' path="$ran ring ll via P2P/IPC"
row variant='env.NCCL_CUMEM_ENABLE=0' bytes=16 path="$ran ring ll via P2P/CUMEM/read"
row variant='env.NCCL_P2P_LEVEL=LOC' path="$ran ring ll via P2P/IPC"
row variant='env.NCCL_P2P_LEVEL=NVL' path="$ran ring ll via P2P/IPC"
# Kernels of windows: of this function, of another one; rows without windows, which say nothing.
symmetric="$ran symmetric AllReduce_AGxLL_R"
row variant='env.NCCL_SYM_KERNEL=AllReduce_AGxLL_R' registration=window path="$symmetric"
row variant='env.NCCL_SYM_KERNEL=AllReduce_RSxLD_AGxST' registration=window path="$symmetric"
row variant='env.NCCL_SYM_KERNEL=AllGather_ST' registration=window path="$symmetric"
row variant='env.NCCL_SYM_KERNEL=AllReduce_AGxLL_R' path="$ran ring ll via P2P/CUMEM"
row variant='env.NCCL_SYM_CTAS=4' registration=window path="$symmetric" channels=3
row variant='env.NCCL_WIN_ENABLE=0' registration=window path="$symmetric"
row variant='env.NCCL_WIN_ENABLE=0' registration=window bytes=16 path="$ran ring ll via P2P/CUMEM"
# Sends and receives have no algorithm, and copy engines do not follow NCCL_PROTO.
row variant='env.NCCL_ALGO=Ring' operation=all_to_all path="$ran sendrecv via P2P/CUMEM"
row variant='env.NCCL_PROTO=LL' registration=window operation=all_gather path="$ran copyengine"
# Copy engines: only these operations have them, and only with windows.
policy='variant=env.NCCL_CTA_POLICY=2' gathered="${ran/Reduce/Gather}"
row "$policy" registration=window operation=all_gather path="$gathered copyengine"
row "$policy" registration=window bytes=16 operation=all_gather path="$gathered ring ll"
row "$policy" registration=window path="$symmetric"
row "$policy" operation=all_gather path="$gathered ring ll via P2P/CUMEM"
row variant=nccl_max_ctas=4 path="$ran ring ll via P2P/CUMEM" channels=4
row variant=nccl_max_ctas=4 bytes=16 path="$ran ring ll via P2P/CUMEM" channels=5
row variant='nccl_max_ctas=8;nccl_min_ctas=8' bytes=16777216 redop=max \
	path="$ran ring ll via P2P/CUMEM" channels=7
# Messages that do not fill their channels have fewer than the least, which is right.
row variant='channels=8' path="$ran ring ll via P2P/CUMEM" channels=1
row variant='channels=8' bytes=16777216 path="$ran ring ll via P2P/CUMEM" channels=1
row variant='nccl_min_ctas=8' path="$ran ring ll via P2P/CUMEM" channels=1
row variant='nccl_cluster=2' path="$ran ring ll clusters of 2 via P2P/CUMEM" channels=8
row variant='nccl_cluster=8' path="$ran ring ll clusters of 4 via P2P/CUMEM" channels=8
row variant='nccl_cluster=4' path="$ran ring ll via P2P/CUMEM" channels=8
policy=variant=nccl_cta_policy=zero
row "$policy" registration=window operation=all_gather path="$gathered symmetric AllGather_STMC"
row "$policy" registration=window path="$symmetric"
row "$policy" operation=all_gather path="$gathered ring ll via P2P/CUMEM"
row variant='nccl_cta_policy=efficiency' path="$ran ring ll via P2P/CUMEM" channels=8
row engine=mpi algorithm=library registration=registered path=MPI
"$summary" --asked "$FB_TMP/asked.csv" >"$out" || fail "exit code $?"

# line NAME RAN OTHERWISE UNTOLD NOT_RUN
line() {
	holds "$out" "^$1 +$2 +$3 +$4 +$5( |$)"
}
line '--nccl-force ring:ll' 1 1 1 1
line '--nccl-force tree:library' 0 1 0 0
line '--nccl-force pat:library' 0 0 0 3
holds "$out" 'pat:library .* pat needs a GPU for each node$'
expect "a reason of what ran elsewhere" "$(grep -c 'no calls' "$out")" 0
line '--nccl-force symk:agxll_r' 1 0 0 0
line '--registration window' 3 1 11 0
line '--registration window-copy' 1 1 0 0
line '--registration registered' 0 0 1 0
line channels=2 1 1 0 0
line NCCL_P2P_DISABLE=1 1 2 0 0
line NCCL_IB_DISABLE=1 1 1 0 0
line NCCL_BUFFSIZE=65536 0 0 1 0
line NCCL_ALGO=Tree 0 1 0 0
line 'NCCL_ALGO=ring%3Ballreduce:tree' 0 1 0 0
line 'NCCL_ALGO=ring%3Ballgather:tree' 1 0 0 0
line 'NCCL_ALGO=allgather:tree' 0 0 1 0
line 'NCCL_PROTO=\^LL128%3BAllReduce:\^Simple,LL' 0 1 0 0
line 'NCCL_PROTO=\^LL128,Simple' 1 0 0 0
line NCCL_PROTO=Simple 0 1 0 0
line NCCL_ALGO=Ring 0 0 1 0
line NCCL_PROTO=LL 0 1 0 0
line NCCL_MAX_CTAS=4 0 1 0 0
line NCCL_NET=IB 0 1 0 0
line NCCL_CGA_CLUSTER_SIZE=2 0 1 0 0
line NCCL_CUMEM_ENABLE=0 1 1 0 0
line NCCL_P2P_LEVEL=LOC 0 1 0 0
line NCCL_P2P_LEVEL=NVL 0 0 1 0
line NCCL_SYM_KERNEL=AllReduce_AGxLL_R 1 0 1 0
line NCCL_SYM_KERNEL=AllReduce_RSxLD_AGxST 0 1 0 0
line NCCL_SYM_KERNEL=AllGather_ST 0 0 1 0
line NCCL_SYM_CTAS=4 0 1 0 0
line NCCL_WIN_ENABLE=0 1 1 0 0
line NCCL_CTA_POLICY=2 1 1 2 0
line nccl_max_ctas=4 1 1 0 0
line nccl_max_ctas=8 1 0 0 0
line nccl_min_ctas=8 0 1 1 0
line channels=8 1 1 0 0
line nccl_cluster=2 1 0 0 0
line nccl_cluster=8 0 1 0 0
line nccl_cluster=4 0 0 1 0
line nccl_cta_policy=zero 0 1 2 0
line nccl_cta_policy=efficiency 0 0 1 0
expect "findings" "$(grep -c '^FINDING ' "$out")" 27
holds "$out" '^FINDING [0-9]*: NCCL_PROTO=LL was asked, copyengine ran, in 1 rows: '
holds "$out" '^FINDING [0-9]*: nccl_max_ctas=4 was asked, 5 channels ran, in 1 rows: '
holds "$out" '^FINDING [0-9]*: nccl_cluster=8 was asked, clusters of 4 ran, in 1 rows: '
holds "$out" '^FINDING [0-9]*: --nccl-force ring:ll was asked, ring:ll128 ran, in 1 rows: '
holds "$out" '^FINDING [0-9]*: --nccl-force tree:library was asked, ring:ll128 ran, in 1 rows: '
holds "$out" '^FINDING [0-9]*: --registration window-copy was asked, symmetric ran, in 1 rows: '
holds "$out" ' nccl_min_ctas=8 was asked, 7 channels ran, in 1 rows: all_reduce max of 16M$'
holds "$out" ' NCCL_P2P_DISABLE=1 was asked, P2P/CUMEM ran, in 1 rows: all_reduce of 8$'
holds "$out" '^FINDING [0-9]*: channels=2 was asked, 8 channels ran, in 1 rows: '
holds "$out" '^FINDING [0-9]*: NCCL_P2P_DISABLE=1 was asked, P2P/CUMEM ran, in 1 rows: '
verdict summary_asked

# ll is faster up to 4K, simple from 64K; between them intervals overlap. NCCL always chooses ll.
times() {
	row bytes="$1" "${@:3}" median_us="$2" median_low_us="$(($2 - 1))" \
		median_high_us="$(($2 + 1))"
}
rows_to "$FB_TMP/cross.csv" model_us
times 1024 10 algorithm=ring protocol=ll
times 4096 20 algorithm=ring protocol=ll
times 16384 40 algorithm=ring protocol=ll
times 65536 80 algorithm=ring protocol=ll
times 1024 30 algorithm=ring protocol=simple
times 4096 30 algorithm=ring protocol=simple
times 16384 40 algorithm=ring protocol=simple
times 65536 50 algorithm=ring protocol=simple
times 1024 10 model_us=5
times 65536 80 model_us=80
times 1024 20 variant=env.NCCL_P2P_DISABLE=1
times 65536 80 variant=env.NCCL_P2P_DISABLE=1
times 1024 40 variant='env.NCCL_P2P_DISABLE=1;env.NCCL_SHM_DISABLE=1'
"$summary" --crossings "$FB_TMP/cross.csv" >"$out" || fail "exit code $?"
holds "$out" '^  nccl ring ll none up to 4K, nccl ring simple none from 64K on; equal at about 16K$'
holds "$out" "^  NCCL's choice takes 1\.26 times the best forced, .* of 2; at 64K 1\.6 \(1\.5"
holds "$out" "^  NCCL's model says 0\.707 of the time, geometric mean of 2; at 1K 0\.5 "
holds "$out" '^  env.NCCL_P2P_DISABLE=1 against none: 1\.41, .* of 2 \(1 to 2\); .*, slower 1$'
holds "$out" '^  env.NCCL_SHM_DISABLE=1 against none: 2, geometric mean of 1 '
# What NCCL chose is no rival of the forced cells beside it. Medians without intervals cross too,
# where they differ by a tenth; the line says so.
bare() {
	row bytes="$1" median_us="$2" median_low_us= median_high_us= "${@:3}"
}
rows_to "$FB_TMP/bare.csv"
bare 1024 10 algorithm=ring protocol=ll
bare 65536 80 algorithm=ring protocol=ll
bare 1024 13 algorithm=ring protocol=simple
bare 65536 60 algorithm=ring protocol=simple
bare 1024 15
bare 65536 50
bare 1024 9 registration=window
bare 65536 90 registration=window
"$summary" --crossings "$FB_TMP/bare.csv" >"$FB_TMP/bare" || fail "exit code $?"
expect "crossings" "$(grep -c ' up to ' "$FB_TMP/bare")" 4
holds "$FB_TMP/bare" 'll none up to 1K, nccl ring simple none from 64K .*[(]by medians without$'
holds "$FB_TMP/bare" 'window up to 1K, nccl library library none from 64K'
expect "NCCL's choice and a cell of it" \
	"$(grep -c 'ring .* none up to .* nccl library library none from' "$FB_TMP/bare")" 0
holds "$FB_TMP/bare" ' of 2; at 1K 1\.5, nccl ring ll none$'
# What the choice loses most, however much quicker than its own cell it was elsewhere. A table of
# which there is nothing to say is left out.
rows_to "$FB_TMP/loss.csv"
bare 1024 10
bare 1024 20 algorithm=ring protocol=ll
bare 65536 11
bare 65536 10 algorithm=ring protocol=ll
bare 1024 10 variant=nccl_max_ctas=4
"$summary" --crossings "$FB_TMP/loss.csv" >"$FB_TMP/loss" || fail "exit code $?"
holds "$FB_TMP/loss" ' of 2; at 64K 1\.1, nccl ring ll none$'
expect "titles" "$(grep -c '^all_reduce' "$FB_TMP/loss")" 1
# The same effects as a figure.
"$summary" --crossings --forest "$FB_TMP/forest.csv" "$FB_TMP/cross.csv" >/dev/null
holds "$FB_TMP/forest.csv" \
	'^env.NCCL_P2P_DISABLE=1 against none \(2\),1\.41421,1,2,REGRESSED,cells$'
"$FB_BUILD/bin/plotdata" forest "$FB_TMP/forest.csv" >"$FB_TMP/forest"
holds "$FB_TMP/forest" '^EFFECTS = 1$'
holds "$FB_TMP/forest" '^NOTE = .2 slower, 0 faster, .*; bars are the least and the greatest'
"$summary" --forest "$FB_TMP/forest.csv" "$FB_TMP/cross.csv" >/dev/null 2>"$FB_TMP/err"
expect "--forest without --crossings" $? 3
verdict summary_crossings

exit $bad
