#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# Engines nccl and copy where there is no GPU: rows with a reason, never silence; and multicast is
# off in the environment of every program unless the command line allows it. On a machine with
# GPUs the rows are measured, and only the second half is looked at.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin

# reasons PROGRAM OPTION...: the reasons of its cases, each once.
reasons() {
	"$bin/$1" "${@:2}" --bytes 64 --list 2>&1 | sed -n 's/.*skipped: //p' | sort -u
}

reason=$(reasons all_gather --engine copy)
case $reason in
"no CUDA device" | "built without CUDA")
	expect "copy" "$(reasons all_gather --engine copy --copy-direction push,pull)" "$reason"
	expect "nccl" "$(reasons all_gather --engine nccl --nccl-force all)" "$reason"
	expect "windows" "$(reasons all_gather --engine nccl --registration all)" "$reason"
	expect "cases of nccl" "$("$bin/all_reduce" --engine nccl --nccl-force ring:ll,tree \
		--registration none,window --launch stream,graph --bytes 64 --list |
		grep -c '^all_reduce nccl')" 8
	# Options of these engines add nothing to other engines.
	expect "cases of mpi" "$("$bin/all_reduce" --engine mpi --nccl-force all \
		--registration all --copy-direction all --bytes 64 --list |
		grep -c '^all_reduce mpi')" 1
	"$bin/all_gather" --engine nccl,copy --bytes 64 --quiet --csv "$FB_TMP/rows" ||
		fail "skipped rows are no failure"
	expect "rows" "$(grep -c ",skipped,$reason," "$FB_TMP/rows/all_gather.csv")" 2
	verdict gpu_engines_without_gpu
	;;
*)
	echo "SKIP gpu_engines_without_gpu: here is a GPU"
	;;
esac

# value FOLDER NAME: what environment.csv has for an environment variable.
value() {
	sed -n "s/^run,[^,]*,[^,]*,[^,]*\.\{0,1\}$2,//p" "$1/environment.csv"
}

run() {
	NCCL_NVLS_ENABLE=1 "$bin/barrier" --engine mpi --min-samples 1 --max-samples 1 --quiet \
		--csv "$FB_TMP/$1" "${@:2}" >/dev/null || fail "barrier ${*:2}"
}
run off
# Libraries below MPI may take what is allowed: not beside GPUs, which others may share.
command -v nvidia-smi >/dev/null || run allow --multicast allow
expect "NCCL_NVLS_ENABLE" "$(value "$FB_TMP/off" NCCL_NVLS_ENABLE)" 0
expect "NVSHMEM_DISABLE_NVLS" "$(value "$FB_TMP/off" NVSHMEM_DISABLE_NVLS)" 1
command -v nvidia-smi >/dev/null ||
	expect "NCCL_NVLS_ENABLE, allowed" "$(value "$FB_TMP/allow" NCCL_NVLS_ENABLE)" 1
verdict gpu_engines_multicast
exit "$bad"
