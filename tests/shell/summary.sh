#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# summary: result files in, text out. tests/golden/summary/ holds rows made by hand whose answers
# are known: the best by its interval, a tie, a slower one, wrong data, a fault that was repeated,
# a torn last line, quoted commas, columns in another order, six launches.

set -u
export LC_ALL=C
. tests/shell/lib.sh
golden=$PWD/tests/golden/summary
summary=$FB_BUILD/bin/summary
tool=$summary
[ -x "$summary" ] || { echo "SKIP summary: not built (no libcsv)"; exit 0; }

# prints NAME EXIT_CODE ARGUMENT...: summary's output is golden/NAME.
prints() {
	(cd "$golden" && "$summary" "${@:3}") >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of ${*:3}" $? "$2"
	expect "stderr of ${*:3}" "$(cat "$FB_TMP/err")" ''
	same "$FB_TMP/out" "$1"
}

prints one.txt 2 one
prints one-all.txt 2 --all one
prints one-busbw.txt 2 --metric busbw one
prints six.txt 0 six
prints fault.txt 5 fault
width=$(grep -hvE 'wrong|fault' "$golden"/{one,six,fault}*.txt | cut -c1-100 | wc -L)
[ "$width" -le 100 ] || fail "a table is $width columns wide"
# What was measured on machines, too, whatever its columns and axes are.
for folder in results/reference/*/; do
	for how in "" --all --chosen --asked --crossings; do
		# shellcheck disable=SC2086
		"$summary" $how "$folder" >"$FB_TMP/out" 2>/dev/null
		width=$(grep -vE '^(LATE|SLOW) ' "$FB_TMP/out" | wc -L)
		[ "$width" -le 110 ] || fail "summary $how of $folder is $width columns wide"
	done
done
# Each kind of work needs one thing more: 1.25, 1.5 and 3 times as slow are 1.25 * 1.2 * 2.
prints contention.txt 0 --contention contention.csv
# A ratio to a library's time of few samples says so.
mkdir "$FB_TMP/few"
sed '/,mpi,/s/,ok,/,few,/' "$golden/one/all_reduce.csv" >"$FB_TMP/few/all_reduce.csv"
"$summary" "$FB_TMP/few" >"$FB_TMP/out"
holds "$FB_TMP/out" ' MPI:few$'
"$summary" "$golden/one/all_reduce.csv" | grep -q 'MPI:few' && fail "MPI:few without a cause"
verdict summary_text

# Engine auto: the best of the library's ways by its time, and its time by the best own one.
mkdir "$FB_TMP/chosen"
awk -F, -v OFS=, 'NR == FNR {
		if (FNR == 1) for (i = 1; i <= NF; i++) at[$i] = i
		if (FNR == 1) print
		if (FNR == 2) row = $0
		next
	}
	{
		split($0, f, " "); $0 = row
		$at["engine"] = f[1]; $at["algorithm"] = f[2]; $at["registration"] = f[3]
		$at["bytes"] = f[4]; $at["in_place"] = f[6] ? f[6] : "no"; $at["median_us"] = f[5]
		$at["median_low_us"] = f[5] * 0.99; $at["median_high_us"] = f[5] * 1.01
		print
	}' "$golden/one/all_reduce.csv" - >"$FB_TMP/chosen/all_reduce.csv" <<-'END'
	auto auto - 8 2
	nccl library none 8 4
	nccl library window 8 3
	cuda ring - 8 2.5
	auto auto - 1024 4
	nccl library none 1024 3
	cuda ring - 1024 3.2
	auto auto - 8 3 yes
	nccl library none 8 4 yes
	cuda ring - 64 1
	nccl library none 64 1
END
"$summary" --chosen "$FB_TMP/chosen" >"$FB_TMP/out" || fail "summary --chosen: exit code $?"
holds "$FB_TMP/out" '^all_reduce +3 +1\.145 +0\.750 +1 +2 +1\.118 +1\.250$'
holds "$FB_TMP/out" '^  least: 1K of all_reduce, .*ranks on'
holds "$FB_TMP/out" '^  most:  1K of all_reduce, '
expect "in place is said of no cell" "$(grep -c 'in place' "$FB_TMP/out")" 0
"$summary" --chosen "$golden/six" >"$FB_TMP/out"
expect "without engine auto" "$(cat "$FB_TMP/out")" "no row of engine auto"
verdict summary_chosen

# A run of an overloaded machine is said to be one, in the table and on the page.
mkdir "$FB_TMP/busy"
sed 's/,shm,1,$/,shm,1,drift;skew/; s/,2.2500,0.25,/,10.0000,1.11111,/' "$golden/one/barrier.csv" \
	>"$FB_TMP/busy/barrier.csv"
printf '%s\n' scope,host,rank,key,value run,,,cpu.count,2 \
	'run,,,program.barrier.0.host.load_average,9.25 1.00 1.00' >"$FB_TMP/busy/environment.csv"
"$summary" "$FB_TMP/busy" >"$FB_TMP/out"
"$FB_BUILD/bin/report" "$FB_TMP/busy" >"$FB_TMP/page"
for file in out page; do
	holds "$FB_TMP/$file" '3 of 3 times carry .skew.'
	holds "$FB_TMP/$file" '1 of 3 times are below their bound'
	holds "$FB_TMP/$file" 'The load was 9.2 on 2 processors when a launch began'
done
"$summary" --flags "$FB_TMP/busy" >"$FB_TMP/flags"
holds "$FB_TMP/flags" '^skew: 3 of 3 rows: '
holds "$FB_TMP/flags" '^  remedy '
expect "flags" "$(grep -c '^[a-z]' "$FB_TMP/flags")" 2
"$summary" --flags "$golden/one/barrier.csv" >"$FB_TMP/flags"
expect "no flag" "$(cat "$FB_TMP/flags")" "no row has a flag, of 3"
"$summary" "$golden/one/barrier.csv" | grep -q WARNING && fail "a warning without a cause"
verdict summary_doubts

# Launches that began and did not end are named by whoever reads them.
incomplete='closing fact.*which may lack rows: 1( \(barrier 0\)|$)'
facts=$FB_TMP/busy/environment.csv
sed -i '$d' "$facts"
echo 'run,,,program.barrier.0.cases,3' >>"$facts"
read_all() {
	"$summary" "$FB_TMP/busy" >"$FB_TMP/out"
	"$FB_BUILD/bin/report" "$FB_TMP/busy" >"$FB_TMP/page"
	"$FB_BUILD/bin/csvcheck" "$FB_TMP/busy/barrier.csv" >"$FB_TMP/check"
	"$FB_BUILD/bin/compare" "$FB_TMP/busy/barrier.csv" "$FB_TMP/busy" >"$FB_TMP/compared"
}
read_all
for file in out page check compared; do
	holds "$FB_TMP/$file" "$incomplete"
done
expect "sides that name it" "$(grep -c 'closing fact' "$FB_TMP/compared")" 2
echo 'run,,,program.barrier.0.exit_code,0' >>"$facts"
read_all
grep -l 'closing fact' "$FB_TMP"/{out,page,check,compared} && fail "a closed launch is named"
verdict summary_incomplete

# A rank that lags is named from the ranks' times, with its host and what it works with: by its late
# begin where ranks have one clock, by the time that it does not wait where they have none.
mkdir "$FB_TMP/late"
cp "$golden/one/all_reduce.csv" "$FB_TMP/late"
printf '%s\n' scope,host,rank,key,value 'run,,,run.ranks_of_hosts,n1:0-1 n2:2-3' \
	'rank,n2,3,program.all_reduce.0.rank.gpu,1 at 0000:61:00.0' \
	node,n2,,program.all_reduce.0.rank.rdma,mlx5_3:1 >"$FB_TMP/late/environment.csv"
# ranks_csv LATE CLOCK: ten rows of twenty repetitions; rank 3 begins LATE us after the others.
ranks_csv() {
	awk -v late="$1" -v clock="$2" 'BEGIN {
		print "run,launch_index,program,row,repetition,rank,begin_us,end_us"
		for (row = 0; row < 10; row++) for (i = 0; i < 20; i++) for (r = 0; r < 4; r++) {
			begin = 1000 * i + (r * 7 + i * 3) % 5 / 10 + (r == 3 ? late : 0)
			end = 1000 * i + 100 + late + (r * 3 + i) % 4 / 10
			printf "g,0,all_reduce,%d,%d,%d,%s,%.1f\n", row, i, r,
				clock ? sprintf("%.1f", begin) : "", clock ? end : end - begin
		}
	}' >"$FB_TMP/late/ranks.csv"
}
ranks_csv 35 1
"$summary" "$FB_TMP/late" >"$FB_TMP/out"
who='rank 3 \(host n2, GPU 1 at 0000:61:00.0, mlx5_3:1\)'
holds "$FB_TMP/out" "^LATE in all_reduce: $who begins 35(\.[0-9])? us after the others, $(
	)26% of the time, in 10 of 10 rows$"
expect "who is late" "$(grep -c '^LATE' "$FB_TMP/out")" 1
"$FB_BUILD/bin/report" "$FB_TMP/late" >"$FB_TMP/page"
holds "$FB_TMP/page" '"laggards":\["all_reduce: rank 3 .host n2'
ranks_csv 35 0
"$summary" "$FB_TMP/late" >"$FB_TMP/out"
holds "$FB_TMP/out" "^LATE in all_reduce: $who takes 35(\.[0-9])? us less: the others wait for it, "
for clock in 0 1; do
	ranks_csv 0.2 $clock
	"$summary" "$FB_TMP/late" >"$FB_TMP/out"
	grep '^LATE' "$FB_TMP/out" && fail "somebody is late without a cause"
done
verdict summary_laggards

prints one-six.csv 0 --csv --all one six
prints one-plot.txt 0 --plot one
expect "sections" "$("$summary" --sections "$golden/one")" 2
expect "sections of a file" "$("$summary" --sections "$golden/one/barrier.csv")" 1
verdict summary_data

# Any key is an axis, in the order of its numbers with texts behind them: a bucket sweep is one
# table, with the program's own columns; a handover over two numbers of ranks is one as well.
prints bucket.txt 0 --axis bucket "$PWD/results/reference/h200x4-ddp"
prints handover.txt 0 --axis prefill,decode "$PWD/results/reference/h200x4-kv"
"$summary" --axis bucket --columns p95_us,exposed_us results/reference/h200x4-ddp >"$FB_TMP/out"
holds "$FB_TMP/out" 'NCCL/own +p95_us exposed_us$'
# Rates of links and shares of packets have an order too, as figures place them.
order() { awk '$2 == "ring" { printf "%s ", $1 }' "$1"; }
"$summary" --all --axis rate results/reference/links-rate >"$FB_TMP/out"
expect "rates" "$(order "$FB_TMP/out")" '10mbit 20mbit 50mbit 100mbit '
diff results/reference/links-rate/summary.txt "$FB_TMP/out" || fail "summary.txt of links-rate"
mkdir "$FB_TMP/rate"
sed 's/rate=20mbit/rate=2gbit/; s/rate=50mbit/rate=900kbit/' \
	results/reference/links-rate/all_reduce.csv >"$FB_TMP/rate/all_reduce.csv"
"$summary" --all --axis rate "$FB_TMP/rate" >"$FB_TMP/out"
expect "scales" "$(order "$FB_TMP/out")" '900kbit 10mbit 100mbit 2gbit '
sed 's/rate=100mbit/loss=10%/; s/rate=10mbit/loss=0.5%/; s/rate=20mbit/loss=2%/
	s/rate=50mbit/loss=none/' results/reference/links-rate/all_reduce.csv \
	>"$FB_TMP/rate/all_reduce.csv"
"$summary" --all --axis loss "$FB_TMP/rate" >"$FB_TMP/out"
expect "shares" "$(order "$FB_TMP/out")" '0.5% 2% 10% none '
# A variable of a study's environment is one too, and sizes stay beside it.
awk -F, -v OFS=, 'NF == 49 && NR > 1 { $22 = "env.NCCL_ALGO=" (NR % 2 ? "tree" : "ring") }
	NF == 49' \
	"$golden/one/all_reduce.csv" >"$FB_TMP/variable.csv"
"$summary" --axis NCCL_ALGO "$FB_TMP/variable.csv" >"$FB_TMP/out"
holds "$FB_TMP/out" '^NCCL_ALGO +bytes +best of own'
expect "sections" "$(grep -c '^all_reduce, ' "$FB_TMP/out")" 1
refuses "'bukcet': no row has it" --axis bukcet "$golden/one"
refuses "'nosuch': no column" --columns nosuch "$golden/one"
verdict summary_axis

# A file knows the facts beside it; options may follow files; -- ends options.
"$summary" "$golden/one/barrier.csv" --all >"$FB_TMP/out"
holds "$FB_TMP/out" '^golden on example, Example CPU, 2 cpus, 4 ranks$'
holds "$FB_TMP/out" 'tree ll +9.000'
(cd "$golden" && "$summary" --csv -- one six) >"$FB_TMP/out"
expect "rows after --" "$(wc -l <"$FB_TMP/out")" 6
"$summary" --help >"$FB_TMP/out"
expect "exit code of --help" $? 0
holds "$FB_TMP/out" '--metric'
verdict summary_arguments

head -n 1 "$golden/one/barrier.csv" >"$FB_TMP/header.csv"
sed 's/,ok,/,good,/' "$golden/one/barrier.csv" >"$FB_TMP/status.csv"
sed 's/,12.0000,.*//' "$golden/one/barrier.csv" >"$FB_TMP/short.csv"
sed 's/,bytes,/,size,/' "$golden/one/barrier.csv" >"$FB_TMP/column.csv"
sed '2s/tree/"tr"ee/' "$golden/one/barrier.csv" >"$FB_TMP/quote.csv"
: >"$FB_TMP/empty.csv"
mkdir "$FB_TMP/none"
refuses 'no input' --all
refuses 'unknown option --bogus' --bogus "$golden/one"
refuses '--metric.*time, busbw' --metric x "$golden/one"
refuses 'there are 2 sections' --plot --section 3 "$golden/one"
refuses 'No such file' "$FB_TMP/missing"
refuses 'no result file' "$FB_TMP/none"
mkdir -p "$FB_TMP/sides/b"
cp "$golden/one/environment.csv" "$FB_TMP/sides"
refuses 'the sides of its study are the folders a and b in it' "$FB_TMP/sides"
refuses 'not a result file' "$PWD/LICENSE"
refuses 'not a result file' "$FB_TMP/empty.csv"
refuses "status.csv:2: unknown status 'good'" "$FB_TMP/status.csv"
refuses 'short.csv:4: [0-9]+ fields where the header has' "$FB_TMP/short.csv"
refuses 'no column bytes' "$FB_TMP/column.csv"
refuses 'quote.csv:2: ' "$FB_TMP/quote.csv"
verdict summary_bad_input

