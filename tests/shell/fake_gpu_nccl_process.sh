#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# What NCCL ran where its log does not tell, and several GPUs in each process, with a library that
# only writes down how it is called and a runtime without a GPU.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
. tests/shell/lib_nccl.sh

# What ran where the log does not tell, by the profiler, which the library finds in the program: of
# version 5 in 2.28, which tells nothing of copy engines, and of version 7 in 2.31. Channels of a
# kernel work for 3 us, each half a microsecond later than the one before; collectives have 4. The
# library counts works as NCCL does, so that graphs and copies of a rank to itself would have
# ncclCommDestroy wait for ever, and times of other calls told. There is a time of rings only.
export FB_FAKE_NCCL_UNTOLD=1
for version in '' _2_31; do
	library=$FB_BUILD/tests/libfake_nccl$version.so
	runs all_to_all --nccl-force library,grouped --bytes 64 --nccl-gpu-time
	expect "sends" "$(grep -cE ' nccl(AlltoAll|Send and ncclRecv): sendrecv via P2P' \
		"$FB_TMP/out")" 2
	expect "channels of sends" "$(values channels ',(ok|few),')" '2 '
	expect "time of sends" "$(values gpu_us ',(ok|few),')" ' '
	runs all_gather --bytes 64 --registration none,window-copy --launch stream,graph \
		--nccl-gpu-time
	expect "kernels" "$(grep -cE ' ncclAllGather: ring simple via P2P' "$FB_TMP/out")" 2
	expect "time of kernels" "$(values gpu_us ',none,')" '4.5000 '
	expect "time of copies" "$(values gpu_us ',window-copy,')" ' '
	concluded=$([ "$version" ] || echo ', as NCCL told of no kernel')
	holds "$FB_TMP/out" "zero CTAs, copyengine via P2P/CUMEM/read${concluded}[,\"]"
	runs all_gather --bytes 64 --registration window --nccl-cta-policy zero --nccl-gpu-time
	holds "$FB_TMP/out" " ncclAllGather: copyengine via P2P/CUMEM/read${concluded}[,\"]"
done
runs all_reduce --bytes 64 --launch stream,graph --nccl-gpu-time
expect "kernels" "$(grep -cE ' ncclAllReduce: tree simple via P2P' "$FB_TMP/out")" 2
expect "time of trees" "$(values gpu_us ',(ok|few),')" ' '
FB_FAKE_NCCL_REPLAYED=1 runs all_gather --bytes 64,128,256 --launch graph --nccl-gpu-time
expect "rows beside graphs" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 3
expect "time beside graphs" "$(values gpu_us ',(ok|few),')" '4.5000 '
FB_FAKE_NCCL_LATE=1 runs all_gather --bytes 64 --nccl-gpu-time
expect "time without the last channel, told late" "$(values gpu_us ',(ok|few),')" ' '
expect "flags" "$(grep -c gpu-time-mixed "$FB_TMP/out")" 0
FB_FAKE_NCCL_STALE=1 runs all_gather --bytes 64 --nccl-gpu-time
expect "times of the call before" "$(values gpu_us ',(ok|few),')" ' '
holds "$FB_TMP/out" '[,;]gpu-time-mixed[,;]'
# A row whose second communicator cannot be made lacks this time alone: here the second one's.
FB_FAKE_NCCL_MOST=2 runs all_gather --bytes 64,128 --nccl-gpu-time
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 2
expect "time without a communicator" "$(values gpu_us ',(ok|few),')" ' 4.5000 '
runs all_gather --bytes 64
expect "time that nobody asked for" "$(values gpu_us ',(ok|few),')" ' '
NCCL_PROFILER_PLUGIN=none runs all_gather --bytes 64 --nccl-gpu-time
holds "$FB_TMP/out" ' ncclAllGather: untold via P2P'
expect "time without a profiler" "$(values gpu_us ',(ok|few),')" ' '
# Without the profiler, what can only be sends and receives.
runs all_to_all --nccl-force library,grouped --bytes 64 --registration none,window,window-copy
expect "sends" "$(grep -cE ': sendrecv via P2P/CUMEM/read, as NCCL has nothing else for it' \
	"$FB_TMP/out")" 3
holds "$FB_TMP/out" ',window,.* ncclAlltoAll: untold via P2P'
holds "$FB_TMP/out" ',window-copy,.* ncclAlltoAll: zero CTAs, untold via P2P'
# The policy of zero CTAs makes copy engines possible for windows, wherever NCCL has it from.
library=$FB_BUILD/tests/libfake_nccl.so
export NCCL_PROFILER_PLUGIN=none
runs all_to_all --bytes 64 --registration window
holds "$FB_TMP/out" ' ncclAlltoAll: sendrecv via'
FB_FAKE_NCCL_POLICY=1 runs all_to_all --bytes 64 --registration window
holds "$FB_TMP/out" ' ncclAlltoAll: untold via'
unset NCCL_PROFILER_PLUGIN
unset FB_FAKE_NCCL_UNTOLD
verdict fake_gpu_nccl_told

# Several GPUs in each process: every one is a rank, whoever calls for it.
library=$FB_BUILD/tests/libfake_nccl.so
export FB_FAKE_NCCL_LOG=$FB_TMP/calls
fast=("${fast[@]/%nccl/nccl-process}")

