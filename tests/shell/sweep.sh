#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 240
#
# scripts/sweep with programs that measure nothing: what it starts and in which environment, what it
# records, retries, marks and resumes, and how parts are kept apart.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
. tests/shell/lib_sweep.sh

begin 'launches 2\nranks 2,3\nenv A=1 B=x;A=2 -\ncanary canary\nwork --bytes=2\nmore --bytes=1'
sweep_new
expect "exit code" "$rc" 0
expect "launches" "$(column status | tr ' ' '\n' | sort | uniq -c | xargs)" "12 ok"
expect "launch indexes" "$(column launch_index)" "0 0 0 0 0 0 1 1 1 1 1 1"
# Six variants, two launches, sizes: each once.
expect "rows" "$(lines_of "$results/work.csv") $(lines_of "$results/more.csv")" "24 12"
expect "different rows" "$(tail -n +2 "$results/work.csv" | sort -u | wc -l)" 24
expect "variants in the rows" "$(cut -d, -f 7 "$results/more.csv" | tr -d '"' | sort | uniq -c |
	xargs)" "4 4 env.A=1 4 env.A=2;env.B=x 1 variant"
# The environment is what the rows say.
expect "starts" "$(grep -c '^work' "$fake/starts")" 12
grep '^work' "$fake/starts" | cut -d' ' -f 4- | sort -u >"$fake/seen"
expect "environments" "$(paste -sd '|' "$fake/seen")" \
	'A=1 B=none tag=env.A=1|A=2 B=x tag=env.A=2;env.B=x|A=none B=none tag='
expect "canaries" "$(grep -c canary "$fake/starts")" 24
expect "around a launch" "$(head -n 4 "$fake/starts" | cut -d' ' -f 1 | xargs)" \
	"canary work more canary"
holds "$fake/out" '^my: 12 launches, about [0-9]+s, to '
expect "lines of progress" "$(grep -cE '^\[ *[0-9]+/12\] .* gone, about .* left$' "$fake/out")" 12
"$FB_BUILD/bin/csvcheck" "$results/launches.csv" >"$fake/check" || fail "$(cat "$fake/check")"
holds "$fake/out" '^launches: 12 in 12 attempts, [0-9]+ s; 12 ok$'
expect "header" "$(head -n 1 "$results/launches.csv")" "$(sed -n 's/^| `\(index\)`.*/\1/p' \
	docs/studies.md | head -n 1),launch_index,side,attempt,ranks,nodes,status,exit,begin_utc,$(
	)end_utc,seconds,canary_before_us,canary_after_us,flags,variant"
while read -r name; do
	grep -qE "^\|.*\`$name\`.*\|" docs/studies.md || fail "docs/studies.md lacks $name"
done < <(head -n 1 "$results/launches.csv" | tr , '\n')
sweep --resume "$results"
expect "exit code of nothing to do" "$rc" 0
expect "starts" "$(grep -c '^work' "$fake/starts")" 12
holds "$fake/out" '^12 launches are finished already$'
verdict sweep_variants

# A value in quotes may hold what parts words: the program gets it as it is, rows and plan as %3B.
begin 'launches 1\nenv A="x:tree;y:ring # 5%" -\ncanary none\nwork --bytes=2 # a "comment'
sweep_new
expect "exit code" "$rc" 0
grep '^work' "$fake/starts" | cut -d' ' -f 4- | sort -u >"$fake/seen"
expect "environments" "$(paste -sd '|' "$fake/seen")" \
	'A=none B=none tag=|A=x:tree;y:ring # 5% B=none tag=env.A=x:tree%3By:ring%20%23%205%25'
"$FB_BUILD/bin/csvcheck" "$results/launches.csv" >"$fake/check" || fail "$(cat "$fake/check")"
verdict sweep_quoted_values

begin 'launches 2\nside a A=1\nside b A=2;B=y --bytes=3\ncanary none\nwork'
sweep_new
expect "exit code" "$rc" 0
expect "sides" "$(column side)" "$(cut -f 3 "$results/plan.tsv" | grep -x '[ab]' | xargs)"
expect "rows of a" "$(cut -d, -f 4,7 "$results/a/work.csv" | tail -n +2 | sort |
	paste -sd ' ')" '1,"" 1,"" 2,"" 2,""'
expect "rows of b" "$(lines_of "$results/b/work.csv")" 6
expect "environments" "$(cut -d' ' -f 4,5 "$fake/starts" | sort | uniq -c | xargs)" \
	"2 A=1 B=none 2 A=2 B=y"
expect "run" "$(cut -d, -f 1 "$results"/?/work.csv | sort -u | xargs)" "results run"
[ ! -e "$results/work.csv" ] || fail "rows that belong to no side"
verdict sweep_sides

