#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# Every mover as an engine of the point-to-point programs: each verb that it has, on two to four
# ranks; movers on emulated GPUs, posted and enqueued; a mover of others, and one that loses a
# notice.

set -u
export LC_ALL=C
. tests/shell/lib.sh

small=(--quiet --run t --max-samples 5 --min-samples 2 --ci 50% --max-time 5ms
	--timeout "$((60 * slow))s")

# go RANKS PROGRAM OPTION...: every verb, unless options say which; sets rc and csv.
go() {
	csv=$FB_TMP/$((++runs))
	scripts/launch "$1" "$bin/$2" --csv "$csv" "${small[@]}" "${@:3}" >"$FB_TMP/out" 2>&1 \
		</dev/null
	rc=$?
	csv=$csv/$2.csv
}

# rows PATTERN: how many rows match. good RANKS PROGRAM OPTION...: no row is wrong.
rows() {
	tail -n +2 "$csv" | grep -cE -- "$1"
}
good() {
	go "$@"
	expect "exit code of $*" "$rc" 0
	expect "wrong rows of $*" "$(rows ',(wrong|fault),')" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/out"
}

runs=0
all=(--engine movers --algorithm all --bytes "8,100001")
for family in $FB_MPIS; do
	bin=build/$family/bin
	windows "$family"
	good 2 latency "${all[@]}"
	# shm, tcp and file by the page cache are on any machine; puts are answered by puts.
	for mover in shm:direct tcp:direct file:buffered; do
		form=${mover#*:} mover=${mover%:*}
		expect "puts of $mover" \
			"$(rows ",ping_pong,mover-$mover,put,$form,.*,(ok|few),")" 2
		expect "gets of $mover" "$(rows ",one_way,mover-$mover,get,$form,.*,(ok|few),")" 2
	done
	expect "messages" \
		"$(rows ',ping_pong,mover-(tcp,send|mpi,send|file,send,buffered),.*,(ok|few),')" 6
	good 2 bandwidth "${all[@]}" --window 7 --span 100K
	expect "puts both ways" "$(rows ',two_way,mover-shm,put,.*,(ok|few),')" 2
	good 2 latency --engine mover-rdma --bytes 8 --algorithm put --protocol all
	expect "forms of rdma" "$(rows ',mover-rdma,put,(chained|single|sge),rdma,')" 3
	verdict "p2p_movers_$family"
done

bin=$FB_BUILD/bin
good 3 incast "${all[@]}"
good 3 all_pairs "${all[@]}" --memory host,hugepage
good 4 multi_pair "${all[@]}"
good 4 loaded_latency --engine movers --algorithm all --bytes 8 --probes 5
expect "rows under a load of puts" "$(rows ',mover-shm,put,.*;load=1;.*,(ok|few),')" 1
good 2 steady --engine movers --algorithm put
verdict p2p_movers_many

FB_MOVERS=$FB_BUILD/tests/libmover_example.so good 2 latency --engine mover-example \
	--algorithm all --bytes 8
expect "rows of a plugin" "$(rows ',mover-example,(put|get),.*,(ok|few),')" 2
usual=("${small[@]}")
# As many calls as the mover has notices, on a busy machine too.
small=(--quiet --run t --max-samples 20 --min-samples 20 --max-time 60s
	--timeout "$((3 * slow))s")
FB_MOVERS=$FB_BUILD/tests/libmover_faulty.so go 2 latency --engine mover-faulty --algorithm put \
	--bytes 8
expect "exit code of a lost notice" "$rc" 5
expect "rows of a lost notice" "$(rows ',mover-faulty,put,.*,fault,')" 1
small=("${usual[@]}")
go 2 latency --engine mover-none --bytes 8
expect "exit code of a mover that is not there" "$rc" 3
verdict p2p_movers_plugin

# libfabric by providers that any machine has: the test of all movers, and rows that name them. A
# missing library or provider is a reason, as is another library under its name.
for provider in tcp shm; do
	export FI_PROVIDER=$provider
	good 2 latency --engine mover-libfabric --algorithm all --bytes 8,100001
	why=$(grep -oE '(built without libfabric|libfabric.so.1 not found)[^,"]*' "$csv" |
		tail -n 1)
	[ -z "$why" ] || break
	for verb in put get; do
		expect "$verb by $provider" \
			"$(rows "$verb.*,(ok|few),.*,libfabric [0-9.]+ ${provider}[^,]*/")" 2
	done
	for ranks in 1 2 3; do
		scripts/launch "$ranks" "$FB_BUILD/tests/test_mover" libfabric >"$FB_TMP/out" 2>&1 \
			</dev/null
		expect "test_mover libfabric, $provider, $ranks ranks" $? 0
	done
done
if [ -n "$why" ]; then
	echo "SKIP p2p_movers_libfabric: $why"
else
	puts=(2 latency --engine mover-libfabric --algorithm put --bytes 8)
	FI_PROVIDER=none go "${puts[@]}"
	expect "rows without a provider" \
		"$(rows ',skipped,.*libfabric has no provider .*FI_PROVIDER=none')" 1
	mkdir "$FB_TMP/other"
	cp "$FB_BUILD/tests/libfake_nixl.so" "$FB_TMP/other/libfabric.so.1"
	LD_LIBRARY_PATH=$FB_TMP/other go "${puts[@]}"
	expect "rows of another library" "$(rows ',skipped,libfabric.so.1 is no libfabric')" 1
	: >"$FB_TMP/other/libfabric.so.1"
	LD_LIBRARY_PATH=$FB_TMP/other go "${puts[@]}"
	expect "rows without the library" "$(rows ',skipped,.?libfabric.so.1 not found')" 1
	verdict p2p_movers_libfabric
fi
unset FI_PROVIDER

if [ -x "$FB_BUILD/tests/fake_gpu/latency" ]; then
	bin=$FB_BUILD/tests/fake_gpu
	export FB_FAKE_GPU_WORKS=right
	gpus=(--engine "mover-copy,mover-cuda" --algorithm all --launch "blocking,stream"
		--bytes 300K)
	good 2 latency "${gpus[@]}" --memory device,vmm,pinned
	expect "kernels" "$(rows ',mover-cuda,.*,(ok|few),.*"kernels, (push|pull), ')" 12
	expect "copies" "$(rows ',mover-copy,.*,(ok|few),.*"copy engine, ')" 48
	good 3 bandwidth "${gpus[@]}" --protocol auto --window 5 --pairs all
	good 3 incast "${gpus[@]}" --protocol auto --window 5
	# In memory of its own, by both forms of a library that is not there.
	FB_FAKE_GPU_EACH=1 FB_NVSHMEM_LIBRARY=$FB_BUILD/tests/libfake_nvshmem.so \
		good 2 latency --engine mover-nvshmem --algorithm all --bytes 8,300K \
		--launch "blocking,stream"
	expect "NVSHMEM" "$(rows ',mover-nvshmem,(put|get),.*,symmetric,.*,(ok|few),')" 16
	verdict p2p_movers_gpus
fi
exit "$bad"
