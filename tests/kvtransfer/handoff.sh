#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 400
# full: handoff_layouts
#
# A KV cache handed over stage by stage: every mover in host memory, pushed and pulled, by request,
# layer and run, built once and each time, between groups of unlike size and from many to many;
# tables of unlike runs and of a used allocator; models of all kinds; and the cost of a piece. All
# bytes are compared by the program.

program=handoff
. tests/kvtransfer/lib.sh
layouts=hnd,nhd rows=192 big=request,layer,run
in_set handoff_layouts || layouts=hnd rows=96
for family in $FB_MPIS; do
	bin=build/$family/bin/handoff
	go 4 --engine shm,cma,tcp,file,mpi_window --operation reshard,fan --algorithm all \
		--grain $big --build all --layout $layouts --prefill 1,2 --decode 1,2 --tokens 37
	expect "exit code of all movers" "$rc" 0
	[ "$rc" -eq 0 ] || head -n 3 "$FB_TMP/err"
	expect "wrong rows of all movers" "$(rows ',(wrong|fault),')" 0
	# 2 operations, 2 directions, 3 grains, 2 builds, 1 or 2 layouts, 4 pairs of groups.
	for mover in shm tcp file; do
		expect "rows of $mover" "$(rows ",$mover,(put|get),.*,(ok|few),")" $rows
	done
	build/"$family"/bin/csvcheck "$csv" >"$FB_TMP/check" ||
		fail "$(head -n 5 "$FB_TMP/check")"
	verdict "handoff_movers_$family"
done
bin=$FB_BUILD/bin/handoff
# Smaller moves: 37 tokens are 3 blocks, and 8 chunks that cut blocks; a pair has one head of two.
go 4 --engine shm,tcp --operation reshard,fan --algorithm all --layout hnd,nhd --prefill 1,2 \
	--decode 2 --grain block,layer-block,head-slice,chunk --chunk-tokens 5 --tokens 37 \
	--wire pages,packed
expect "exit code of small moves" "$rc" 0
expect "wrong rows of small moves" "$(rows ',(wrong|fault|skipped),')" 0
# 2 operations, 5 verbs of 2 movers, 4 grains, 2 layouts, 2 pairs of groups, 2 kinds of messages.
expect "rows of small moves" "$(rows ',(ok|few),')" $((2 * 5 * 4 * 2 * 2 * 2))
for moves in block:6 layer-block:24 head-slice:24 chunk:16; do
	expect "moves by ${moves%:*}" "$(rows \
		"reshard,.*=${moves%:*};layout=hnd;.*prefill=1;.*=37,.*,${moves#*:},[0-9]+,")" 5
done
verdict handoff_grains
# Every layout to every layout, in whole pages and in slices of heads.
go 4 --engine shm --layout all --decode-layout all --prefill 1,2 --decode 2 --tokens 37 \
	--grain request,head-slice --wire pages,packed
expect "exit code of layouts" "$rc" 0
expect "rows of layouts" "$(rows ',(ok|few),')" $((6 * 6 * 2 * 2 * 2))
# Two ranks have 8 regions of 2 whole blocks and one of 5 tokens: a run of each block, of each block
# of a layer, of all layers, and of the 5 tokens of each region.
one='grain=request;.*prefill=2;tokens=37,.*,2'
expect "pieces of regions" "$(rows "$one,48,")" 20
expect "pieces of layers" "$(rows "$one,32,")" 12
expect "pieces of all layers" "$(rows "$one,20,")" 4
expect "both layouts, once" "$(rows 'decode_layout=hnd;.*layout=hnd;')" 0
verdict handoff_layout_pairs
# Cold moves are not kept, and with GET it is rank 1 that has some; rows say it all the same.
go 2 --engine cma --algorithm all --build all
expect "paths of a mover" "$(rows ',cma,(put|get),.*kernel, process_vm_writev and readv')" 4
# What a receiver sees of a put before it is told, and that it is told before all is usable.
go 2 --engine shm,tcp,mpi_window --algorithm all --wire pages,packed
paste -d, <(column algorithm) <(column variant) <(column visible_us) <(column notice_us) \
	<(column notified_us) <(column total_us) | awk -F, '{
		if ($1 == "put" && $2 !~ /wire/) {
			seen++
			bad += !($3 > 0 && $4 >= 0)
		} else {
			bad += $3 != "" || $4 != ""
		}
		bad += !($5 > 0 && $5 <= $6)
	} END { exit bad || seen != 3 }' || fail "moments of receivers"
