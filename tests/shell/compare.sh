#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 240
#
# compare: result files in, verdicts and exit codes out; limits, launches and the self-test.

set -u
export LC_ALL=C
. tests/shell/lib_compare.sh
[ -x "$compare" ] || { echo "SKIP compare: not built (no libcsv)"; exit 0; }

# --- what is said about a study with known answers -----------------------------------------------

cd "$golden" || exit 3
run 1 study --csv "$FB_TMP/v.csv" --junit "$FB_TMP/v.xml" --forest "$FB_TMP/f.csv"
same "$FB_TMP/out" study.txt
same "$FB_TMP/v.csv" study.csv
same "$FB_TMP/v.xml" study-junit.txt
same "$FB_TMP/f.csv" study-forest.csv
run 1 study/a study/b --all
same "$FB_TMP/out" study-all.txt
run 1 study -m busbw_GBps
same "$FB_TMP/out" study-busbw.txt
cd - >/dev/null || exit 3
expect "rows and header of the verdicts" "$(wc -l <"$FB_TMP/v.csv")" 15
expect "20% slower" "$(verdict_of 'ring,simple.*,no,65536,' "$FB_TMP/v.csv")" REGRESSED
expect "a row that is 15% faster" "$(verdict_of 'tree,ll.*,no,8,' "$FB_TMP/v.csv")" IMPROVED
expect "a row that is noisy" "$(verdict_of 'mpi,.*,no,8,' "$FB_TMP/v.csv")" UNSURE
expect "a row that is as it was" "$(verdict_of 'ring,simple.*,no,4096,' "$FB_TMP/v.csv")" SAME
expect "a change below what the clock tells" "$(verdict_of one_shot "$FB_TMP/v.csv")" UNSURE
expect "a row that lacks a launch" "$(verdict_of 'ring,ll.*holm' "$FB_TMP/v.csv")" REGRESSED
verdict compare_golden

# One estimator everywhere: what compare says of a side is what summary says of it, and the ratio is
# the quotient of both, where launches are wild as well.
copy wild
awk -F, -v OFS=, 'NR > 1 && $3 % 3 == 0 && $25 > 0 { $25 *= 7.3 } { print }' \
	"$study/b/results.csv" >"$FB_TMP/wild/b/results.csv"
"$compare" "$FB_TMP/wild" --csv "$FB_TMP/w.csv" >"$FB_TMP/out" 2>"$FB_TMP/err"
for side in a b; do
	"$FB_BUILD/bin/summary" --csv "$FB_TMP/wild/$side" >"$FB_TMP/s.csv" 2>"$FB_TMP/err" ||
		fail "summary of $side"
	awk -F, -v wanted="$([ $side = a ] && echo base || echo new)" '
		FNR == 1 { for (i = 1; i <= NF; i++) at[FILENAME, $i] = i; next }
		{ key = ""; for (i = 1; i <= 18; i++) key = key "," $i }
		FILENAME ~ /s.csv$/ { us[key] = $at[FILENAME, "median_us"]; next }
		$at[FILENAME, "ratio"] == "" { next }
		(r = $at[FILENAME, "ratio"] * $at[FILENAME, "base"] / $at[FILENAME, "new"]) &&
			(r < 0.9999 || r > 1.0001) { print "ratio of" key ": " r; bad = 1 }
		key in us { n++; if (us[key] != $at[FILENAME, wanted]) {
			print "summary " us[key] ", compare " $at[FILENAME, wanted] key; bad = 1 } }
		END { if (n < 4) print n " rows in both"; exit bad || n < 4 }
	' "$FB_TMP/s.csv" "$FB_TMP/w.csv" >"$FB_TMP/differ" || fail "$(cat "$FB_TMP/differ")"
done
verdict compare_estimator

