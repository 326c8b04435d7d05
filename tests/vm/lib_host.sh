# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# For tests that boot a virtual machine (tests/vm/boot). To be sourced, from the sources' root.

. scripts/lib.sh

# vm_need NAME PROGRAM: ends the test where no machine can be booted for PROGRAM: as skipped, or as
# failed where that is no matter of what this machine has.
vm_need() {
	local why

	if [ "$(id -u)" -ne 0 ]; then
		why="needs root, who can read all that a machine needs"
	elif ! fb_mpi_tool mpirun openmpi >/dev/null; then
		why="no Open MPI"
	elif [ ! -x "$2" ]; then
		why="$2 has not been built"
	else
		why=$(tests/vm/kernel 2>&1 >/dev/null)
		case $? in
		0) return ;;
		77) ;;
		*)
			echo "FAIL $1-kernel: $why"
			exit 1
			;;
		esac
	fi
	echo "SKIP $1: $why"
	exit 0
}
