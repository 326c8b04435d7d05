#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# Somebody takes away, shortens or replaces the files of a job that is writing them: the job ends at
# the next row, as a fault, with one line that says what has happened.

set -u
export LC_ALL=C
. tests/faults/lib.sh

# 4,900 rows of 50 ms each, whatever the machine: they never have enough samples.
options=(--engine host --algorithm "ring,tree" --protocol "simple,ll" --bytes 8:4K:+8 -q --raw
	--min-samples 1000000 --max-samples 1000000 --max-time 50ms --timeout "$((30 * slow))s")

# during NAME PATTERN COMMAND...: the command, in the folder, while rows are written.
during() {
	local csv=$dir/csv what="$1" pattern=$2

	shift 2
	failures=0
	rm -rf "$csv"
	start 2 --csv "$csv" "${options[@]}"
	if await_rows "$csv/samples.csv" 10; then
		(cd "$csv" && "$@") || expect "$what" "exit code of $*" $? 0
	else
		expect "$what" "rows in time" none some
		kill "$job"
	fi
	finish
	expect "$what" "exit code" "$rc" 5
	holds "$what" "$dir/err" "$pattern"
	expect "$what" "lines that say it" "$(grep -cE -- "$pattern" "$dir/err")" 1
	verdict "faults/$what ($MPI)"
}

for family in $FB_MPIS; do
	use "$family" all_reduce
	during "folder deleted" "/all_reduce.csv' or its folder was deleted or moved" \
		rm -r "$dir/csv"
	during "results shortened" "/all_reduce.csv' was changed while it was written: it has 100" \
		truncate -s 100 all_reduce.csv
	during "samples emptied" "/samples.csv' was changed while it was written: it has 0 bytes" \
		truncate -s 0 samples.csv
	during "results replaced" "/all_reduce.csv' was replaced by another file" \
		sed -i s/ring/ring/ all_reduce.csv
done
exit $bad
