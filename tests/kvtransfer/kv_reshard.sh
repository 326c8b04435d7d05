#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 600
# full: ranks_1 ranks_4 ranks_8 other_groups
#
# The hand-over of a KV cache in host memory: every engine, mode and layout on one to eight ranks of
# each MPI, all data right, every row there; what cannot be says why; plans with a mistake are
# caught (tests/mpi/mutant_kv.c). The same between GPUs that are emulated, right and with mistakes
# (tests/fake/cudart_works.c).

program=kv_reshard
. tests/kvtransfer/lib.sh
small+=(--head-dim 8 --block-tokens 4)

# counts WHAT OK SKIPPED: good rows, others.
counts() {
	expect "exit code of $1" "$rc" 0
	expect "good rows of $1" "$(rows ',(ok|few),')" "$2"
	expect "skipped rows of $1" "$(rows ',skipped,')" "$3"
	[ "$rc" -eq 0 ] || head -n 3 "$FB_TMP/err"
}

matrix="1,2,4,8"
every=(--kv-heads 4 --layers 2 --tokens 37 --layout "hnd,nhd" --prefill-tp "$matrix"
	--decode-tp "$matrix")
for family in $FB_MPIS; do
	# 2 layouts, 6 modes of both engines, and so many pairs of groups that fit.
	for ranks in 1 3 8; do
		fit=$(for p in 1 2 4 8; do for d in 1 2 4 8; do
			[ "$p" -le "$ranks" ] && [ "$d" -le "$ranks" ] && echo "$p $d"
		done; done | wc -l)
		[ "$family" = mpich ] && [ "$ranks" != 3 ] && continue
		in_set ranks_$ranks || continue
		bin=build/$family/bin/kv_reshard go "$ranks" --engine shm,mpi "${every[@]}"
		counts "$ranks ranks" $((2 * 6 * fit)) $((2 * 6 * (16 - fit)))
		build/"$family"/bin/csvcheck "$csv" >"$FB_TMP/check" ||
			fail "$(head -n 5 "$FB_TMP/check")"
	done
	# All other movers in host memory: what a mover is must not matter.
	bin=build/$family/bin/kv_reshard go 3 --engine cma,tcp,file,mpi_window "${every[@]}" \
		--placement all
	expect "exit code of other movers" "$rc" 0
	expect "wrong rows of other movers" "$(rows ',(wrong|fault),')" 0
	for mover in tcp file; do
		[ "$(rows ",handover,$mover,.*,(ok|few),")" -ge 48 ] ||
			fail "few rows of mover $mover"
	done
	verdict "kv_reshard_$family"
done

bin=$FB_BUILD/bin/kv_reshard
# Memory is of one kind on each side, which the row says.
go 2 --engine shm,tcp --tokens 9 --layers 2 --algorithm pack --memory hugepage,vmm
counts "huge pages" 2 0
expect "rows in huge pages" "$(rows ',hugepage,')" 2
go 2 --engine shm --tokens 9 --layers 2 --memory host,hugepage
expect "exit code of two kinds of host memory" "$rc" 3
holds "$FB_TMP/err" "--memory 'host,hugepage': expected one kind of host memory"
go 2 --engine shm --tokens 9 --layers 2 --memory device --algorithm pack
expect "rows without host memory" \
	"$(rows ',shm,.*,skipped,"?shm works in host or hugepage memory, and --memory n')" 1
if [ -x "$FB_BUILD/tests/fake_gpu/kv_reshard" ]; then
	FB_FAKE_GPU_WORKS=right bin=$FB_BUILD/tests/fake_gpu/kv_reshard go 2 --engine copy,cuda \
		--tokens 9 --layers 2 --algorithm pack --memory vmm
	expect "rows in memory vmm" "$(rows ',vmm,.*,(ok|few),')" 2
	# Pages are 15 MiB of 20 MiB: the second engine takes the memory that the first one had.
	FB_FAKE_GPU_WORKS=right FB_FAKE_GPU_EACH=1 FB_FAKE_GPUS=2 FB_FAKE_GPU_MEMORY=$((20 << 20)) \
		bin=$FB_BUILD/tests/fake_gpu/kv_reshard go 2 --engine copy,cuda --tokens 6400 \
		--layers 2 --algorithm direct
	expect "rows of engines that share memory" "$(rows ',device,.*,(ok|few),')" 2
fi
verdict kv_reshard_memory

# Groups that are no powers of two, heads that are not theirs, and all places.
if in_set other_groups; then
	go 6 --engine shm,mpi --kv-heads 6 --tokens 1,9 --layout hnd,nhd --layers 2 \
		--prefill-tp 2,3,6 --decode-tp 1,2,3 --placement all
	expect "exit code of other groups" "$rc" 0
	expect "wrong rows of other groups" "$(rows ',(wrong|fault),')" 0
	[ "$(rows ',(ok|few),')" -ge 200 ] || fail "few rows of other groups"
fi
go 4 --engine shm --kv-heads 4 --prefill-tp 3 --tokens 9
expect "heads that do not divide" "$(rows ',skipped,4 heads are not evenly on 3 and 1 ranks,')" 3
go 4 --engine shm --prefill-tp 2 --decode-tp 4 --placement disjoint --tokens 9
expect "too few ranks" "$(rows ',skipped,6 ranks are needed,')" 3
for type in u8 f32 f64 f8e4m3; do
	go 3 --engine shm,mpi --datatype "$type" --page-run 0 --tokens 30 --decode-tp 2
	counts "datatype $type" 6 0
done
# Where the decode ranks are: all bytes cross, or none of those that stay in place.
go 4 --engine shm --algorithm direct --prefill-tp 4 --decode-tp 4 --tokens 8 \
	--placement shared,shifted
