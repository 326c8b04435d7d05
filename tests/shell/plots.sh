#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 240
#
# Each script in plots/ draws small files: an SVG and a PNG that are whole, nothing on stderr. Then
# scripts/plot: what it draws of a folder, what it calls it, what it refuses; and figures with one
# curve and with thirty. Skipped where there is no gnuplot.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
fb_have gnuplot || { echo "SKIP plots: no gnuplot"; exit 0; }
[ -x "$FB_BUILD/bin/plotdata" ] || { echo "SKIP plots: no plotdata (no libcsv)"; exit 0; }
export FB_BIN=$FB_BUILD/bin
tools="summary='$FB_BIN/summary'; plotdata='$FB_BIN/plotdata'"
one=tests/golden/summary/one
golden=tests/golden/plotdata

# draw SCRIPT CSV SECTION: sets out.
draw() {
	out=$FB_TMP/$(basename "$1" .gp)-$3
	rm -f "$out".*
	gnuplot -e "csv=\"$2\"; out='$out'; section=$3; figure=$3; $tools" "$1" \
		>"$FB_TMP/log" 2>&1
	expect "exit code of $1 with $2 $3" $? 0
	expect "what $1 says to $2 $3" "$(cat "$FB_TMP/log")" ''
}

# whole PATTERN: whether both files are there, with shapes and words in one, pixels in the other.
whole() {
	[ -s "$out.svg" ] && [ -s "$out.png" ] || { fail "$out: not both files"; return; }
	holds "$out.svg" '</svg>'
	holds "$out.svg" '<(path|polygon|rect|image)'
	holds "$out.svg" "$1"
	expect "begin of $out.png" "$(head -c 4 "$out.png" | tail -c 3)" PNG
	[ "$(wc -c <"$out.png")" -gt 5000 ] || fail "$out.png is nearly empty"
}

for name in time bandwidth ratio; do
	draw plots/$name.gp $one/all_reduce.csv 1
	whole 'ranks on 1 node'
	holds "$out.svg" 'host example, Example CPU'
	draw plots/$name.gp tests/golden/summary/six/all_reduce.csv 1
	whole 'over 6 launches'
	draw plots/$name.gp $one 2
	# A barrier moves nothing, so it has no bandwidth.
	[ "$name" = bandwidth ] || whole 'barrier, 4 ranks on 1 node'
	verdict "plots_$name"
done

awk -F, -v OFS=, 'NF != 49 { next } NR > 1 { $20 = 2; $29 /= 2; $30 /= 2; $31 /= 2 } { print }' \
	$one/all_reduce.csv >"$FB_TMP/two.csv"
