#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 240
#
# Claims: with recorded rows every verdict follows from the intervals; a row that was skipped, or
# has no interval, gives none. Every claim that is shipped says what would show it. One is measured.

set -u
export LC_ALL=C
. tests/shell/lib.sh
. tests/shell/lib_rows.sh
claims=$FB_BUILD/bin/claims
study=$FB_TMP/it.study
results=$FB_TMP/results
mkdir -p "$results"
# says PATTERN SHOW...: the tool's output with these lines, one of which has the pattern.
says() {
	{
		echo "claim Slow is slower."
		printf 'show %s\n' "${@:2}"
		echo "ddp --engine=host"
	} >"$study"
	"$claims" "$study" "$results" >"$FB_TMP/out" 2>&1 || fail "$*: exit code $?"
	holds "$FB_TMP/out" "$1"
}

# refuses PATTERN SHOW...: input that cannot be used, in one line.
refuses() {
	printf 'claim It is so.\n' >"$study"
	printf '%s\n' "${@:2}" "ddp --engine=host" >>"$study"
	"$claims" "$study" "$results" >"$FB_TMP/out" 2>&1
	expect "exit code of $*" $? 3
	holds "$FB_TMP/out" "$1"
}

rows_to "$results/ddp.csv" cost_us,cost_low_us,cost_high_us,sockets,device_bytes
slow='median_us operation=slow bucket=4M' fast='median_us operation=fast bucket=4M'
usual+=(program=ddp operation=slow)
row variant='bucket=4M;tokens=16' median_us=200 median_low_us=190 median_high_us=210
row operation=fast variant=bucket=4M median_us=100 median_low_us=95 median_high_us=105
row operation=fast variant=bucket=1M median_us=50 median_low_us=48 median_high_us=52 busbw_GBps=8
row operation=fast variant=bucket=2M median_us=70 median_low_us=68 median_high_us=72 busbw_GBps=6
row operation=vague variant=bucket=4M median_us=100 samples=5 sockets=64 channels=8 \
	device_bytes=4096
row operation=none_known median_us=100 channels=0
row operation=none variant=bucket=4M status=skipped reason='only GPUs have graphs'
row operation=cost cost_us=-40 cost_low_us=-45 cost_high_us=-35 median_us=60 \
	median_low_us=60 median_high_us=60
row operation=twice median_us=10 median_low_us=9 median_high_us=11
row operation=twice launch_index=1 median_us=14 median_low_us=13 median_high_us=15
row operation=twice launch_index=2 median_us=11 median_low_us=10 median_high_us=12
row operation=half cost_us=5 cost_low_us=4 cost_high_us=6 median_us=60
row operation=half launch_index=1 median_us=60 flags=no-knee
row operation=half launch_index=2 cost_us=6 cost_low_us=5 cost_high_us=7 median_us=60
row operation=env variant=env.NCCL_P2P_DISABLE=1 median_us=30 median_low_us=30 median_high_us=30
row operation=env median_us=3 median_low_us=3 median_high_us=3
says '^claim:    Slow is slower\.$' "least 1 $slow / $fast"
holds "$FB_TMP/out" ": 2, 95% interval 1\.81 to 2\.211 \(at least 1 wanted\)$"
holds "$FB_TMP/out" '^verdict:  holds$'
says '^verdict:  does not hold$' "least 2.5 $slow / $fast"
says '^verdict:  does not hold$' "most 1.5 $slow / $fast"
says '^verdict:  cannot be tested here: the interval contains 2$' "most 2 $slow / $fast"
says 'here: median_us without an interval: samples 5, of which fewer .*, and launches 1 ' \
	"most 2 $slow / median_us operation=vague"
says '^verdict:  holds$' "most 64 sockets operation=vague"
says '^verdict:  holds$' "most 4096 device_bytes operation=vague"
says '^verdict:  holds$' "most 8 channels operation=vague"
says 'here: channels is ' "most 8 channels operation=none_known"
says '^verdict:  cannot be tested here: skipped: only GPUs have graphs$' \
	"most 2 median_us operation=none / $fast"
