#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# NUMA nodes and huge pages without a machine that has them: in a virtual machine of two nodes.
# processors: 1
# timeout: 700

set -u
. scripts/lib.sh

name=vm/test_numa
build=build/openmpi

skip() {
	echo "SKIP $name: $*"
	exit 0
}

[ "$(id -u)" -eq 0 ] || skip "needs root, who can read all that a machine needs"
fb_mpi_tool mpirun openmpi >/dev/null || skip "no Open MPI"
[ -x $build/bin/latency ] || skip "$build/bin/latency has not been built"
why=$(tests/vm/kernel 2>&1 >/dev/null)
case $? in
0) ;;
77) skip "$why" ;;
*)
	echo "FAIL $name-kernel: $why"
	exit 1
	;;
esac
tests/vm/boot -t 600 -N 2 bash tests/vm/jobs/numa.sh $build ||
	echo "FAIL $name: the machine ended with $?"
exit 0
