#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: engine rdma's loops and the plainest ones, in one process; see
# tests/vm/rdma_loops.c and tests/vm/speed, which sets FB_ROUNDS, FB_PATTERN, FB_SIZES and FB_LIMIT.
#
#	loops.sh BUILD

. tests/vm/lib.sh
. tests/lib_speed.sh
build=$1
vm_network || exit
umount /sys/fs/cgroup # ranks shall spin
fb_mpi_env openmpi
speed_pin /tmp/pinned

# compare NAME SIZE OPTION...: a line of the table, of all pairs of batches of FB_ROUNDS starts.
compare() {
	local name=$1 size=$2 i

	[[ $name =~ $FB_PATTERN ]] || return
	for ((i = 0; i < FB_ROUNDS; i++)); do
		timeout 120 mpirun.openmpi --oversubscribe --bind-to none -n 2 /tmp/pinned \
			"$build/tests/rdma_loops" --rdma-device rxe0 --bytes "$size" \
			--max-samples 1000000 --max-time 2s --whole-time --csv /tmp/ours --run t \
			--quiet "${@:3}" 2>/tmp/log || cat /tmp/log >&2
		rm -rf /tmp/ours
	done | awk 'NF == 4 && $4 > 0' >/tmp/pairs
	awk '{ print $3 / $4 }' /tmp/pairs >/tmp/ratios
	speed_row "$name" "$size" "$(cut -d' ' -f4 /tmp/pairs | speed_median)" \
		"$(cut -d' ' -f3 /tmp/pairs | speed_median)" /tmp/ratios
}

speed_head plain pairs
for s in $FB_SIZES; do
	compare write-lat "$s"
	compare read-lat "$s" --algorithm get --protocol read
	[ "$s" -ne 8 ] || compare atomic-lat 8 --algorithm get --protocol fetch_add
done
speed_verdict rdma_loops
