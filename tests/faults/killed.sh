#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
# full: rounds_7_to_20
#
# kill -9 of one rank at a random moment, 20 times: the job ends as a fault long before its timeout,
# no rank outlives it, every row that was written is whole, and --resume goes on from there.
# Rank and moment come from a seed, the moment from before MPI is up until shortly before the end;
# every other one is after the first row, however slow the machine is.

set -u
export LC_ALL=C
. tests/faults/lib.sh

TIMES=${TIMES:-20}
in_set rounds_7_to_20 || TIMES=6
RANDOM=${SEED:-1}
# The death is noticed, whatever the timeout is.
timeout_s=$((60 * slow)) gone_s=$((30 * slow))
# Rows of the same length each, on any machine: they never have enough samples.
options=(--engine host --algorithm "ring,tree" --protocol "simple,ll" --bytes 8:512:2 -q
	--min-samples 1000000 --max-samples 1000000 --max-time $((80 * slow))ms
	--timeout "${timeout_s}s")
cases=28

# await_good_row CSVFILE: waits until the file has a row that --resume keeps, or the job has ended.
# Rows of faults, which rounds before leave, do not count.
await_good_row() {
	while kill -0 "$job" 2>/dev/null; do
		[ ! -e "$1" ] || [ "$(rows "$1" 'ok|few')" -eq 0 ] || return
		sleep 0.02
	done
}

# round INDEX: even ones begin a folder, odd ones go on with it.
round() {
	local csv=$dir/csv$(($1 / 2)) what="$MPI round $1" ranks=$((2 + RANDOM % 2))
	local delay victim seconds

	delay=$(printf '0.%03d' $((RANDOM % 600)))
	start "$ranks" --csv "$csv" --resume "${options[@]}"
	await_ranks "$csv" "$ranks" || expect "$what" ranks "${#pids[@]}" "$ranks"
	[ $(($1 % 2)) -eq 0 ] || await_good_row "$csv/all_reduce.csv"
	sleep "$delay"
	victim=$((RANDOM % ranks))
	what="$what: rank process $victim of $ranks killed after $delay s"
	kill -KILL "${pids[victim]}" 2>/dev/null || expect "$what" "rank to kill" gone there
	seconds=$(seconds_until_gone "$csv")
	finish
	at_most "$what" "seconds until all ranks are gone" "$seconds" $gone_s
	expect "$what" "exit code" "$rc" 5
	holds "$what" "$dir/err" '^fabricbench: .*has died|the launcher ended with [0-9]+'
	if [ -e "$csv/all_reduce.csv" ]; then
		whole "$what" "$csv/all_reduce.csv"
		expect "$what" "wrong rows" "$(rows "$csv/all_reduce.csv" wrong)" 0
	fi
}

# resume INDEX: ends what was killed in that round; nothing is measured twice.
resume() {
	local csv=$dir/csv$(($1 / 2)) what="$MPI resume after round $1" before

	before=$(rows "$csv/all_reduce.csv" 'ok|few' 2>/dev/null)
	# 3 ranks where 2 had begun would be other rows: 2 ranks count.
	run 2 --csv "$csv" --resume "${options[@]}"
	expect "$what" "exit code" "$rc" 0
	whole "$what" "$csv/all_reduce.csv"
	expect "$what" "good rows of 2 ranks" \
		"$(awk -F, 'NR > 1 && $20 == 2 && $23 ~ /^(ok|few)$/ { print $8, $9, $19 }' \
			"$csv/all_reduce.csv" | sort -u | wc -l)" $cases
	expect "$what" "rows measured twice" \
		"$(awk -F, 'NR > 1 && $23 ~ /^(ok|few)$/ { print $8, $9, $19, $20 }' \
			"$csv/all_reduce.csv" | sort | uniq -d | wc -l)" 0
	[ "${before:-0}" -gt 0 ] && kept=$((kept + 1))
}

