#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# A KV cache to files and back: every form, both orders in the file, models with a window, a latent
# and packed entries; hit rates from none to all; what cannot be says why, and a full disk and an
# unknown model end clearly. All data is compared element by element by the program.

program=offload
. tests/kvtransfer/lib.sh
# Files of others, who run beside this, do not count.
export TMPDIR=$FB_TMP/files
mkdir "$TMPDIR"
tokens=40
go 2 --engine store --operation evict,onboard --tier-order all --page-run 1,2 --depth 1,8 \
	--algorithm all
expect "exit code of all forms" "$rc" 0
expect "the file system" "$(grep -cE 'program.offload.*folder.file_system,"?[a-z]' \
	"${csv%/*}/environment.csv")" 1
expect "wrong rows" "$(rows ',(wrong|fault),')" 0
[ "$(rows ',store,buffered,.*,(ok|few),')" -eq 8 ] || fail "buffered: $(rows ',buffered,') rows"
# Where a machine has neither io_uring nor O_DIRECT, rows say so.
expect "rows of all forms" "$(rows ',(ok|few|skipped),')" 48
"$FB_BUILD/bin/csvcheck" "$csv" >"$FB_TMP/check" || fail "$(head -n 5 "$FB_TMP/check")"
verdict offload_forms

tokens=300 go 1 --engine store --algorithm buffered --operation onboard \
	--model gpt-oss-20b,deepseek-v3,deepseek-v3.2-fp8
expect "exit code of models" "$rc" 0
expect "rows of models" "$(rows ',(ok|few),')" 3
# 18 of 19 blocks of 12 layers and, of a window of 128 tokens, the last of the other 12.
pieces=$((2 * 12 * 19 + 2 * 12 * 9))
expect "pages of a model with a window" "$(rows "model=gpt-oss-20b.*,19,$pieces,")" 1
expect "pages of a latent" "$(rows "model=deepseek-v3;.*,19,$((61 * 19)),18432,")" 1
expect "pages of packed entries" "$(rows "model=deepseek-v3.2-fp8;.*,19,$((61 * 19)),10496,")" 1
go 1 --engine store --algorithm direct --operation evict --block-tokens 3
expect "pages that O_DIRECT cannot move" "$(rows ',skipped,"?(pages of 768 bytes|O_DIRECT in)')" 1
verdict offload_models

go 2 --engine store --algorithm buffered --operation ttft --hit 0,50,100
expect "exit code of ttft" "$rc" 0
expect "rows of ttft" "$(rows ',(ok|few),')" 3
expect "tokens that hit" "$(rows 'hit=50;.*,3,8,4096,16,')$(rows 'hit=0;.*,3,0,4096,0,')" 11
# 40 tokens that come from memory are there sooner than computed ones, on every machine.
expect "a break-even length" "$(rows 'hit=100;.*,(16|32|48)$')" 1
verdict offload_ttft

# A crossover: the fastest way for each list is a line of a table, which --engine auto takes, here
# another way than measured, so that the table decides and nothing else does.
tokens='' go 2 --engine store --algorithm buffered,uring --crossover "$FB_TMP/tier.paths" \
	--piece 4K,64K --count 2,16
expect "exit code of a crossover" "$rc" 0
expect "wrong rows of a crossover" "$(rows ',(wrong|fault),')" 0
if [ "$(rows ',uring,.*,skipped,')" -eq 0 ]; then
	way='store:(buffered|uring)' us='[0-9.e+-]+ us'
	expect "lines of a crossover" "$(grep -cE \
		"^tier $way +(put|get) +(4096|65536) +(2|16)  # $us; $way $us$" \
		"$FB_TMP/tier.paths")" 8
	cp "$FB_TMP/tier.paths" "$FB_TMP/kept.paths"
	for form in buffered uring; do
		sed -i "s/^tier [^ ]*/tier store:$form/" "$FB_TMP/tier.paths"
		# 3 blocks of 8 regions of 2 KiB pages: between half and twice of 4 KiB, 16 pieces.
		tokens=24 go 1 --engine auto --tuning "$FB_TMP/tier.paths" --operation evict,onboard
		[ $form = uring ] && path='page cache, io_uring' || path='page cache, preadv'
		expect "rows by a table of $form" \
			"$(rows ",auto,.*store by path table, best of such lists: $path")" 2
	done
	tokens=2K go 1 --engine auto --tuning "$FB_TMP/tier.paths" --operation evict
	expect "a list that is in no table" "$(rows ',auto,.*,(ok|few),.*store, no path table: ')" 1
else
	echo "SKIP offload_crossover: no io_uring here"
fi
tokens='' go 1 --engine store --algorithm buffered --crossover "$FB_TMP/alone.paths" --piece 4K \
	--count 1
holds "$FB_TMP/err" 'alone.paths: no list was carried in two ways'
go 1 --engine store --crossover "$FB_TMP/none/x.paths"
expect "a table that cannot be written" "$rc" 3
holds "$FB_TMP/err" '--crossover .*none/x.paths: No such file'
verdict offload_crossover

go 1 --engine store --model gpt-5
expect "an unknown model" "$rc" 3
holds "$FB_TMP/err" '--model.*gpt-5.*tiny, tiny-window, tiny-moe, llama-3.1-8b'
go 1 --engine store --operation evict --folder "$FB_TMP/none"
expect "exit code without the folder" "$rc" 3
holds "$FB_TMP/err" '--folder .*none: No such file'
# A disk without room for the file: rows are faults, and no file is left.
mkdir "$FB_TMP/full"
if unshare -m mount -t tmpfs -o size=1m none "$FB_TMP/full" 2>/dev/null; then
	export -f go
	export FB_TMP FB_BUILD runs program
	unshare -m bash -c '
		small=(--quiet --run t)
		mount -t tmpfs -o size=1m none "$FB_TMP/full" && cd "$0" || exit 1
		tokens=8K go 1 --engine store --algorithm buffered --operation evict \
			--folder "$FB_TMP/full"
		echo "$rc $csv" >"$FB_TMP/end"' "$PWD"
	read -r rc csv <"$FB_TMP/end"
	runs=$((runs + 1)) # that shell's
	expect "exit code of a full disk" "$rc" 5
	expect "rows of a full disk" "$(rows ',fault,')" 1
	holds "$FB_TMP/err" 'a file of [0-9]+ bytes in .*/full: No space left on device'
