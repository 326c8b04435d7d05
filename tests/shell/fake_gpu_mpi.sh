#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# Collectives of MPI libraries on GPU memory: it is given to those that say that they take it, and
# to no others. With a runtime whose GPU does nothing and whose memory is the host's
# (tests/fake/cudart.c); what arrives is seen with GPUs and such a library, by tests/gpu/run.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/all_reduce" ] || { echo "SKIP fake_gpu_mpi: built without CUDA"; exit 0; }
fast=(--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify first)

# runs RANKS PROGRAM OPTION...: ends well, no row is a fault; rows in $FB_TMP/out. With `preload`
# before the MPI library.
preload=
runs() {
	local rc

	scripts/launch "$1" env LD_PRELOAD="$preload" "$bin/$2" "${fast[@]}" --engine mpi \
		--memory device,vmm,pinned,host --bytes "8,300K" "${@:3}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
	expect "exit code of $*" "$rc" 0
	expect "faults of $*" "$(grep -c ',fault,' "$FB_TMP/out")" 0
	[ "$rc" -eq 0 ] || tail -n 9 "$FB_TMP/err"
}

# rows NUMBER PATTERN
rows() {
	expect "rows like $2" "$(grep -cE -- "$2" "$FB_TMP/out")" "$1"
}

runs 2 all_reduce
rows 2 ',device,.*,skipped,MPICH[^,]*CUDA-aware|,device,.*,skipped,Open MPI[^,]* is not CUDA-aware'
rows 2 ',vmm,.*,skipped,engine mpi does not work in memory vmm'
rows 4 ',(pinned|host),.*,(ok|few),'
rows 0 ', CUDA-aware'
verdict fake_gpu_mpi_unaware

preload=$PWD/$FB_BUILD/tests/libfake_mpi_gpu.so
[[ $FB_BUILD != /* ]] || preload=$FB_BUILD/tests/libfake_mpi_gpu.so
for program in all_reduce all_gather reduce_scatter broadcast reduce all_to_all all_to_all_v \
	gather scatter send_recv all_gather_v reduce_scatter_v; do
	for ranks in 1 3; do
		runs "$ranks" "$program" --cache all
		rows 4 ',device,.*,(ok|few),.*, CUDA-aware'
		rows 8 ',(pinned|host),.*,(ok|few),'
	done
done
verdict fake_gpu_mpi_aware

# bounds MEMORY: its rows with a bound, which is of the host's memory and says nothing of a GPU's.
bounds() {
	awk -F, -v memory="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["memory"] == memory && $at["bound_us"] != "" { n++ }
		END { print n + 0 }' "$FB_TMP/out"
}
runs 2 all_gather
expect "bounds in GPU memory" "$(bounds device)" 0
expect "bounds in the host's" "$(bounds host)" 2
verdict fake_gpu_mpi_bound

runs 2 all_gather --launch nonblocking
rows 2 ',device,.*,(ok|few),.*, CUDA-aware'
runs 2 all_reduce --launch nonblocking
case $MPI in
openmpi) rows 2 ",device,.*,skipped,Open MPI's nonblocking reductions take no GPU memory" ;;
*) rows 2 ',device,.*,(ok|few),.*, CUDA-aware' ;;
esac
verdict fake_gpu_mpi_launch
exit $bad
