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

# check NAME RANKS PROGRAM...: without FB_FULL only one of each kind, to keep `make test` short.
check() {
	local start=$SECONDS

	vm_wanted "$1" "transport-2|mutants|plans-2" || return 0
	vm_run 1200 "${@:2}" >$log 2>&1
	verdict "vm/$1" $? $log
	echo "  $((SECONDS - start)) s: $(tail -n 1 $log | sed 's/^\(PASS\|FAIL\|SKIP\) //')"
}

# One case of n: on 2 ranks each algorithm has several with each protocol, else most algorithms
# one. Without FB_FULL a third or a ninth of it.
thin=${FB_FULL:-3}
check transport-2 2 "$build/tests/test_rdma" rxe0
check transport-3-rails 3 "$build/tests/test_rdma" rxe0:1,rxe1:1
check mutants 2 "$build/tests/test_rdma_mutants" rxe0
# GPUs emulated by processes, whose slots the device reads and writes itself.
FB_TEST_TRANSPORT=rdma check gpu-direct 2 "$build/tests/test_gpu_proxy"
export FB_TEST_TRANSPORT=rdma
FB_TEST_EVERY=$((9 * thin * thin / 2)) check plans-2 2 "$build/tests/test_host"
FB_TEST_EVERY=$((50 * thin)) check plans-3 3 "$build/tests/test_host"
FB_TEST_EVERY=45 check plans-5 5 "$build/tests/test_host"
FB_TEST_EVERY=45 check plans-8 8 "$build/tests/test_host"
FB_TEST_EVERY=$((25 * thin * thin)) FB_TEST_TRANSPORT=shm+rdma FB_TEST_NODES=2 \
	check plans-mixed-4 4 "$build/tests/test_host"
FB_TEST_EVERY=$((50 * thin)) FB_TEST_NOTIFY=imm FB_TEST_DEVICE=rxe0:1,rxe1:1 \
	check plans-imm-rails-3 3 "$build/tests/test_host"
for ranks in 4 6 7; do
	FB_TEST_EVERY=35 check plans-$ranks $ranks "$build/tests/test_host"
done
exit 0
