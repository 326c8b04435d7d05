#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# kill -9 of one rank while a mover carries a KV cache, for every mover that this machine has, and
# for those between GPUs on emulated ones: the job ends as a fault that names a rank, long before
# its timeout, no rank outlives it, every row is whole, and no file is left.

set -u
export LC_ALL=C
. tests/faults/lib.sh

timeout_s=$((60 * slow))
options=(-q --min-samples 1000000 --max-samples 1000000 --max-time 60s --timeout "${timeout_s}s"
	--prefill-tp 2 --decode-tp 1 --run t)
use "$MPI" kv_reshard
export TMPDIR=$dir/files
mkdir -p "$TMPDIR"
# killed MOVER PROGRAM OPTION...
killed() {
	local mover=$1 csv=$dir/csv-$1 seconds

	program=$2
	failures=0
	start 3 --csv "$csv" --engine "$mover" "${options[@]}" "${@:3}"
	if ! await_ranks "$csv" 3; then
		finish
		expect "$mover" "ranks" "${#pids[@]}" 3
		verdict "faults/mover $mover, a rank killed"
		return
	fi
	# One that is absent has skipped its row and is gone. The first repetition takes a moment.
	if await_row_under_way "$csv/kv_reshard"; then
		sleep 1
	fi
	if ! kill -KILL "${pids[1]}" 2>/dev/null; then
		finish
		expect "$mover" "exit code of an absent mover" "$rc" 0
		verdict "faults/mover $mover, absent"
		return
	fi
	seconds=$(seconds_until_gone "$csv")
	finish
	at_most "$mover" "seconds until all ranks are gone" "$seconds" $((timeout_s / 2))
	expect "$mover" "exit code" "$rc" 5
	holds "$mover" "$dir/err" \
		'^fabricbench: .*(rank [0-9]+|process [0-9]+|has died|the launcher ended with)'
	[ ! -e "$csv/kv_reshard.csv" ] || whole "$mover" "$csv/kv_reshard.csv"
	expect "$mover" "files left" "$(find "$TMPDIR" -type f -name 'fabricbench*')" ""
	no_new_names "$mover"
	verdict "faults/mover $mover, a rank killed"
}
for mover in shm cma tcp ucx mpi mpi_window file; do
	killed $mover "$program" --algorithm "direct,datatype" --tokens 3K --layers 4
done
# On emulated GPUs: a stream, or a kernel, waits for a notice of the rank that is killed.
fake=$FB_BUILD/tests/fake_gpu/kv_reshard
for mover in copy cuda; do
	[ -x "$fake" ] || continue
	export FB_FAKE_GPU_WORKS=right
	killed $mover "$fake" --algorithm direct --tokens 17 --layers 2
	holds $mover "$dir/csv-$mover/kv_reshard.csv" ',fault,"?rank 1 on .* has died'
	[ "$failures" -eq 0 ] || bad=1
done
exit "$bad"