says '^verdict:  cannot be tested here: no row has operation=gone$' \
	"most 2 median_us operation=gone"
verdict claims_verdicts

# Several lines: one that is wrong decides, then one that is open.
says '^verdict:  does not hold$' "least 1 $slow / $fast" "most 2 $slow / $fast" \
	"most 1 $slow / $fast"
says '^verdict:  cannot be tested here: the interval' "least 1 $slow / $fast" "most 2 $slow / $fast"
says '^verdict:  holds$' "least 1 each bucket median_us operation=fast"
says '^verdict:  does not hold$' "least 60 each bucket median_us operation=fast"
says '^verdict:  holds$' "least 90 some bucket median_us operation=fast"
says '^verdict:  does not hold$' "least 900 some bucket median_us operation=fast"
says '^verdict:  holds$' "least 1 each operation median_us bucket=4M operation=slow,fast,none"
says '^verdict:  cannot be .* without an interval' "least 1 each operation median_us bucket=4M"
says '^verdict:  cannot be tested here: skipped: only' \
	"least 1 each bucket median_us operation=none"
says ': 2, 95% .* \(at least 1' "least 1 median_us operation=fast bucket=4M / best $fast,1M"
says ': 1\.333, 95% ' \
	"least 1 best busbw_GBps operation=fast / busbw_GBps bucket=2M operation=fast"
says ': 0\.6667, 95% interval 0\.5833 to 0\.75 ' \
	"least 0.3 -1 cost_us operation=cost / median_us operation=cost"
says ': 11, 95% interval 9 to 15 ' "least 1 median_us operation=twice"
# Launches with a repetition each are six repetitions. Five are too few, or one without a value, or
# six with the same index. One with an interval of its own does not silence the five others.
for value in 3 1 4 2 6 5; do
	row operation=single launch_index="$value" samples=1 median_us=9 cost_us="$value"
	[ "$value" -eq 6 ] || row operation=few launch_index="$value" samples=1 median_us=9 \
		cost_us="$value"
	row operation=lost launch_index="$value" samples=1 median_us=9 cost_us="$value"
	row operation=same samples=1 median_us=9 cost_us="$value"
	set -- cost_low_us=2.5 cost_high_us=7
	[ "$value" -eq 3 ] || set --
	row operation=mixed launch_index="$value" samples=5 median_us=9 cost_us="$value" "$@"
	[ "$value" -eq 6 ] || row operation=mixed_few launch_index="$value" samples=5 median_us=9 \
		cost_us="$value" "$@"
done
row operation=lost launch_index=7 samples=1 median_us=9 flags=no-knee
says ': 3\.5, 95% interval 1 to 6 ' "least 1 cost_us operation=single"
says ': 3\.5, 95% interval 1 to 7 ' "least 1 cost_us operation=mixed"
says 'here: cost_us without an interval: samples 5, .*, and launches 5 ' \
	"least 1 cost_us operation=mixed_few"
says 'here: cost_us without an interval: samples 1' "least 1 cost_us operation=few"
says 'here: cost_us without an interval: samples 1, .* launches 1 ' "least 1 cost_us operation=same"
says 'here: cost_us is empty \(flags: no-knee\)' "least 1 cost_us operation=lost"
# A launch without a value is not passed over.
says '^verdict:  cannot be tested here: cost_us is empty \(flags: no-knee\)$' \
	"least 1 cost_us operation=half"
# Several columns, and several numbers of ranks, of which each is judged by itself.
says '^verdict:  holds$' "least 1 each operation,bucket median_us operation=fast,slow"
expect "combinations" "$(grep -c '^measured: ' "$FB_TMP/out")" 4
row operation=many median_us=10 median_low_us=9 median_high_us=11
row operation=many ranks=8 median_us=30 median_low_us=29 median_high_us=31
says '^verdict:  does not hold$' "least 20 median_us operation=many"
says ', ranks 8, nodes 1: 30, 95% ' "least 1 median_us operation=many"
says '^verdict:  does not hold$' "least 20 some bytes median_us operation=many"
says ': 3, 95% ' "least 1 median_us operation=many ranks=8 / median_us operation=many ranks=2"
set -- "median_us operation=env NCCL_P2P_DISABLE"
says ': 10, 95% ' "least 1 $1=1 / $1="
verdict claims_values

