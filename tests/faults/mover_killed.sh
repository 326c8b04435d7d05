#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 400
#
# kill -9 of one rank while a KV cache is carried: by every mover that this machine has, by those
# between GPUs on emulated ones, by those of libraries with the tests' stand-ins for them, and in
# every program of KV transfers. The job ends as a fault that names a rank, long before its timeout,
# no rank outlives it, every row is whole, and no file and no shared memory is left. Mover rdma has
# the same test in a virtual machine, tests/vm/jobs/faults.sh. Mover nccl has none, because its
# stand-in carries nothing; tests/gpu/killed.sh kills a rank in collectives between GPUs.

set -u
export LC_ALL=C
. tests/faults/lib.sh

timeout_s=$((60 * slow))
options=(-q --min-samples 1000000 --max-samples 1000000 --max-time 60s --timeout "${timeout_s}s"
	--run t)
use "$MPI" kv_reshard
bin=${program%/*}
export TMPDIR=$dir/files
mkdir -p "$TMPDIR"

# killed NAME RANKS PROGRAM OPTION...
killed() {
	local name=$1 csv=$dir/csv-${1// /-} rows seconds

	program=$3
	rows=$csv/${program##*/}
	failures=0
	start "$2" --csv "$csv" "${options[@]}" "${@:4}"
	if ! await_ranks "$csv" "$2"; then
		finish
		expect "$name" "ranks" "${#pids[@]}" "$2"
		verdict "faults/$name, a rank killed"
		return
	fi
	# One that is absent has skipped its row and is gone. The first repetition takes a moment.
	if await_row_under_way "$rows"; then
		sleep 1
	fi
	if ! kill -KILL "${pids[1]}" 2>/dev/null; then
		finish
		if [ "$rc" -eq 0 ] && [ "$(rows "$rows.csv" skipped)" -gt 0 ]; then
			echo "SKIP faults/$name:$(
				sed -n '2s/.*,skipped,"\{0,1\}\([^,"]*\).*/ \1/p' "$rows.csv")"
			return
		fi
		expect "$name" "exit code" "$rc" 5
		expect "$name" "a rank to kill" gone there
		verdict "faults/$name, a rank killed"
		return
	fi
	seconds=$(seconds_until_gone "$csv")
	finish
	at_most "$name" "seconds until all ranks are gone" "$seconds" $((timeout_s / 2))
	expect "$name" "exit code" "$rc" 5
	holds "$name" "$dir/err" \
		'^fabricbench: .*(rank [0-9]+|process [0-9]+|has died|the launcher ended with)'
	if [ -e "$rows.csv" ]; then
		whole "$name" "$rows.csv"
		expect "$name" "wrong rows" "$(rows "$rows.csv" wrong)" 0
	fi
	expect "$name" "files left" "$(find "$TMPDIR" -type f -name 'fabricbench*')" ""
	no_new_names "$name"
	verdict "faults/$name, a rank killed"
}

# mover NAME PROGRAM OPTION...
mover() {
	killed "mover $1" 3 "$2" --engine "$1" --prefill-tp 2 --decode-tp 1 "${@:3}"
}

for name in shm cma tcp ucx libfabric mpi mpi_window file; do
	mover $name "$bin/kv_reshard" --algorithm "direct,datatype" --tokens 3K --layers 4
done
# The programs; messages are as many as a request has, so that most of the time some are under way.
for name in shm tcp; do
	killed "handoff by $name" 3 "$bin/handoff" --engine $name --decode 2 --tokens 3K
	killed "stream by $name" 2 "$bin/stream" --engine $name --tokens 512
	killed "serve by $name" 3 "$bin/serve" --engine $name --requests 4000 --rate 100 \
		--scale 0.02
done
# A small request, so that most of the time some ranks remove a region, and wait for the killed one.
killed "handoff by tcp cold" 3 "$bin/handoff" --engine tcp --decode 2 --tokens 64 \
	--build cold --register cold
for form in buffered uring_direct; do
	killed "offload $form" 2 "$bin/offload" --engine store --algorithm $form --operation evict \
		--tokens 3K
done
# stand_in FILE NAME: what the linker finds under that name.
stand_in() {
	mkdir -p "$dir/$1"
	ln -sf "$(realpath "$FB_BUILD/tests/$1.so")" "$dir/$1/$2"
	export LD_LIBRARY_PATH=$dir/$1
}

(
	stand_in libfake_nixl libnixl_capi.so
	unset FB_NIXL_BACKEND
	mover nixl "$bin/kv_reshard" --algorithm direct --tokens 3K --layers 4
	killed "offload by nixl_file" 2 "$bin/offload" --engine nixl_file --operation evict \
		--tokens 3K
	exit "$bad"
) || bad=1
# On emulated GPUs: a stream, or a kernel, waits for a notice of the rank that is killed.
fake=$FB_BUILD/tests/fake_gpu
for name in copy cuda; do
	[ -x "$fake/kv_reshard" ] || continue
	export FB_FAKE_GPU_WORKS=right
	mover $name "$fake/kv_reshard" --algorithm direct --tokens 17 --layers 2
	holds $name "$dir/csv-mover-$name/kv_reshard.csv" ',fault,"?rank 1 on .* has died'
	[ "$failures" -eq 0 ] || bad=1
done
if [ -x "$fake/kv_reshard" ]; then
	export FB_FAKE_GPU_EACH=1 FB_NVSHMEM_LIBRARY=$FB_BUILD/tests/libfake_nvshmem.so
	FB_NVSHMEM_KERNELS=$FB_NVSHMEM_LIBRARY
	export FB_NVSHMEM_KERNELS
	for name in nvshmem nvshmem_device; do
		mover $name "$fake/kv_reshard" --algorithm direct --tokens 17 --layers 2
	done
fi
exit "$bad"