# A folder stands for its result files; files of other kinds are an error only where they are named.
cp -r "$golden/one" "$FB_TMP/folder"
echo a,b >"$FB_TMP/folder/other.csv"
"$FB_BUILD/bin/csvcheck" "$FB_TMP/folder" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "csvcheck of a folder" "$?:$(cat "$FB_TMP/err")" "$(
	"$FB_BUILD/bin/csvcheck" "$golden"/one/*.csv >"$FB_TMP/files" 2>&1
	echo "$?:")"
expect "findings in a folder" "$(sed "s|^$FB_TMP/folder||" "$FB_TMP/out")" \
	"$(sed "s|^$golden/one||" "$FB_TMP/files")"
"$FB_BUILD/bin/csvcheck" "$FB_TMP/folder/other.csv" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "csvcheck of another file" $? 3
mkdir "$FB_TMP/empty"
"$FB_BUILD/bin/csvcheck" "$FB_TMP/empty" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "csvcheck of an empty folder" $? 3
holds "$FB_TMP/err" 'empty: no result file in this folder$'
verdict summary_csvcheck

# One rule says what is a number: what csvcheck refuses, no tool computes with.
mkdir "$FB_TMP/rule"
cp -r "$golden/one" "$FB_TMP/rule/b"
median=$(head -n 1 "$golden/one/barrier.csv" | tr ',' '\n' | grep -n '^median_us$' | cut -d: -f1)
for number in 0x1p3 1e308 -1e308 -1 nan inf ' 9' 9us 9.5.5 1e 1.5e+ '9\0'; do
	mkdir -p "$FB_TMP/rule/a"
	awk -F, -v OFS=, -v at="$median" -v number="$number" 'NR == 2 { $at = number } { print }' \
		"$golden/one/barrier.csv" | sed 's/9\\0/9\x00/' >"$FB_TMP/rule/a/barrier.csv"
	"$FB_BUILD/bin/csvcheck" "$FB_TMP/rule/a/barrier.csv" >"$FB_TMP/out"
	expect "csvcheck of '$number'" $? 2
	for tool in summary query 'plotdata scaling' 'merge --csv none' 'compare rule/b' \
		'report --output none.html'; do
		# shellcheck disable=SC2086 # the tool and its options
		(cd "$FB_TMP" && "$FB_BUILD"/bin/$tool rule/a) >/dev/null 2>"$FB_TMP/err"
		expect "$tool of '$number'" $? 3
		holds "$FB_TMP/err" 'barrier.csv:2: .*(is not of type time_us|NUL byte)'
	done
done
verdict summary_numbers

# No row at all is no mistake: the job has only just begun.
"$summary" "$FB_TMP/header.csv" >"$FB_TMP/out"
expect "exit code for a header alone" $? 0
holds "$FB_TMP/out" '^rows: 0 ok'
verdict summary_empty
exit "$bad"
