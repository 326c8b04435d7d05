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
[ -x "$FB_BUILD/bin/plotdata" ] || { echo "SKIP plots: no plotdata (no libcsv, jansson)"; exit 0; }
export FB_BIN=$FB_BUILD/bin
root=$PWD
one=tests/golden/summary/one
golden=tests/golden/plotdata

# draw SCRIPT FIGURE INPUT...: sets out.
draw() {
	local kind

	kind=$(basename "$1" .gp)
	out=$FB_TMP/$kind-$2
	rm -f "$out".*
	case $kind in
	time | bandwidth | ratio) "$FB_BIN/summary" --plot --section "$2" "${@:3}" ;;
	*) "$FB_BIN/plotdata" "$kind" --figure "$2" "${@:3}" ;;
	esac >"$FB_TMP/data" || fail "$*: no data"
	gnuplot -e "data='$FB_TMP/data'; out='$out'" "$1" >"$FB_TMP/log" 2>&1
	expect "exit code of $*" $? 0
	expect "what gnuplot says to $*" "$(cat "$FB_TMP/log")" ''
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
	draw plots/$name.gp 1 $one/all_reduce.csv
	whole 'ranks on 1 node'
	holds "$out.svg" 'host example, Example CPU'
	draw plots/$name.gp 1 tests/golden/summary/six/all_reduce.csv
	whole 'over 6 launches'
	draw plots/$name.gp 2 $one
	# A barrier moves nothing, so it has no bandwidth.
	[ "$name" = bandwidth ] || whole 'barrier, 4 ranks on 1 node'
	verdict "plots_$name"
done
# One rank loads no link: there is nothing to draw, which is no fault.
awk -F, -v OFS=, 'NF != 49 { next } NR == 1 { while ($(++busbw) != "busbw_GBps"); }
	NR > 1 { $busbw = 0 } { print }' \
	$one/all_reduce.csv >"$FB_TMP/alone.csv"
draw plots/bandwidth.gp 1 "$FB_TMP/alone.csv"
[ ! -e "$out.svg" ] || fail "a figure of one rank's bus bandwidth"
verdict plots_alone

awk -F, -v OFS=, 'NF != 49 { next } NR > 1 { $20 = 2; $29 /= 2; $30 /= 2; $31 /= 2 } { print }' \
	$one/all_reduce.csv >"$FB_TMP/two.csv"