# The other way round everything that got worse got better; a rate says the same as the time.
run 1 "$study/b" "$study/a" --csv "$FB_TMP/w.csv"
expect "turned round" "$(verdict_of 'ring,simple.*,no,65536,' "$FB_TMP/w.csv")" IMPROVED
expect "turned round" "$(verdict_of 'tree,ll.*,no,8,' "$FB_TMP/w.csv")" REGRESSED
run 1 "$study" --metric busbw_GBps --csv "$FB_TMP/w.csv"
for row in one_shot 'ring,simple.*,no,65536,' tree,ll mpi; do
	expect "verdict of $row by its rate" "$(verdict_of "$row" "$FB_TMP/w.csv")" \
		"$(verdict_of "$row" "$FB_TMP/v.csv")"
done

run 1 "$study" --seed 1 --csv "$FB_TMP/1.csv"
run 1 "$study" --seed 1 --csv "$FB_TMP/2.csv"
cmp -s "$FB_TMP/1.csv" "$FB_TMP/2.csv" || fail "two runs differ"
verdict compare_directions

if fb=$(command -v xmllint); then
	"$fb" --noout "$golden/study-junit.txt" || fail "study-junit.txt is not well-formed"
	copy xml
	sed -i 's/,"not built, see docs",/,"<\&> \xff \x01 ""é""",/' "$FB_TMP/xml/b/results.csv"
	run 1 "$FB_TMP/xml" --junit "$FB_TMP/x.xml"
	xmllint --noout "$FB_TMP/x.xml" || fail "strange texts break the XML"
	holds "$FB_TMP/x.xml" 'LOST; &lt;&amp;&gt; \? \? &quot;é&quot;'
	expect "cases in the XML" 14 "$(xmllint --xpath 'count(//testcase)' \
		"$golden/study-junit.txt")"
	expect "tests it speaks of" "$(xmllint --xpath 'string(/testsuites/@tests)' \
		"$golden/study-junit.txt")" 14
	expect "failures" "$(xmllint --xpath 'count(//failure)' "$golden/study-junit.txt")" 3
	verdict compare_junit
else
	echo "SKIP compare_junit: no xmllint"
fi

# --- exit codes ----------------------------------------------------------------------------------

copy wrong
sed -i '0,/,ok,,/s//,wrong,rank 1 element 7,/' "$FB_TMP/wrong/b/results.csv"
run 2 "$FB_TMP/wrong" --junit "$FB_TMP/x.xml"
holds "$FB_TMP/out" 'WRONG DATA in NEW.*: 1$'
holds "$FB_TMP/out" 'rank 1 element 7'
holds "$FB_TMP/x.xml" '<error message='
run 1 "$FB_TMP/wrong/b" "$FB_TMP/wrong/a"
holds "$FB_TMP/out" 'wrong data in BASE: 1'
copy fault
sed -i '0,/,ok,,/s//,fault,rank 3 died,/' "$FB_TMP/fault/b/results.csv"
run 5 "$FB_TMP/fault"
holds "$FB_TMP/out" 'FAULTS in NEW'
run 1 "$study" --strict
run 4 "$study" --strict --filter 'engine=mpi'
run 0 "$study" --filter 'engine=mpi'
run 0 "$study" --filter 'algorithm=ring,protocol=simple,bytes=8,bytes=4096' --strict
holds "$FB_TMP/out" '^2 rows: REGRESSED 0, IMPROVED 0, SAME 2, UNSURE 0 \(exit code 0\)'
run 4 "$study" --filter 'algorithm=hyper*,algorithm=ring,bytes=8' --strict
holds "$FB_TMP/out" '1 missing in NEW'
run 0 "$study" --threshold 50%
refuses "threshold: '5' is not accepted" "$study" --threshold 5
run 0 "$study" --alpha 0.0001
verdict compare_exit_codes

# --- launches ------------------------------------------------------------------------------------

cat >"$FB_TMP/launches.csv" <<-'END'
	order,side,launch_index,status,flags
	0,a,0,ok,
	1,b,0,ok,drift
	2,b,1,ok,skew;throttle
	3,a,1,ok,undrifted