refuses 'rows that differ in bucket: name its value, or .best.' \
	"show least 1 median_us operation=fast"
refuses ':2: show: .* accepted is least\|most BOUND' "show 1 median_us"
refuses ':2: show: .* accepted is least\|most BOUND' "show least 1 each a,,b median_us"
refuses ':2: show: .* accepted is least\|most BOUND' "show least 1 each a,b,c,d,e median_us"
refuses ':2: show: .* accepted is least\|most BOUND' "show least 1 median_us operation=a b"
refuses ':2: claim a second time' "claim Again."
refuses 'no claim, or no line .show.' "ddp --engine=host"
echo "show least 1 median_us" >"$study"
"$claims" "$study" "$results" 2>&1 | grep -q ':1: show without a claim' || fail "show alone"
verdict claims_refused

# What is shipped: each has a claim, and lines that can be read.
scripts/claims --list >"$FB_TMP/names"
while read -r name; do
	"$claims" "$name" --unmeasured "not asked" >"$FB_TMP/out" 2>&1 ||
		fail "$name: $(cat "$FB_TMP/out")"
	holds "$FB_TMP/out" '^verdict:  cannot be tested here: not asked$'
done <"$FB_TMP/names"
[ "$(wc -l <"$FB_TMP/names")" -ge 28 ] || fail "only $(wc -l <"$FB_TMP/names") claims"
scripts/claims bogus 2>"$FB_TMP/err"
expect "exit code of a claim that is none" $? 3
verdict claims_shipped

# Measured: on processors alone there is a verdict about their cores, and none about GPUs. On a
# busy machine the rows may have no interval; the output then says so where the value would be.
scripts/claims overlap-step --results "$FB_TMP/measured" \
	--options "$(echo --min-samples=20 --max-samples=20 --max-time=10s --bytes=64K \
	--bucket=16K --compute=1ms)" \
	>"$FB_TMP/out" 2>&1
expect "exit code of scripts/claims" $? 0
holds "$FB_TMP/out" 'engine host, bytes 65536: ([0-9.]+, 95% interval|nothing \(.* without an)'
expect "verdicts" "$(grep -c '^verdict: ' "$FB_TMP/out")" 1
scripts/claims qos --results "$FB_TMP/measured" >"$FB_TMP/out" 2>&1
holds "$FB_TMP/out" '^verdict:  cannot be tested here: nothing was measured: .* 2 nodes'
# Told that its time is over, it ends the row that is under way, and the same command goes on.
for signal in USR1 TERM; do
	rm -f "$FB_TMP"/cut/overlap-step/*.under_way
	setsid scripts/claims overlap-step --results "$FB_TMP/cut" --options "$(echo \
		--min-samples=100000 --max-samples=100000 --max-time=60min --bytes=64K \
		--bucket=16K --compute=1ms)" >"$FB_TMP/out" 2>"$FB_TMP/err" &
	pid=$!
	trap 'kill -KILL "-$pid" 2>/dev/null' EXIT
	for ((i = 0; i < 1200; i++)); do
		! compgen -G "$FB_TMP/cut/overlap-step/*.under_way" >/dev/null || break
		sleep 0.1
	done
	kill "-$signal" "$pid"
	wait "$pid"
	expect "exit code after SIG$signal" $? 75
	holds "$FB_TMP/err" "SIG$signal: incomplete; the same command goes on"
done
expect "launches" "$(grep -c ',interrupted,' "$FB_TMP/cut/overlap-step/launches.csv")" 2
grep -Eq ',(ok|few),' "$FB_TMP/cut/overlap-step/ddp.csv" || fail "the row under way was lost"
verdict claims_measured

exit $bad
