#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# The movers between GPUs without a GPU: the conformance test of all movers (tests/mpi/test_mover.c)
# on GPUs that are emulated (tests/fake/cudart_works.c), in each kind of memory; and that the test
# finds what a GPU may do wrong.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
test=$FB_BUILD/tests/fake_gpu/test_mover
[ -x "$test" ] || { echo "SKIP fake_gpu_mover: built without CUDA"; exit 0; }
fake_nccl=$FB_BUILD/tests/libfake_nccl.so

# moves RANKS HOW MOVER...: with GPUs that work so; the exit code in rc.
moves() {
	FB_FAKE_GPU_WORKS=$2 FB_MOVER_NCCL=$fake_nccl scripts/launch "$1" "$test" "${@:3}" \
		>"$FB_TMP/out" 2>&1 </dev/null
	rc=$?
}

for ranks in 1 2 3; do
	for memory in vmm device pinned; do
		[ "$memory" = pinned ] && [ "$ranks" != 2 ] && continue
		export FB_MOVER_MEMORY=$memory
		moves "$ranks" right copy cuda
		expect "exit code of $ranks ranks in memory $memory" "$rc" 0
		[ "$rc" -eq 0 ] || said "$FB_TMP/out"
	done
done
unset FB_MOVER_MEMORY
verdict fake_gpu_movers

# The fake NCCL moves nothing, but writes down its calls: the first group names all pairs in both
# directions. It refuses groups that name a pair of ranks differently when these are not connected
# yet.
export FB_FAKE_NCCL_LOG=$FB_TMP/nccl FB_FAKE_NCCL_MEET=$FB_TMP/pairs
mkdir "$FB_FAKE_NCCL_MEET"
FB_FAKE_GPU_EACH=1 moves 3 right nccl
grep -q 'ncclSend and ncclRecv: some error' "$FB_TMP/out" && fail "pairs are named differently"
for log in "$FB_TMP"/nccl.*; do
	expect "first messages of ${log##*/}" \
		"$(grep -E '^(Send|Recv) ' "$log" | head -n 4 | cut -d' ' -f1,3 | tr '\n' ';')" \
		"Send 1;Recv 1;Send 1;Recv 1;"
done
unset FB_FAKE_NCCL_LOG FB_FAKE_NCCL_MEET
verdict fake_gpu_mover_nccl

# Waits are in streams only, and this test looks by the host: it cannot see blind ones.
for how in dropped early unstored unloaded; do
	moves 2 "$how" cuda
	[ "$rc" -ne 0 ] || fail "mistake $how was not noticed"
done
verdict fake_gpu_mover_mutants
exit "$bad"