END
copy marked
cp "$FB_TMP/launches.csv" "$FB_TMP/marked/"
run 1 "$FB_TMP/marked"
holds "$FB_TMP/out" '^left out: launch 0 of NEW \(drift\)'
holds "$FB_TMP/out" '^left out: launch 1 of NEW \(throttle\)'
holds "$FB_TMP/out" 'BASE .* 8 launches'
holds "$FB_TMP/out" 'NEW .* 6 launches'
run 1 "$FB_TMP/marked/a" "$FB_TMP/marked/b"
holds "$FB_TMP/out" 'NEW .* 6 launches'
run 1 "$FB_TMP/marked" --keep-marked
holds "$FB_TMP/out" 'NEW .* 8 launches'
# The last attempt counts; a mark of some ranks or of one environment is of these rows only.
cat >"$FB_TMP/marked/launches.csv" <<-'END'
	launch_index,side,attempt,ranks,nodes,flags,variant
	0,a,1,4,1,drift,
	0,a,2,4,1,retried,
	1,a,1,8,1,drift,
	2,a,1,4,,drift,X=1
	3,a,1,4,-,drift,X=2;Y=3
END
sed -i '/^1,golden,3,.*all_gather/s/,4,1,,/,4,1,env.X=2;env.Y=3;n=1,/' \
	"$FB_TMP/marked/a/results.csv"
run 1 "$FB_TMP/marked"
holds "$FB_TMP/out" '^left out: 3 rows of launch 3 of BASE \(drift\)'
expect "launches left out" "$(grep -c '^left out' "$FB_TMP/out")" 1
# A canary is compared with those of the other launches, whichever side they are of. A side whose
# canaries are all slower keeps its launches: that is what an upgrade may do.
{
	echo launch_index,side,ranks,nodes,variant,canary_before_us,canary_after_us,flags
	for i in {0..7}; do
		echo "$i,a,4,1,,5.${i}0,5.${i}5,"
		[ "$i" -eq 6 ] || echo "$i,b,4,1,,12.${i}0,12.${i}5,"
	done
	echo 6,b,4,1,,23667,23660,
} >"$FB_TMP/marked/launches.csv"
run 1 "$FB_TMP/marked"
holds "$FB_TMP/out" '^left out: launch 6 of NEW \(canary-apart\)'
expect "launches left out by their canary" "$(grep -c '^left out' "$FB_TMP/out")" 1
run 1 "$FB_TMP/marked" --keep-marked
expect "kept" "$(grep -c '^left out' "$FB_TMP/out")" 0
# whole_rows FIRST LAST FILE: rows of these launches, numbered from 0, with all columns.
whole_rows() {
	grep -v '"' "$3" | awk -F, -v first="$1" -v last="$2" -v \
		header="$(head -n 1 tests/golden/summary/one/barrier.csv)" '
		BEGIN { n = split(header, want, ","); print header }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$3 < first || $3 > last { next }
		{
			$3 -= first
			for (i = 1; i <= n; i++) {
				text = want[i] in at ? $at[want[i]] : ""
				if (want[i] ~ /^(errors|outliers|channels)$/) text = 0
				if (want[i] == "samples") text = $at["status"] == "ok" ? 100 : 0
				if (want[i] == "busbw_GBps") text = ""
				printf "%s%s", text, i < n ? "," : "\n"
			}
		}'
}

# Marks stay with their launches where parts are joined, also where both began with launch 0.
merge=$FB_BUILD/bin/merge
for s in a b; do
	mkdir -p "$FB_TMP/joining"/{one,two}/$s
	whole_rows 0 3 "$study/$s/results.csv" >"$FB_TMP/joining/one/$s/x.csv"
	whole_rows 4 7 "$study/$s/results.csv" >"$FB_TMP/joining/two/$s/x.csv"
	printf '%s\n' launch_index,side,flags 1,b,drift >"$FB_TMP/joining/two/launches.csv"
	"$merge" --renumber --csv "$FB_TMP/joined/$s" "$FB_TMP/joining"/{one,two}/$s >/dev/null ||
		fail "merge of side $s"
