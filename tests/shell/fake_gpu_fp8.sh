#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# --compute-type fp8: products of 8-bit floats by a cuBLASLt that computes what the descriptors say
# (tests/fake/libfake_cublaslt.c), with a runtime without a GPU. Communication keeps its type.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/ddp" ] || { echo "SKIP fake_gpu_fp8: built without CUDA"; exit 0; }
export FB_FAKE_GPU_EACH=1
fake=$FB_BUILD/tests/libfake_cublaslt.so
mkdir "$FB_TMP/both" "$FB_TMP/one"
ln -s "$(readlink -f "$fake")" "$FB_TMP/both/libcublas.so.12"
ln -s libcublas.so.12 "$FB_TMP/both/libcublasLt.so.12"
ln -s "$(readlink -f "$fake")" "$FB_TMP/one/libcublas.so.12"
fast=(--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify first
	--timeout "$((30 * slow))s" --engine cuda --datatype bf16 --layers 2 --hidden 40
	--tokens 20)

# go LIBRARY PROGRAM OPTION...: sets rc, out and err.
go() {
	scripts/launch 2 "$bin/$2" "${fast[@]}" --cublas-library "$1" "${@:3}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	rc=$?
}

go "$FB_TMP/both/libcublas.so.12" ddp --bytes 10000 --bucket 0 --schedule overlap \
	--compute-type fp8
expect "code of ddp" "$rc" 0
expect "rows of ddp" "$(grep -cE 'compute_type=fp8.*,(ok|few),' "$FB_TMP/out")" 1
holds "$FB_TMP/out" 'overlap,cuda,.*bf16,.*GEMM by cuBLASLt 12.8.3 f8e4m3'
go "$FB_TMP/both/libcublas.so.12" tensor_parallel --ffn 100 --chunks 2 --compute-type fp8
expect "rows with attention, which stays in bf16" \
	"$(grep -cE 'compute_type=fp8.*,(ok|few),' "$FB_TMP/out")" 2
go "$FB_TMP/both/libcublas.so.12" ddp --bytes 10000 --bucket 0 --schedule overlap
holds "$FB_TMP/out" 'GEMM by cuBLAS 12.8.3 bf16'
verdict fp8

# What multiplies wrongly is not used, and what cannot be had is said.
FAKE_CUBLASLT_WRONG=1 go "$FB_TMP/both/libcublas.so.12" ddp --bytes 10000 --compute-type fp8
[ "$rc" -ne 0 ] || fail "wrong products end with code 0"
holds "$FB_TMP/err" 'elements of a product of 8-bit floats are wrong'
for library in "$FB_TMP/one/libcublas.so.12" none; do
	go "$library" ddp --bytes 10000 --bucket 0 --schedule overlap --compute-type fp8
	holds "$FB_TMP/err" 'compute-type fp8: '
	holds "$FB_TMP/out" ',skipped,.*--compute-type fp8: '
	expect "rows without cuBLASLt by $library" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 0
done
"$FB_BUILD/bin/ddp" --quiet --engine host --bytes 1000 --tokens 4 --hidden 40 --bucket 0 \
	--schedule overlap --compute-type fp8 >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
holds "$FB_TMP/out" ',skipped,processors have no products of 8-bit floats'
verdict fp8_refused

# Fewer multiprocessors: by a green context, by what cuBLAS is asked for, or by neither.
sms() {
	go "$1" ddp --bytes 10000 --bucket 0 --schedule overlap "${@:2}"
}
export FAKE_GREEN=1
sms none --compute-sms 0,20,64
expect "code of green contexts" "$rc" 0
expect "rows with all multiprocessors" \
	"$(grep -E ',(ok|few),' "$FB_TMP/out" | grep -vc compute_sms)" 1
holds "$FB_TMP/out" 'compute_sms=20;.*own kernel bf16 on 24 SMs .green context.'
holds "$FB_TMP/out" 'compute_sms=64;.*own kernel bf16 on 64 SMs .green context.'
sms "$FB_TMP/both/libcublas.so.12" --compute-sms 20 --compute-type fp8
holds "$FB_TMP/out" 'f8e4m3 on 24 SMs .green context.'
go none hazards --bytes 10000 --schedule legacy_stream --compute-sms 0,16
expect "hazards of streams that wait for no other" "$(grep -cE \
	'compute_sms=16.*,skipped,streams of a green context never wait' "$FB_TMP/out")" 1
unset FAKE_GREEN
sms "$FB_TMP/both/libcublas.so.12" --compute-sms 20
holds "$FB_TMP/out" 'bf16 on 20 SMs .asked of cuBLAS: the driver has no cuDeviceGetDevResource.'
sms none --compute-sms 20,0
holds "$FB_TMP/out" ',skipped,.--compute-sms 20: the driver has no cuDeviceGetDevResource, and cuB'
expect "rows that are not limited" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 1
verdict compute_sms
exit "$bad"
