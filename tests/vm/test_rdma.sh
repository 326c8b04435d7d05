#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RDMA without hardware: virtual machines with soft-RoCE run the transport's tests, all algorithms
# over it, the point-to-point programs' verbs, and what happens when something breaks.
# processors: 2
# timeout: 2700
# full: two hosts; a router; sanitizers; most of tests/vm/jobs/engine.sh, p2p.sh and faults.sh

set -u
. tests/vm/lib_host.sh

build=build/openmpi
vm_need vm/test_rdma $build/bin/latency

# Without a device rows say so.
log=${FB_TMP:-/tmp}/no-device
if [ ! -d /sys/class/infiniband ]; then
	MPI=openmpi launch 2 $build/bin/all_reduce --engine host --algorithm ring --quiet \
		--protocol simple --transport rdma --bytes 8 >"$log" 2>&1
	if grep -qE ',skipped,"?no RDMA device: .*ib_uverbs' "$log"; then
		echo "PASS vm/no-device"
	else
		sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' "$log"
		echo "FAIL vm/no-device: no row skipped for want of a device"
	fi
fi

FB_SLOW=${FB_SLOW:-1}
# job NAME SECONDS ARGUMENT...: its lines are the results; it must reach its end.
job() {
	local rc start=$EPOCHREALTIME

	tests/vm/boot -t "$2" bash "tests/vm/jobs/$1.sh" "${@:3}"
	rc=$?
	[ $rc -eq 0 ] || echo "FAIL vm/$1: the machine ended with $rc"
	awk -v a="$start" -v b="$EPOCHREALTIME" -v n="$1" \
		'BEGIN { printf "  machine %s: %.1f s\n", n, b - a }'
}

# Two machines on one cable, which is a socket. The second only serves the first.
hosts() {
	local start=$EPOCHREALTIME shared rc second

	shared=$(mktemp -d "${FB_TMP:-/tmp}/shared.XXXXXX") || return
	tests/vm/boot -t $((FB_SLOW * 1200)) -c 1 -m 1024 -s "$shared" -n \
		"stream,id=n0,server=on,addr.type=unix,addr.path=$shared/net;52:54:00:00:00:01" \
		bash tests/vm/jobs/hosts.sh $build 0 &
	rc=$!
	while [ ! -S "$shared/net" ] && kill -0 $rc 2>/dev/null; do sleep 0.1; done
	tests/vm/boot -t $((FB_SLOW * 1200)) -c 1 -m 1024 -s "$shared" -n \
		"stream,id=n0,server=off,addr.type=unix,addr.path=$shared/net;52:54:00:00:00:02" \
		bash tests/vm/jobs/hosts.sh $build 1 &
	second=$!
	wait $rc || echo "FAIL vm/hosts: the first machine ended with $?"
	: >"$shared/end"
	wait $second
	awk -v a="$start" -v b="$EPOCHREALTIME" \
		'BEGIN { printf "  machines hosts: %.1f s\n", b - a }'
	rm -rf "$shared"
}

job rdma $((FB_SLOW * 2600)) $build
# These would take `make test` beyond its time.
if [ -n "${FB_FULL-}" ]; then
	hosts
	job router $((FB_SLOW * 600)) $build
	[ ! -x $build-asan/tests/test_rdma ] || job asan $((FB_SLOW * 600)) $build-asan
fi
# By hand only, and no test, whatever it says: see tests/vm/speed.
[ -z "${FB_VM_SPEED-}" ] || tests/vm/speed
exit 0