draw plots/map.gp "'$one/all_reduce.csv' '$FB_TMP/two.csv'" 1
whole 'quickest algorithm'
draw plots/scaling.gp "'$one/all_reduce.csv' '$FB_TMP/two.csv'" 1
whole 'scaling'
draw plots/matrix.gp $golden/pairs.csv 1
whole 'stands out'
draw plots/matrix.gp $golden/nvbandwidth.txt 2
whole 'memory latency SM'
mkdir "$FB_TMP/raw"
cp $one/*.csv $golden/samples.csv "$FB_TMP/raw"
draw plots/distribution.gp "$FB_TMP/raw" 1
whole 'ring ll \(4\)'
draw plots/ranks.gp $golden/ranks.csv 1
sed -E 's/,[0-9]+,([0-9]+)$/,,\1/' $golden/ranks.csv >"$FB_TMP/no-clock.csv"
draw plots/ranks.gp "$FB_TMP/no-clock.csv" 1
whole 'single ranks'
draw plots/timeline.gp $golden/spans.csv 1
whole 'rank 1, nic'
draw plots/timeline.gp $golden/trace.json 1
whole 'stream'
draw plots/forest.gp $golden/forest.csv 1
whole 'worse, little'
draw plots/history.gp $golden/history.csv 1
whole '18.8%'
draw plots/skew.gp results/reference/xeon-8/all_reduce.csv 1
whole 'spread over ranks'
# A kind without a line above would go untested.
expect "scripts in plots/" "$(find plots -maxdepth 1 -name '*.gp' | wc -l)" 12
verdict plots_kinds

for script in plots/*.gp; do
	gnuplot "$script" >"$FB_TMP/log" 2>&1
	expect "exit code of $script without a file" $? 3
	holds "$FB_TMP/log" 'usage: gnuplot'
	gnuplot -e "csv='$FB_TMP/none'; out='$FB_TMP/x'; $tools" "$script" >"$FB_TMP/log" 2>&1
	[ $? -ne 0 ] || fail "$script with a missing file: exit code 0"
	[ -z "$(find "$FB_TMP" -name 'x.*')" ] || fail "$script with a missing file writes one"
done
verdict plots_bad_input

# plot ARGUMENT...: scripts/plot into out and err; sets rc.
plot() {
	scripts/plot "$@" >"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
}

# A folder: every table, and what else there is data for. Says what it wrote, and nothing else.
cp $golden/forest.csv $golden/history.csv $golden/spans.csv $golden/ranks.csv "$FB_TMP/raw"
plot all "$FB_TMP/raw"
expect "exit code of plot all" "$rc" 0
expect "stderr of plot all" "$(cat "$FB_TMP/err")" ''
expect "files of plot all" "$(sed 's|.*/||; /png$/d' "$FB_TMP/out" | sort | tr '\n' ' ')" \
	"all_reduce-bandwidth.svg all_reduce-ratio.svg all_reduce-time.svg barrier-ratio.svg \
barrier-time.svg distribution.svg forest.svg history.svg ranks-2.svg ranks.svg timeline.svg "
expect "files that are there" "$(find "$FB_TMP/raw" -name '*.svg' -o -name '*.png' | sort)" \
	"$(sort "$FB_TMP/out")"
plot map --out "$FB_TMP/both" --pdf $one/all_reduce.csv "$FB_TMP/two.csv"
expect "files of plot map" "$(cat "$FB_TMP/out")" \
	"$(printf '%s\n' "$FB_TMP"/both.{svg,png,pdf})"
holds "$FB_TMP/both.pdf" '^%PDF'
# A path with a blank.
mkdir "$FB_TMP/a folder"
cp $one/barrier.csv "$FB_TMP/a folder"
plot time "$FB_TMP/a folder"
expect "files of a folder with a blank" "$(wc -l <"$FB_TMP/out")" 2
for wrong in 'nosuch x' 'time' "time $FB_TMP/missing" "time --bytes=x $one" "time --bogus $one" \
	"forest $one/barrier.csv" "scaling $one"; do
	# shellcheck disable=SC2086 # words
	plot $wrong
	expect "exit code of plot $wrong" "$rc" 3
	holds "$FB_TMP/err" '^fabricbench'
	expect "stdout of plot $wrong" "$(cat "$FB_TMP/out")" ''
done
verdict plots_script

# Thirty algorithms, and one: the same scripts, and no more curves than can be told apart.
many() {
	head -n 1 $one/all_reduce.csv
	for ((i = 1; i <= $1; i++)); do
		for bytes in 8 64 512 4096 32768 262144 2097152; do
			awk -F, -v OFS=, -v i="$i" -v bytes="$bytes" 'NR == 2 {
				us = 5 + i / 10 + bytes / (100 + (i * 37 % 29) * 10)
				if (i == bytes % 29) us = 1
				$8 = "algorithm_" i; $19 = bytes; $29 = us; $30 = us * 0.99
				$31 = us * 1.01; $42 = $43 = bytes / us / 1000; print }' \
				$one/all_reduce.csv
		done
	done
}
for n in 1 30; do
	mkdir "$FB_TMP/many-$n"
	many $n >"$FB_TMP/many-$n/all_reduce.csv"
	for name in time bandwidth map skew; do
		[ $name = skew ] || draw plots/$name.gp "$FB_TMP/many-$n" 1
		whole 'all_reduce'
	done
	draw plots/time.gp "$FB_TMP/many-$n" 1
	expect "curves of $n" "$(grep -c 'id="gnuplot_plot_' "$out.svg")" \
		$((n == 1 ? 2 : 7))
done
holds "$out.svg" '24 more algorithms are not shown'
verdict plots_many
exit "$bad"
