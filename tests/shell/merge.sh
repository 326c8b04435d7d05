#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# merge: parts of a job array in, one folder out. The parts are made here of few rows, so that what
# must become of each is plain; golden files hold the joined ones.

set -u
export LC_ALL=C
. tests/shell/lib.sh
golden=$PWD/tests/golden/merge
merge=$FB_BUILD/bin/merge
csvcheck=$FB_BUILD/bin/csvcheck
old_header=$(head -n 1 tests/golden/summary/one/barrier.csv) # of schema 1
header=$old_header,cpu_s,traffic,counters
cd "$FB_TMP" || exit 1

# row PROGRAM LAUNCH BYTES MEDIAN [STATUS] [SECOND]: a row; a fault has no time.
row() {
	local rest="ok,,100,ci,,,$4,,,,,,,,,,,,0,,,,,0,shm,1,,,,"

	[ "${5-ok}" = fault ] && rest="fault,rank 1 died,0,,,,,,,,,,,,,,,,0,,,,,0,shm,1,,,,"
	echo "3,study,$2,2026-01-02T03:04:${6-05}Z,$1,$1,host,ring,ll,shm,host,registered,blocking$(
	)isolated,f32,sum,-1,no,$3,4,1,,$rest" | sed 's/blockingisolated/blocking,isolated/'
}

# part NAME FACT...: a folder with an environment of these facts (KEY=VALUE).
part() {
	local fact

	mkdir -p "$1"
	echo scope,host,rank,key,value >"$1/environment.csv"
	for fact in "${@:2}"; do
		echo "run,,,${fact%%=*},${fact#*=}"
	done | sort -t, -k4 >>"$1/environment.csv"
}