# One side now, the other one later; the study names none.
begin 'launches 3\ncanary none\nwork'
sweep_new --side a
expect "exit code" "$rc" 0
expect "sides" "$(column side)" "a a a"
sweep --resume "$results" --side b
expect "sides" "$(column side)" "a a a b b b"
expect "rows" "$(lines_of "$results/a/work.csv") $(lines_of "$results/b/work.csv")" "6 6"
verdict sweep_side_by_side

begin 'launches 2\ncanary none\nwork --bytes=3'
echo 1 >"$fake/faults"
sweep_new
expect "exit code" "$rc" 0
expect "attempts" "$(column attempt)" "1 2 1"
expect "statuses" "$(column status)" "failed ok ok"
expect "flags" "$(column flags)" " retried "
expect "exit codes" "$(column exit)" "5 0 0"
expect "rows" "$(tail -n +2 "$results/work.csv" | sort -u | wc -l)" 6
holds "$fake/out" '^  1 flagged retried'
holds "$results/logs/0000-1.log" 'rank 1 is gone'
verdict sweep_retried

begin 'launches 3\ncanary none\nwork'
echo 2 >"$fake/faults"
sweep_new
expect "exit code" "$rc" 5
expect "statuses" "$(column status)" "failed failed ok ok"
holds "$fake/err" 'rank 1 is gone'
sweep --resume "$results"
expect "exit code after that" "$rc" 0
expect "statuses" "$(column status)" "failed failed ok ok ok"
expect "attempts" "$(column attempt)" "1 2 1 1 3"
expect "rows" "$(lines_of "$results/work.csv")" 6
verdict sweep_failed_twice

# Wrong data is a result; refused options end everything.
begin 'launches 2\ncanary none\nwork'
echo 2 >"$fake/code"
sweep_new
expect "exit code" "$rc" 2
expect "statuses" "$(column status)" "wrong wrong"
begin 'launches 2\ncanary none\nwork'
: >"$fake/refuse"
sweep_new
expect "exit code" "$rc" 3
expect "statuses" "$(column status)" "refused"
holds "$fake/err" 'work: no device'
begin 'launches 2\nwork --nosuch=1'
sweep_new
expect "exit code" "$rc" 3
[ ! -e "$results" ] || fail "something was written"
expect "stderr" "$(cat "$fake/err")" "fabricbench: unknown option --nosuch=1"
verdict sweep_exit_codes

# Canaries: near, too far up, too far down, and none at all.
begin 'launches 4\ncanary canary\ncanary-limit 25%\nwork'
echo '10 12.4 10 12.6 12.6 10 10 none' >"$fake/times"
sweep_new
expect "exit code" "$rc" 0
expect "flags" "$(column flags)" " drift drift canary"
expect "before" "$(column canary_before_us)" "10 10 12.6 10"
expect "after" "$(column canary_after_us)" "12.4 12.6 10 "
holds "$fake/out" '^  2 flagged drift'
begin 'launches 1\ncanary none\nwork'
echo 'skew;throttle' >"$fake/flags"
sweep_new
expect "flags of a throttled launch" "$(column flags)" "throttle"
verdict sweep_canaries

# Nodes: the launcher is asked for them, and rows of another number are marked.
begin 'launches 1\nnodes 2\nranks-per-node 3\nenv A=1\ncanary none\nwork'
echo 2 >"$fake/nodes"
sweep_new
expect "exit code" "$rc" 0
expect "flags" "$(column flags)" ""
holds "$fake/launcher" '^ ?--map-by ppr:3:node -x A -n 6 .*/work --csv='
cp "$fake/mpirun" "$fake/srun"
begin 'launches 1\nnodes 2\nranks 4\ncanary none\nwork'
MPIRUN="$fake/srun --mpi=pmix" MPIRUN_FLAGS=-q sweep_new
holds "$fake/launcher" '^--mpi=pmix -q --nodes=2 --ntasks-per-node=2 -n 4 '
expect "flags on one node" "$(column flags)" "nodes"
begin 'launches 1\nnodes 2\ncanary none\nwork'
MPIRUN='' sweep_new
expect "exit code without nodes" "$rc" 3
holds "$fake/err" 'launch 0 needs 2 nodes: submit the study'
verdict sweep_nodes

# Two tasks of an array at once, each interrupted; then what is left, in the part it belongs to.
begin 'launches 8\ncanary none\nwork --bytes=4'
sweep_new --expand
expect "exit code" "$rc" 0
expect "starts" "$(grep -c . "$fake/starts")" 0
diff "$fake/out" "$results/plan.tsv" >"$fake/diff" || fail "another plan: $(cat "$fake/diff")"
echo 1 >"$fake/pause"
scripts/sweep --resume "$results" --launches 0-3 >"$fake/out1" 2>"$fake/err1" &
first=$!
scripts/sweep --resume "$results" --launches 4,6 >"$fake/out2" 2>"$fake/err2" &
second=$!
for ((i = 0; i < 1200; i++)); do
	[ -s "$results/part-0-3/work.csv" ] && [ -s "$results/part-4,6/work.csv" ] && break
	sleep 0.05