else
	echo "SKIP offload_full_disk: no file system can be mounted here"
fi
expect "files left" "$(find "$TMPDIR" -name 'fabricbench-*' | wc -l)" 0
verdict offload_refused

# On emulated GPUs the tier is pinned memory.
fake=$FB_BUILD/tests/fake_gpu/offload
if [ -x "$fake" ]; then
	bin=$fake
	export FB_FAKE_GPU_WORKS=right
	go 2 --engine copy,cuda --operation evict,onboard --tier-order all --algorithm all
	expect "exit code on emulated GPUs" "$rc" 0
	expect "wrong rows on emulated GPUs" "$(rows ',(fault|wrong),')" 0
	[ "$(rows ',(copy|cuda),.*,(ok|few),')" -ge 8 ] || fail "few rows on emulated GPUs"
	go 1 --engine copy --operation evict
	expect "copies of three blocks" \
		"$(rows ',copy,auto,.*copy engine, strided of 3 copies, push, device memory')" 1
	tokens='' go 1 --engine copy,cuda --algorithm all --crossover "$FB_TMP/gpu.paths" \
		--piece 4K,64K --count 1,16
	expect "lines of a GPU's crossover" "$(grep -cE '^tier (copy:[a-z]+|cuda) ' \
		"$FB_TMP/gpu.paths")" 8
	expect "machine of a GPU's crossover" "$(grep -c '^machine gpu ' "$FB_TMP/gpu.paths")" 1
	tokens='' go 1 --engine copy,cuda --algorithm auto --crossover "$FB_TMP/usual.paths" \
		--piece 4K,64K --count 1,16
	expect "lines of usual forms" "$(grep -cE '^tier (copy|cuda) ' "$FB_TMP/usual.paths")" 8
	for way in cuda copy:loop; do
		sed -i "s/^tier [^ ]*/tier $way/" "$FB_TMP/gpu.paths"
		tokens=32 go 1 --engine auto --operation evict,onboard --tuning "$FB_TMP/gpu.paths"
		[ $way = cuda ] && path=kernels || path='copy engine, loop'
		expect "rows by a table of $way" \
			"$(rows ",auto,.*${way%:*} by path table, best of such lists: $path")" 2
	done
	go 1 --engine cufile --operation evict
	expect "a machine without cuFile" "$(rows ',cufile,.*,skipped,.*libcufile.so.0')" 1
	# A cuFile that works on such memory, whose calls move less than they are asked for.
	ln -sf "$(realpath "$FB_BUILD/tests/libfake_cufile.so")" "$FB_TMP/libcufile.so.0"
	export LD_LIBRARY_PATH=$FB_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	tokens=2K go 2 --engine cufile --tier-order all --block-tokens 256
	expect "exit code of cuFile" "$rc" 0
	expect "rows of cuFile" "$(rows ',cufile,.*,(ok|few),.*cuFile, ')" 6
	FB_FAKE_CUFILE=short go 1 --engine cufile --operation onboard
	expect "exit code of a short read" "$rc" 5
	holds "$FB_TMP/err" 'cuFile: reading [0-9]+ bytes at 0 of a file: it is too short'
	FB_FAKE_CUFILE=refuse go 1 --engine cufile --operation evict
	expect "exit code of an unknown file system" "$rc" 0
	expect "rows of it" "$(rows ',cufile,.*,skipped,.*takes no file there.*error 5027')" 1
	verdict offload_fake_gpu

	# Files through pinned slots: every form, and more chunks than slots.
	go 2 --engine store_gpu --operation evict,onboard --tier-order all --algorithm all \
		--block-tokens 8
	expect "exit code of files of GPU memory" "$rc" 0
	expect "wrong rows of files of GPU memory" "$(rows ',(fault|wrong),')" 0
	expect "rows of files of GPU memory" "$(rows ',store_gpu,.*,(ok|few|skipped),')" 16
	tokens=20K go 2 --engine store_gpu --operation evict,onboard --algorithm buffered,uring \
		--block-tokens 256
	expect "exit code of more chunks than slots" "$rc" 0
	[ "$(rows ',(ok|few),.*copy engine, 40 chunks through 32 pinned slots, each by page ')" \
		-ge 2 ] || fail "chunks: $(rows ',store_gpu,') rows"
	for ranks in 1 2; do
		FB_FAKE_GPU_WORKS=right scripts/launch "$ranks" "${fake%offload}test_store" \
			store_gpu >"$FB_TMP/out" 2>&1 </dev/null
		expect "exit code of mover store_gpu on $ranks ranks" "$?" 0
	done
	# Slots that go to the disk, or are taken again, before the GPU has copied.
	FB_FAKE_GPU_WORKS=undone go 1 --engine store_gpu --operation evict,onboard \
		--algorithm buffered
	[ "$rc" -ne 0 ] || fail "copies that are not over: exit code 0"
	expect "rows of copies that are not over" "$(rows ',wrong,')" 2
	unset FB_FAKE_GPU_WORKS
	verdict offload_fake_gpu_files
else
	echo "SKIP offload_fake_gpu: built without CUDA"
fi
exit "$bad"
