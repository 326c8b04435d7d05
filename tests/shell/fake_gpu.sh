#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 900
# full: ranks_1 ranks_2 every_combination
#
# The host's side of the GPU engines, with a runtime whose kernels do nothing (tests/fake/cudart.c):
# every algorithm, protocol and size, none to odd, is set up, launched, captured and taken down on
# one rank and on several. What kernels compute is tested by tests/unit/test_gpu_plans.c and, with
# GPUs, by tests/gpu/run.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/all_reduce" ] || { echo "SKIP fake_gpu: built without CUDA"; exit 0; }
fast=(--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify first
	--timeout "$((30 * slow))s")

# runs RANKS PROGRAM OPTION...: ends well, some rows measured, none a fault.
runs() {
	local rc

	scripts/launch "$1" "$bin/$2" "${fast[@]}" "${@:3}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
	expect "exit code of $*" "$rc" 0
	[ "$(grep -cE ',(ok|few),' "$FB_TMP/out")" -gt 0 ] || fail "$*: nothing was measured"
	expect "faults of $*" "$(grep -c ',fault,' "$FB_TMP/out")" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/err"
}

# collective PROGRAM: every algorithm, protocol and root of all sizes, and again in place as graphs.
# Neither graphs nor buffers in place know of the other, so the full set alone combines them.
collective() {
	local all=0,4,12,1000,65540,1048588

	for ranks in 1 2 3; do
		in_set ranks_$ranks || continue
		if in_set every_combination; then
			runs "$ranks" "$1" --engine cuda --in-place both --root all --bytes $all \
				--launch stream,graph
			continue
		fi
		runs "$ranks" "$1" --engine cuda --root all --bytes $all --launch stream
		runs "$ranks" "$1" --engine cuda --root all --bytes 0,12,1048588 --launch graph \
			--in-place yes
	done
	verdict "fake_gpu_$1"
}
# copies PROGRAM: small and large, at once, in rounds, relayed and in a row.
copies() {
	for ranks in 1 2 3; do
		in_set ranks_$ranks || continue
		runs "$ranks" "$1" --engine copy --in-place both --root all \
			--copy-direction push,pull --bytes 0,4,1000,65540,1048588,60M \
			--launch stream,graph
	done
	runs 3 "$1" --engine copy --copy-streams 2 --bytes 60M
	case $1 in broadcast | reduce) runs 3 "$1" --engine copy --bytes 130M ;; esac
	verdict "fake_gpu_copy_$1"
}
for program in all_reduce all_gather reduce_scatter broadcast reduce all_to_all all_to_all_v \
	gather scatter send_recv all_gather_v; do
	collective "$program"
	copies "$program"
done
collective reduce_scatter_v

# Blocks of unequal size, all but one of them empty. One block of all bytes has no more channels
# than equal blocks have.
printf '9,0,0\n' >"$FB_TMP/row"
printf '9,0,0\n0,0,9\n0,0,0\n' >"$FB_TMP/rows"
for program in all_to_all_v:matrix:rows all_gather_v:weights:row reduce_scatter_v:weights:row; do
	IFS=: read -r program option file <<<"$program"
	channels=
	for unequal in "skew=0" "skew=1" "$option=$FB_TMP/$file"; do
		runs 3 "$program" --engine cuda,copy --in-place both --launch graph \
			"--$unequal" --bytes 12,3M
		channels+="$(awk -F, '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["engine"] == "cuda" && $at["protocol"] == "simple" &&
				$at["bytes"] == 3145728 && $at["channels"] > most {
				most = $at["channels"]
			}
			END { print most }' "$FB_TMP/out") "
	done
	[ "$program" = all_to_all_v ] || expect "channels" "$channels" "64 64 64 "
	verdict "fake_gpu_unequal_$program"
done

runs 2 all_reduce --engine cuda --datatype all --redop all --algorithm one_shot,ring \
	--bytes 24,10008
