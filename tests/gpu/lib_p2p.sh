# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/gpu/run
#
# What tests/gpu/run does with messages between two ranks, or a processor and its GPU. Sourced by
# it; uses its function cases.

point_to_point() {
	local sizes=1,8,1000,65536,1048581,5M

	for engine in copy cuda; do
		for program in latency bandwidth incast; do
			cases "p2p-$engine-$program" "$most" "$program" "${fast[@]}" \
				--bytes "$sizes" --memory device,vmm,pinned --algorithm all \
				--launch stream,graph
		done
		cases "p2p-$engine-streaming" 2 bandwidth "${fast[@]}" --algorithm all \
			--cadence streaming --launch stream,graph --bytes 8,4K,300K
		cases "p2p-$engine-pairs" "$most" all_pairs "${fast[@]}" --algorithm all
		cases "p2p-$engine-steady" "$most" steady --pairs all --max-time 200ms
		cases "p2p-$engine-large" 2 bandwidth "${fast[@]}" --algorithm all --bytes 256M
		cases "p2p-$engine-steady-two" 2 steady "${fast[@]}" --bytes 1M --algorithm all
		cases "p2p-$engine-host" 1 host_device "${fast[@]}" --bytes 1,8,1000,65536,9M \
			--memory all --launch all
	done
	cases p2p-cuda-rounds 2 latency "${fast[@]}" --rounds 3 --bytes 8,300K
	cases p2p-cuda-channels 2 bandwidth "${fast[@]}" --channels 64 --threads 640 --bytes 40,2M \
		--algorithm all
	cases p2p-cuda-types 2 bandwidth "${fast[@]}" --datatype f32,f64,bf16 --bytes 24K
	for engine in cuda copy nccl; do
		[ "$most" -ge 4 ] || break
		cases "p2p-$engine-many" 4 multi_pair "${fast[@]}" --pairs 0-1,2-3 --bytes 8,1M
		cases "p2p-$engine-loaded" 4 loaded_latency "${fast[@]}" --probes 20
	done
	engine=rdma
	cases p2p-rdma 2 latency "${fast[@]}" --memory device --bytes 8,300K
	for engine in cuda nccl rdma; do
		cases "p2p-$engine-registration" "$most" registration "${fast[@]}" \
			--memory device,vmm --bytes 4K,3M,64M
	done
	engine=mpi
	cases p2p-mpi 2 latency "${fast[@]}" --memory device,managed,pinned --algorithm all \
		--bytes 8,300K
	engine=nccl
	cases p2p-nccl-latency 2 latency "${fast[@]}" --bytes 8,300K --launch stream,graph
	cases p2p-nccl-bandwidth "$most" bandwidth "${fast[@]}" --bytes 8,1M --launch stream,graph
	cases p2p-nccl-managed 2 bandwidth "${fast[@]}" --memory managed --bytes 8,300K \
		--launch stream,graph
	cases p2p-nccl-buffers 2 bandwidth "${fast[@]}" --registration all --bytes 8,1M \
		--memory vmm --launch stream,graph
	engine=cuda
}