# orphans RANKS: rank 0 killed within its second row, which takes seconds. Whoever is left on
# its host writes the row of the fault. MPICH's launcher kills the others at once, so that they may
# have said nothing or not all; then scripts/launch writes the row.
orphans() {
	local csv=$dir/orphans$1 what="$MPI: rank 0 of $1 killed" victim

	start "$1" --csv "$csv" --engine host --algorithm ring --protocol simple --bytes 8,64 -q \
		--min-samples 1000000 --max-samples 1000000 --max-time "$((2 * slow))s" \
		--timeout "${timeout_s}s"
	await_ranks "$csv" "$1" || expect "$what" ranks "${#pids[@]}" "$1"
	await_rows "$csv/all_reduce.csv" 1
	await_row_under_way "$csv/all_reduce"
	for victim in "${pids[@]}"; do
		tr '\0' '\n' <"/proc/$victim/environ" |
			grep -qx '\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=0' && break
	done
	kill -KILL "$victim"
	finish
	expect "$what" "exit code" "$rc" 5
	whole "$what" "$csv/all_reduce.csv"
	expect "$what" "wrong rows" "$(rows "$csv/all_reduce.csv" wrong)" 0
	expect "$what" "rows of the fault" "$(rows "$csv/all_reduce.csv" fault)" 1
	holds "$what" "$csv/all_reduce.csv" ',(8|64),.*,fault,.*rank 0 '
	[ "$MPI" = openmpi ] || return
	holds "$what" "$dir/err" '^fabricbench: rank 0 on .* has died, .*of case 1'
	holds "$what" "$csv/all_reduce.csv" ',fault,.*rank 0 on .* has died'
}

# A row under way of an earlier job whose results are gone is dropped; that of a job that lives,
# which holds a lock on it, is not moved by another start of the launch that fails.
left_behind() {
	local csv=$dir/left what="$MPI: a row that was left" file lines

	file=$csv/all_reduce.0.under_way
	mkdir "$csv"
	echo "old,rank 0 ended within this case and nobody was left to say why" >"$file"
	run 2 --csv "$csv" --engine host --algorithm ring --protocol simple --bytes 8 -q \
		--min-samples 2 --max-samples 2 --timeout "${timeout_s}s"
	expect "$what" "exit code" "$rc" 0
	expect "$what" "rows of the fault" "$(grep -c '^old,' "$csv/all_reduce.csv")" 0
	[ ! -e "$file" ] || expect "$what" "the file" there gone
	lines=$(wc -l <"$csv/all_reduce.csv")
	echo "live,rank 0 ended within this case and nobody was left to say why" >"$file"
	exec 9>>"$file"
	flock 9
	close "$csv"
	expect "$what" "lines while the writer lives" "$(wc -l <"$csv/all_reduce.csv")" "$lines"
	exec 9>&-
	# Four at once, none of which is kept by a lock: one of them moves the row.
	for _ in 1 2 3 4; do
		(flock() { :; } && close "$csv") &
	done
	wait
	expect "$what" "lines after its death" "$(wc -l <"$csv/all_reduce.csv")" $((lines + 1))
	[ ! -e "$file" ] || expect "$what" "the file of the dead" there gone
}

# close FOLDER: what scripts/launch does when launch 0 of all_reduce has failed.
close() (
	. scripts/launch_close.sh
	# shellcheck disable=SC2034 # fb_move_row reads them
	folder=$1 program=all_reduce launch=0
	fb_move_row 5 2>/dev/null
)

read -ra families <<<"$FB_MPIS"
kept=0
for ((family = 0; family < ${#families[@]}; family++)); do
	use "${families[family]}" all_reduce
	failures=0
	share=$((TIMES / ${#families[@]}))
	for ((i = 0; i < share; i++)); do
		round $i
	done
	for ((i = 1; i < share; i += 6)); do
		resume $i
	done
	expect "$MPI" "kills that left something to go on from" "$((kept > 0))" 1
	verdict "faults/kill -9 of a rank, $share times ($MPI)"
done
for MPI in "${families[@]}"; do
	use "$MPI" all_reduce
	failures=0
	orphans 2
	orphans 3
	verdict "faults/kill -9 of rank 0 within a row ($MPI)"
done
failures=0
left_behind
verdict "faults/rows under way that were left"
failures=0
no_new_names "shared memory"
verdict "faults/no shared memory left behind"
exit $bad