done
run 1 "$FB_TMP/joined"
holds "$FB_TMP/out" '^left out: launch 5 of NEW \(drift\)'
expect "launches left out" "$(grep -c '^left out' "$FB_TMP/out")" 1
holds "$FB_TMP/out" 'NEW .* 7 launches'
# The parts of a study that several jobs made.
mkdir -p "$FB_TMP/parts"/part-{0-3,4-7}/{a,b} "$FB_TMP/parts/logs"
for s in a b; do
	awk -F, 'NR == 1 || $3 < 4' "$study/$s/results.csv" >"$FB_TMP/parts/part-0-3/$s/x.csv"
	awk -F, 'NR == 1 || $3 > 3' "$study/$s/results.csv" >"$FB_TMP/parts/part-4-7/$s/x.csv"
	cp "$study/$s/environment.csv" "$FB_TMP/parts/part-0-3/$s/"
done
run 1 "$FB_TMP/parts" --csv "$FB_TMP/w.csv"
diff <(sort "$FB_TMP/v.csv") <(sort "$FB_TMP/w.csv") >/dev/null ||
	fail "the parts of a study give other verdicts"
# A launch that died early is left out, for it would cost the other rows their power.
copy partial
awk -F, '$3 != 7 || ++n < 3' "$study/b/results.csv" >"$FB_TMP/partial/b/results.csv"
run 1 "$FB_TMP/partial"
holds "$FB_TMP/out" 'left out: launch 7 of NEW \(lacks rows'
# Launches in folders of their own, and files in another order, are the same launches.
mkdir -p "$FB_TMP/deep"/{a,b}
for s in a b; do
	cp "$study/$s/environment.csv" "$FB_TMP/deep/$s"
	for l in 7 3 0 1 2 4 5 6; do
		mkdir "$FB_TMP/deep/$s/$((9 - l))"
		awk -F, -v l=$l 'NR == 1 || $3 == l' "$study/$s/results.csv" \
			>"$FB_TMP/deep/$s/$((9 - l))/all_reduce.csv"
	done
done
run 1 "$FB_TMP/deep" --csv "$FB_TMP/w.csv"
diff <(sort "$FB_TMP/v.csv") <(sort "$FB_TMP/w.csv") >/dev/null ||
	fail "launches in folders of their own give other verdicts"
# Pairs: a slow minute hits both sides of a pair alike.
run 1 "$study" --paired
holds "$FB_TMP/out" 'assignments of signs to blocks'
awk -F, '$3 != 0' "$study/b/results.csv" >"$FB_TMP/partial/b/results.csv"
run 1 "$FB_TMP/partial" --paired
holds "$FB_TMP/out" 'left out: launch 0 of BASE'
verdict compare_launches

# One launch shows nothing, however many repetitions it had.
for s in a b; do
	mkdir -p "$FB_TMP/single/$s"
	awk -F, 'NR == 1 || $3 == 0' "$study/$s/results.csv" >"$FB_TMP/single/$s/results.csv"
done
run 6 "$FB_TMP/single"
holds "$FB_TMP/out" 'launches a side: 1. The least possible p is 1:'
holds "$FB_TMP/out" 'nothing could be judged'
holds "$FB_TMP/out" 'REGRESSED 0, IMPROVED 0, SAME 0'
# Three launches beside many can show much, and then nothing says that they show nothing.
echo 'all_reduce host few simple shm 8 20 0.01 1' >"$FB_TMP/rows"
make_side "$FB_TMP/three/a" a 20 5 <"$FB_TMP/rows"
sed 's/ 1$/ 1.5/' "$FB_TMP/rows" | make_side "$FB_TMP/three/b" b 3 5
run 1 "$FB_TMP/three"
holds "$FB_TMP/out" 'launches a side: 3. They find only large changes'
grep -Eq 'nothing could|can be called changed' "$FB_TMP/out" &&
	fail 'three launches beside many show nothing?'
