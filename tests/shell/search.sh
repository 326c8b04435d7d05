#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 600
#
# scripts/search with a program whose times are known: they follow from variables of the
# environment, size and launch alone. What is found, what is not, what only the proof can tell, what
# is resumed, and what is refused.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
. tests/shell/lib_sweep.sh
. tests/shell/lib_rows.sh

for tool in variants compare query summary; do
	ln -s "$(realpath "$FB_BUILD")/bin/$tool" "$build/bin/$tool"
done
head -n 1 results/reference/h100x2/all_reduce.csv | cut -d, -f1-50 >"$fake/header"
# Rows of 8 and 64 bytes. $fake/factors has lines "CONDITION FACTOR [BYTES]": a row takes FACTOR
# times as long where all of CONDITION (A=1;B=1) is set; "step" there means outside of a proof.
# With D set the program ends in a fault before its first row, with R set it refuses, and P is the
# row's path. $fake/slow has it wait where it is asked for its rows. Noise follows from the launch
# and what is set: 0.3% at most.
cat >"$build/bin/timed" <<'END2'
#!/bin/bash
csv='' launch=0 tag='' run='' list=no
for word; do
	case $word in
	--list) list=yes ;;
	--csv=*) csv=${word#*=} ;;
	--launch-index=*) launch=${word#*=} ;;
	--tag=*) tag=${word#*=} ;;
	--run=*) run=${word#*=} ;;
	esac
done
[ "$list" = no ] || [ ! -e "$fake/slow" ] || { : >"$fake/asked"; sleep 2; }
case " $* " in
*' --format=csv '*)
	awk -v header="$(cat "$fake/header")" -v ranks="$RANKS" 'BEGIN {
		print header; n = split(header, name, ",")
		v["schema"] = 2; v["status"] = "skipped"; v["ranks"] = ranks
		v["launch_index"] = v["samples"] = v["root"] = v["nodes"] = 0
		v["errors"] = v["outliers"] = v["channels"] = 0
		for (bytes = v["bytes"] = 8; bytes <= 64; v["bytes"] = bytes += 56)
			for (i = 1; i <= n; i++)
				printf "%s%s", v[name[i]], i < n ? "," : "\n" }'
	exit
	;;
