#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# Each script in plots/ draws small result files: an SVG and a PNG that are whole, nothing on
# stderr. Skipped where there is no gnuplot.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
fb_have gnuplot || { echo "SKIP plots: no gnuplot"; exit 0; }
[ -x "$FB_BUILD/bin/summary" ] || { echo "SKIP plots: no summary (no libcsv)"; exit 0; }

# draw SCRIPT CSV SECTION: sets out.
draw() {
	out=$FB_TMP/$(basename "$1" .gp)-$3
	rm -f "$out".*
	gnuplot -e "csv='$2'; out='$out'; section=$3; summary='$FB_BUILD/bin/summary'" "$1" \
		>"$FB_TMP/log" 2>&1
	expect "exit code of $1 with $2 $3" $? 0
	expect "what $1 says to $2 $3" "$(cat "$FB_TMP/log")" ''
}

# whole: whether both files are there, with a curve in the one and pixels in the other.
whole() {
	[ -s "$out.svg" ] && [ -s "$out.png" ] || { fail "$out: not both files"; return; }
	holds "$out.svg" '</svg>'
	holds "$out.svg" '<path'
	holds "$out.svg" 'ranks on 1 node'
	expect "begin of $out.png" "$(head -c 4 "$out.png" | tail -c 3)" PNG
	[ "$(wc -c <"$out.png")" -gt 5000 ] || fail "$out.png is nearly empty"
}

one=tests/golden/summary/one
for script in plots/*.gp; do
	name=$(basename "$script" .gp)
	draw "$script" $one/all_reduce.csv 1
	whole
	draw "$script" tests/golden/summary/six/all_reduce.csv 1
	whole
	draw "$script" $one 2
	# A barrier moves nothing, so it has no bandwidth.
	[ "$name" = bandwidth ] || whole
	verdict "plots_$name"
done

for script in plots/*.gp; do
	gnuplot "$script" >"$FB_TMP/log" 2>&1
	expect "exit code of $script without a file" $? 3
	holds "$FB_TMP/log" 'usage: gnuplot'
	gnuplot -e "csv='$FB_TMP/none'; out='$FB_TMP/x'" "$script" >"$FB_TMP/log" 2>&1
	[ $? -ne 0 ] || fail "$script with a missing file: exit code 0"
	[ -z "$(find "$FB_TMP" -name 'x.*')" ] || fail "$script with a missing file writes one"
done
verdict plots_bad_input
exit "$bad"