# Most launches of a side are left out: what is left is a selection.
copy left
{
	echo launch_index,side,flags
	for i in 0 1 2 3 4; do echo "$i,a,drift"; done
} >"$FB_TMP/left/launches.csv"
run 6 "$FB_TMP/left" --filter 'algorithm=ring,protocol=simple,bytes=8,bytes=4096'
holds "$FB_TMP/out" 'most launches of BASE are left out'
run 4 "$FB_TMP/left" --filter 'engine=mpi' --strict
# The same median, but wild launches: not slower, and yet not the same.
echo 'all_reduce host wild simple shm 8 20 0.01 1' >"$FB_TMP/rows"
make_side "$FB_TMP/wild/a" a 10 5 <"$FB_TMP/rows"
sed 's/0.01/0.2/' "$FB_TMP/rows" | make_side "$FB_TMP/wild/b" b 10 5
run 6 "$FB_TMP/wild"
holds "$FB_TMP/out" '^vary more or less between launches than before'
holds "$FB_TMP/out" '^  all_reduce wild simple 8 .*[01]\.[0-9]% -> +[12][0-9]\.[0-9]%'
# Sides one after the other: one session each tells nothing, three of each do, and what sessions
# differ by is no change.
one='all_reduce host ring simple shm 65536 40 0.02 1.2'
two='all_reduce host tree simple shm 65536 40 0.02 1'
printf '%s\n' "$one" "$two" >"$FB_TMP/rows"
for s in a b; do
	make_side "$FB_TMP/apart/$s" $s 10 5 day="$([ $s = a ] && echo 1 || echo 9)" <"$FB_TMP/rows"
done
run 6 "$FB_TMP/apart"
holds "$FB_TMP/out" 'ran one after the other, in 1 and 1 sessions: a change'
holds "$FB_TMP/out" 'it would be REGRESSED 1, IMPROVED 0'
make_side "$FB_TMP/floor" a 20 9 <"$FB_TMP/rows"
run 0 --self-test "$FB_TMP/floor" --noise "$FB_TMP/floor.csv"
run 1 "$FB_TMP/apart" --noise "$FB_TMP/floor.csv"
for s in a b; do
	for i in 1 2 3; do
		# Session i of a row is 8% slower or quicker than the one before.
		{
			echo "$one"
			echo "${two/ 40 / $((40 - i % 2 * 3)) }"
		} >"$FB_TMP/rows"
		make_side "$FB_TMP/sessions/$s/$i" $s 10 $i \
			day=$(($([ $s = a ] && echo 0 || echo 9) + i)) <"$FB_TMP/rows"
		sed -i "s/,golden,/,night$i,/" "$FB_TMP/sessions/$s/$i/results.csv"
	done
done
run 1 "$FB_TMP/sessions" --csv "$FB_TMP/w.csv"
holds "$FB_TMP/out" 'one after the other, in 3 and 3 sessions, which vary'
expect "20% slower in three sessions" "$(verdict_of ring "$FB_TMP/w.csv")" REGRESSED
expect "sessions that differ by 8%" "$(verdict_of tree "$FB_TMP/w.csv")" UNSURE
holds "$FB_TMP/w.csv" ',session,'
# A machine that gets slower all the time takes every verdict back.
make_side "$FB_TMP/drift/a" a 10 5 drift=3 common=0.01 <"$golden/rows.txt"
make_side "$FB_TMP/drift/b" b 10 6 drift=3 common=0.01 <"$golden/rows.txt"
run 6 "$FB_TMP/drift"
holds "$FB_TMP/out" 'the machine drifted: (9|10) of 10 rows'
holds "$FB_TMP/out" 'REGRESSED 0, IMPROVED 0, SAME 0, UNSURE 10'
run 4 "$FB_TMP/drift" --strict
verdict compare_doubt

# A skew that all launches of both sides have is in both times and hides nothing; one that differs
# from launch to launch may.
copy skew
sed -i 's/\(barrier_skew_median_us\),.*/\1,5.0000/' "$FB_TMP"/skew/[ab]/environment.csv
run 1 "$FB_TMP/skew" --csv "$FB_TMP/w.csv"
expect "1.5x slower beside a common skew" "$(verdict_of one_shot "$FB_TMP/w.csv")" REGRESSED
sed -i 's/\(0.selftest.barrier_skew_median_us\),.*/\1,5.1000/' "$FB_TMP"/skew/[ab]/environment.csv
run 1 "$FB_TMP/skew" --csv "$FB_TMP/w.csv"
expect "1.5x slower beside a skew that varies" "$(verdict_of one_shot "$FB_TMP/w.csv")" UNSURE
expect "20% slower beside it" "$(verdict_of 'ring,simple.*,no,65536,' "$FB_TMP/w.csv")" REGRESSED
verdict compare_clock