verdict handoff_path
go 2 --engine shm --tokens 600 --page-run 1,4 --decode-run 0,2 --churn 0,60,90
expect "rows of tables" "$(rows ',(ok|few),')" 6
# Runs of four pages at both ends: 38 blocks are ten runs, or some more, in each of 8 regions.
expect "pieces of runs of four" "$(rows 'page_run=4;[^,]*tokens=600,.*,1,(80|88|96),')" 1
# An allocator that was used leaves runs that are longer than a page and shorter than all.
column piece_bytes | awk '$1 < 4096 * 0.9 || $1 > 4096 * 20 { bad = 1 } END { exit bad }' ||
	fail "lengths of pieces: $(column piece_bytes | tr '\n' ' ')"
verdict handoff_tables

go 2 --engine shm --tokens 48 --model llama-3.1-8b,deepseek-v3,deepseek-v3.2-fp8,qwen2.5-7b
expect "rows of models" "$(rows ',(ok|few),')" 4
expect "pages of a latent" "$(rows 'model=deepseek-v3;.*,1,183,18432,')" 1
expect "pages of packed entries" "$(rows 'model=deepseek-v3.2-fp8;.*,1,183,10496,')" 1
# Rows of weights of a rank are one piece, columns are one in each row; experts are whole.
go 3 --engine shm --content weights --model tiny,tiny-moe,deepseek-v3 --prefill 1,2 --decode 1,2 \
	--tokens 16,32 --layout hnd,nhd
expect "rows of weights" "$(rows ',4718592,.*content=weights;.*,(ok|few),')" 3
expect "weights of experts" "$(rows ',4921344,.*model=tiny-moe;.*,(ok|few),')" 3
expect "weights beyond memory" "$(rows \
	'model=deepseek-v3;.*,skipped,"?(a rank.s pages need|4 ranks)')" 4
expect "pieces of weights, one rank to one" "$(rows 'decode=1;.*prefill=1,.*,28,')" 1
# Of 4 layers 5 matrices by rows and 2 by columns, of 256 rows each, for either receiver.
expect "pieces of weights, one rank to two" "$(rows 'decode=2;.*prefill=1,.*,4136,')" 1
expect "wrong weights" "$(rows ',(wrong|fault),')" 0
# An own shape: 2 regions of 3 layers, 6 heads, 96 elements of 2 bytes, as kv_reshard has them; what
# is not given is the model's, whose other layers and second regions are none of its.
go 6 --engine shm,tcp --layers 3 --kv-heads 6 --head-dim 96 --tokens 37 --layout hnd,nhd \
	--prefill 1,2,3 --decode 1,2,3 --model gpt-oss-20b,deepseek-v4-like
latent=$((3 * 6 * 96 * 2 * 37))
expect "rows of an own shape" \
	"$(rows ",($latent|$((2 * latent))),.*;dim=96;.*,(ok|few),")" 72
expect "keys of an own shape" "$(rows ';dim=96;.*heads=6;layers=3;layout=(hnd|nhd);')" 72
expect "wrong rows of an own shape" "$(rows ',(wrong|fault|skipped),')" 0
# A map of prefill and decode ranks for each model and layout.
plotdata=$FB_BUILD/bin/plotdata
[ ! -x "$plotdata" ] ||
	expect "maps" "$("$plotdata" --count --axis prefill,decode -- heat "$csv")" 4
go 2 --engine shm --layers 0,2 --tokens 64
expect "layers of tiny, and others" \
	"$(rows ',(131072,.*|65536,.*layers=2;.*),(ok|few),')" 2
verdict handoff_models