runs 2 all_reduce --engine cuda --transport all --bytes 8,100K --algorithm two_shot
runs 2 all_reduce --engine cuda --transport shm+tcp --nodes-as 2 --bytes 0 --algorithm ring
# Whether ranks met, and pinned memory, are checked by the host, which sees that nothing was done.
runs 1 barrier --engine cuda --launch stream,graph
runs 2 all_reduce --engine cuda --memory device --channels 8 --threads 64 --bytes 8,1M
runs 2 all_reduce --engine cuda --algorithm auto --protocol auto --bytes 8,64K,16M
# Bulk copies: unaligned memory moves by loads, and host engines have none.
runs 2 all_reduce --engine cuda --protocol tma --channels 4 --in-place both --bytes 0,1000,1M
runs 2 all_to_all --engine host,cuda --protocol tma --algorithm direct --bytes 1001,64K \
	--datatype u8
expect "rows by loads" "$(grep -c 'peer memory, unaligned: by loads' "$FB_TMP/out")" 1
holds "$FB_TMP/out" ',host,direct,tma,.*,skipped,tma is a protocol between GPUs'
# Channels share blocks in stripes where these are long enough and aligned; host engines do not.
runs 2 all_gather --engine host,cuda --protocol striped --channels 4 --slot-bytes 8K \
	--algorithm direct --in-place both --bytes 4K,1M,1000008 --datatype u8
expect "rows in stripes" "$(grep -c 'peer memory, stripes of 8K' "$FB_TMP/out")" 2
expect "rows without" "$(grep -c 'peer memory, not striped' "$FB_TMP/out")" 4
holds "$FB_TMP/out" ',host,direct,striped,.*,skipped,striped is a protocol between GPUs'
verdict fake_gpu_options

# Engine auto: the copy engines where the table says so, without a rule what cuda's says or the
# model; few channels by rules of their own.
cat >"$FB_TMP/auto.tuning" <<'END'
table fake gpu Fake GPU
rule auto all_gather 2 1 p2p any any 64K 64K auto auto copy/pull direct 0 0 0
rule cuda all_gather 2 1 p2p any any 8 1K auto auto bruck ll 0 0 0
rule auto all_gather 2 1 p2p any any 1M 1M auto auto direct ll128 0 0 0
rule auto all_gather 2 1 p2p any any 8 1M auto auto copy/push direct 0 0 0 objective=overlapped
rule cuda all_gather 2 1 p2p any any 64K 1M auto auto ring direct 4 64 0 channels=4
END
# paths PROGRAM SIZES OPTION...: what engine auto or cuda chose for each size.
paths() {
	runs 2 "$1" --algorithm auto --protocol auto --bytes "$2" "${@:3}"
	awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ gsub(/"|:.*/, "", $at["path"]);
			printf "%s%s", NR == 2 ? "" : ", ", $at["path"] }' "$FB_TMP/out"
}
table=(--tuning "$FB_TMP/auto.tuning")
expect "engine auto" "$(paths all_gather 64K,1M --engine auto "${table[@]}")" \
	"copy/pull direct by fake, direct ll128 by fake"
expect "engine auto beside computing" \
	"$(paths all_gather 64K,1M --engine auto --objective overlapped "${table[@]}")" \
	"copy/push direct by fake, copy/push direct by fake"
expect "the objective is a key" "$(grep -c ',objective=overlapped,' "$FB_TMP/out")" 2
expect "engine cuda with few channels" \
	"$(paths all_gather 64K,1M --engine cuda --channels 5 "${table[@]}")" \
	"ring direct by fake, ring direct by fake"
# Whoever gives a number of channels gets the shape that is best with so many, not auto's own.
expect "engine auto with few channels" \
	"$(paths all_gather 64K,1M --engine auto --channels 5 "${table[@]}")" \
	"ring direct by fake, ring direct by fake"
expect "channels and threads of these" "$(awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ print $at["channels"], $at["threads"] }' "$FB_TMP/out" | sort -u)" "5 64"
expect "engine auto with few channels, far from the rules for such" \
	"$(paths all_gather 12K --engine auto --channels 5 "${table[@]}")" \
	"copy/pull direct by fake"
expect "engine auto, nearer to what cuda was measured at" \
	"$(paths all_gather 4K --engine auto "${table[@]}")" "bruck ll by fake"
# Unequal blocks follow the rules of equal ones, but no rule of another size: all_gather_v has no
# neighbour_exchange, and the next rule in the table may be for much more.
for skew in 0 1; do
	expect "engine auto with unequal blocks" "$(paths all_gather_v 64K,1M --engine auto \
		--skew $skew "${table[@]}")" "copy/pull direct by fake, direct ll128 by fake"
