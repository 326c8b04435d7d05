#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 180
#
# A sweep that is told by SIGUSR1 that its time is over soon: the row of an hour that is under way
# ends with the samples that it has, nothing else begins, and --resume goes on behind that row.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
build=$FB_TMP/build/$MPI
results=$FB_TMP/results
mkdir -p "$build/bin"
for program in bin/study bin/barrier bin/summary tests/dummy; do
	ln -s "$(realpath "$FB_BUILD")/$program" "$build/bin/"
done
cat >"$FB_TMP/my.study" <<'END'
ranks 2
canary none
dummy --algorithm=slow --bytes=8 --max-time=60min --min-samples=100000 --max-samples=100000
barrier --engine=mpi --max-time=20ms --min-samples=5 --max-samples=20
END

# column NAME FILE: without the header; fields before it have no commas.
column() {
	awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print $at }' "$2" | xargs
}

# In a session of its own, all of which gets the signal, as from a batch system that spares nobody.
setsid scripts/sweep "$FB_TMP/my.study" --build "$build" --results "$results" \
	>"$FB_TMP/out" 2>"$FB_TMP/err" &
sweep=$!
trap 'kill -KILL "-$sweep" 2>/dev/null' EXIT
for ((i = 0; i < 1200 * slow; i++)); do
	[ ! -s "$results/dummy.0.under_way" ] || break
	sleep 0.1
done
kill -USR1 "-$sweep"
wait "$sweep"
expect "exit code after SIGUSR1" $? 75
holds "$FB_TMP/err" 'SIGUSR1: incomplete; go on with'
expect "status" "$(column status "$results/launches.csv")" interrupted
expect "rows" "$(grep -Ec ',slow,.*,(ok|few),' "$results/dummy.csv")" 1
holds "$results/dummy.csv" ',slow,.*,cut;'
[ ! -e "$results/barrier.csv" ] || fail "a program began after the signal"
cp "$results/dummy.csv" "$FB_TMP/before.csv"
timeout $((120 * slow)) scripts/sweep --resume "$results" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code of --resume" $? 0
cmp "$FB_TMP/before.csv" "$results/dummy.csv" || fail "the row was measured again"
expect "rows of the program behind it" "$(wc -l <"$results/barrier.csv")" 2
expect "status" "$(column status "$results/launches.csv")" "interrupted ok"
expect "flags" "$(column flags "$results/launches.csv")" resumed
"$FB_BUILD/bin/csvcheck" "$results"/*.csv >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
verdict sweep_cut
exit "$bad"
