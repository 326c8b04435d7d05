#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# overlap_of: traces made by hand whose answers can be worked out in the head: one as PyTorch's
# profiler writes it, one of lanes, one of Nsight Systems. pytorch-*.json there are real ones,
# recorded by tests/peers/torch_trace on GPUs: they are held to what cannot be otherwise.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
golden=tests/golden/overlap_of
tool=$FB_BUILD/bin/overlap_of
[ -x "$tool" ] || { echo "SKIP overlap_of: not built (no jansson)"; exit 0; }

# says WHAT FILE [OPTION...]: the CSV but for its header is WHAT.
says() {
	"$tool" --csv "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of ${*:2}" $? 0
	expect "stderr of ${*:2}" "$(cat "$FB_TMP/err")" ''
	expect "${*:2}" "$(tail -n +2 "$FB_TMP/out" | paste -sd ' ')" "$1"
}

# In the first step 1060 to 1105 are exposed, which reach into the time of the second; that one
# begins where the first ends, and lacks 5 us of work.
says '0,0,95,50,65,45,0.307692,45,0,0,0 0,1,65,40,20,20,0,20,5,1,10' $golden/kineto.json
expect "header" "$(head -n 1 "$FB_TMP/out")" \
	"device,step,median_us,compute_us,communication_us,exposed_us,hidden_share,tail_us,gap_us,$(
	)syncs,sync_us"
"$tool" $golden/kineto.json --steps >"$FB_TMP/out"
holds "$FB_TMP/out" '^device 0, 2 steps +80 +45 +42.50 +32.50 +0.1538 +32.50 '
holds "$FB_TMP/out" '^  step 1 +65 '
holds "$FB_TMP/out" 'exposed_us 20 to 45: the least and the greatest step$'
# Without marks all is one step; an option gives other names.
says '0,0,160,90,85,65,0.235294,20,5,1,10' $golden/kineto.json --step 'no such mark'
says '0,0,95,95,0,0,,0,0,0,0 0,1,65,60,0,0,,0,5,1,10' $golden/kineto.json --communication nothing
says '0,0,95,50,65,45,0.307692,45,0,0,0 0,1,65,40,20,20,0,20,5,0,0' \
	$golden/kineto.json --sync nothing
verdict overlap_of_kineto

# An array without its end, as programs leave that append to it; a device for each rank.
"$tool" --csv $golden/lanes.json >"$FB_TMP/out"
expect "lanes" "$(tail -n +2 "$FB_TMP/out" | cut -d, -f 3-8 | sort | paste -sd ' ')" \
	"130,100,70,30,0.571429,30 130,110,70,20,0.714286,20"
verdict overlap_of_lanes

if fb_have sqlite3; then
	sqlite3 "$FB_TMP/report.sqlite" <$golden/nsight.sql
	# A copy between devices communicates, one from the host is neither; `epoch` is no step.
	says '0,0,95,40,65,55,0.153846,55,0,0,0 0,1,65,40,10,10,0,20,5,1,25' "$FB_TMP/report.sqlite"
	sqlite3 "$FB_TMP/none.sqlite" 'CREATE TABLE x (y)'
	refuses 'no table CUPTI_ACTIVITY_KIND_KERNEL' "$FB_TMP/none.sqlite"
	verdict overlap_of_nsight
else
	echo "SKIP overlap_of_nsight: no sqlite3"
fi

for trace in $golden/pytorch-*.json; do
	[ -e "$trace" ] || continue
	"$tool" --csv "$trace" >"$FB_TMP/out" || fail "$trace"
	awk -F, 'NR > 1 { n++ } NR > 1 && !($4 > 0 && $5 > 0 && $6 >= 0 && $6 <= $5 + 1e-6 &&
		$3 + 1e-3 >= $4 && $8 >= 0 && $9 >= 0) { bad = 1; print }
		END { exit bad || n < 2 }' "$FB_TMP/out" || fail "$trace: impossible times"
	verdict "overlap_of_$(basename "$trace" .json)"
done

printf '{"traceEvents": [{"ph":"X","cat":"kernel"\n "ts":1}]}' >"$FB_TMP/broken.json"
printf '{"events": []}' >"$FB_TMP/other.json"
printf '[]' >"$FB_TMP/empty.json"
printf '\037\213\010' >"$FB_TMP/packed.json.gz"
refuses 'broken.json:2: not JSON' "$FB_TMP/broken.json"
refuses 'no array traceEvents' "$FB_TMP/other.json"
refuses 'nothing that a device did' "$FB_TMP/empty.json"
refuses 'compressed' "$FB_TMP/packed.json.gz"
refuses 'No such file' "$FB_TMP/missing.json"
refuses '0 traces: expected one' --csv
refuses "step.*regular expression" $golden/kineto.json --step '('
verdict overlap_of_bad_input
exit "$bad"