done
sweep --resume "$results" --launches 3-5
expect "exit code of a list that overlaps" "$rc" 3
kill -TERM "$first"
kill -USR1 "$second"
wait "$first"
expect "exit code after SIGTERM" $? 75
wait "$second"
expect "exit code after SIGUSR1" $? 75
holds "$fake/err2" 'SIGUSR1: incomplete; go on with'
expect "status" "$(column status "$results/part-4,6" | sed 's/.* //')" interrupted
rm "$fake/pause"
sweep --resume "$results" --launches 4,6
expect "exit code" "$rc" 0
expect "rows of the part" "$(lines_of "$results/part-4,6/work.csv")" 8
holds "$results/part-4,6/launches.csv" ',ok,0,.*,resumed,$'
sweep --resume "$results"
expect "exit code" "$rc" 0
expect "rows of all" "$(lines_of "$results"/part-*/work.csv "$results/work.csv")" 32
expect "rows once" "$(tail -q -n +2 "$results"/part-*/work.csv "$results/work.csv" | sort -u |
	wc -l)" 32
expect "launches elsewhere" "$(column index)" "5 7"
expect "finished" "$(awk -F, '$7 == "ok" { print $1 }' "$results"/part-*/launches.csv \
	"$results/launches.csv" | sort | xargs)" "0 1 2 3 4 5 6 7"
verdict sweep_parts

# A folder is one sweep's.
begin 'launches 1\ncanary none\nwork'
echo 30 >"$fake/pause"
scripts/sweep "$fake/my.study" --build "$build" --results "$results" >"$fake/out1" 2>&1 &
first=$!
for ((i = 0; i < 1200; i++)); do
	[ -s "$results/work.csv" ] && break
	sleep 0.05
done
LOCK_WAIT=0 sweep --resume "$results"
expect "exit code" "$rc" 3
holds "$fake/err" "$results: another sweep is writing to it"
rm "$fake/pause"
kill -TERM "$first"
wait "$first"
verdict sweep_locked

# refused WHAT ARGUMENT...: exit code 3 and one line that holds WHAT; nothing is written.
refused() {
	sweep "${@:2}"
	expect "exit code of ${*:2}" "$rc" 3
	grep -qF -- "$1" "$fake/err" || fail "${*:2}: $(cat "$fake/err")"
}

# A launch that could measure nothing here may take any time on nodes that have the devices.
begin 'ranks 2,3\nwork --bytes=0\nmore --bytes=0'
sweep_new --expand
expect "seconds of no rows" "$(awk -F'\t' '/^[0-9]/ { print $9 }' "$fake/out" | xargs)" "- -"
begin 'ranks 2\nwork --bytes=0\nmore --bytes=3'
sweep_new --expand
expect "seconds of three rows" "$(awk -F'\t' '/^[0-9]/ { print $9 }' "$fake/out")" 4.0
begin 'launches 3\nwork'
sweep_new --expand
my=("$fake/my.study" --build "$build")
refused "neither a file that can be read nor" nosuch --build "$build"
refused "unknown option '--nosuch'" "${my[@]}" --nosuch 1
refused "a value is missing" "${my[@]}" --repeat
refused "option --repeat: 'x'" "${my[@]}" --repeat x
refused "option --seed: 'x'" "${my[@]}" --seed x
refused "option --nodes: '0'" "${my[@]}" --nodes 0
refused "--side 'c': accepted" "${my[@]}" --side c
refused "one study is accepted" "${my[@]}" other
refused "--build /nowhere: accepted" "$fake/my.study" --build /nowhere
refused "there is no plan.tsv" --resume "$fake"
refused "accepted beside it are" --resume "$results" --expand
refused "accepted beside it are" --resume "$results" --repeat 3
refused "has the plan of another study" "${my[@]}" --results "$results" --repeat 4
for list in 3 0-3 2-1 x 1- ',' 0,,9; do
	refused "--launches '$list': accepted are numbers from 0 to 2" --resume "$results" \
		--launches "$list"
done
refused "the plan in" --resume "$results" --side a
NP=x refused "NP='x': accepted" "${my[@]}"
expect "files" "$(find "$results" -type f -printf '%f\n' | sort | xargs)" ".lock plan.tsv"
scripts/sweep --help >"$fake/out"
holds "$fake/out" '^usage: scripts/sweep STUDY'
verdict sweep_refuses
exit "$bad"