go 2 --engine shm --tokens 304 --model gpt-oss-20b,deepseek-v4-like
expect "rows of lists" "$(rows ',(ok|few),')" 2
# 19 pages of 12 layers and, of a window of 128 tokens, 8 of the other 12: K and V.
expect "pages with a window" "$(rows "model=gpt-oss-20b;.*,2,$((2 * 12 * (19 + 8))),")" 1
# 19 pages of 16 entries of 576 and of 132 bytes in 61 layers.
expect "pages of two lists" "$(rows "model=deepseek-v4-like;.*,2,$((61 * 2 * 19)),")" 1
verdict handoff_lists

go 3 --engine shm,tcp --algorithm all --operation reshard,fan --grain $big --decode 2 \
	--flight 1,5 --tokens 70
expect "exit code of requests in flight" "$rc" 0
expect "senders and receivers that meet" "$(rows ',tcp,send,.*flight=5;.*,(ok|few),')" 6
expect "wrong rows of requests in flight" "$(rows ',(wrong|fault),')" 0
expect "rows of requests in flight" "$(rows 'flight=5;.*,(ok|few),')" 30
expect "processor time" "$(column cpu_s_per_GiB | awk '$1 > 0' | wc -l)" 60
verdict handoff_flight

# The stages of each request: one of a name for each call, within the whole; and a figure of a row.
# NIXL beside UCX would be NIXL on TCP: all engines are those without it.
go 2 --engine all --algorithm put --tokens 70 --build all --wire pages,packed \
	--trace-out "$FB_TMP/spans"
expect "exit code of spans" "$rc" 0
awk -F, 'NR == 1 { next }
	{ n[$6 $2]++; row[$6] = 1 }
	$2 == "total" { bad += $4 <= $3; from[$6 $1] = $3; to[$6 $1] = $4 }
	$2 == "unpack" { bad += $3 < from[$6 $1] && $4 > to[$6 $1] }
	END {
		for (r in row) {
			rows++
			calls = n[r "total"]
			bad += calls < 2 || n[r "post"] != calls || n[r "done"] != calls
			bad += n[r "build"] != (r ~ /build=cold/ ? calls : 0)
			bad += n[r "pack"] != (r ~ /wire=packed/ ? calls : 0)
			bad += n[r "unpack"] != (r ~ /wire=packed/ ? calls : 0)
		}
		exit bad || !rows
	}' "$FB_TMP/spans/spans.csv" || fail "spans of stages"
count=$(rows ',(ok|few),')
expect "rows with spans" "$(tail -n +2 "$FB_TMP/spans/spans.csv" | cut -d, -f6 | sort -u | wc -l)" \
	"$count"
[ ! -x "$plotdata" ] ||
	expect "figures of stages" \
		"$("$plotdata" --count distribution "$FB_TMP/spans/spans.csv")" "$count"
if [ "$(rows ',ucx,put,.*,(ok|few),')" -gt 0 ]; then
	expect "NIXL beside UCX" "$(rows ',nixl,')" 0
	go 2 --engine ucx,nixl --tokens 70
	expect "NIXL that is named" "$(rows ',nixl,put,')" 1
fi
go 2 --engine shm --trace-out "$FB_TMP/out/below"
[ "$rc" -ne 0 ] || fail "a folder below a file: exit code 0"
holds "$FB_TMP/err" 'cannot create the folder.*out'
verdict handoff_spans

# Messages instead of pages, quantised or not: half of the bytes, and an error that is stated and is
# that of e4m3. 31 of 16..31.5 is the farthest: 1/17 to 1/16 off.
go 4 --engine shm,tcp,file --algorithm all --operation reshard,fan --grain $big --build all \
	--layout $layouts --decode 1,2 --tokens 37 --wire packed,fp8 --flight 1,2
expect "exit code of messages" "$rc" 0
expect "wrong rows of messages" "$(rows ',(wrong|fault|skipped),')" 0
# shm puts and gets, tcp and file send as well.
expect "rows of messages" "$(rows ',(ok|few),')" $((rows * 8))
paste -d, <(column variant) <(column quantise_error) <(column pack_us) <(column unpack_us) |
	awk -F, '{
		fp8 = $1 ~ /wire=fp8/
		bad += (fp8 ? $2 < 0.0555 || $2 > 0.0625 : $2 != "") || $3 <= 0 || $4 <= 0
	} END { exit bad }' || fail "errors: $(column quantise_error | sort | uniq -c)"
