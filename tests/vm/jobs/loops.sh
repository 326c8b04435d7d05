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
	local name=$1 size=$2 verdict=PASS ratio low high i

	[[ $name =~ $FB_PATTERN ]] || return
	for ((i = 0; i < FB_ROUNDS; i++)); do
		timeout 120 mpirun.openmpi --oversubscribe --bind-to none -n 2 /tmp/pinned \
			"$build/tests/rdma_loops" --rdma-device rxe0 --bytes "$size" \
			--max-samples 1000000 --max-time 2s --whole-time --csv /tmp/ours --run t \
			--quiet "${@:3}" 2>/tmp/log || cat /tmp/log >&2
		rm -rf /tmp/ours
	done | awk 'NF == 4 && $4 > 0' >/tmp/pairs
	awk '{ print $3 / $4 }' /tmp/pairs >/tmp/ratios
	ratio=$(speed_median </tmp/ratios)
	read -r low high <<<"$(speed_interval </tmp/ratios)"
	speed_within "$ratio" most "$FB_LIMIT" || verdict=FAIL
	printf '%-11s %9d %12.2f %12.2f %8.3f %8.3f %8.3f %6d  %s\n' "$name" "$size" \
		"$(cut -d' ' -f4 /tmp/pairs | speed_median)" \
		"$(cut -d' ' -f3 /tmp/pairs | speed_median)" "${ratio:-0}" "${low:-0}" \
		"${high:-0}" "$(wc -l </tmp/ratios)" "$verdict"
	speed_limit "$name of $size bytes" "$ratio" most "$FB_LIMIT"
}

printf '%-11s %9s %12s %12s %8s %8s %8s %6s\n' what bytes "plain us" "ours us" ratio low high pairs
for s in $FB_SIZES; do
	compare write-lat "$s"
	compare read-lat "$s" --algorithm get --protocol read
	[ "$s" -ne 8 ] || compare atomic-lat 8 --algorithm get --protocol fetch_add
done
speed_verdict rdma_loops
