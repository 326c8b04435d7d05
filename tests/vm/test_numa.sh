#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# NUMA nodes and huge pages without a machine that has them: in a virtual machine of two nodes.
# processors: 2
# timeout: 700

set -u
. tests/vm/lib_host.sh

build=build/openmpi
vm_need vm/test_numa $build/bin/latency
tests/vm/boot -t $((${FB_SLOW:-1} * 600)) -N 2 bash tests/vm/jobs/numa.sh $build ||
	echo "FAIL vm/test_numa: the machine ended with $?"
exit 0
