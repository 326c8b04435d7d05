# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/gpu/run
#
# What tests/gpu/run does with the programs of KV transfers. Sourced by it; uses its function cases.

# A KV cache in pages between two groups of ranks, which share ranks where these are few.
kv_transfer() {
	local shape=(--layers 3 --tokens "17,600" --layout "hnd,nhd" --prefill-tp "1,2,4"
		--decode-tp "1,2,4")

	for engine in copy cuda nccl nvshmem; do
		cases "kv-$engine" "$most" kv_reshard "${fast[@]}" "${shape[@]}"
		cases "kv-$engine-one" 1 kv_reshard "${fast[@]}" --layers 3 --layout "hnd,nhd"
	done
	engine=cuda
	cases kv-cuda-places "$most" kv_reshard "${fast[@]}" "${shape[@]}" --placement all
	cases kv-cuda-heads "$most" kv_reshard "${fast[@]}" --layers 3 --kv-heads 1 \
		--layout "hnd,nhd" --prefill-tp 1,2 --decode-tp 1,2 --page-run 0
	cases kv-cuda-types "$most" kv_reshard "${fast[@]}" --datatype u8,f32,f64 --layers 3
}

# Requests, layers as they are computed, tiers, and serving: every page that came is checked.
kv_programs() {
	for engine in copy cuda nccl auto; do
		cases "kv-$engine-handoff" 2 handoff "${fast[@]}" --algorithm all \
			--layout "hnd,nhd" --tokens 37,600 --operation reshard
		cases "kv-$engine-packed" 2 handoff "${fast[@]}" --algorithm all --tokens 37 \
			--wire packed,fp8
		# Layers are put: NCCL sends.
		[ "$engine" = nccl ] ||
			cases "kv-$engine-stream" 2 stream "${fast[@]}" --model tiny --tokens 64,300
		[ "$most" -ge 3 ] || continue
		cases "kv-$engine-fan" 3 handoff "${fast[@]}" --tokens 37 --operation fan \
			--decode 2
		cases "kv-$engine-serve" 3 serve --memory device --algorithm disaggregated \
			--model tiny --rate 100 --requests 4 --min-samples 1 --max-samples 1
	done
	for engine in copy cuda auto; do
		# auto takes a form itself.
		cases "kv-$engine-offload" "$most" offload "${fast[@]}" --operation all \
			--algorithm "$([ "$engine" = auto ] && echo auto || echo all)" \
			--tokens 256 --tier-order all
	done
	engine=cuda
}