paste -d' ' <(column operation) <(column variant) <(column wire_bytes) | sort -u | awk '{
		half = sub(/fp8/, "packed", $2); of[$1 " " $2, half] = $3; key[$1 " " $2]
	} END {
		for (k in key) bad += !of[k, 0] || of[k, 1] * 2 != of[k, 0]
		exit bad
	}' || fail "bytes of messages"
go 2 --engine shm --wire fp8 --datatype f32 --model tiny
expect "quantising what is no bf16" "$(rows ',skipped,--wire fp8 needs bf16 pages,')" 1
# Messages that meet, whose pieces MPI's derived datatypes describe, at both ends.
go 4 --engine mpi --algorithm send --operation reshard,fan --grain $big --build all \
	--layout hnd,nhd --prefill 1,2 --decode 1,2 --tokens 37 --wire all --flight 1,3
expect "exit code of messages that meet" "$rc" 0
expect "rows of messages that meet" "$(rows ',mpi,send,.*,(ok|few),')" 576
verdict handoff_wire

# 38 blocks of tiny: one piece, or one a page, of 8 regions, of 4 paired layers, or of all.
go 2 --engine shm,cma,tcp,file,mpi_window,mpi --algorithm all --layout all --page-run 0 \
	--tokens 608 --coalesce all --grain request,run
expect "exit code of pages apart" "$rc" 0
expect "wrong rows of pages apart" "$(rows ',(wrong|fault|skipped),')" 0
paste -d' ' <(column variant) <(column moves) <(column pieces) | awk '
	{ r = /layout=paired/ ? 4 : /layout=block-first/ ? 1 : 8; pages = /coalesce=no/ ? 38 : 1 }
	{ n[pages > 1]++; bad += $3 != r * pages || $2 != (/grain=run/ ? pages : 1) }
	END { exit bad || n[0] < 24 || n[0] != n[1] }' || fail "pieces: $(column pieces | sort -u)"
verdict handoff_coalesce

# Memory is made known in each request, with moves of that request; or once.
go 3 --engine shm,cma,tcp,file,mpi_window,mpi --algorithm all --operation reshard,fan --decode 2 \
	--register all --wire pages,packed --tokens 70
expect "exit code of cold registration" "$rc" 0
expect "wrong rows of cold registration" "$(rows ',(wrong|fault|skipped),')" 0
paste -d' ' <(column variant) <(column register_us) <(column total_us) <(column wire_us) | awk '
	{ cold = /register=cold/; n[cold]++ }
	cold { bad += !/build=cold/ || !($2 > 0 && $2 < $3 && $4 < $3) }
	!cold { bad += !/build=warm/ }
	END { exit bad || n[1] < 40 || n[0] != n[1] }' || fail "cold registration"
verdict handoff_register

# Ranks compute meanwhile, but not in all rows; every element is compared.
go 2 --engine shm,tcp,mpi --algorithm all --beside all --tokens 70 --wire pages,packed
expect "exit code beside computing" "$rc" 0
# 6 verbs of 3 movers, 2 kinds of messages; a busy machine may end no layer within a transfer.
expect "rows beside computing" "$(rows ',(ok|few),')" $((6 * 2 * 2))
paste -d' ' <(column variant) <(column beside_layers) | awk '
	/beside=computing/ { n++; bad += NF != 2; some += $2 > 0; next }
	{ bad += NF != 1 }
	END { exit bad || n != 12 || !some }' || fail "computing: $(column beside_layers | sort -u)"
verdict handoff_beside

go 2 --engine shm,tcp --operation fit --beside computing
expect "fits beside computing" "$(rows ',put,.*beside=computing;model=tiny,(ok|few),')" 2
beside=$(dirname "$csv")
go 2 --engine shm,cma,tcp,mpi --operation fit --algorithm all
expect "exit code of fit" "$rc" 0
for verb in shm,put shm,get tcp,put tcp,get tcp,send mpi,send; do
	expect "fits of $verb" "$(rows ",fit,$verb,.*,(ok|few),")" 1