# joined NAME: the folder joined is golden/NAME.txt.
joined() {
	"$csvcheck" joined/*.csv >check || fail "$1: $(head -n 3 check)"
	(cd joined && tail -n +1 ./*.csv ./nothing 2>/dev/null) >got
	same got "$1.txt"
}

# joins PATTERN ARGUMENT...: into joined, exit code 0, a line like PATTERN on stdout.
joins() {
	local pattern=$1

	shift
	rm -rf joined
	"$merge" --csv joined "$@" >out 2>err
	expect "exit code of $*" $? 0
	expect "stderr of $*" "$(cat err)" ''
	holds out "$pattern"
}

# refuses PATTERN ARGUMENT...: exit code 3, one line on stderr, nothing left.
refuses() {
	local pattern=$1

	shift
	rm -rf joined
	"$merge" --csv joined "$@" >out 2>err
	expect "exit code of $*" $? 3
	expect "lines on stderr of $*" "$(wc -l <err)" 1
	holds err "$pattern"
	[ -z "$(find . -maxdepth 1 -name 'joined*')" ] || fail "$*: something was left"
}

# Parts of one launch by size, and another launch on another host; one has a column of its own.
part a cpu.model=X hostname=h1 program.all_reduce.0.cases=2 program.all_reduce.0.seed=7
{ echo "$header"; row all_reduce 0 8 1.0000; row all_reduce 0 64 2.0000; } >a/all_reduce.csv
part b cpu.model=X hostname=h2 program.all_reduce.0.cases=1 program.all_reduce.0.seed=7
{ echo "$old_header,own_us"; row all_reduce 0 512 3.0000 | sed 's/^3/1/; s/,,,$/,0.5/'; } \
	>b/all_reduce.csv
{ echo "$header"; row barrier 0 0 9.0000; } >b/barrier.csv
part c cpu.model=X hostname=h1 program.all_reduce.1.cases=1
{ echo "$header"; row all_reduce 1 8 1.5000; } >c/all_reduce.csv
joins '^all_reduce.csv: 4 rows of 2 launches$' a b c
joined parts
verdict merge_parts

# The very same row twice is one; the same folder twice is one.
cp -r a copy
joins '^2 rows that were there twice' a copy
expect "a folder and its copy" "$(cat joined/all_reduce.csv)" "$(cat a/all_reduce.csv)"
expect "its facts" "$(cat joined/environment.csv)" "$(cat a/environment.csv)"
joins 'all_reduce.csv: 2 rows of 1 launches' a/all_reduce.csv
expect "the facts beside a file" "$(cat joined/environment.csv)" "$(cat a/environment.csv)"
verdict merge_twice

# Another launch of the same number: its row and its facts follow its new number.
part d cpu.model=Y hostname=h1 program.all_reduce.0.seed=8
{ echo "$header"; row all_reduce 0 8 1.2500; row all_reduce 0 64 2.0000; } >d/all_reduce.csv
refuses 'a/all_reduce.csv:2 and d/all_reduce.csv:2 differ.*--renumber' a d
joins 'all_reduce: launch 0 of d is now launch 2' --renumber c a d d
joined renumbered
verdict merge_renumber

# Launches that were started with one --seed and --launch-index are not independent. The options
# tell it, so that a launch that got its number in an earlier merge is found as well.
part same/x program.all_reduce.0.option.seed=7 program.all_reduce.0.option.launch-index=0
part same/y program.all_reduce.0.option.seed=7 program.all_reduce.0.option.launch-index=0
part same/z program.all_reduce.0.option.seed=8 program.all_reduce.0.option.launch-index=0
for name in x y z; do
	{ echo "$header"; row all_reduce 0 8 "1.$(printf %d "'$name")"; } \
		>same/$name/all_reduce.csv
done
joins 'launch 0 of same/z is now launch 1' --renumber same/x same/z
mv joined same/xz
"$merge" --csv joined --renumber same/xz same/y >out 2>err
expect "exit code of equal launches" $? 0
expect "warnings about equal launches" "$(wc -l <err)" 1
holds err 'had the same --seed and --launch-index, such as 0 and 2 of all_reduce:'
"$merge" --csv same/zx --renumber same/z same/x >out
rm -rf joined
"$merge" --csv joined --renumber same/zx same/y >out 2>err
holds err 'had the same --seed and --launch-index, such as 1 and 2 of all_reduce:'
# The parts of one launch, or a launch and its copy, are one launch.
{ echo "$header"; row all_reduce 0 64 2.0000; } >same/y/all_reduce.csv
joins '^all_reduce.csv: 2 rows of 1 launches' same/x same/y
joins 'twice' --renumber same/x same/x
verdict merge_order

# Repetitions (--raw) follow their launch.
raw=run,launch_index,program,row,repetition,time_us
printf '%s\nstudy,0,all_reduce,0,0,1.0\nstudy,0,all_reduce,0,1,1.1\n' $raw >a/samples.csv
printf '%s\nstudy,0,all_reduce,0,0,1.3\n' $raw >d/samples.csv
joins 'all_reduce.csv: 4 rows of 2' --renumber a d
ranks=run,launch_index,program,row,repetition,rank,begin_us,end_us
printf '%s\nstudy,0,all_reduce,0,0,0,1.0,2.0\nstudy,0,all_reduce,0,0,1,1.1,2.0\n' \
	$ranks >a/ranks.csv
printf '%s\nstudy,0,all_reduce,0,0,0,,1.3\n' $ranks >d/ranks.csv
joins 'all_reduce.csv: 4 rows of 2' --renumber a d
expect "times of ranks" "$(tail -n +2 joined/ranks.csv | cut -d, -f2,6-8 | xargs)" \
	'0,0,1.0,2.0 0,1,1.1,2.0 1,0,,1.3'
rm a/ranks.csv d/ranks.csv
expect "samples" "$(tail -n +2 joined/samples.csv | cut -d, -f2,6 | tr '\n' ' ')" \
	'0,1.0 0,1.1 1,1.3 '
# They are fewer than the rows say, which csvcheck would mind in what follows.
rm a/samples.csv d/samples.csv
verdict merge_samples

# What the sweeps saw of their launches follows these, one line a launch and attempt.
lines=index,launch_index,side,attempt,ranks,nodes,status,exit,begin_utc,end_utc
lines+=,seconds,canary_before_us,canary_after_us,flags,variant

# marks FILE LINE...: a launches.csv; LINE is launch_index, side, attempt, status, flags, variant.
marks() {
	local file=$1 line launch side attempt status flags variant at=0

	shift
	for line in "$lines" "$@"; do
		if [ "$line" = "$lines" ]; then
			echo "$line"
			continue
		fi
		IFS=, read -r launch side attempt status flags variant <<<"$line"
		echo "$((at++)),$launch,$side,$attempt,4,1,$status,0,2026-01-02T03:04:05Z,$(
		)2026-01-02T03:04:06Z,1.0,1.0,1.5,$flags,$variant"
	done >"$file"
}

marks a/launches.csv 0,,1,failed,drift, 0,,2,ok,retried, 5,,1,failed,throttle,
marks d/launches.csv 0,,1,ok,drift,A=1
marks c/launches.csv 1,,1,ok,,
{ echo "$header"; row barrier 0 0 7.0000; } >d/barrier.csv
cp a/all_reduce.csv keep.csv
{ echo "$header"; row barrier 0 0 9.0000; } >a/barrier.csv
joins 'barrier: launch 0 of d is now launch 2' --renumber a c d
holds out 'all_reduce: launch 0 of d is now launch 2'
holds out '^launches.csv: 1 lines of launches without rows are left out$'
joined launches
expect "runs of the launches" "$(tail -n +2 joined/launches.csv | cut -d, -f16 | sort -u)" study
# A folder and its copy say it once, even where all of it gets no new number.
rm -rf copy
cp -r a copy
joins '^3 rows that were there twice' a copy
expect "lines of a folder and its copy" "$(cut -d, -f2,4,14 joined/launches.csv | xargs)" \
	'launch_index,attempt,flags 0,1,drift 0,2,retried'
# Parts of one launch: the last line of each has what any part's last line says.
marks b/launches.csv 0,,1,ok,throttle,
joins '^all_reduce.csv: 3 rows of 1 launches' a b
expect "flags of a launch in parts" "$(cut -d, -f2,4,14 joined/launches.csv | xargs)" \
	'launch_index,attempt,flags 0,1,drift 0,2,retried;throttle 0,1,throttle;retried'
# Another run of the same number has its own line.
mkdir other
{ echo "$header"; row reduce 0 8 1.0000 | sed 's/^3,study/3,other/'; } >other/reduce.csv
marks other/launches.csv 0,,1,ok,drift,
joins '^reduce.csv: 1 rows' a other
expect "runs" "$(cut -d, -f2,14,16 joined/launches.csv | xargs)" \
	'launch_index,flags,run 0,drift,study 0,retried,study 0,drift,other'
# Two sides have one file above their folders.
mkdir -p sides/a sides/b
cp keep.csv sides/a/all_reduce.csv
cp keep.csv sides/b/all_reduce.csv
marks sides/launches.csv 0,a,1,ok,, 0,b,1,ok,drift,
joins '^all_reduce.csv: 2 rows' sides/b/
expect "lines of a side" "$(cut -d, -f2,3,14 joined/launches.csv | xargs)" \
	'launch_index,side,flags 0,b,drift'
sed -i 's/^1,0,b/1,x,b/' sides/launches.csv
refuses "sides/a/../launches.csv:3: launch_index: 'x' is not of type u64" sides/a
rm -rf {a,b,c,d}/launches.csv {a,d}/barrier.csv copy
verdict merge_launches

# The later one of a fault and its repetition stands last, whichever part had it.
part e
{ echo "$header"; row all_reduce 0 8 1.0000 ok 30; } >e/all_reduce.csv
part f
{ echo "$header"; row all_reduce 0 8 1.0000 fault 10; } >f/all_reduce.csv
joins '2 rows of 1 launches' e f
expect "a fault and its repetition" \
	"$(tail -n +2 joined/all_reduce.csv | cut -d, -f23 | tr '\n' ' ')" 'fault ok '
verdict merge_fault

# What cannot be used.
part g
{ echo "$header"; row all_reduce 0 8 1.0000 | sed 's/^3,/4,/'; } >g/all_reduce.csv
refuses "g/all_reduce.csv:2: schema '4': accepted is 1 to 3" a g
{ echo "$header" | sed 's/,bytes,/,size,/'; row all_reduce 0 8 1; } >g/all_reduce.csv
refuses 'g/all_reduce.csv:1: no column bytes' g
echo "$header" >g/all_reduce.csv
refuses 'g: no result file with rows' g
{ echo "$header"; row all_reduce 0 8 1.0000 | sed 's/,1,,,,$//'; } >g/all_reduce.csv
refuses 'g/all_reduce.csv:2: [0-9]+ fields where' g
{ echo "$header"; row all_reduce x 8 1.0000; } >g/all_reduce.csv
refuses "g/all_reduce.csv:2: launch_index: 'x'" g
{ echo "$header"; row ../x 0 8 1.0000; } >g/all_reduce.csv
refuses "program '../x' cannot name a file" g
{ echo "$header"; row all_reduce 0 8 1; row all_reduce 0 8 2; } >g/all_reduce.csv
refuses 'differ, but have the same key and launch_index 0$' --renumber g
{ echo "$header"; printf '1,"a'; } >g/all_reduce.csv
mkdir empty
refuses 'no result file in this folder' a empty
refuses 'No such file' a missing
refuses 'not a result file' a "$golden/parts.txt"
"$merge" --csv a c >out 2>err
expect "exit code for a folder that is not empty" $? 3
holds err 'expected a new folder, or an empty one'
"$merge" a >out 2>err
expect "exit code without --csv" $? 3
{ echo "$header"; row all_reduce 0 8 xyz; } >g/all_reduce.csv
"$merge" --csv joined g >out 2>err
expect "exit code for a row that breaks a rule" $? 3
holds err "median_us: 'xyz' is not of type"
[ -e joined ] && fail "a folder that breaks rules was written"
verdict merge_bad_input

# A row that its writer did not finish is left out, and said.
{ echo "$header"; row all_reduce 0 8 1.0000; row all_reduce 0 64 1.0000 | head -c 60; } \
	>g/all_reduce.csv
mkdir joined
"$merge" --csv joined/ g >out 2>err
expect "exit code for a torn row" $? 0
holds err 'g/all_reduce.csv:3: the last line has no end'
expect "rows" "$(wc -l <joined/all_reduce.csv)" 2
verdict merge_torn
exit "$bad"
