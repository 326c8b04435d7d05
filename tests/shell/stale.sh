#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# --producer: each call has data of its own, and a result computed from those of the call before is
# found, which tests that write the input once do not find. On processors, and on a GPU whose
# streams are queues (tests/fake/cudart_works.c).

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
fast=(--quiet --min-samples 7 --max-samples 7 --max-time 2s --ci 100%)

# runs PROGRAM OPTION...: rows to $FB_TMP/out.
runs() {
	scripts/launch 2 "$1" "${fast[@]}" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err"
}

# column NAME: of all rows, each value once.
column() {
	awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ gsub(/"[^"]*"/, "text"); print $at }' "$FB_TMP/out" | sort -u | tr '\n' ' '
}

for program in all_reduce all_gather reduce_scatter broadcast all_to_all gather send_recv; do
	runs "$bin/$program" --engine host,mpi --producer plain --bytes 4K --algorithm auto \
		--protocol auto
	expect "rows of $program" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 2
	expect "wrong rows of $program" "$(grep -c ',wrong,' "$FB_TMP/out")" 0
	expect "stale calls of $program" "$(column stale_calls)" '0 '
	expect "key of $program" "$(column variant)" 'producer=plain '
done
runs "$bin/all_reduce" --engine host --algorithm ring --protocol simple --in-place both \
	--producer plain --bytes 4K
expect "in place" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 2
[ "$(column stale_bound)" != ' ' ] || fail "no bound where nothing shows"
verdict stale_right

runs "$bin/barrier" --engine host --producer plain
holds "$FB_TMP/out" ',skipped,barrier has no input to produce'
runs "$bin/all_reduce" --engine host --producer early --bytes 8
holds "$FB_TMP/out" ',skipped,engine host has no kernels behind'
runs "$bin/all_reduce" --engine host --producer late --bytes 8 && fail "late is not refused"
verdict stale_refused

# The mutant.
stale=$FB_BUILD/tests/libstale.so
mpi=(--engine mpi --bytes 4K --cadence streaming --launch blocking)
LD_PRELOAD=$stale runs "$bin/all_reduce" "${mpi[@]}" --producer plain
expect "stale input" "$(column status)" 'wrong '
[ "$(column stale_calls)" != '0 ' ] || fail "no stale call is counted"
verdict stale_mutant

bin=$FB_BUILD/tests/fake_gpu
if [ -x "$bin/all_gather" ]; then
	# In a graph the other streams of engine copy are part of it, by events.
	for launch in stream graph; do
		copies=(--engine copy --bytes 4K --launch "$launch")
		for producer in plain early; do
			FB_FAKE_GPU_WORKS=right runs "$bin/all_gather" "${copies[@]}" \
				--producer $producer
			expect "rows with $producer, $launch" \
				"$(grep -cE ',(ok|few),' "$FB_TMP/out")" 1
			expect "stale calls with $producer, $launch" "$(column stale_calls)" '0 '
		done
		FB_FAKE_GPU_WORKS=unwaited runs "$bin/all_gather" "${copies[@]}" --producer plain
		expect "a plain producer is waited for, $launch" \
			"$(grep -cE ',(ok|few),' "$FB_TMP/out")" 1
		FB_FAKE_GPU_WORKS=unwaited runs "$bin/all_gather" "${copies[@]}" --producer early
		expect "an early one is not, $launch" "$(column status)" 'wrong '
	done
	verdict stale_gpu
fi

exit $bad
