#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 600
#
# Engine multimem without a GPU: its kernels on emulated GPUs whose driver has multicast objects
# (tests/fake/cudart_multicast.c). Without --multicast allow no function of them is called or even
# looked up; with it all forms give the right data, and nothing is left of the objects; what one
# rank lacks, or its driver refuses, all ranks skip with the reason.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
programs=$FB_BUILD/tests/fake_gpu
[ -x "$programs/all_reduce" ] || { echo "SKIP fake_multimem: built without CUDA"; exit 0; }
unset NCCL_NVLS_ENABLE TORCH_SYMM_MEM_DISABLE_MULTICAST NVSHMEM_DISABLE_NVLS
export FB_FAKE_GPU_WORKS=right FB_FAKE_GPU_EACH=1 FB_FAKE_MULTICAST=right
export FB_FAKE_MULTICAST_LOG=$FB_TMP/log
fast=(--min-samples 1 --max-samples 2 --max-time 20ms --ci 100% --quiet)

# rows RANKS PROGRAM OPTION...: how many rows of which status; data are verified. Behind them what
# the driver has refused as misuse, and what was left of objects at the end.
rows() {
	rm -f "$FB_TMP"/log.*
	timeout $((120 * slow)) scripts/launch "$1" "$programs/$2" --engine "${engine-multimem}" \
		"${fast[@]}" "${@:3}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null || said "$FB_TMP/err"
	awk -F, 'NR > 1 { n[$23 == "few" ? "ok" : $23]++ }
		END { for (s in n) print s, n[s] }' "$FB_TMP/out" | sort | tr '\n' ' '
	cat "$FB_TMP"/log.* 2>/dev/null | grep '^misuse' | sort -u | tr '\n' ' '
}
# calls NAME...: how often the ranks have called these functions.
calls() {
	cat "$FB_TMP"/log.* 2>/dev/null | grep -cxE "$(IFS='|' && echo "$*")"
}

forms=(--launch "stream,graph" --in-place both --bytes "4,1000,40008")
expect "rows that were not allowed" "$(rows 2 all_reduce "${forms[@]}" --multicast off)" \
	'skipped 24 '
expect "calls and look-ups that were not allowed" "$(calls '.*')" 0
for program in all_reduce reduce_scatter all_gather broadcast; do
	expect "$program by default" "$(rows 2 "$program" --bytes 64 --algorithm all)" \
		"skipped $([ "$program" = all_reduce ] && echo 2 || echo 1) "
	holds "$FB_TMP/out" ',multimem,.*,skipped,multicast off,'
	expect "calls of $program by default" "$(calls '.*')" 0
done
NCCL_NVLS_ENABLE=0 rows 2 all_gather --multicast allow >/dev/null
holds "$FB_TMP/out" ',multimem,.*,skipped,multicast off: NCCL_NVLS_ENABLE=0,'
expect "calls that the environment forbids" "$(calls '.*')" 0
verdict fake_multimem_off

allow=(--multicast allow)
# All that was made was undone as often.
balanced() {
	expect "objects left by $1" "$(calls create import)" "$(calls release)"
	expect "bound memory left by $1" "$(calls bind)" "$(calls unbind)"
	expect "mappings left by $1" "$(calls map)" "$(calls unmap)"
	[ "$(calls map)" -gt 0 ] || fail "$1 has mapped nothing"
}

# Blocks of any length and place: whole 16 bytes, parts of them, and less.
small=(--in-place both --bytes "4,60,1000,40008" "${allow[@]}")
expect all_reduce "$(rows 3 all_reduce --launch stream,graph "${small[@]}")" 'ok 24 skipped 8 '
holds "$FB_TMP/out" ',one_shot,.*,skipped,one_shot in place would overwrite what other ranks'
holds "$FB_TMP/out" ',two_shot,direct,p2p,vmm,.*,multicast: ld_reduce and st,'
balanced all_reduce
for program in reduce_scatter all_gather broadcast; do
	expect "$program" "$(rows 3 "$program" --root all --launch stream,graph "${small[@]}")" \
		"ok $([ "$program" = broadcast ] && echo 48 || echo 16) "
	balanced "$program"
done
verdict fake_multimem_forms

# Kernels that wait for nobody are found out; whether one is too early is chance.
for program in all_reduce all_gather; do
	for ((i = 0; i < 9; i++)); do
		FB_FAKE_GPU_WORKS=blind rows 3 "$program" --bytes 36000,40008 "${allow[@]}" \
			>"$FB_TMP/statuses"
		grep -q wrong "$FB_TMP/statuses" && break
	done
	[ "$i" -lt 9 ] || fail "$program is right without waiting: $(cat "$FB_TMP/statuses")"
done
verdict fake_multimem_blind

expect types "$(rows 2 all_reduce --datatype f32,f16,bf16 --redop sum,min,max --bytes 52,3000 \
	"${allow[@]}")" 'ok 28 skipped 8 '