# called ROWS PROCESSES RANKS DEPTH PROGRAM OPTION...: each rank calls, in groups of that depth.
called() {
	rm -f "$FB_TMP"/calls.*
	scripts/launch "$2" "$bin/${5}" "${fast[@]}" --nccl-library "$library" \
		"${@:6}" >"$FB_TMP/out" 2>"$FB_TMP/err" || said "$FB_TMP/err"
	expect "rows of $5 ${*:6}" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" "$1"
	expect "ranks of $5 ${*:6}" "$(sort -u "$FB_TMP"/calls.* | grep -c "/$3 $4\$")" "$3"
}
FB_FAKE_GPUS=3 called 1 1 3 1 all_reduce --launch init_all --bytes 8
FB_FAKE_GPUS=3 called 1 1 3 0 all_gather --launch threads --bytes 96
FB_FAKE_GPUS=3 called 1 1 3 1 reduce_scatter --launch group --bytes 96
FB_FAKE_GPUS=4 called 1 2 4 1 all_to_all --launch group --bytes 64
FB_FAKE_GPUS=4 called 1 2 4 0 broadcast --launch threads --bytes 64 --gpus-per-process 2
holds "$FB_TMP/out" ',nccl-process,.*,gpus_per_process=2,.*: 2 GPUs a process by threads, '
# A graph of each GPU, captured from the same calls and replayed as often.
for launch in graph:1 graph_threads:0; do
	FB_FAKE_GPU_LOG=$FB_TMP/graphs FB_FAKE_GPUS=3 called 1 1 3 "${launch#*:}" all_reduce \
		--launch "${launch%:*}" --cadence streaming --bytes 8
	holds "$FB_TMP/out" ",nccl-process,.*,${launch%:*},.* by (group|threads) in graphs, "
	expect "calls of ranks" "$(awk '/^AllReduce/ { n[$2]++ } END { for (r in n) print n[r] }' \
		"$FB_TMP"/calls.* | sort -u | wc -l)" 1
	replays=$(cat "$FB_TMP"/graphs.* | grep -c '^graph$')
	[ "$replays" -gt 0 ] && [ $((replays % 3)) -eq 0 ] || fail "$replays replays of 3 GPUs"
	rm -f "$FB_TMP"/graphs.*
done
unset FB_FAKE_NCCL_LOG
export FB_FAKE_GPUS=4
library=$FB_BUILD/tests/libfake_nccl_2_32.so
told 4 all_reduce --launch group
library=$FB_BUILD/tests/libfake_nccl.so
runs all_reduce --launch init_all --bytes 8
holds "$FB_TMP/out" ",skipped,\"ncclCommInitAll is one process's, for all of its GPUs"
runs all_reduce --gpus-per-process 3 --bytes 8
holds "$FB_TMP/out" ',skipped,"?a process sees 4 GPUs, too few for 2 processes of its host with 3'
runs all_to_all_v --bytes 8
holds "$FB_TMP/out" ',skipped,engine nccl-process has no all_to_all_v'
runs all_reduce --channels 2 --bytes 8
holds "$FB_TMP/out" ',skipped,"?engine nccl-process has no cold caches, blocking kernel or channels'
FB_FAKE_NCCL_LOG=$FB_TMP/windows runs all_gather --registration all --launch group,threads \
	--bytes 64
expect "registered" "$(grep -cE ',(none|registered|window),.*,(ok|few),' "$FB_TMP/out")" 6
expect "windows" "$(cat "$FB_TMP"/windows.* | awk '/^window/ { print $2 }' | sort | uniq -c |
	awk '{ print $1 "x" $2 }' | tr '\n' ' ')" '2x0/4 2x1/4 2x2/4 2x3/4 '
holds "$FB_TMP/out" ',window-copy,.*,skipped,"?engine nccl-process has no window-copy'
# Each GPU's memory is that of all cases: NCCL may take new memory at an old address for the old.
FB_FAKE_NCCL_LOG=$FB_TMP/memory runs all_gather --launch group,graph --bytes 64,64K,256
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 6
expect "memory" "$(cat "$FB_TMP"/memory.* | grep -c '^MemAlloc')" 4
# A size that does not fit takes its own rows alone.
for engine in nccl-process nccl; do
	FB_FAKE_NCCL_MEMORY=16777216 scripts/launch 2 "$bin/all_reduce" \
		"${fast[@]/%nccl-process/$engine}" \
		--nccl-library "$library" --memory "$(
			[ $engine = nccl ] && echo nccl || echo device)" --bytes 8,16M \
		>"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of $engine" $? 5
	expect "rows of $engine that fit" "$(grep -cE ',8,.*,(ok|few),' "$FB_TMP/out")" 1
	expect "rows of $engine" "$(values status ',16777216,')" 'fault '
done
runs all_reduce --producer plain --launch threads --bytes 8
holds "$FB_TMP/out" ',skipped,'
library=$FB_BUILD/tests/libfake_nccl_2_18.so
runs all_reduce --bytes 8
holds "$FB_TMP/out" ',skipped,.*2\.18\.5 has no '
unset FB_FAKE_GPUS
verdict fake_gpu_nccl_process

exit "$bad"
