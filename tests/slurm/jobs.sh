#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 600
#
# Jobs that do not come to their end: the signal before the time limit, also in a long row, a real
# time limit, and scancel. However that goes, every row is there in the end, and once. And a node
# with a slow link, that pairs of nodes name. All on one cluster, at once, because a real time limit
# takes a minute.

set -u
name=slurm/jobs
. tests/slurm/lib.sh
start_cluster 7
limit_s=400

# study LAUNCHES ROWS: of which each row takes a second.
study() {
	echo "launches $1"
	echo "canary none"
	echo "* --max-time=1s --min-samples=1000000 --max-samples=1000000"
	echo "all_reduce --engine=mpi --bytes=256K:$((262144 + 4096 * ($2 - 1))):+4096"
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

# Slurm sends the signal between 15 and 45 s after the start of a job of one minute (it looks every
# 30 s): before 48 s of work are done.
study 6 8 >"$FB_TMP/long.study"
submit_job "$FB_TMP/long.study" --nodes 1 --ranks-per-node 2 --array-tasks 1 --time 1 \
	--attempts 40 --extra --nodelist=h6 --results "$FB_TMP/limit"
expect "exit code of submit" $rc 0

# The signal itself, at once. The array's other task is not to be started again.
study 2 4 >"$FB_TMP/short.study"
results=$FB_TMP/signal
submit_job "$FB_TMP/short.study" --nodes 1 --ranks-per-node 2 --array-tasks 2 --parallel 2 \
	--time 5 --extra --exclude='h[0-3]' --results "$results"
expect "exit code of submit" $rc 0
job=$(job_of "1 nodes")
until_true 120 some_rows "$results" || fail "no rows: $(tail -n 5 "$results"/logs/*)"
on scancel --batch --signal=USR1 "${job}_1"
until_true 60 grep -qs 'back into the queue' "$results/logs/n1-1.txt" || fail "not put back"
until_true 60 job_is "${job}_1" PD || fail "not in the queue"
hurry

# A row of an hour ends with the samples that it has, and is not measured again.
results=$FB_TMP/cut
echo "all_reduce --engine=mpi --bytes=16M --max-time=60min --min-samples=1000000" \
	--max-samples=1000000 >"$FB_TMP/hour.study"
submit_job "$FB_TMP/hour.study" --nodes 1 --ranks-per-node 2 --array-tasks 1 --time 5 \
	--extra --exclude='h[0-3]' --results "$results"
expect "exit code of submit" $rc 0
until_true 120 test -s "$results/n1/part-0/all_reduce.0.under_way" || fail "no row under way"
on scancel --batch --signal=USR1 "$(job_of "1 nodes")_0"
until_true 60 grep -qs 'back into the queue' "$results/logs/n1-0.txt" || fail "not put back"
hurry

# Cancelled in the middle; submit.sh goes on.
results=$FB_TMP/cancel
submit_job "$FB_TMP/short.study" --nodes 1 --ranks-per-node 2 --array-tasks 1 --time 5 \
	--extra --exclude='h[0-3]' --results "$results"
expect "exit code of submit" $rc 0
until_true 120 some_rows "$results" || fail "no rows: $(tail -n 5 "$results"/logs/*)"
on scancel "$(job_of "1 nodes")"
until_true 60 grep -qs 'told to stop: term' "$results/logs/n1-0.txt" || fail "not told"
sleep 1
before=$(rows "$results"/n1/part-*/all_reduce.csv | grep -cE ' (ok|few)$')
on "$results/submit.sh" >/dev/null || fail "submit.sh"

# A link of 10 Mbit/s. The other links are as quick as the machine, which others use too.
link=$FB_TMP/link
cat >"$FB_TMP/link.study" <<-'END'
	canary none
	all_reduce --engine=mpi --bytes=512K --max-time=100ms --min-samples=3 --max-samples=5
END
if tests/netns/hosts sh h2 tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 800ms \
	2>"$FB_TMP/why"; then
	submit_job "$FB_TMP/link.study" --nodes 4 --permute 6 --time 5 --extra "--exclude=h[4-6]" \
		--results "$link"
	expect "exit code of submit" $rc 0
fi

if await_end "$FB_TMP/limit"; then
	whole "$FB_TMP/signal" 2 4
	holds "$FB_TMP/signal/logs/n1-1.txt" 'attempt 1: ended with exit code 0'
	expect "starts of the other task" \
		"$(grep -c ': launches ' "$FB_TMP/signal/logs/n1-0.txt")" 1
	verdict slurm/signal
	whole "$FB_TMP/cut" 1 1
	holds "$FB_TMP/cut/merged/all_reduce.csv" ',(ok|few),.*cut'
	holds "$FB_TMP/cut/logs/n1-0.txt" 'attempt 1: ended with exit code 0'
	verdict slurm/cut
	whole "$FB_TMP/cancel" 2 4
	[ "$before" -lt 8 ] || fail "cancelled after its end"
	verdict slurm/scancel
	whole "$FB_TMP/limit" 6 8
	holds "$FB_TMP/limit/logs/n1-0.txt" 'told to stop: limit'
	! grep -h 'DUE TO TIME LIMIT' "$FB_TMP"/*/logs/*.txt || fail "a job ran into its limit"
fi
verdict slurm/time-limit

if [ -s "$FB_TMP/why" ]; then
	echo "SKIP slurm/slow-node: no tbf: $(tail -n 1 "$FB_TMP/why")"
	exit $bad
fi
cat "$link/slow-node.txt"
expect "pairs" "$(cd "$link/pairs" && echo h*)" "h0+h1 h0+h2 h0+h3 h1+h2 h1+h3 h2+h3"
holds "$link/slow-node.txt" '^4 nodes, 12 sets$'
# It takes half a second, others 5 ms. Whoever shares a busy processor may be suspected too, but of
# the three nodes that are left two laps make nobody sure.
expect "nodes named" "$(sed -n 's/^slow node: \(h.\),.*/\1/p' "$link/slow-node.txt")" h2
holds "$link/logs/merge.txt" '^slow node: h2, [0-9.]+ times the time of other nodes, .*above 256K$'
scripts/slurm/slow-node "$link" >/dev/null
expect "exit code of slow-node" $? 1
verdict slurm/slow-node
exit $bad
