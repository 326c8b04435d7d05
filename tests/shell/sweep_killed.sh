#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 900
#
# A sweep of real programs that is killed five times at moments nobody chose, sweep and mpirun at
# once as by a failing host, and goes on each time: no row is lost and none is there twice.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
results=$FB_TMP/results
cat >"$FB_TMP/my.study" <<'END'
launches 2
ranks 2
env FB_TEST=1 FB_TEST=2
canary barrier --engine=mpi --bytes=0 --max-time=10ms --max-samples=50
* --engine=host,mpi --max-time=100ms --max-samples=1000000 --ci=0.01% --min-samples=10
all_reduce --bytes=8,4K,64K --algorithm=ring,tree --protocol=simple
barrier --bytes=0 --algorithm=tree --protocol=ll
END

# How many launches are finished, and how many rows there are.
finished() {
	awk -F, '$7 == "ok"' "$results/launches.csv" 2>/dev/null | wc -l
}

rows() {
	tail -q -n +2 "$results"/{all_reduce,barrier}.csv 2>/dev/null | wc -l
}

# measured FILE...: their rows, without those that say within which case a job was killed.
measured() {
	tail -q -n +2 "$@" | awk -F, '$23 != "fault"'
}

scripts/sweep "$FB_TMP/my.study" --results "$results" --expand >"$FB_TMP/plan" 2>"$FB_TMP/err" ||
	fail "exit code $? of --expand: $(cat "$FB_TMP/err")"
# After some rows more and a part of a second; of 44 rows at least 7 are left for the last.
kills=0 seen=0
for ((i = 0; i < 5; i++)); do
	seen=$((seen + RANDOM % 6 + 1))
	setsid scripts/sweep --resume "$results" >"$FB_TMP/out" 2>&1 &
	pid=$!
	for ((j = 0; j < 600 * slow; j++)); do
		[ "$(rows)" -ge "$seen" ] && break
		sleep 0.1
	done
	sleep "0.$((RANDOM % 10))"
	kill -KILL -- "-$pid" 2>/dev/null && kills=$((kills + 1))
	wait "$pid" 2>/dev/null
	seen=$(rows)
	[ "$seen" -le 37 ] || seen=37
	echo "  killed after $(finished) launches, $(rows) rows"
done
# A quick machine may be through before the last one.
[ "$kills" -ge 3 ] || fail "only $kills kills"
scripts/sweep --resume "$results" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code" $? 0
expect "finished" "$(finished)" 4
# Three sizes of two algorithms and the library's own; a tree and the library's own.
expect "rows" "$(measured "$results/all_reduce.csv" | wc -l)" 36
expect "rows" "$(measured "$results/barrier.csv" | wc -l)" 8
"$bin/csvcheck" "$results"/{all_reduce,barrier,environment}.csv >"$FB_TMP/check" ||
	fail "$(cat "$FB_TMP/check")"
# Beside csvcheck, which knows the keys: launch, and columns from program to variant.
expect "different rows" "$(measured "$results"/{all_reduce,barrier}.csv |
	cut -d, -f 3,5-22 | sort -u | wc -l)" 44
expect "keys of the environment" "$(measured "$results/barrier.csv" | cut -d, -f 22 | sort |
	uniq -c | xargs)" "4 env.FB_TEST=1 4 env.FB_TEST=2"
holds "$FB_TMP/out" '^launches: 4 in [0-9]+ attempts, [0-9]+ s; 4 ok$'
verdict sweep_killed
exit "$bad"