esac
[ "$list" = no ] || { echo "2 cases, of which 0 would be skipped"; exit; }
echo "$run $launch $tag" >>"$fake/starts"
sleep "$(cat "$fake/pause" 2>/dev/null || echo 0)"
[ -z "${R-}" ] || { echo "fabricbench: R is refused" >&2; exit 3; }
[ -z "${D-}" ] && [ ! -e "$fake/gone" ] || { echo "fabricbench: rank 1 is gone" >&2; exit 5; }
[ -s "$csv/timed.csv" ] || cat "$fake/header" >"$csv/timed.csv"
where=step
[[ $csv != */proof/* ]] || where=proof
printf 'scope,host,rank,key,value\nrun,,,program.timed.%d.exit_code,0\n' "$launch" \
	>"$csv/environment.csv"
# What an interrupted launch has written is not measured again.
! grep -q "^2,$run,$launch,.*,1,$tag,ok," "$csv/timed.csv" || exit 0
awk -v header="$(cat "$fake/header")" -v run="$run" -v launch="$launch" -v tag="$tag" \
	-v set=";A=${A-};B=${B-};C=${C-};${P:+P};$where;" -v path="${P-usual}" -v ranks="$RANKS" '
	BEGIN { factor[8] = factor[64] = 1 }
	{
		n = split($1, part, ";")
		for (i = 1; i <= n; i++)
			if (!index(set, ";" part[i] ";"))
				next
		for (bytes = 8; bytes <= 64; bytes += 56)
			if ($3 == "" || $3 == bytes)
				factor[bytes] *= $2
	}
	END {
		n = split(header, name, ",")
		for (bytes = 8; bytes <= 64; bytes += 56) {
			noise = 5 * launch * launch + 3 * launch + 7 * length(set) + bytes
			us = 10 * bytes * factor[bytes] * (1 + 0.003 * (noise % 11) / 11)
			v["schema"] = 2; v["run"] = run; v["launch_index"] = launch
			v["utc"] = sprintf("2026-01-01T00:%02d:00Z", launch)
			v["program"] = v["operation"] = "all_reduce"; v["engine"] = "host"
			v["algorithm"] = v["protocol"] = v["transport"] = "auto"
			v["memory"] = "host"; v["registration"] = "none"; v["launch"] = "blocking"
			v["cadence"] = "isolated"; v["datatype"] = "f32"; v["redop"] = "sum"
			v["root"] = -1; v["in_place"] = "no"; v["bytes"] = bytes
			v["ranks"] = ranks; v["nodes"] = 1; v["variant"] = tag; v["status"] = "ok"
			v["samples"] = 9; v["median_us"] = us; v["errors"] = v["outliers"] = 0
			v["path"] = path; v["channels"] = 1
			for (i = 1; i <= n; i++)
				printf "%s%s", v[name[i]], i < n ? "," : "\n"
		}
	}' <(sort "$fake/factors") >>"$csv/timed.csv"
END2
chmod +x "$build/bin/timed"

# known LINE...: what the program's times follow from.
known() {
	printf '%s\n' "$@" >"$fake/factors"
}

# search [argument...]: the study of `begin`; sets rc, leaves $fake/out and $fake/err.
search() {
	scripts/search "$@" </dev/null >"$fake/out" 2>"$fake/err"
	rc=$?
}

search_new() {
	search "$fake/my.study" --build "$build" --results "$results" --seed 1 "$@"
}

# steps: the table, "number setting outcome" of each line.
steps() {
	cut -f 1,2,7 "$results/steps.tsv" | tr '\t' ' '
}

exports() {
	grep '^export' "$results/settings.sh" | cut -d' ' -f 2 | xargs
}

# Ratios of three launches, 0.8, 0.9 and 1, by hand: the mean of their logarithms, and Student's t
# of two degrees of freedom, 4.3027, times its standard error. A rate that falls is worse, and a
# variant without a row of the base is never better.
mkdir "$fake/three"
rows_to "$fake/three/x.csv"
for i in 0 1 2; do
	row "launch_index=$i" median_us=10 busbw_GBps=10
	row "launch_index=$i" median_us=$((8 + i)) busbw_GBps=$((8 + i)) variant=env.A=1
	[ "$i" -eq 2 ] || row "launch_index=$i" median_us=1 variant=env.A=2
	row "launch_index=$i" median_us=9 busbw_GBps=9 variant=env.A=3 path=other
done
"$build/bin/variants" --lines "$fake/three" >"$fake/out" || fail "exit code $?"
expect "effects" "$(tr '\t' ' ' <"$fake/out" | paste -sd '|')" "$(paste -sd '|' <<-'END2'
	A=2 0.1000 0.1000 0.1000 2 2 lacks rows untold
	A=1 0.8963 0.6792 1.1827 3 3 unsure untold
	A=3 0.9000 0.9000 0.9000 3 3 better path of 3/3
	END2
)"
"$build/bin/variants" --lines --metric busbw_GBps "$fake/three" >"$fake/out" || fail "exit code $?"
holds "$fake/out" '^A=3.*worse'
"$build/bin/variants" --lines --base A=1 "$fake/three" >"$fake/out" || fail "exit code $?"
holds "$fake/out" '^-.1\.1157.0\.8455.1\.4723'
"$build/bin/variants" --base A=4 "$fake/three" 2>"$fake/err" && fail "a base without rows"
holds "$fake/err" 'no measured row of A=4: expected rows of the base'
# Launches that launches.csv marks do not count, on either side: of A=1 the first one, of the base
# the last one. Of A=3 nothing else is left. Marks of other launches change nothing.
{
	echo index,launch_index,side,attempt,ranks,nodes,status,exit,begin_utc,end_utc,seconds,$(
		)canary_before_us,canary_after_us,flags,variant
	while IFS=' ' read -r launch ranks status flags variant; do
		echo "$launch,$launch,,1,$ranks,,$status,0,2026-01-01T00:00:00Z,$(
			)2026-01-01T00:00:01Z,1,,,$flags,$variant"
	done <<-'END2'
		0 2 ok drift A=1
		2 2 ok throttle;retried
		0 2 ok drift A=3
		1 2 ok drift A=3
		1 4 ok drift
		1 2 failed drift A=1
		1 2 ok retried A=1
	END2
} >"$fake/three/launches.csv"
"$FB_BUILD/bin/csvcheck" "$fake/three/launches.csv" >"$fake/check" || fail "$(cat "$fake/check")"
"$build/bin/variants" --lines "$fake/three" >"$fake/out" || fail "exit code $?"
expect "effects without marked launches" "$(cut -f 1,2,5,7 "$fake/out" | tr '\t' ' ' |
	paste -sd '|')" 'A=2 0.1000 2 lacks rows|A=1 0.9000 1 unsure|A=3 nan 0 disturbed'
"$build/bin/variants" "$fake/three" >"$fake/out" || fail "exit code $?"
holds "$fake/out" '^5 pairs of rows are left out: launches.csv marks'
holds "$fake/out" '^ 0\.900 {15}- +1 +1  unsure .*A=1$'
holds "$fake/out" '^ {5}- {15}- +0 +0  disturbed .*A=3$'
"$build/bin/variants" --lines --keep-marked "$fake/three" >"$fake/out" || fail "exit code $?"
expect "launches with --keep-marked" "$(cut -f 5 "$fake/out" | xargs)" '2 3 3'
verdict search_interval

# Two settings that help, of which B does so only with A, one that does not, and one that fails.
begin 'ranks 2\ncanary none\nenv B=1 -\nenv - A=1 A=2\nenv - C=1\nenv - D=1\ntimed'
known 'A=1 0.8' 'A=2 0.9' 'A=1;B=1 0.9' 'B=1 1.0' 'C=1 1.2'
search_new --product 1
expect "exit code" "$rc" 0
expect "errors" "$(cat "$fake/err")" ''
expect "exports" "$(exports)" 'A=1 B=1'
expect "steps" "$(steps | grep -v unsure | paste -sd '|')" "$(paste -sd '|' <<-'END2'
	2 A=1 kept
	2 A=2 better
	3 C=1 worse
	4 D=1 no rows
	5 B=1 kept
	6 A=2 worse
	6 without A=1 worse
	7 C=1 worse
	8 D=1 no rows
	END2
)"
awk -F'\t' '
	$2 == "A=1" { good = $3 > 0.79 && $3 < 0.81 && $4 <= $3 && $3 <= $5 && $6 == 5 }
	END { exit !good }' "$results/steps.tsv" ||
	fail "ratio of A=1: $(grep A=1 "$results/steps.tsv")"
holds "$fake/out" '^A=1;B=1: proved better: ratio 0\.7[12][0-9]*, .* 10 launches of each side'
holds "$fake/out" 'These ratios are biased, because the best of [0-9]+ measured'
holds "$fake/out" '^A=1: path and channels of all rows are the same without it'
holds "$fake/out" 'rows: REGRESSED 0, IMPROVED 2,'
diff "$fake/out" "$results/summary.txt" >"$fake/diff" || fail "summary.txt: $(cat "$fake/diff")"
cp "$results/steps.tsv" "$fake/whole"
"$FB_BUILD/bin/csvcheck" "$results"/step-0?/launches.csv >"$fake/check" ||
	fail "$(cat "$fake/check")"
starts=$(wc -l <"$fake/starts")
search --resume "$results"
expect "exit code again" "$rc" 0
expect "starts again" "$(wc -l <"$fake/starts")" "$starts"
expect "exports again" "$(exports)" 'A=1 B=1'
verdict search_steps

# A program that refuses one combination, in whichever order, is no end of the others. Where it ends
# in a fault with the default, the step stays open and is repaired by going on.
begin 'ranks 2\ncanary none\nenv - A=1\nenv - R=1\ntimed'
known 'A=1 0.8'
for seed in 1 2 3; do
	rm -rf "$results"
	search_new --seed "$seed"
	expect "exit code with a refused combination" "$rc" 0
	expect "exports" "$(exports)" 'A=1'
	expect "refused" "$(steps | grep -c 'R=1 no rows')" 2
done
rm -rf "$results"
: >"$fake/gone"
search_new
expect "exit code where the default fails" "$rc" 5
holds "$fake/err" 'launches of what the others are compared with failed'
rm "$fake/gone"
search --resume "$results"
expect "exit code once repaired" "$rc" 0
expect "exports" "$(exports)" 'A=1'
verdict search_refused_combination

# Interrupted in a step and in the proof: it goes on and finds the same.
begin 'ranks 2\ncanary none\nenv B=1 -\nenv - A=1 A=2\nenv - C=1\nenv - D=1\ntimed'
known 'A=1 0.8' 'A=2 0.9' 'A=1;B=1 0.9' 'B=1 1.0' 'C=1 1.2'
: >"$fake/slow"
scripts/search "$fake/my.study" --build "$build" --results "$results" --seed 1 --product 1 \
	>"$fake/out" 2>"$fake/err" &
pid=$!
for ((i = 0; i < 1200; i++)); do
	[ ! -e "$fake/asked" ] || break
	sleep 0.05
done
kill -TERM "$pid"
wait "$pid"
expect "exit code after SIGTERM before the first start" $? 75
expect "starts" "$(wc -l <"$fake/starts")" 0
rm "$fake/slow"
echo 0.1 >"$fake/pause"
for after in 12 $((starts - 8)); do
	if [ -e "$results" ]; then
		scripts/search --resume "$results" >"$fake/out" 2>"$fake/err" &
	else
		scripts/search "$fake/my.study" --build "$build" --results "$results" --seed 1 \
			--product 1 >"$fake/out" 2>"$fake/err" &
	fi
	pid=$!
	for ((i = 0; i < 1200; i++)); do
		[ "$(wc -l <"$fake/starts")" -lt "$after" ] || break
		sleep 0.05
	done
	ignored=$(awk '$1 == "SigIgn:" { print $2 }' "/proc/$(pgrep -P "$pid" -x tee)/status")
	[ $((0x${ignored:-0} >> 9 & 1)) -eq 1 ] || fail "SIGUSR1 ends what writes summary.txt"
	kill -TERM "$pid"
	wait "$pid"
	expect "exit code after SIGTERM" $? 75
	holds "$fake/err" "SIGTERM: incomplete; go on with scripts/search --resume $results"
done
rm "$fake/pause"
search --resume "$results"
expect "exit code" "$rc" 0
cmp "$fake/whole" "$results/steps.tsv" || fail "other steps: $(cat "$results/steps.tsv")"
expect "exports" "$(exports)" 'A=1 B=1'
expect "proof" "$(tail -n +2 "$results/proof/launches.csv" | cut -d, -f 3,7 | grep -c ,ok)" 20
# Time that a step took beyond --minutes ends the search behind it, now as before.
sed -i 's/^minutes=.*/minutes=1/' "$results/settings"
awk -F, -v OFS=, 'NR == 2 { $11 = 100 } 1' "$results/step-05/launches.csv" >"$fake/long"
cp "$fake/long" "$results/step-05/launches.csv"
rm -r "$results"/proof*
search --resume "$results"
expect "exit code beyond --minutes" "$rc" 0
holds "$fake/out" '^the budget is over after [0-9]+ launches in'
expect "last step" "$(steps | tail -n 1 | cut -d' ' -f 1)" 5
expect "exports" "$(exports)" 'A=1 B=1'
verdict search_resumed

# Two that only help together: steps find neither, and say no more than that; the product does.
begin 'ranks 2\ncanary none\nenv - A=1\nenv - B=1\ntimed'
known 'A=1 1.1' 'B=1 1.1' 'A=1;B=1 0.6'
search_new --product 3
expect "exit code of steps" "$rc" 6
expect "steps" "$(steps | paste -sd '|')" '1 A=1 worse|2 B=1 worse'
holds "$fake/out" '^No combination was better than the default\.'
[ ! -e "$results/proof" ] || fail "a proof of nothing"
rm -rf "$results"
search_new
expect "exit code of the product" "$rc" 0
expect "steps" "$(steps | paste -sd '|')" '1 A=1;B=1 kept|1 A=1 worse|1 B=1 worse'
expect "exports" "$(exports)" 'A=1 B=1'
verdict search_product

# A tie; and a gain in the search that the proof does not see, as by luck.
begin 'ranks 2\ncanary none\nenv - A=1 A=2\ntimed'
known 'A=3 2'
search_new
expect "exit code of a tie" "$rc" 6
expect "kept" "$(steps | grep -c kept)" 0
rm -rf "$results"
known 'A=1;step 0.7'
search_new
expect "exit code of luck" "$rc" 6
holds "$fake/out" '^A=1: not proved: ratio (0\.99|1\.00)'
holds "$results/settings.sh" '^# not proved'
verdict search_not_proved

# Better on the mean, but one size regresses; with a goal that names the other size no less.
begin 'ranks 2\ncanary none\nenv - A=1\ngoal median_us bytes=8\ntimed'
known 'A=1 0.5 8' 'A=1 1.3 64'
search_new
expect "exit code of a regression" "$rc" 1
awk -F'\t' '{ good = $3 > 0.49 && $3 < 0.51 } END { exit !good }' "$results/steps.tsv" ||
	fail "another goal"
holds "$fake/out" 'REGRESSED 1, IMPROVED 1'
holds "$fake/out" '^A=1: not recommended: a row regressed'
rm -rf "$results"
# The list of rows has launch 0 alone, and other nodes.
search_new --goal "median_us bytes=64 launch_index>=1 nodes=1"
expect "exit code of another goal" "$rc" 6
verdict search_goal

# What ran: the path of all rows changes. Values keep the letters that part words.
begin 'ranks 2\ncanary none\nenv - P="x;y # z"\ntimed'
known 'P 0.5'
search_new
expect "exit code" "$rc" 0
holds "$fake/out" 'P=x%3By%20%23%20z: changed the path of 10/10 rows'
holds "$fake/out" 'what ran: path of 20/20'
(. "$results/settings.sh" && [ "$P" = 'x;y # z' ]) || fail "$(cat "$results/settings.sh")"
verdict search_ran

# The budget ends the search before a step, never within one.
begin 'ranks 2\ncanary none\nenv - A=1\nenv - B=1\ntimed'
known 'A=1 0.9'
search_new --product 1 --budget 15
expect "exit code" "$rc" 0
expect "steps" "$(steps | paste -sd '|')" '1 A=1 kept'
holds "$fake/out" '^the budget is over after 10 launches in'
expect "exports" "$(exports)" 'A=1'
rm -rf "$results"
search_new --budget 5
expect "exit code of a budget below the first step" "$rc" 3
holds "$fake/err" '--budget 5: the first step takes 20 launches'
verdict search_budget

# refused WHAT STUDY ARGUMENT...: exit code 3 and a line that holds WHAT; nothing is written.
refused() {
	begin "$2"
	search_new "${@:3}"
	expect "exit code of $*" "$rc" 3
	grep -qF -- "$1" "$fake/err" || fail "$*: $(cat "$fake/err")"
	[ ! -e "$results" ] || fail "$* wrote something"
}

refused "no line env" 'timed'
refused "env A=1 A=2: expected -" 'env A=1 A=2\ntimed'
refused "sides: a search makes its own" 'env - A=1\nside a\ntimed'
refused "goal without a word" 'env - A=1\ngoal\ntimed'
refused "goal a second time" 'env - A=1\ngoal median_us\ngoal p99_us\ntimed'
refused "unknown option '--nosuch'" 'env - A=1\ntimed' --nosuch 1
refused "--proof '4': accepted is a number from 8 to 10000" 'env - A=1\ntimed' --proof 4
refused "--proof '20000': accepted is a number from 8 to 10000" 'env - A=1\ntimed' --proof 20000
refused "a value is missing" 'env - A=1\ntimed' --goal
refused "no row of $fake/my.study meets" 'ranks 2\nenv - A=1\ntimed' --goal "median_us bytes=9"
refused "no row of $fake/my.study meets" 'ranks 2\nenv - A=1\ntimed\ngoal median_us ranks=4'
refused "no column 'byte'" 'ranks 2\nenv - A=1\ntimed' --goal "median_us byte=8"
refused "expected a number behind '<'" 'ranks 2\nenv - A=1\ntimed' --goal "p99_us p99_us<x"
expect "starts of refused searches" "$(grep -c . "$fake/starts")" 0
begin 'env - A=1\ntimed'
search --resume "$fake"
expect "exit code of a folder that is none" "$rc" 3
holds "$fake/err" 'there is no file settings'
search_new --goal status
expect "exit code of a goal that is a text" "$rc" 3
holds "$fake/err" "option --metric: 'status'"
[ ! -e "$results/step-01" ] || fail "measured before the goal was looked at"
search --resume "$results" --goal median_us
expect "exit code of another goal" "$rc" 3
search --goal median_us --resume "$results"
expect "exit code of a goal before --resume" "$rc" 3
holds "$fake/err" 'no other option is accepted with --resume'
scripts/search --help >"$fake/out"
holds "$fake/out" '^usage: scripts/search STUDY'
verdict search_refuses
exit "$bad"
