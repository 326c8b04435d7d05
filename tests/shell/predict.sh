#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# predict with rows made up of the model itself, whose parts are known: they are found again, and
# times on more ranks are those of the ring's 2(n - 1) messages and 4 - 3/n blocks. With other
# numbers the errors are said.

set -u
export LC_ALL=C
. tests/shell/lib.sh
. tests/shell/lib_rows.sh
predict=$FB_BUILD/bin/predict
[ -x "$predict" ] || { echo "SKIP predict: not built (no libcsv)"; exit 0; }
out=$FB_TMP/out
mkdir "$FB_TMP/ring"

# ring RANKS BYTES FACTOR: a row of a start of 5 us, 2 us a message, 1 GB/s.
ring() {
	row algorithm=ring protocol=simple transport=shm ranks="$1" bytes="$2" "${@:4}" \
		median_us="$(awk -v n="$1" -v b="$2" -v f="$3" 'BEGIN {
			printf "%.4f", f * (5 + 2 * 2 * (n - 1) + (4 - 3 / n) * b / 1e3) }')"
}
rows_to "$FB_TMP/ring/all_reduce.csv"
for n in 4 8 16; do
	for bytes in 8 4096 1048576; do ring $n $bytes 1; done
done
"$predict" --all --ranks 64,1024 "$FB_TMP/ring" >"$out" || fail "exit code $?"
holds "$out" '^MODEL, NOT MEASUREMENT'
holds "$out" '^all_reduce ring simple, 9 times on 4 to 16 ranks$'
holds "$out" 'start 5 us, a message 2 us, 1 GB/s; error +0% +0% +0% +0% at 16$'
holds "$out" '^ +8 +257.0 +4097$'
holds "$out" '^ +512 +259.0 +4099$'
holds "$out" '^without stragglers'
"$predict" --ranks 64 "$FB_TMP/ring" >"$out"
holds "$out" '^ +8 +64 +ring simple +257.0 +0% +0% +0% +0% at 16$'
verdict predict_model

# 20 ranks do not fill nodes of 8, and rows of 7 ranks on 2 nodes say nothing of such nodes.
for bytes in 8 4096 1048576; do ring 7 $bytes 9 nodes=2; done
"$predict" --all --ranks 20,64 --ranks-per-node 8 "$FB_TMP/ring" >"$out" || fail "exit code $?"
holds "$out" '^all_reduce ring simple, 9 times on 4 to 16 ranks$'
holds "$out" '^ +8 +- +257.0$'
verdict predict_unlike_nodes

# The largest number of ranks is twice as slow: the extrapolation says by how much it is off.
mkdir "$FB_TMP/bent"
rows_to "$FB_TMP/bent/all_reduce.csv"
for bytes in 8 4096 1048576; do
	ring 4 $bytes 1
	ring 8 $bytes 1
	ring 16 $bytes 2
done
"$predict" --all --ranks 64 "$FB_TMP/bent" >"$out"
holds "$out" '50% +50% at 16$'
"$predict" --ranks 64 "$FB_TMP/bent" >"$out"
grep -q '^ .* ring simple' "$out" && fail "a model that is off by half is used"
verdict predict_error

# Without the 4 ranks there is one number of ranks, which cannot tell the start from its 2 messages:
# these then take 9 / 2 us each, so 27 us are expected for 17. One time alone says nothing.
mkdir "$FB_TMP/two"
rows_to "$FB_TMP/two/all_reduce.csv"
for bytes in 8 4096 1048576; do
	ring 2 $bytes 1
	ring 4 $bytes 1
done
"$predict" --all --ranks 64 "$FB_TMP/two" >"$out"
holds "$out" 'start 5 us, a message 2 us, 1 GB/s; error +0% +0% +33% +59% at 4$'
rows_to "$FB_TMP/two/all_reduce.csv"
ring 2 8 1
for bytes in 8 4096 1048576; do ring 4 $bytes 1; done
"$predict" --all --ranks 64 "$FB_TMP/two" >"$out"
holds "$out" 'start 5 us, a message 2 us, 1 GB/s; error +0% +0% +unknown at 4$'
verdict predict_two_numbers

# Links of direct and of striped have no slots: the same times make the same model.
rows_to "$FB_TMP/two/all_reduce.csv"
for protocol in direct striped; do
	for bytes in 8 4096 1048576; do
		ring 2 $bytes 1 protocol=$protocol
		ring 4 $bytes 1 protocol=$protocol
	done
done
"$predict" --all --ranks 64 "$FB_TMP/two" >"$out"
expect "models of links without slots" "$(grep -c '^all_reduce ring' "$out")" 2
expect "unlike models of links without slots" "$(grep '^  start' "$out" | sort -u | wc -l)" 1
verdict predict_striped

# The slowest of 16 groups of 4 ranks: one repetition of ten takes three times as long, so the
# expected maximum of 16 draws is 1 + 2 (1 - 0.9^16), by the mean of 1.2.
mkdir "$FB_TMP/spread"
rows_to "$FB_TMP/spread/all_reduce.csv"
for bytes in 8 4096 1048576 16777216; do ring 4 $bytes 1; done
{
	echo run,launch_index,program,row,repetition,time_us
	for i in {0..9}; do
		echo "x,0,all_reduce,0,$i,$([ "$i" = 3 ] && echo 51.054 || echo 17.018)"
	done
} >"$FB_TMP/spread/samples.csv"
rows_to "$FB_TMP/spread/ddp.csv" compute_us,exposed_us
row program=ddp operation=overlap ranks=4 bytes=1048576 median_us=1500 compute_us=1000 \
	exposed_us=500
# By the model of the nodes that it ran on, so nothing of 3 ranks on one node and 4 on another.
row program=ddp operation=overlap ranks=8 nodes=2 bytes=4194304 median_us=1500 compute_us=1000 \
	exposed_us=500
row program=ddp operation=overlap ranks=7 nodes=2 bytes=8388608 median_us=1500 compute_us=1000 \
	exposed_us=500
"$predict" --ranks 64 "$FB_TMP/spread" >"$out" || fail "exit code $?"
holds "$out" '^slowest rank, from 10 repetitions on 4 ranks: times 2\.19 on 64 or more$'
# One number of ranks cannot tell the start from its 6 messages, which then take 17 / 6 us each:
# 1000 + 500 * (126 * 17 / 6 + 3.953125 * 1048.576) / (17 + 3.25 * 1048.576), times 2.19.
holds "$out" '^ddp, .*: measured 1500 on 4; 36[0-9][0-9] on 64$'
holds "$out" '^ddp, .*: measured 1500 on 8; [0-9]+ on 64$'
grep -q '^ddp, .* on 7' "$out" && fail "a step on unlike nodes is predicted"
verdict predict_straggler

"$predict" "$FB_TMP/spread/ddp.csv" >"$out" 2>"$FB_TMP/err"
expect "exit code without collectives" $? 6
holds "$FB_TMP/err" 'for steps those of all_reduce by ring'
for ranks in 0 1 5G; do
	"$predict" --ranks $ranks "$FB_TMP/ring" >"$out" 2>"$FB_TMP/err"
	expect "exit code of --ranks $ranks" $? 3
	holds "$FB_TMP/err" 'expected sizes from 2 to 1M'
done
"$predict" >"$out" 2>"$FB_TMP/err"
expect "exit code without input" $? 3
verdict predict_bad_input
exit "$bad"
