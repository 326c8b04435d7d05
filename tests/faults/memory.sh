#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# One size that is too large for memory fails alone: the sizes before and after it, which share a
# segment with it, are measured, and its row names memory.

set -u
export LC_ALL=C
. tests/faults/lib.sh

# limited NAME ROWS [argument...]: two ranks that may map 3 GB each; sizes are 8, 1 GiB and 4 KiB.
limited() {
	local csv=$dir/$1

	use openmpi "$1"
	(
		ulimit -v 3000000
		scripts/launch 2 "$program" --csv "$csv" -q --engine host --bytes 8,1G,4K \
			--min-samples 5 --max-samples 5 --max-time 1s "${@:3}" \
			</dev/null >"$dir/out" 2>"$dir/err"
	)
	expect "$1" "exit code" $? 5
	expect "$1" "good rows" "$(rows "$csv/$1.csv" 'ok|few')" "$2"
	expect "$1" "rows of a fault" "$(rows "$csv/$1.csv" fault)" $(($2 / 2))
	holds "$1" "$csv/$1.csv" ',1073741824,2,1,[^,]*,fault,"?rank .*bytes of shared memory'
	holds "$1" "$dir/err" '^fabricbench: rank [01]: .* bytes of shared memory'
}

if ! fb_mpi_tool mpirun openmpi >/dev/null; then
	echo "SKIP faults/memory: no Open MPI"
	exit 0
fi
use openmpi all_reduce
failures=0
limited all_reduce 2 --algorithm ring --protocol simple
limited latency 2 --protocol simple --algorithm send
verdict "faults/one size too large for memory"
exit $bad
