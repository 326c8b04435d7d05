#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: the rdma transport by itself, then every algorithm over it, each
# verified against the serial result, on 2, 4 and 8 ranks, alone and mixed with shared memory.
#
#	engine.sh BUILD
. tests/vm/lib.sh
build=$1
export MPI=openmpi
vm_network || exit
log=/tmp/log

# check NAME RANKS PROGRAM...
check() {
	local start=$SECONDS

	vm_run 600 "${@:2}" >$log 2>&1
	verdict "vm/$1" $? $log
	echo "  $((SECONDS - start)) s: $(tail -n 1 $log | sed 's/^\(PASS\|FAIL\|SKIP\) //')"
}

# Of each algorithm and protocol at least one of the nine sizes.
check transport-2 2 "$build/tests/test_rdma" rxe0
check transport-3-rails 3 "$build/tests/test_rdma" rxe0:1,rxe1:1
export FB_TEST_TRANSPORT=rdma FB_TEST_EVERY=9
check plans-2 2 "$build/tests/test_host"
check plans-4 4 "$build/tests/test_host"
check plans-8 8 "$build/tests/test_host"
FB_TEST_EVERY=18 FB_TEST_TRANSPORT=shm+rdma FB_TEST_NODES=2 \
	check plans-mixed-4 4 "$build/tests/test_host"
FB_TEST_EVERY=27 FB_TEST_NOTIFY=imm FB_TEST_DEVICE=rxe0:1,rxe1:1 \
	check plans-imm-rails-3 3 "$build/tests/test_host"