draw plots/map.gp 1 "$one/all_reduce.csv" "$FB_TMP/two.csv"
whole 'quickest algorithm'
draw plots/scaling.gp 1 "$one/all_reduce.csv" "$FB_TMP/two.csv"
whole 'scaling'
draw plots/matrix.gp 1 $golden/pairs.csv
whole 'stands out'
draw plots/matrix.gp 2 $golden/nvbandwidth.txt
whole 'memory latency SM'
mkdir "$FB_TMP/raw"
cp $one/*.csv $golden/samples.csv "$FB_TMP/raw"
draw plots/distribution.gp 1 "$FB_TMP/raw"
whole 'ring ll \(4\)'
draw plots/ranks.gp 1 $golden/ranks.csv
sed -E 's/,[0-9]+,([0-9]+)$/,,\1/' $golden/ranks.csv >"$FB_TMP/no-clock.csv"
draw plots/ranks.gp 1 "$FB_TMP/no-clock.csv"
whole 'single ranks'
draw plots/timeline.gp 1 $golden/spans.csv
whole 'rank 1, nic'
draw plots/timeline.gp 1 $golden/rows.csv
whole 'overlap: 50 us'
draw plots/timeline.gp 1 $golden/exposed.csv
whole 'exposed: 30 us of 90 us of communication, rank 0'
draw plots/timeline.gp 1 $golden/trace.json
whole 'stream'
draw plots/forest.gp 1 $golden/forest.csv
whole 'worse, little'
# A ratio far from the others is in the picture too, where its interval is endless or narrow.
{
	cat $golden/forest.csv && echo 'far away,14,,2,REGRESSED'
} >"$FB_TMP/far.csv"
draw plots/forest.gp 1 "$FB_TMP/far.csv"
whole '>8<'
sed '1s/$/,bars/; 2,$s/$/,cells/' $golden/forest.csv >"$FB_TMP/effects.csv"
draw plots/forest.gp 1 "$FB_TMP/effects.csv"
whole 'this value is slower'
draw plots/history.gp 1 $golden/history.csv
whole '18.8%'
draw plots/skew.gp 1 results/reference/xeon-8/all_reduce.csv
whole 'spread over ranks'
# Any key is an axis: a sweep of buckets is one figure with what is exposed below the times, with
# texts behind the numbers; two keys are a map.
draw plots/axis.gp 1 --axis bucket results/reference/h200x4-ddp
whole 'exposed in ms'
tr -d '\n' <"$out.svg" | grep -q '>1M<.*>25M<.*>64M<.*>256M<.*>whole<' ||
	fail "buckets are not in the order of their numbers"
draw plots/heat.gp 1 --axis prefill,decode results/reference/h200x4-kv
whole '>754<'
draw plots/heat.gp 1 --axis operation,engine --columns compute_slowdown \
	results/reference/h100x2-overlap/contention.csv
whole '>1.25<'
# Work that has no such value has no row, and names are not typeset (no subscript after a blank).
holds "$out.svg" '>compute_slowdown<'
draw plots/heat.gp 1 --axis operation,engine --columns communication_slowdown \
	results/reference/h100x2-overlap/contention.csv
whole '>copy_in<'
if grep -q '>cache<' "$out.svg"; then fail "a row of the heat map without a value"; fi
# A bubble is drawn beside theory, and the values of one schedule lie on one line.
draw plots/axis.gp 1 --axis microbatches results/reference/h100x2-overlap/pipeline.csv
whole '>theory<'
holds "$FB_TMP/data" '^ONE_LINE\[2\] = 1'
# In the last column is what 2 stages and 4 or 16 micro-batches leave idle: 1/5 and 1/17.
awk '/^EOD/ { on = 0 } on && NF { n++; bad += $7 != (n % 2 ? 0.2 : 0.0588235) }
	/<< EOD/ { on = 1 } END { exit bad || n != 4 }' "$FB_TMP/data" ||
	fail "the line of theory"
# A long title goes on in a second line.
holds "$out.svg" '>layers=8<'
# Schedules are bars of what they compute and of what is exposed and hidden behind it.
draw plots/stack.gp 1 --axis operation,microbatches results/reference/h100x2-overlap/pipeline.csv
whole '>zero_bubble, 16, cuda<'
# What all bars have alike stands in the title, and not in each of their names.
draw plots/stack.gp 1 --axis operation results/reference/h100x2-overlap/contention.csv
whole '>copy_in, nccl<'
holds "$out.svg" 'compute=20ms;layers=16;streams=1'
draw plots/stack.gp 1 --axis operation,microbatches results/reference/h100x2-overlap/pipeline.csv
holds "$out.svg" 'communication, hidden'
# No bar is wider than its step: computing, exposed and the rest add up to the median.
awk '/^EOD/ { on = 0 } on { n++; sum = $5 + $6 + $7; bad += sum > 1.001 * $2 || sum < 0.999 * $2 }
	/<< EOD/ { on = 1 } END { exit bad || n != 16 }' "$FB_TMP/data" || fail "bars do not add up"
# Stages of a KV cache's way are bars, too: they add up to the whole, and nothing is hidden.
draw plots/stack.gp 1 --axis wire $golden/handoff.csv
whole '>making pages of messages<'
holds "$out.svg" '>packed<'
awk '/^EOD/ { on = 0 } on { n++; sum = $5 + $6 + $7
		bad += sum > 1.001 * $2 || sum < 0.999 * $2 || $8 != 0 || $5 <= 0 || $6 <= 0 }
	/<< EOD/ { on = 1 } END { exit bad || n != 3 }' "$FB_TMP/data" ||
	fail "stages do not add up"
# Steps of several numbers of ranks: tokens of all of them, below the time.
awk -F, -v OFS=, 'NF == 0 { next } NR > 1 { $20 = 1 } { print }' \
	results/reference/h100x2-overlap/pipeline.csv >"$FB_TMP/one-rank.csv"
draw plots/axis.gp 1 --axis ranks --columns tokens_per_s \
	results/reference/h100x2-overlap/pipeline.csv "$FB_TMP/one-rank.csv"
whole 'tokens_per_s'
# The dashed line has twice the tokens for twice the ranks.
holds "$out.svg" '>linear<'
awk '/^EOD/ { on = 0 } on && NF && $1 == 1 { base = $7 } on && NF && $1 == 2 { n++
		bad += $7 < 1.999 * base || $7 > 2.001 * base }
	/<< EOD/ { on = 1 } END { exit bad || !n }' "$FB_TMP/data" || fail "the linear line"
draw plots/scaling.gp 1 results/reference/h100x2-overlap/pipeline.csv "$FB_TMP/one-rank.csv"
whole 'efficiency'
# Rows that know neither tokens nor a bound have no efficiency, and no library: one panel is left.
awk -F, -v OFS=, '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bound_us") b = i
		else if ($i == "engine") e = i }
	NR > 1 && $e != "host" { next } NR > 1 { $b = "" } { print }' $one/all_reduce.csv \
	>"$FB_TMP/no-bound.csv"
awk -F, -v OFS=, 'NF != 49 { next } NR > 1 { $20 = 2 } { print }' "$FB_TMP/no-bound.csv" \
	>"$FB_TMP/no-bound-2.csv"
draw plots/scaling.gp 1 "$FB_TMP/no-bound.csv" "$FB_TMP/no-bound-2.csv"
whole 'median time'
if grep -q '>efficiency<' "$out.svg"; then fail "a panel of efficiency without values"; fi
# A kind without a line above would go untested.
# Streaming and reading a cache back are drawn beside what they save.
awk -F, -v OFS=, 'NR == 1 { print $0, "after_us", "gain"; next }
	{ print $0, 50000, 2 }' results/reference/h100x2-overlap/pipeline.csv >"$FB_TMP/gain.csv"
draw plots/axis.gp 1 --axis microbatches --columns gain "$FB_TMP/gain.csv"
whole '>break-even<'
holds "$out.svg" '>not streamed<'
expect "scripts in plots/" "$(find plots -maxdepth 1 -name '*.gp' | wc -l)" 15
verdict plots_kinds

for script in plots/*.gp; do
	for data in "$FB_TMP/none" LICENSE; do
		gnuplot -e "data='$data'; out='$FB_TMP/x'" "$script" >"$FB_TMP/log" 2>&1
		[ $? -ne 0 ] || fail "$script with $data: exit code 0"
		[ -z "$(find "$FB_TMP" -name 'x.*')" ] || fail "$script with $data writes a figure"
	done
done
verdict plots_bad_input

# A long note goes on in a second line, and no line of text is wider than the figure.
sed 's/^LAUNCHES = .*/LAUNCHES = 9/; s/^HIDDEN = .*/HIDDEN = 12/' <("$FB_BIN/summary" --plot \
	tests/golden/summary/six/all_reduce.csv) | awk '/^EOD/ { in_data = 0 }
	in_data && NF > 8 { $6 = $6 > 0 ? $6 / 1000 : $6 } { print } /<< EOD/ { in_data = 1 }' \
	>"$FB_TMP/data"
