#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: a few of the same with the address and undefined behaviour sanitizers.
#
#	asan.sh BUILD
. tests/vm/lib.sh
build=$1
export MPI=openmpi LSAN_OPTIONS="suppressions=$PWD/tests/sanitize/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS=fast_unwind_on_malloc=0 UBSAN_OPTIONS=print_stacktrace=1
vm_network || exit
vm_run 400 2 "$build/tests/test_rdma" rxe0:1,rxe1:1 >/tmp/log 2>&1
verdict vm/asan-transport $? /tmp/log
for protocol in simple direct; do
	FB_TEST_TRANSPORT=rdma FB_TEST_EVERY=9 vm_run 400 2 "$build/tests/test_host" \
		all_reduce ring $protocol >/tmp/log 2>&1
	verdict vm/asan-ring-$protocol $? /tmp/log
done
