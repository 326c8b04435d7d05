#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# Memory shared by the ranks of a host (node_file.h): it needs no /dev/shm, takes that where
# a rank has process numbers of its own, and says so where it cannot have it either. The watchdog
# does not take such a rank for dead, though it looks at it often. Nothing of this depends on the
# MPI; Open MPI's can do without /dev/shm itself.

set -u
export LC_ALL=C
. tests/faults/lib.sh

if ! fb_mpi_tool mpirun openmpi >/dev/null; then
	echo "SKIP faults/shared memory: no Open MPI"
	exit 0
elif ! unshare -rpfm --mount-proc mount -t tmpfs -o size=4k none "$dir" 2>/dev/null; then
	echo "SKIP faults/shared memory: no name spaces of its own"
	exit 0
fi
use openmpi all_reduce
fb_mpi_env openmpi
export OMPI_MCA_btl=self,tcp program dir
words=(--engine host --algorithm ring --protocol simple --bytes "8,64K" -q
	--max-time 1s --min-samples 1000000 --max-samples 1000000 --timeout "$((10 * slow))s")

# job SIZE FIRST SECOND: two ranks, the commands before each, on a /dev/shm of that size; leaves
# what there was in it in $dir/names, and rc.
job() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -rm bash -c 'mount -t tmpfs -o "size=$1" none /dev/shm || exit 99
		mpirun=$2 first=$3 second=$4
		shift 4
		"$mpirun" --oversubscribe --bind-to none -n 1 $first "$program" "$@" : \
			-n 1 $second "$program" "$@"
		rc=$?
		find /dev/shm -name "fabricbench*" >"$dir/names"
		exit $rc' - "$1" "$(fb_mpi_tool mpirun openmpi)" "$2" "$3" "${words[@]}" \
		</dev/null >"$dir/out" 2>"$dir/err"
	rc=$?
}

# good NAME: the job went well and left nothing.
good() {
	expect "$1" "exit code" "$rc" 0
	expect "$1" "rows" "$(rows "$dir/out" 'ok|few')" 2
	expect "$1" "names left" "$(cat "$dir/names")" ""
	[ "$rc" -eq 0 ] || head -n 20 "$dir/err"
	verdict "faults/shared memory, $1"
}

# refused NAME LINE: it could not be had, which is a fault and one line about it.
refused() {
	expect "$1" "exit code" "$rc" 5
	holds "$1" "$dir/err" "^fabricbench: rank [01]: $2"
	expect "$1" "rows" "$(rows "$dir/out" '.*')" 0
	expect "$1" "names left" "$(cat "$dir/names")" ""
	verdict "faults/shared memory, $1"
}

own="unshare -rpf --mount-proc"
failures=0
job 4k "" ""
good "no room in /dev/shm"
failures=0
job 64m "" "$own"
good "process numbers of its own"
failures=0
job 64m "$own" ""
good "process numbers of its own, first rank"
failures=0
job 4k "" "$own"
refused "neither of both" "no [0-9]+ bytes of shared memory in /dev/shm: No space left on device"
failures=0
printf '#!/bin/sh\nmount -t tmpfs own /dev/shm && exec "$@"\n' >"$dir/own_shm"
chmod +x "$dir/own_shm"
job 64m "" "$own -m $dir/own_shm"
refused "two of /dev/shm" "shared memory .* cannot be opened: .*is /dev/shm shared"
exit $bad