done
echo 'rule auto all_gather 2 1 p2p any any 16 1K auto auto neighbour_exchange ll 0 0 0' |
	cat "$FB_TMP/auto.tuning" - >"$FB_TMP/without.tuning"
table=(--tuning "$FB_TMP/without.tuning")
expect "a rule of equal blocks" "$(paths all_gather 1K --engine auto "${table[@]}")" \
	"neighbour_exchange ll by fake"
expect "a rule that unequal blocks cannot follow" "$(paths all_gather_v 1K \
	--engine auto "${table[@]}")" "direct ll by model"
# A plain run measures what a user gets; who names algorithms gets the engines that have them.
engines() {
	"$bin/all_reduce" --bytes 8 --list "$@" | awk '/^all_reduce / { print $2 }' | sort -u |
		tr '\n' ' '
}
expect "engines of a plain run" "$(engines)" "auto nccl "
expect "engines of ring" "$(engines --algorithm ring)" "copy cuda host mpi nccl nvshmem "
expect "all engines" "$(engines --engine all)" "copy cuda host mpi nccl nvshmem "
runs 2 all_reduce --engine auto --bytes 8,1M --launch stream,graph --cadence all
expect "engine auto without a table" "$(grep -c ',auto,auto,auto,p2p,.* by ' "$FB_TMP/out")" 8
verdict fake_gpu_auto

# logged OPTION...: the order of things on one GPU, in $FB_TMP/order; see tests/fake/cudart_order.c.
# Kernels of test data are left out.
logged() {
	local fast=(--quiet --min-samples 10 --max-samples 10 --max-time "$((50 * slow))ms"
		--verify first)

	rm -f "$FB_TMP"/log.*
	FB_FAKE_GPU_LOG=$FB_TMP/log runs 2 all_reduce --bytes 1K "$@"
	cat "$FB_TMP"/log.* | grep -vE '_Z[0-9]*(fill|check)[0-9]' >"$FB_TMP/order"
}
# Before each launch the cache is cleared, and the host waits for that.
logged --engine cuda --algorithm ring --protocol simple --cache cold
expect "launches that find the cache hot" "$(awk '
	/clear_cache/ { cleared = 1; waited = 0; next }
	/^idle/ { waited = cleared; next }
	{ hot += !waited; cleared = waited = 0 }
	END { print hot + 0, (NR > 40) }' "$FB_TMP/order")" "0 1"
logged --engine cuda,copy --cache all --launch stream,graph --algorithm ring,library
[ "$(grep -c 'cache=cold' "$FB_TMP/out")" -eq "$(grep -vc 'cache=cold\|^schema' "$FB_TMP/out")" ] ||
	fail "--cache all: not as many cold rows as hot ones"
# Back to back only the first call would be cold.
logged --engine cuda --algorithm ring --cache all --cadence all
expect "cold rows that stream" "$(grep 'cache=cold' "$FB_TMP/out" | grep ',streaming,' |
	grep -vc ',skipped,cold caches need')" 0
verdict fake_gpu_cold