for name in time bandwidth; do
	gnuplot -e "data='$FB_TMP/data'; out='$FB_TMP/note'" plots/$name.gp
	# The longest line of the note among the texts in the SVG.
	longest=$(sed 's/<[^>]*>//g; s/^[[:space:]]*//' "$FB_TMP/note.svg" |
		grep -E 'quickest|launches|shown' | wc -L)
	[ "$longest" -gt 60 ] && [ "$longest" -le 163 ] ||
		fail "plots/$name.gp: a note of $longest letters"
	holds "$FB_TMP/note.svg" 'least and greatest'
done
verdict plots_long_note

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
plot ranks "$FB_TMP/raw/"
expect "first figure of plot ranks FOLDER" "$(head -n 1 "$FB_TMP/out")" "$FB_TMP/raw/ranks.svg"
plot timeline "$one"
expect "exit code of plot timeline without spans" "$rc" 3
holds "$FB_TMP/err" "$one/spans.csv: no such file"
plot map --out "$FB_TMP/both" --pdf $one/all_reduce.csv "$FB_TMP/two.csv"
expect "files of plot map" "$(cat "$FB_TMP/out")" \
	"$(printf '%s\n' "$FB_TMP"/both.{svg,png,pdf})"
holds "$FB_TMP/both.pdf" '^%PDF'
# A path with a blank.
mkdir "$FB_TMP/a folder"
cp $one/barrier.csv "$FB_TMP/a folder"
plot time "$FB_TMP/a folder"
expect "files of a folder with a blank" "$(wc -l <"$FB_TMP/out")" 2
# Rows that were all skipped have no figure and are no fault of the others.
mkdir "$FB_TMP/skips"
cp $one/barrier.csv "$FB_TMP/skips"
awk -F, -v OFS=, 'NR == 1 { print } NR == 2 { $23 = "skipped"; $24 = "no GPU"
	for (i = 25; i <= 49; i++) $i = ""; $25 = $41 = $46 = $48 = 0; print }' \
	$one/all_reduce.csv >"$FB_TMP/skips/all_reduce.csv"