done
paste -d, <(column fit_GBps) <(column pack_breakeven_bytes) |
	awk -F, '$1 != "" { bad += $2 == "" } END { exit bad }' || fail "break-even of packing"
column fit_GBps | awk '$1 != "" && $1 <= 0 { bad = 1 } END { exit bad }' || fail "a rate is not one"
verdict handoff_fit

# --engine auto goes by the path table: what kv-paths wrote of the rows above, or what a user says.
scripts/kv-paths "$(dirname "$csv")" "$beside" >"$FB_TMP/own.paths" 2>"$FB_TMP/err" ||
	fail "kv-paths: $(cat "$FB_TMP/err")"
for verb in put get; do
	expect "paths, $verb" "$(grep -cE "^path (shm|cma|tcp) +$verb alone" "$FB_TMP/own.paths")" 3
done
expect "paths beside computing" "$(grep -cE '^path (shm|tcp) +put overlap' "$FB_TMP/own.paths")" 2
expect "paths of messages that meet" "$(grep -c '^path mpi' "$FB_TMP/own.paths")" 0
expect "rows of the crossover" "$(grep -cE '^# +[0-9]+( +(shm|cma|tcp)){5}$' "$FB_TMP/own.paths")" 8
sed -i 's/^path cma *put alone .*/path cma put alone 0 0 9999/
	s/^path tcp *put overlapped .*/path tcp put overlapped 0 0 99999/' "$FB_TMP/own.paths"
go 2 --engine auto,shm --tuning "$FB_TMP/own.paths"
expect "rows of auto" "$(rows ',reshard,auto,put,.*,(ok|few),.*cma by path table, alone: ')" 1
# Beside computing the other lines are used, which programs that compute do by themselves.
go 2 --engine auto --beside computing --tuning "$FB_TMP/own.paths"
expect "rows of auto beside computing" \
	"$(rows ',auto,put,.*beside=comp.*,(ok|few),.*tcp by path table, overlapped: ')" 1
program=stream bin=$FB_BUILD/bin/stream go 2 --engine auto --algorithm layerwise \
	--tuning "$FB_TMP/own.paths"
expect "rows of stream" "$(rows ',auto,layerwise,.*tcp by path table, overlapped: ')" 1
go 2 --engine auto --algorithm get --tuning none
expect "rows of auto without a table" "$(rows ',auto,get,.*,(ok|few),.*shm, no path table: ')" 1
CUDA_VISIBLE_DEVICES='' go 2 --engine auto --memory device
expect "auto without a GPU" "$(rows ',auto,put,.*,skipped,"?engine auto has no GPU for the mem')" 1
echo "path shm put alone 1 1 1" >"$FB_TMP/bad.paths"
go 2 --engine auto --tuning "$FB_TMP/bad.paths"
expect "exit code of a bad table" "$rc" 3
holds "$FB_TMP/err" 'bad.paths:1: .*expected machine gpu.cpu MODEL'
# Lists of two sizes of pieces, which three movers carry: the table says which was the fastest, and
# auto takes what it says, here another mover than measured, for lists like these and for no other.
go 2 --engine shm,cma,tcp --operation fit,reshard --tokens 64 --block-tokens 4,16
scripts/kv-paths "$(dirname "$csv")" >"$FB_TMP/best.paths" 2>"$FB_TMP/err" ||
	fail "kv-paths: $(cat "$FB_TMP/err")"
expect "best movers" \
	"$(grep -cE '^best (shm|cma|tcp) +put alone [0-9.]+ [0-9]+$' "$FB_TMP/best.paths")" 2
sed -i 's/^best [a-z]* /best tcp /' "$FB_TMP/best.paths"
go 2 --engine auto --tokens 64,2K --block-tokens 4 --tuning "$FB_TMP/best.paths"
expect "auto by lists" "$(rows ',auto,put,.*tcp by path table, best of such lists: ')" 1
expect "auto by the fit" "$(rows ',auto,put,.*by path table, alone: ')" 1
scripts/kv-paths "$FB_TMP/none" >"$FB_TMP/out" 2>&1 && fail "kv-paths takes no folder"
verdict handoff_auto

