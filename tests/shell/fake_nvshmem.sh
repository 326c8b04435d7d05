#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# NVSHMEM without a GPU and without NVSHMEM: a fake library (tests/fake/libfake_nvshmem.c) on
# emulated GPUs. It is found, agreed on and started by all ranks, its mover passes the movers'
# conformance test, the test finds what the library may do wrong, and where there is no library
# that can be used, rows have the reason.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
programs=$FB_BUILD/tests/fake_gpu
[ -x "$programs/test_mover" ] || { echo "SKIP fake_nvshmem: built without CUDA"; exit 0; }
fake=$FB_BUILD/tests/libfake_nvshmem
export FB_FAKE_GPU_WORKS=right FB_FAKE_GPU_EACH=1 FB_NVSHMEM_LIBRARY=$fake.so
fast=(--min-samples 1 --max-samples 2 --max-time 20ms --quiet)

# ranks N PROGRAM OPTION...: the exit code in rc, and what it said in out and err.
ranks() {
	timeout $((120 * slow)) scripts/launch "$1" "$programs/$2" "${@:3}" >"$FB_TMP/out" \
		2>"$FB_TMP/err" </dev/null
	rc=$?
}

# The fake library is in place of that with kernels, too.
export FB_NVSHMEM_KERNELS=$fake.so
for n in 1 2 3; do
	ranks "$n" test_mover nvshmem nvshmem_device
	expect "exit code of $n ranks" "$rc" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/err"
done
verdict fake_nvshmem_mover

for how in early dropped; do
	FB_FAKE_NVSHMEM=$how ranks 2 test_mover nvshmem
	[ "$rc" -ne 0 ] || fail "mistake $how was not noticed"
done
FB_FAKE_NVSHMEM=dropped ranks 2 test_mover nvshmem_device
[ "$rc" -ne 0 ] || fail "a mistake of kernels was not noticed"
verdict fake_nvshmem_mutants

# rows PROGRAM OPTION...: status, engine and path of each row.
rows() {
	ranks 2 "$@" "${fast[@]}"
	expect "exit code of $1" "$rc" 0
}

rows handoff --engine nvshmem --tokens 64
holds "$FB_TMP/out" ',nvshmem,put,.*,(ok|few),.*"NVSHMEM 3\.4\.5 put on stream'
rows handoff --engine nvshmem_device --tokens 64
holds "$FB_TMP/out" ',nvshmem_device,put,.*,(ok|few),.*"NVSHMEM 3\.4\.5 put by block'
FB_NVSHMEM_KERNELS=$FB_TMP/none.so rows handoff --engine nvshmem_device --tokens 64
holds "$FB_TMP/out" ',nvshmem_device,.*,skipped,.*none\.so not found'
# Between hosts the path says who posts: any library serves as a transport of that name.
for transport in ibrc ibgda; do
	cp "$FB_BUILD/tests/libfake_nvtx.so" "$FB_TMP/nvshmem_transport_$transport.so.3" || exit 3
	FB_FAKE_NVSHMEM_REMOTE=$FB_TMP/nvshmem_transport_$transport.so.3 \
		rows handoff --engine nvshmem --tokens 64
	[ "$transport" = ibrc ] && want='remote transport ibrc"' ||
		want='remote transport ibgda, posted by the GPU"'
	holds "$FB_TMP/out" ",nvshmem,put,.*,(ok|few),.*$want"
done
rows kv_reshard --engine nvshmem,cuda --tokens 64
expect "wrong rows" "$(grep -cE ',(wrong|fault),' "$FB_TMP/out")" 0
expect "rows of both" "$(grep -cE ',(nvshmem|cuda),.*,(ok|few),' "$FB_TMP/out")" 6
verdict fake_nvshmem_kv

# statuses OPTION...: how many rows of which status; data are verified.
statuses() {
	rows "$@" --engine nvshmem --bytes 8,12K --ci 100%
	awk -F, 'NR > 1 { n[$23 == "few" ? "ok" : $23]++ }
		END { for (s in n) print s, n[s] }' "$FB_TMP/out" | sort | tr '\n' ' '
}

kinds=(--launch "stream,graph" --in-place all)
expect all_reduce "$(statuses all_reduce "${kinds[@]}" --redop sum,max,avg)" 'ok 16 skipped 8 '
holds "$FB_TMP/out" ',skipped,NVSHMEM has no avg'
holds "$FB_TMP/out" ',symmetric,.*,NVSHMEM 3\.4\.5 nvshmemx_float_max_reduce_on_stream,'
for program in reduce_scatter all_gather broadcast all_to_all; do
	expect "$program" "$(statuses "$program" "${kinds[@]}" --datatype f64)" 'ok 4 skipped 4 '
	holds "$FB_TMP/out" ",skipped,NVSHMEM has no $program in place"
done
expect barrier "$(statuses barrier --launch stream,graph)" 'ok 2 '
expect gather "$(statuses gather)" 'skipped 2 '
expect f16 "$(statuses all_reduce --datatype f16,f8e4m3)" 'skipped 4 '
holds "$FB_TMP/out" ',NVSHMEM 3\.4\.5 has no nvshmemx_half_sum_reduce_on_stream'
holds "$FB_TMP/out" ',NVSHMEM has no type f8e4m3'
expect "device memory" "$(statuses all_reduce --memory device)" 'skipped 2 '
verdict fake_nvshmem_collectives

for program in all_reduce all_gather; do
	FB_FAKE_NVSHMEM=alone ranks 2 "$program" --engine nvshmem --bytes 12K "${fast[@]}"
	holds "$FB_TMP/out" ',nvshmem,.*,wrong,'
done
verdict fake_nvshmem_alone

# skipped LIBRARY PATTERN: a row without it, with the reason.
skipped() {
	FB_NVSHMEM_LIBRARY=$1 rows handoff --engine nvshmem --tokens 64
	holds "$FB_TMP/out" ",nvshmem,.*,skipped,.*$2"
}

skipped "$FB_TMP/none.so" "none\.so not found"
skipped "${fake}_2_11.so" "is NVSHMEM 2\.11\.0, and 3\.0 or later is needed"
skipped "$FB_BUILD/tests/libfake_nccl.so" "is no NVSHMEM of 3\.0 or later: it has no nvshmemx_"
FB_FAKE_NVSHMEM=broken skipped "$fake.so" "NVSHMEM 3\.4\.5 does not start: nvshmemx_hostlib_init"
(
	unset FB_FAKE_GPU_EACH
	skipped "$fake.so" "ranks share a GPU"
	exit "$failures"
) || failures=$?
verdict fake_nvshmem_absent
exit "$bad"