"$FB_BIN/csvcheck" "$FB_TMP/skips/all_reduce.csv" >"$FB_TMP/out" || fail "$(cat "$FB_TMP/out")"
plot all "$FB_TMP/skips"
expect "exit code with a table of skips" "$rc" 0
expect "stderr with a table of skips" "$(cat "$FB_TMP/err")" ''
expect "figures beside skips" "$(grep -c svg "$FB_TMP/out")" 2
plot time "$FB_TMP/skips/all_reduce.csv"
expect "exit code of skips alone" "$rc" 3
holds "$FB_TMP/err" 'nothing to draw'
plot time --out /proc/none/figure "$one/all_reduce.csv"
expect "exit code where nothing can be written" "$rc" 3
expect "stderr where nothing can be written" "$(cat "$FB_TMP/err")" \
	'fabricbench plot: cannot write /proc/none/figure.svg'
# With a key, each of its values is a curve over sizes, and the library's rows are curves too. Each
# curve has each of its sizes once, in order.
channels=results/reference/h200x2-few-channels/all_gather.csv
plot bandwidth --axis channels --out "$FB_TMP/by-key" $channels
expect "exit code of plot bandwidth --axis" "$rc" 0
expect "stderr of plot bandwidth --axis" "$(cat "$FB_TMP/err")" ''
expect "files of plot bandwidth --axis" "$(cat "$FB_TMP/out")" \
	"$(printf '%s\n' "$FB_TMP"/by-key.{svg,png})"
for curve in 'nccl library, channels=8' 'nccl library, channels=24' 'auto auto p2p, channels=16'; do
	holds "$FB_TMP/by-key.svg" ">$curve<"
done
"$FB_BIN/summary" --plot --axis channels $channels >"$FB_TMP/data"
awk '/^EOD/ { on = 0 } on && !NF { last = 0 } on && NF { n++; bad += $1 <= last; last = $1 }
	/<< EOD/ { on = 1 } END { exit bad || n < 40 }' "$FB_TMP/data" ||
	fail "curves of plot bandwidth --axis"
# Rows without the variable are a curve, too.
awk -F, -v OFS=, 'NR == 1 { print } NR > 1 && $7 == "host" { print
	$22 = "env.NCCL_ALGO=Ring"; $29 /= 2; $30 /= 2; $31 /= 2; print }' \
	$one/all_reduce.csv >"$FB_TMP/variable.csv"