go 2 --engine shm --prefill 2
expect "too few ranks" "$(rows ',skipped,3 ranks are needed,')" 1
go 5 --engine shm --prefill 3
expect "heads that do not divide" "$(rows ',skipped,2 heads are not evenly on 3 and 1 ranks,')" 1
go 2 --engine shm --model gpt-5
expect "an unknown model" "$rc" 3
go 2 --engine mpi
expect "a mover without put" "$(rows ',mpi,put,.*,skipped,mover mpi has no put,')" 1
go 2 --engine shm --form tma
expect "a form of no engine" "$rc" 3
holds "$FB_TMP/err" 'no engine of --engine shm has the --form'
go 2 --engine shm --algorithm send
expect "a mover without send" "$(rows ',shm,send,.*,skipped,mover shm has no send,')" 1
go 2 --engine shm --operation handover --algorithm direct --wire fp8
expect "what handover ignores" "$rc" 3
holds "$FB_TMP/err" 'option --wire: operation handover does not use it'
go 2 --engine shm --operation reshard,handover
expect "an operation without an algorithm of the list" "$rc" 0
expect "rows of the other operation" "$(rows ',handoff,reshard,shm,put,')" 1
go 2 --engine shm --operation handover --algorithm pack --model gpt-oss-20b
expect "layers with a window" "$(rows ',skipped,layers with a window keep fewer')" 1
verdict handoff_refused

# A mover of others, as a library: the conformance test of all movers, a program, and refusals.
example=$FB_BUILD/tests/libmover_example.so
FB_MOVERS=$example scripts/launch 2 "$FB_BUILD/tests/test_mover" example >"$FB_TMP/out" 2>&1 ||
	fail "the conformance test of a plugin: $(tail -n 3 "$FB_TMP/out")"
holds "$FB_TMP/out" 'mover example: 0 failures'
FB_MOVERS=$example go 2 --engine example --algorithm all
expect "rows of a plugin" "$(rows ',example,(put|get),.*,(ok|few),.*an example of a plugin')" 2
FB_MOVERS=$FB_TMP/none.so go 2 --engine shm
expect "exit code of a plugin that is not there" "$rc" 3
holds "$FB_TMP/err" 'FB_MOVERS: .*none.so: '
FB_MOVERS=$FB_BUILD/tests/libfake_gdrapi.so go 2 --engine shm
expect "exit code of a library that is no plugin" "$rc" 3
holds "$FB_TMP/err" 'libfake_gdrapi.so: it has no fb_mover_plugin'
# A notice that never comes ends the case at its timeout, and is a fault that says who waited.
usual=("${small[@]}") small=(--quiet --timeout "$((3 * slow))s" --run t)
FB_MOVERS=$FB_BUILD/tests/libmover_faulty.so go 2 --engine faulty
small=("${usual[@]}")
expect "exit code of a lost notice" "$rc" 5
expect "rows of a lost notice" "$(rows ',faulty,put,.*,fault,.*; rank 1: waiting for a peer.s')" 1
verdict handoff_plugin