# What is timed is enqueued behind the blocking kernel, but for each row's first call and what is
# more than a queue takes. Sets gates, behind (commands behind them), most (behind one) and free.
held() {
	logged --blocking-kernel "$@"
	read -r gates behind most free < <(awk '
		/hold_stream/ { gates++; n = 0; next }
		/^held/ { behind++; if (++n > most) most = n; next }
		/^idle/ { next }
		{ free++ }
		END { print gates + 0, behind + 0, most + 0, free + 0 }' "$FB_TMP/order")
}
one=(--engine cuda --algorithm ring --protocol simple)
held "${one[@]}"
expect "commands that are not held, of two ranks' first calls" "$free" 2
expect "calls alone behind a gate" "$most" 1
[ "$gates" -gt 20 ] && [ "$behind" -eq "$gates" ] || fail "gates $gates, launches behind $behind"
# Batches, with events around them. Those of the warm-up are up to 1000 calls long, which is more
# than the queue of this GPU takes.
held "${one[@]}" --cadence streaming
[ "$most" -ge 4 ] && [ "$most" -le 514 ] || fail "commands behind one gate: $most"
fast_before=("${fast[@]}")
fast=(--quiet --min-samples 10 --max-samples 10 --max-time 1s --verify first)
runs 2 all_reduce --bytes 1K --blocking-kernel "${one[@]}" --cadence streaming
fast=("${fast_before[@]}")
held "${one[@]}" --cadence streaming --launch graph
grep -q '^held graph' "$FB_TMP/order" || fail "graphs are not held"
runs 2 all_reduce --engine copy --blocking-kernel --launch stream,graph --cadence all --bytes 8,1M
runs 1 all_reduce --engine nccl --nccl-library "$FB_BUILD/tests/libfake_nccl.so" \
	--blocking-kernel --cache cold --bytes 8
# A batch of 1000 calls that meets the graph of a single call, too.
rm -f "$FB_TMP"/log.*
FB_FAKE_GPU_LOG=$FB_TMP/log scripts/launch 1 "$bin/test_gpu_hold" >"$FB_TMP/out" 2>&1
expect "exit code of test_gpu_hold" $? 0
expect "graphs of one call that are held, of 1000" "$(awk '
	/hold_stream/ { n = 0 }
	/^held graph/ && ++n > most { most = n }
	END { print most + 0 }' "$FB_TMP"/log.*)" 512
verdict fake_gpu_held

for ranks in 2 3; do
	runs "$ranks" latency --engine cuda --bytes 8,300K --launch stream,graph --rounds 1
	runs "$ranks" bandwidth --engine cuda --algorithm all --bytes 8,300K --cadence all
	runs "$ranks" steady --engine copy,cuda
done
# Without a device, or where it does not take GPU memory, rows say so.
scripts/launch 2 "$bin/latency" "${fast[@]}" --engine rdma --memory device --bytes 8 \
	--protocol send >"$FB_TMP/out" 2>"$FB_TMP/err" || fail "no way to GPU memory ends the job"
expect "rows that are skipped" "$(grep -cE ',skipped,[^,]*(libibverbs|RDMA)' "$FB_TMP/out")" 1
verdict fake_gpu_p2p

# A step of training: every schedule, as streams and as graphs, steps alone and back to back.
for ranks in 1 3; do
	runs "$ranks" ddp --engine cuda,copy --bytes 1000,5M --bucket 1,600K,0 \
		--schedule compute,communicate,sequential,overlap \
		--launch stream,graph --cadence all --datatype bf16 --tokens 20 --hidden 100
done
runs 2 ddp --engine cuda --bytes 5M --compute 1us --priority normal --cublas-library none
verdict fake_gpu_ddp
shape=(--layers 2 --hidden 100 --tokens 16 --launch "stream,graph" --datatype bf16)
runs 2 fsdp --engine cuda,copy --bytes 100K --prefetch 0,2 --reshard yes,no "${shape[@]}"
runs 4 fsdp --engine cuda --bytes 100K --prefetch 1 --shard 2 "${shape[@]}"
runs 2 tensor_parallel --engine cuda,copy --ffn 200 --chunks 0,2 --schedule all "${shape[@]}"
runs 3 pipeline --engine cuda --bytes 4K --microbatches 3 "${shape[@]}"
runs 4 pipeline --engine cuda,copy --bytes 4K --microbatches 4 --tensor-ranks 2 \
	--placement inside,across "${shape[@]}"
runs 2 moe --engine cuda --ffn 200 --dispatch same,fp8 "${shape[@]}"
runs 2 hazards --engine cuda --bytes 100K --layers 2 --hidden 100 --tokens 16 --datatype bf16 \
	--delay 10us --input-bytes 4K --storage-bytes 4K
runs 2 graph --engine cuda,copy --bytes 100K --layers 2 --hidden 100 --tokens 16 --bucket 1K
runs 2 contention --engine cuda,copy --bytes 10K --layers 2 --hidden 100 --tokens 4 --streams 0,2
# Groups are opened for steps that only GPUs can run, too.
runs 2 contention --engine copy --bytes 10K --layers 2 --hidden 100 --tokens 4 --schedule copy_in
runs 2 staging --engine cuda --bytes 10K --chunks 3 --hidden 100 --tokens 4 --launch stream,graph
runs 2 dataparallel --engine cuda,copy --bytes 10K --layers 2 --hidden 100 --tokens 4
runs 2 ddp --engine cuda --bytes 60000 --bucket 20000 --schedule overlap,zero2 --tokens 8 \
	--hidden 100 --compress all --optimizer all --microbatches 2 --datatype bf16
# Beside computing engine auto takes the copy engines for what only moves data, if it is large.
runs 2 contention --engine auto --bytes 1M --layers 2 --hidden 100 --tokens 4 \
	--collective all_gather,reduce_scatter,all_to_all_v
# Six kinds of computing beside two such collectives.
expect "collectives by copies" "$(grep -c 'copy/push direct' "$FB_TMP/out")" 12
runs 2 contention --engine auto --bytes 1M --layers 2 --hidden 100 --tokens 4 \
	--collective all_gather --objective alone
expect "collectives by copies, alone" "$(grep -c 'copy/push direct' "$FB_TMP/out")" 0
runs 2 context_parallel --engine cuda,copy --trace "$FB_TMP" "${shape[@]}"
verdict fake_gpu_steps

# A launch that the GPU does not hold whole costs its rows, and is said once.
scripts/launch 3 "$bin/all_reduce" "${fast[@]}" --engine cuda --channels 200 --algorithm ring \
	--bytes 8,1M >"$FB_TMP/out" 2>"$FB_TMP/err" || fail "too many channels end the job"
expect "rows of too many channels" "$(grep -c ',skipped,' "$FB_TMP/out")" 12
expect "lines that say so" "$(grep -c '200 channels .* 132 blocks that the GPU holds' \
	"$FB_TMP/err")" 1
verdict fake_gpu_resident

# Collectives that may be under way at once fit together: those of four lanes of a pipeline, and
# blocks of two lanes beside other traffic. The step without that traffic has the same shape.
cat >"$FB_TMP/all.tuning" <<'END'
table fake gpu Fake GPU
rule cuda broadcast 2 1 p2p any any 8 8G auto auto chain direct 132 0 0
rule cuda all_reduce 2 1 p2p any any 8 8G auto auto bidirectional_ring direct 132 0 0
END
# channels PROGRAM OPTION...: of the one row.
channels() {
	runs 2 "$1" --engine cuda --tuning "$FB_TMP/all.tuning" --tokens 8 --hidden 64 \
		--layers 4 --bytes 1M "${@:2}"
	"$FB_BUILD/bin/query" --columns channels --csv "$FB_TMP/out" | tail -n +2
}
expect "channels of four lanes" \
	"$(channels pipeline --schedule interleaved --microbatches 4)" 33
expect "channels of two lanes" "$(channels pipeline --schedule gpipe --microbatches 2)" 66
expect "channels of two lanes beside traffic" \
	"$(channels ddp --schedule overlap --bucket 256K --background 64K)" 66
scripts/launch 2 "$bin/pipeline" "${fast[@]}" --engine cuda --tokens 8 --hidden 64 --layers 4 \
	--bytes 1M --schedule gpipe --microbatches 2 --channels 132 >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "rows of too many channels for two lanes" "$(grep -c ',skipped,' "$FB_TMP/out")" 1
# Each lane of a channel is a thread block, and --channels counts blocks, as NCCL's counts CTAs.
runs 2 all_reduce --engine cuda --algorithm ring,bidirectional_ring --protocol simple \
	--channels 5 --bytes 1M
expect "blocks of algorithms of one and of two lanes" "$("$FB_BUILD/bin/query" \
	--columns algorithm,channels --csv "$FB_TMP/out" | tail -n +2 | sort | tr '\n' ' ')" \
	"bidirectional_ring,4 ring,5 "
# Where channels come in twos, the number is rounded down, but to two at least.
for blocks in 2:4 6:4 8:8; do
	runs 2 all_reduce --engine cuda --algorithm double_binary_tree --protocol simple \
		--channels "${blocks%:*}" --bytes 1M
	expect "${blocks%:*} blocks of channels in twos of two lanes" "$("$FB_BUILD/bin/query" \
		--columns channels --csv "$FB_TMP/out" | tail -n +2)" "${blocks#*:}"
done
verdict fake_gpu_together

exit $bad
