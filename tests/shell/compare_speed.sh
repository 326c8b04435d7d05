#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# compare on large studies: time and memory grow with rows times launches and no faster. Here
# 5,000 rows of 20 launches, in a twentieth of the memory and three times the time per row that
# 100,000 rows may take (2 GiB, 120 s on 2 cores); FB_ROWS=100000 takes these.

set -u
export LC_ALL=C
. tests/shell/lib_compare.sh
[ -x "$compare" ] || { echo "SKIP compare_speed: not built (no libcsv)"; exit 0; }
rows=${FB_ROWS:-5000}
seconds=$((rows > 20000 ? rows * 120 / 100000 : 10))
kib=$((rows > 20000 ? rows * 2097152 / 100000 : 200000))

# Of ten kinds of row one is 10% slower on side b.
for kind in {1..10}; do
	slow=1
	[ "$kind" = 4 ] && slow=1.1
	echo "all_reduce host kind$kind simple shm 64 20 0.01 $slow"
done >"$FB_TMP/rows"
for s in a b; do
	make_side "$FB_TMP/big/$s" $s 10 7 copies=$((rows / 10)) common=0.01 <"$FB_TMP/rows"
done
(ulimit -v $kib && TIMEFORMAT=%U && time "$compare" "$FB_TMP/big" --csv "$FB_TMP/v.csv" \
	>"$FB_TMP/out" 2>"$FB_TMP/err") 2>"$FB_TMP/time"
expect "exit code" $? 1
expect "stderr" "$(cat "$FB_TMP/err")" ''
awk -v most="$seconds" '{ exit $1 > most }' "$FB_TMP/time" ||
	fail "$rows rows took $(cat "$FB_TMP/time") s of processor time, at most $seconds"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "verdict") v = i }
	NR > 1 { n[$4 == "kind4", $v]++ }
	END { exit n[1, "REGRESSED"] < 0.095 * rows || n[0, "REGRESSED"] || n[0, "IMPROVED"] }' \
	rows="$rows" "$FB_TMP/v.csv" || fail "other rows than those of kind 4 regressed"
verdict compare_speed
exit "$bad"