plot time --axis NCCL_ALGO --out "$FB_TMP/variable" "$FB_TMP/variable.csv"
holds "$FB_TMP/variable.svg" ', NCCL_ALGO=Ring<'
holds "$FB_TMP/variable.svg" ', NCCL_ALGO unset<'
for wrong in 'nosuch x' 'time' "time $FB_TMP/missing" "time --bytes=x $one" "time --bogus $one" \
	"ratio --axis channels $channels" \
	"forest $one/barrier.csv" "scaling $one"; do
	# shellcheck disable=SC2086 # words
	plot $wrong
	expect "exit code of plot $wrong" "$rc" 3
	holds "$FB_TMP/err" '^fabricbench'
	expect "stdout of plot $wrong" "$(cat "$FB_TMP/out")" ''
done
verdict plots_script

# Names are data: none of them is run, whatever stands in it, and each gets its figure.
mkdir "$FB_TMP/hostile" "$FB_TMP/mark"
export FB_MARK=$FB_TMP/mark
n=0
for name in "x'; system('touch \$FB_MARK/1'); y='" '`touch $FB_MARK/2`' '$(touch $FB_MARK/3)' \
	'";system("touch $FB_MARK/4");"' '| touch $FB_MARK/5' '< touch $FB_MARK/6' \
	'a;touch $FB_MARK/7;' $'line\ntouch $FB_MARK/8\n' '@draw' '\' '%s%n' '*' '-e' '--pdf' \
	"' . system('touch \$FB_MARK/9') . '"; do
	n=$((n + 1))
	# The commands' paths have slashes, which no name can hold.
	name=${name//\$FB_MARK\//\$FB_MARK.}
	folder=$FB_TMP/hostile/$n/$name
	mkdir -p "$folder"
	cp $one/barrier.csv "$folder/$name.csv"
	cp $golden/forest.csv $golden/ranks.csv "$folder"
	plot time --out "$folder/out$name" "$folder/$name.csv"
	expect "plot time with '$name'" "$rc" 0
	[ -s "$folder/out$name.svg" ] || fail "no figure for '$name'"
	(cd "$FB_TMP/hostile/$n" && "$root/scripts/plot" all "./$name") >"$FB_TMP/out" 2>&1
	expect "plot all with '$name'" $? 0
	[ -s "$folder/$name-time.svg" ] || fail "no figure beside '$name'"
	(cd "$folder" && "$root/scripts/report" --output "./r$name.html" "../$name" "../$name") \
		>"$FB_TMP/out" 2>&1
	expect "report with '$name'" $? 0
	[ -s "$folder/r$name.html" ] || fail "no page for '$name'"
done
expect "commands that ran" "$(find "$FB_TMP" -path "$FB_TMP/mark*" -type f)" ''
# What the files say is no command either.
sed 's/tree/`touch \$FB_MARK.a`@draw'"'"'/; s/ll/$(touch $FB_MARK.b)/' $one/barrier.csv \
	>"$FB_TMP/hostile/said.csv"
sed 's/worse/`touch $FB_MARK.c`@draw/' $golden/forest.csv >"$FB_TMP/hostile/forest.csv"
plot time "$FB_TMP/hostile/said.csv"
expect "plot of hostile texts" "$rc" 0
plot forest "$FB_TMP/hostile/forest.csv"
expect "forest of hostile texts" "$rc" 0
holds "$FB_TMP/hostile/forest-forest.svg" 'touch .FB_MARK.c'
expect "commands that ran" "$(find "$FB_TMP" -path "$FB_TMP/mark*" -type f)" ''
verdict plots_hostile_names

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
		[ $name = skew ] || draw plots/$name.gp 1 "$FB_TMP/many-$n"
		whole 'all_reduce'
	done
	draw plots/time.gp 1 "$FB_TMP/many-$n"
	expect "curves of $n" "$(grep -c 'id="gnuplot_plot_' "$out.svg")" \
		$((n == 1 ? 2 : 7))
done
holds "$out.svg" '24 more algorithms are not shown'
verdict plots_many
exit "$bad"
