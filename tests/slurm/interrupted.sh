#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 600
#
# Jobs that do not come to their end: the signal before the time limit, a real time limit, and
# scancel. However that goes, every row is there in the end, and once.

set -u
name=slurm/interrupted
. tests/slurm/lib.sh
start_cluster 3
limit_s=400

# study LAUNCHES SECONDS: of which each launch takes that long, in rows of a second and less.
study() {
	echo "launches $1"
	echo "canary none"
	echo "all_reduce --engine=mpi --bytes=8:$((8 << ($2 - 1))):2 --max-time=1s" \
		"--max-samples=1000000 --ci=0.01%"
}

# whole RESULTS LAUNCHES ROWS: every row once.
whole() {
	local file=$1/merged/all_reduce.csv

	expect "rows" "$(rows "$file" | grep -cE ' (ok|few)$')" $(($2 * $3))
	expect "different rows" "$(rows "$file" | cut -d' ' -f 1-5 | sort -u | wc -l)" $(($2 * $3))
	"$build/bin/csvcheck" "$file" >"$FB_TMP/said" 2>&1 || fail "$(head -n 3 "$FB_TMP/said")"
}

# some_rows RESULTS: whether the first rows are there.
some_rows() {
	[ "$(cat "$1"/n1/part-*/all_reduce.csv 2>/dev/null | wc -l)" -ge 3 ]
}

# job_is JOB STATE: whether it is in that state, as PD.
job_is() {
	[ "$(on squeue -h -r -j "$1" -o %t)" = "$2" ]
}

# A minute's limit that 50 s of work and Slurm's early signal (15 s and up to 30 s more before the
# end) cannot keep. It runs beside everything else.
study 10 5 >"$FB_TMP/long.study"
submit_job "$FB_TMP/long.study" --nodes 1 --array-tasks 1 --time 1 --attempts 40 \
	--results "$FB_TMP/limit"
expect "exit code of submit" $rc 0

# The signal itself, at once. The array's other task is not to be started again.
study 2 6 >"$FB_TMP/short.study"
results=$FB_TMP/signal
submit_job "$FB_TMP/short.study" --nodes 1 --array-tasks 2 --parallel 2 --time 5 \
	--results "$results"
expect "exit code of submit" $rc 0
job=$(job_of "1 nodes")
until_true 120 some_rows "$results" || fail "no rows: $(tail -n 5 "$results"/logs/*)"
on scancel --batch --signal=USR1 "${job}_1"
until_true 60 grep -qs 'back into the queue' "$results/logs/n1-1.txt" || fail "not put back"
until_true 60 job_is "${job}_1" PD || fail "not in the queue"
hurry

# Cancelled in the middle; submit.sh goes on.
results=$FB_TMP/cancel
submit_job "$FB_TMP/short.study" --nodes 1 --array-tasks 1 --time 5 --results "$results"
expect "exit code of submit" $rc 0
until_true 120 some_rows "$results" || fail "no rows: $(tail -n 5 "$results"/logs/*)"
on scancel "$(job_of "1 nodes")"
until_true 60 grep -qs 'told to stop: term' "$results/logs/n1-0.txt" || fail "not told"
sleep 1
before=$(rows "$results"/n1/part-*/all_reduce.csv | grep -c ok)
on "$results/submit.sh" >/dev/null || fail "submit.sh"

if await_end "$FB_TMP/limit"; then
	whole "$FB_TMP/signal" 2 6
	holds "$FB_TMP/signal/logs/n1-1.txt" 'attempt 1: ended with exit code 0'
	expect "starts of the other task" "$(grep -c ': launches ' "$FB_TMP/signal/logs/n1-0.txt")" 1
	verdict slurm/signal
	whole "$results" 2 6
	[ "$before" -lt 12 ] || fail "cancelled after its end"
	verdict slurm/scancel
	whole "$FB_TMP/limit" 10 5
	holds "$FB_TMP/limit/logs/n1-0.txt" 'told to stop: limit'
	! grep -h 'DUE TO TIME LIMIT' "$FB_TMP"/*/logs/*.txt || fail "a job ran into its limit"
fi
verdict slurm/time-limit
exit $bad