expect "shared ranks, which cross nothing" \
	"$(rows 'placement=shared.*,4,0,[0-9.]+,[0-9.]+,$')" 1
expect "shifted ranks, all crossing" "$(rows 'placement=shifted.*,4,1,[0-9.]+,[0-9.]+,$')" 1
verdict kv_reshard_groups

# The same by its first name, by models, and with tables that differ.
run_handoff() {
	local folder=$FB_TMP/$((++runs))

	csv=$folder/handoff.csv
	scripts/launch 3 "$FB_BUILD/bin/handoff" "${small[@]}" --operation handover \
		--algorithm all --engine shm --decode 2 --tokens 37 --csv "$folder" "$@" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	rc=$?
}
run_handoff --model tiny --decode-run 3 --head-dim 8
counts "handoff --operation handover" 3 0
expect "rows of a model" "$(rows ',handover,.*;decode_run=3;.*;model=tiny;.*,(ok|few),')" 3
run_handoff --model tiny --layers 2 --kv-heads 2 --churn 50
expect "rows of an own shape" "$(rows ',handover,.*churn=50;.*heads=2;layers=2;.*,(ok|few),')" 3
verdict handoff_handover

# Rows of mistakes: all wrong, with the first element, and said on stderr what it is.
# Under the program's name, by which scripts/launch looks for its closing fact.
ln -sf "$FB_BUILD/tests/mutant_kv" "$FB_TMP/kv_reshard"
bin=$FB_TMP/kv_reshard go 3 --tokens 37 --layout hnd,nhd --decode-tp 2
counts "plans without a mistake" 6 0
element='"?[0-9]+ wrong elements; first: rank [0-9]+ element [0-9]+ is '
for mistake in source target short; do
	FB_KV_MISTAKE=$mistake bin=$FB_TMP/kv_reshard go 3 --tokens 37 --layout hnd,nhd \
		--decode-tp 2
	expect "exit code of mistake $mistake" "$rc" 2
	expect "rows of mistake $mistake" "$(rows ",wrong,$element")" 6
	FB_KV_MISTAKE=$mistake bin=$FB_TMP/kv_reshard go 3 --tokens 37 --decode-tp 2 \
		--layout block-first-hnd,nhd --decode-layout block-first-nhd,paired-hnd
	expect "rows of mistake $mistake between layouts" "$(rows ",wrong,$element")" 12
done
holds "$FB_TMP/err" \
	'rank 2, decode rank 1: layer [0-9]+ [KV], head [0-9]+, token [0-9]+, element [0-7] \(page'
verdict kv_reshard_mutants

# refused PATTERN OPTION...: exit code 3 and a line that matches.
refused() {
	go 2 "${@:2}"
	expect "exit code of ${*:2}" "$rc" 3
	holds "$FB_TMP/err" "$1"
}
refused '--tokens.*0' --tokens 0
refused '--layout.*hnd, nhd' --layout hdn
refused '--decode-layout.*same, hnd' --decode-layout hdn
refused '--engine.*shm' --engine hosts
refused 'no case is left of --engine shm --algorithm strided --memory host: ' \
	--engine shm --algorithm strided
verdict kv_reshard_refused

fake=$FB_BUILD/tests/fake_gpu/kv_reshard
if [ -x "$fake" ]; then
	for ranks in 1 3 8; do
		in_set ranks_$ranks || continue
		bin=$fake go "$ranks" --engine copy,cuda "${every[@]}" --placement all \
			--verify first
		expect "exit code on $ranks fake GPUs" "$rc" 0
		expect "faults on $ranks fake GPUs" "$(rows ',(fault|wrong),')" 0
		[ "$(rows ',(ok|few),')" -ge 32 ] || fail "$ranks fake GPUs: nothing was measured"
	done
	# GPUs that do what they are told: all data right. Those with mistakes: all that waits for
	# nobody, or leaves something out, is wrong, but for ranks that need not wait.
	export FB_FAKE_GPU_WORKS=right
	for ranks in 1 3 4; do
		in_set ranks_$ranks || continue
		bin=$fake go "$ranks" --engine copy,cuda "${every[@]}"
		counts "$ranks emulated GPUs" "$(rows ',(ok|few),')" "$(rows ',skipped,')"
		expect "wrong rows of $ranks emulated GPUs" "$(rows ',(fault|wrong),')" 0
	done
	bin=$fake go 4 --engine copy,cuda --layers 2 --tokens 600 --decode-tp 2 --page-run 0
	counts "long runs on emulated GPUs" 8 0
	bin=$fake go 2 --engine copy,cuda --layers 1 --tokens 9
	counts "one layer on emulated GPUs" 8 0
	bin=$fake go 2 --engine copy --algorithm batch,strided --layers 2 --tokens 64 --decode-tp 2
	expect "paths with the copies of the pages" \
		"$(rows 'copy engine, (batch of 128|strided of 32) copies, push')" 2
	for how in blind dropped early; do
		export FB_FAKE_GPU_WORKS=$how
		bin=$fake go 3 --engine cuda "${every[@]}"
		[ "$(rows ',wrong,')" -gt 0 ] || fail "a GPU that is $how was not noticed"
	done
	unset FB_FAKE_GPU_WORKS
	bin=$fake go 1 --engine nccl --tokens 9 --layers 1 --layout nhd \
		--nccl-library "$FB_BUILD/tests/libfake_nccl.so"
	counts "nccl on a fake GPU" 2 0
	verdict kv_reshard_fake_gpu
else
	echo "SKIP kv_reshard_fake_gpu: built without CUDA"
fi
exit "$bad"