# On emulated GPUs, which do what they are told.
fake=$FB_BUILD/tests/fake_gpu/handoff
if [ -x "$fake" ]; then
	bin=$fake
	export FB_FAKE_GPU_WORKS=right
	go 3 --engine copy,cuda --tokens 37 --algorithm all --operation all --grain $big \
		--decode 1,2
	expect "exit code on emulated GPUs" "$rc" 0
	expect "wrong rows on emulated GPUs" "$(rows ',(fault|wrong),')" 0
	expect "rows on emulated GPUs" "$(rows ',(ok|few),')" 68
	# Pages on GPUs by movers of host memory, 2 operations, 6 verbs of 3 movers; messages of
	# several chunks, and of one.
	go 3 --engine shm,tcp,mpi --staging pageable,pinned,pipelined,mapped --staging-bytes 4K \
		--wire packed,fp8 --tokens 300 --algorithm all --operation reshard,fan --decode 2
	expect "exit code of staged pages" "$rc" 0
	expect "wrong rows of staged pages" "$(rows ',(fault|wrong),')" 0
	expect "rows of staged pages" "$(rows ',device,.*;staging=.*,(ok|few),')" 96
	expect "rows of chunks" "$(rows ';chunk=4096;.*staged, pipelined: ')" 24
	go 2 --engine shm,auto --staging pinned
	expect "rows of staged pages that are not packed" \
		"$(rows ',skipped,staged pages are packed: --wire packed or fp8,')" 1
	go 3 --engine copy,cuda --tokens 37 --algorithm all --operation reshard,fan --grain $big \
		--decode 1,2 --layout hnd,nhd --wire packed,fp8
	expect "exit code of messages on emulated GPUs" "$rc" 0
	expect "rows of messages on emulated GPUs" "$(rows ',(ok|few),')" 192
	column quantise_error | awk '$1 != "" && ($1 < 0.0555 || $1 > 0.0625) { bad = 1 }
		END { exit bad }' || fail "errors on emulated GPUs"
	go 3 --engine copy,cuda --tokens 37 --algorithm all --decode 2 --chunk-tokens 5 \
		--grain block,layer-block,head-slice,chunk
	expect "exit code of small moves on emulated GPUs" "$rc" 0
	expect "rows of small moves on emulated GPUs" "$(rows ',(ok|few),')" 16
	# A page of 16 tokens is a piece; the copy engines take all regions of it at once.
	# The row's rank, 0, only waits where rank 1 pulls: rank 1 says how.
	go 2 --engine copy,cuda --algorithm get --tokens 600 --build all
	expect "pulls by copy engines" \
		"$(rows ',copy,get,.*copy engine, strided of 39 copies, pull')" 2
	expect "pulls by kernels" "$(rows ',cuda,get,.*kernels, pull')" 2
	go 2 --engine copy,auto --tokens 600
	expect "copies of 39 runs" "$(rows ',copy,put,.*copy engine, strided of 39 copies, push')" 1
	expect "auto on GPUs" "$(rows ',auto,put,.*,device,.*cuda, no path table: kernels')" 1
	# Every form of both, warm and cold, and what a piece costs by each.
	go 2 --engine copy,cuda --operation reshard,fit --algorithm all --beside all
	expect "exit code beside computing on emulated GPUs" "$rc" 0
	expect "rows beside computing on emulated GPUs" "$(rows 'beside=comp.*,(ok|few),')" 8
	expect "computing on emulated GPUs" "$(column beside_layers | awk '$1 > 0' | wc -l)" 8
	expect "break-evens on emulated GPUs" "$(column pack_breakeven_bytes | grep -c .)" 8
	expect "paths of GPUs" "$(scripts/kv-paths "${csv%/*}" | grep -c '^path .* alone ')" 4
	go 2 --engine copy,cuda --algorithm all --coalesce all --register all --page-run 0 \
		--tokens 160
	expect "rows of pages apart and cold registration on emulated GPUs" \
		"$(rows ',(ok|few),')" 16
	expect "pieces on emulated GPUs" "$(column pieces | sort -n | uniq -c | tr -s ' \n' ' ')" \
		" 8 8 8 80 "
	go 2 --engine copy,cuda --form all --operation reshard,fit --build all --tokens 37
	expect "exit code of forms" "$rc" 0
	expect "rows of forms" "$(rows ',(copy|cuda),put,.*,(ok|few),')" 24
	for form in loop strided batch graph; do
		expect "rows of form $form" \
			"$(rows ";form=$form;.*,(ok|few),.*copy engine, $form" )" 2
	done
	expect "rows of form tma" "$(rows 'form=tma.*,(ok|few),.*kernels, tma')" 3
	# Such a GPU's memory is nothing for an RDMA device, if there is one, nor for libraries.
	go 2 --engine rdma_gpu,ucx_gpu,libfabric_gpu
	expect "rows without GPUDirect" "$(rows '(rdma|ucx|fabric)_gpu,put,.*,skipped,"?[^,]')" 3
	expect "UCX without GPUs" \
		"$(rows ',ucx_gpu,put,.*,skipped,"?(this UCX knows no memory of GPUs|libucp)')" 1
	unset FB_FAKE_GPU_WORKS
	verdict handoff_fake_gpu
else
	echo "SKIP handoff_fake_gpu: built without CUDA"
fi
exit "$bad"