holds "$FB_TMP/out" ',skipped,multimem has no min of f32,'
expect "types of reduce_scatter" "$(rows 3 reduce_scatter --datatype f16,bf16 --bytes 6,3030 \
	--redop sum,max "${allow[@]}")" 'ok 8 '
expect "types that are moved" "$(rows 3 all_gather --datatype u8,f64 --bytes 24,3003 \
	"${allow[@]}")" 'ok 4 '
expect "blocks and threads" "$(rows 2 all_reduce --channels 2 --threads 32 --bytes 9000 \
	"${allow[@]}")" 'ok 2 '
blocks=(--channels 3 --bytes 9000 "${allow[@]}")
expect "blocks that the GPU holds" "$(FB_FAKE_GPU_SMS=3 rows 2 all_gather "${blocks[@]}")" 'ok 1 '
expect "more blocks" "$(FB_FAKE_GPU_SMS=2 rows 2 all_gather "${blocks[@]}")" 'skipped 1 '
holds "$FB_TMP/out" ',skipped,multimem: the GPU holds only 2 blocks at once,'
balanced "a row with more blocks"
expect "more threads than it has" "$(rows 2 all_reduce --threads 640 --bytes 64 \
	"${allow[@]}")" 'skipped 2 '
holds "$FB_TMP/out" ',skipped,multimem has at most 512 threads,'
expect "other collectives" "$(rows 2 all_to_all --bytes 64 "${allow[@]}")" 'skipped 1 '
expect "other memory" "$(rows 2 all_gather --memory device,pinned "${allow[@]}" --bytes 64)" \
	'skipped 2 '
holds "$FB_TMP/out" ',skipped,multimem works in memory vmm or fabric,'
expect "one rank" "$(rows 1 all_gather --bytes 64 "${allow[@]}")" 'skipped 1 '
expect "calls of one rank" "$(calls create add bind map)" 0
verdict fake_multimem_types

# refused STEP RANK REASON: all ranks skip the row, and what there was of the object is gone.
refused() {
	FB_FAKE_MULTICAST=$1@$2 rows 3 all_gather --bytes 64 "${allow[@]}" >"$FB_TMP/statuses"
	expect "rows where $1 fails on rank $2" "$(cat "$FB_TMP/statuses")" 'skipped 1 '
	holds "$FB_TMP/out" ",skipped,$3"
}
for rank in 0 2; do
	refused driver "$rank" 'the driver has no multicast: CUDA 12\.1 has,'
	refused attribute "$rank" 'a GPU has no multicast,'
	expect "calls without multicast on rank $rank" "$(calls create add bind map)" 0
	refused add "$rank" 'no multicast: cuMulticastAddDevice: '
	# Binding would wait for the GPU that is not there.
	expect "memory bound without all GPUs" "$(calls bind)" 0
	refused bind "$rank" 'no multicast: cuMulticastBindAddr: '
	expect "mappings of unbound memory" "$(calls map)" 0
	expect "memory left bound" "$(calls unbind)" 2
	expect "objects left" "$(calls release)" 3
	refused map "$rank" 'no multicast: cuMemMap: '
	expect "memory left bound behind a mapping" "$(calls unbind)" 3
	expect "mappings left" "$(calls unmap)" 2
	expect "objects left behind a mapping" "$(calls release)" 3
done
refused create 0 'no multicast: cuMulticastCreate: '
expect "objects that were not made" "$(calls release)" 0
refused import 1 'no multicast: cuMemImportFromShareableHandle: '
expect "objects left of those that were" "$(calls release)" 2
(
	unset FB_FAKE_GPU_EACH
	expect "shared GPU" "$(rows 2 all_gather --bytes 64 "${allow[@]}")" 'skipped 1 '
	holds "$FB_TMP/out" ',skipped,multimem needs a GPU for each rank,'
	exit "$failures"
) || failures=$?
verdict fake_multimem_refused

# Nobody gets it without its name, and "all" is all that was allowed.
# The fake GPU does nothing for the engine that auto takes.
expect "rows of auto" "$(engine=auto rows 2 all_reduce --bytes 8 --verify no "${allow[@]}")" 'ok 1 '
expect "calls of auto" "$(calls '.*')" 0
# cases OPTION...: whether multimem is in the list.
cases() {
	"$programs/all_reduce" --bytes 64 --list "$@" >"$FB_TMP/out" 2>&1 || said "$FB_TMP/out"
	grep -c '^all_reduce multimem two_shot ' "$FB_TMP/out"
}
expect "cases that are usual" "$(cases "${allow[@]}")" 0
expect "cases of auto" "$(cases --engine auto "${allow[@]}")" 0
expect "cases of all" "$(cases --engine all)" 0
expect "cases of all, if allowed" "$(cases --engine all "${allow[@]}")" 1
expect "cases of multimem" "$(cases --engine multimem)" 1
verdict fake_multimem_not_chosen
exit "$bad"
