#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# The host's side of what point-to-point programs do with libraries and GPU memory, with a runtime
# whose GPU does nothing (tests/fake/cudart.c): MPI libraries that take it and such that do not, and
# an NCCL that moves nothing (tests/fake/libfake_nccl.c) and registers buffers. What arrives is seen
# with GPUs only, by tests/gpu/run.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/latency" ] || { echo "SKIP fake_gpu_p2p: built without CUDA"; exit 0; }
fast=(--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify first)

# runs RANKS PROGRAM OPTION...: ends well, no row is a fault; rows in $FB_TMP/out. With `preload`
# before the MPI library.
preload=
runs() {
	local rc

	scripts/launch "$1" env LD_PRELOAD="$preload" "$bin/$2" "${fast[@]}" "${@:3}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
	expect "exit code of $*" "$rc" 0
	expect "faults of $*" "$(grep -c ',fault,' "$FB_TMP/out")" 0
	[ "$rc" -eq 0 ] || { grep ',fault,' "$FB_TMP/out"; tail -n 9 "$FB_TMP/err"; }
}

# measured NUMBER PATTERN: rows with numbers that match. skipped NUMBER PATTERN: so do reasons.
measured() {
	expect "rows like $2" "$(grep -E ',(ok|few),' "$FB_TMP/out" | grep -cE -- "$2")" "$1"
}
skipped() {
	expect "reasons like $2" "$(grep -cE -- ",skipped,[^,]*$2" "$FB_TMP/out")" "$1"
}

# The libraries here know no GPU; `aware` has them say that they do.
aware=$PWD/$FB_BUILD/tests/libfake_mpi_gpu.so
[[ $FB_BUILD != /* ]] || aware=$FB_BUILD/tests/libfake_mpi_gpu.so
windows "$MPI"
messages=(--engine mpi --bytes "8,300K" --algorithm all)
runs 2 latency "${messages[@]}" --memory device
skipped 6 'MPI.* is not CUDA-aware'
runs 2 latency "${messages[@]}" --memory pinned
measured 6 ',mpi,'
preload=$aware
for ranks in 2 3; do
	runs "$ranks" latency "${messages[@]}" --memory device,vmm
	measured 6 ',library,device,.*, CUDA-aware'
	skipped 6 'engine mpi does not work in memory vmm'
	runs "$ranks" bandwidth "${messages[@]}" --memory device --pairs all
	measured $((ranks * (ranks - 1) / 2 * 18)) ', CUDA-aware'
done
runs 3 incast "${messages[@]}" --memory device
measured 24 ', CUDA-aware'
runs 4 loaded_latency --engine mpi --memory device --bytes 8 --probes 5
measured 2 ', CUDA-aware'
verdict fake_gpu_p2p_mpi

# Without cross-memory attach Open MPI 4 has no windows, unless there is a network for them, or it
# is set to carry them by messages, as the reason says.
if [ "$MPI" = openmpi ]; then
	preload=
	unset OMPI_MCA_osc
	OMPI_MCA_btl_vader_single_copy_mechanism=none \
		runs 2 latency "${messages[@]}" --memory pinned
	expect "rows without windows" "$(grep -E ',mpi,' "$FB_TMP/out" | grep -cE -- \
		',(ok|few),|,skipped,Open MPI v[^,]* has no one-sided calls here')" 6
	if grep -qE ',skipped,Open MPI v4[^,]* here: [^,]*; OMPI_MCA_osc=pt2pt has' "$FB_TMP/out"
	then
		OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_osc=pt2pt \
			runs 2 latency "${messages[@]}" --memory pinned
		expect "rows of windows by messages" "$(grep -E ',mpi,' "$FB_TMP/out" | \
			grep -cE -- ',(ok|few),')" 6
	fi
	verdict fake_gpu_p2p_no_windows
fi

# Open MPI's windows over UCX: a library of that name is there.
if [ "$MPI" = openmpi ]; then
	cp "$aware" "$FB_TMP/libucp.so.0"
	preload="$aware libucp.so.0"
	LD_LIBRARY_PATH=$FB_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
		runs 2 latency "${messages[@]}" --memory device
	measured 2 ',send,library,library,device,'
	skipped 4 "one-sided calls over UCX take no GPU memory"
	verdict fake_gpu_p2p_ucx
fi
preload=

# NCCL registers buffers as --registration says: of memory whose handles it can pass on.
export FB_FAKE_GPU_EACH=1
nccl=(--engine nccl --nccl-library "${aware%/*}/libfake_nccl.so")
for ranks in 2 3; do
	runs "$ranks" latency "${nccl[@]}" --registration all --bytes 8,300K --launch stream,graph
	measured 4 ',library,device,none,'
	measured 4 ',library,vmm,registered,'
	measured 4 ',library,vmm,window,'
	skipped 4 "NCCL's copy engines cannot do send"
done
# It writes down so many calls at most, hence the small window.
runs 2 bandwidth "${nccl[@]}" --registration none,registered,window --memory device,vmm \
	--bytes 8 --window 2
measured 4 ',none,'
measured 4 ',library,vmm,(registered|window),'
skipped 2 'registration registered does not take memory device'
skipped 2 'registration window does not take memory device'
# Managed memory, which no other rank maps, and little of it.
preload=$aware
runs 2 latency "${nccl[@]/#nccl/nccl,mpi,copy,cuda}" --memory managed --bytes 8,16M,100M
measured 2 ',nccl,.*,managed,'
measured 2 ',mpi,.*,managed,.*, CUDA-aware'
skipped 2 '100M a rank is more than the memory for its buffers, 64M'
skipped 9 'memory managed cannot be mapped by other ranks'
preload=
nccl=(--engine "nccl,mpi" --nccl-library "${aware%/*}/libfake_nccl_2_18.so")
runs 2 latency "${nccl[@]}" --registration all --bytes 8
measured 1 ',nccl,.*,device,none,'
measured 1 ',mpi,'
skipped 2 'NCCL 2.18.5 has no'
verdict fake_gpu_p2p_nccl

# What GPU memory costs: of both kinds, by whom it is asked for, and with whom it is shared.
nccl=(--nccl-library "${aware%/*}/libfake_nccl.so")
for ranks in 1 2 3; do
	runs "$ranks" registration "${nccl[@]}" --memory device,vmm --bytes 4K,3M
	measured 2 ',map,cuda,.*,device,.*,cudaMalloc,'
	measured 2 ',map,cuda,.*,vmm,.*"cuMemCreate, cuMemMap"'
	measured 2 ',register,nccl,.*,vmm,.*,NCCL 2.28.9,'
	measured 2 ',window,nccl,.*,vmm,'
	skipped 4 'registration (registered|window) does not take memory device'
	if [ "$ranks" -gt 1 ]; then
		measured 2 ',share,cuda,.*,device,.*,CUDA IPC,'
		measured 2 ',share,cuda,.*,vmm,.*,file descriptor,'
	else
		skipped 4 'sharing needs two ranks on a host'
	fi
done
runs 2 registration --engine cuda --bytes 4K,8G
measured 2 ',cuda,.*,device,'
skipped 2 '8G a rank is more than the memory'
FB_FAKE_GPU_EACH='' runs 2 registration "${nccl[@]}" --engine nccl --bytes 4K
skipped 2 'NCCL refuses ranks that share a GPU'
verdict fake_gpu_p2p_registration
exit $bad
