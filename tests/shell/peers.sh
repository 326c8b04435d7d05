#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
#
# tests/peers/nccl reads both sides as they print: ours with a runtime whose kernels do nothing
# and an NCCL that moves nothing, nccl-tests as a script that prints its table (2.19.6). What is
# compared there is no time of NCCL's; the quotient is that of the numbers printed.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
[ -x "$FB_BUILD/tests/fake_gpu/all_reduce" ] || { echo "SKIP peers: built without CUDA"; exit 0; }
mkdir "$FB_TMP/build"
ln -s "$(readlink -f "$FB_BUILD")/tests/fake_gpu" "$FB_TMP/build/bin"
# A rank; the first one prints, a time of 1 second, with as many ranks in the head as it was told.
cat >"$FB_TMP/all_reduce_perf" <<'END'
#!/bin/bash
echo "$*" >>"$PEER_LOG"
[ "${OMPI_COMM_WORLD_RANK-${PMI_RANK-0}}" -eq 0 ] || exit 0
for ((i = 0; i < PEER_RANKS; i++)); do echo "#  Rank  $i Group  0 Pid 1 on host device  $i"; done
while getopts b:e:f:g:w:n:G:c:a:d:o:R: option; do
	case $option in b) bytes=$OPTARG ;; e) most=$OPTARG ;; f) ratio=$OPTARG ;; esac
done
echo "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
for (( ; bytes <= most; bytes *= ratio)); do
	printf '%12d 2 float sum -1 1.0e+06 0.00 0.00 N/A 2.0e+06 0.00 0.00 N/A\n' "$bytes"
done
END
chmod +x "$FB_TMP/all_reduce_perf"
export PEER_LOG=$FB_TMP/log PEER_RANKS=1 RANKS=1 BUILD=$FB_TMP/build ROUNDS=2
export SIZES=64,1K,5000
NCCL_LIBRARY=$(readlink -f "$FB_BUILD")/tests/libfake_nccl.so
export NCCL_LIBRARY
export OURS="--registration registered --timeout $((30 * slow))s" THEIRS="-R 1"

tests/peers/nccl >"$FB_TMP/out" 2>&1
expect "exit code without a path" "$?" 77
tests/peers/nccl "$FB_TMP/all_reduce_perf" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code" "$?" 0
said "$FB_TMP/err"
# A line for each size of graphs and of streams: theirs is the table's, the quotient far below 1.
expect "rows" "$(awk '$3 == "1000000.000" && $4 < 0.5 { print $1 }' "$FB_TMP/out" |
	tr '\n' ' ')" "64 1024 5000 64 1024 5000 "
# Two rounds, two launches, and two starts, as 5000 is no multiple of 1024. Graphs are told as such,
# and what is asked for is passed on.
expect "starts of the peer" "$(wc -l <"$FB_TMP/log")" 8
expect "starts with graphs" "$(grep -c -- '-n [0-9]* -G 10 ' "$FB_TMP/log")" 4
expect "starts with -R 1" "$(grep -c -- '-R 1$' "$FB_TMP/log")" 8
expect "starts of two sizes" "$(grep -c -- '-b 64 -e 1024 -f 16 ' "$FB_TMP/log")" 4
# No time is left: nothing is started, and there is no table.
TIME=-1 tests/peers/nccl "$FB_TMP/all_reduce_perf" >"$FB_TMP/out" 2>&1
expect "exit code without time" "$?" 0
expect "output without time" "$(cat "$FB_TMP/out")" ""
expect "starts without time" "$(wc -l <"$FB_TMP/log")" 8
# Memory that is asked for replaces memory of ncclMemAlloc.
OURS="--memory device --timeout $((30 * slow))s" tests/peers/nccl "$FB_TMP/all_reduce_perf" \
	>"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code with other memory" "$?" 0
said "$FB_TMP/err"
# A job of its own for each rank is no measurement.
PEER_RANKS=2 tests/peers/nccl "$FB_TMP/all_reduce_perf" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code of unlike ranks" "$?" 1
grep -q 'with MPI=1 and the MPI' "$FB_TMP/err" || fail "unlike ranks: $(cat "$FB_TMP/err")"
tests/peers/nccl /bin/true >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code of another program" "$?" 3
verdict peers