# --- limits --------------------------------------------------------------------------------------

printf '%s\n' 'algorithm,bytes,threshold' 'ring,65536,30%' '*,1048576,0.3' 'ring,4096,0.5' \
	>"$FB_TMP/thresholds.csv"
run 0 "$study" --thresholds "$FB_TMP/thresholds.csv" --csv "$FB_TMP/w.csv"
expect "a threshold of its own" "$(verdict_of 'ring,simple.*,no,65536,' "$FB_TMP/w.csv")" SAME
holds "$FB_TMP/w.csv" ',0.3,file,'
sed 's/$/,x/; 1s/x$/colour/' "$FB_TMP/thresholds.csv" >"$FB_TMP/t.csv"
refuses 'neither a key nor threshold' "$study" --thresholds "$FB_TMP/t.csv"
sed 's/30%/much/' "$FB_TMP/thresholds.csv" >"$FB_TMP/t.csv"
refuses "t.csv:2: threshold 'much'" "$study" --thresholds "$FB_TMP/t.csv"
sed 's/30%/5/' "$FB_TMP/thresholds.csv" >"$FB_TMP/t.csv"
refuses "t.csv:2: threshold '5'" "$study" --thresholds "$FB_TMP/t.csv"
refuses 'no column threshold' "$study" --thresholds "$study/a/results.csv"
verdict compare_thresholds

# The self-test finds the noise of rows; with it, a change within the noise does not matter.
make_side "$FB_TMP/aa" a 20 9 common=0.005 <"$golden/rows.txt"
run 0 --self-test "$FB_TMP/aa" --noise "$FB_TMP/noise.csv"
holds "$FB_TMP/out" '^20 launches, 10 of 10 rows'
holds "$FB_TMP/out" '^good'
holds "$FB_TMP/out" '^rows that can be gated.*: 10 of 10'
expect "lines of the noise file" "$(wc -l <"$FB_TMP/noise.csv")" 11
awk -F, '$3 == "mpi" && $15 == 8 && ($NF < 0.1 || $NF > 0.2) { exit 1 }' "$FB_TMP/noise.csv" ||
	fail "noise of a row of 15%: $(grep mpi "$FB_TMP/noise.csv")"
run 1 "$study" --noise "$FB_TMP/noise.csv"
awk -F, -v OFS=, 'NR > 1 { $NF = 0.1 } 1' "$FB_TMP/noise.csv" >"$FB_TMP/n.csv"
run 0 "$study" --noise "$FB_TMP/n.csv" --csv "$FB_TMP/w.csv"
holds "$FB_TMP/w.csv" ',0.3,noise,'
refuses 'noise of median_us: expected that of busbw_GBps' "$study" --noise "$FB_TMP/noise.csv" \
	--metric busbw_GBps
refuses 'not a noise file' "$study" --noise "$study/a/results.csv"
make_side "$FB_TMP/few" a 6 9 <"$golden/rows.txt"
run 0 --self-test "$FB_TMP/few"
holds "$FB_TMP/out" '6 launches are too few to show that false alarms are rare: make 16'
! grep '^good' "$FB_TMP/out" || fail "6 launches showed it all the same"
make_side "$FB_TMP/two" a 2 9 <"$golden/rows.txt"
refuses 'nothing to split' --self-test "$FB_TMP/two"
# A study whose two sides are alike is one set.
mkdir -p "$FB_TMP/alike"
cp -r "$FB_TMP/few" "$FB_TMP/alike/a"
cp -r "$FB_TMP/few" "$FB_TMP/alike/b"
run 0 --self-test "$FB_TMP/alike"
holds "$FB_TMP/out" '^12 launches'
verdict compare_self_test
exit "$bad"
