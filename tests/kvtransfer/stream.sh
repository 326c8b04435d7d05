#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# A prompt's cache sent layer by layer beside its computing, and behind it; decoding from the first
# layer on, or with the whole cache; other requests meanwhile. The program compares all bytes.

program=stream
. tests/kvtransfer/lib.sh
tokens=24
go 3 --engine shm,tcp,file --start all --others 0,3
expect "exit code" "$rc" 0
[ "$rc" -eq 0 ] || head -n 3 "$FB_TMP/err"
expect "good rows" "$(rows ',(ok|few),')" 24
expect "prices of the others" "$(column tpot_price | grep -c .)" 12
"$FB_BUILD/bin/csvcheck" "$csv" >"$FB_TMP/check" || fail "$(head -n 5 "$FB_TMP/check")"
# Where nothing overlaps, nothing is predicted.
expect "rows with a model" \
	"$(paste -d, <(column algorithm) <(column exposed_model_us) <(column exposed_over_model) |
		awk -F, '$1 == "layerwise" ? $2 > 0 && $3 != "" : $2 $3 == ""' | wc -l)" 24
# Shares are rates by the measured peaks; a prompt has more operations for a byte than three tokens.
paste -d' ' <(column prefill_TFLOPS) <(column prefill_flop_share) <(column peak_TFLOPS) \
	<(column prefill_byte_share) <(column peak_GBps) <(column decode_TFLOPS) \
	<(column decode_GBps) | awk '
	{ share = $1 / $3 / $2; bad += $1 <= 0 || share < 0.999 || share > 1.001 || $4 <= 0 }
	NF == 7 { n++; bad += $1 * 1000 / ($4 * $5) < 3 * $6 * 1000 / $7 }
	END { exit bad || n != 12 }' || fail "rates of computing"
verdict stream_movers

# The quotient, and the flag that the interval and the limits of 10% ask for.
usual=("${small[@]}")
small=(--quiet --max-samples 12 --min-samples 12 --ci 100% --timeout "$((60 * slow))s" --run t)
go 2 --engine shm,tcp
small=("${usual[@]}")
expect "rows beside the recursion" "$(rows ',(ok|few),')" 4
paste -d, <(column exposed_us) <(column exposed_low_us) <(column exposed_high_us) \
	<(column exposed_model_us) <(column exposed_over_model) <(column flags) | awk -F, '
	$4 == "" { bad += /off-recursion|undecided/; next }
	{
		n++
		beyond = $2 > 1.1 * $4 || $3 < 0.9 * $4
		across = !beyond && ($2 < 0.9 * $4 || $3 > 1.1 * $4)
		bad += $5 == "" || $5 < $1 / $4 * 0.999 || $5 > $1 / $4 * 1.001
		bad += ($6 ~ /off-recursion/) != beyond || ($6 ~ /undecided/) != across
	}
	END { exit bad || n != 2 || NR != 4 }' || fail "verdicts: $(column flags | tr '\n' ' ')"
verdict stream_recursion

go 2 --engine shm,tcp --wire packed,fp8
expect "good rows of messages" "$(rows ',(ok|few),')" 8
column quantise_error | awk '$1 != "" { n += $1 >= 0.0555 && $1 <= 0.0625 }
	END { exit n != 4 }' || fail "errors: $(column quantise_error | tr '\n' ' ')"
verdict stream_wire

# A lost notice of a layer is a fault that says who waits for which.
usual=("${small[@]}")
small=(--quiet --timeout "$((3 * slow))s" --run t)
FB_MOVERS=$FB_BUILD/tests/libmover_faulty.so go 2 --engine faulty
small=("${usual[@]}")
expect "exit code of a lost notice" "$rc" 5
expect "rows of a lost notice" \
	"$(rows ',fault,.*; rank 1: waiting for notice [0-9] of rank 0: 7 of [0-9]+ came')" 1
verdict stream_lost_notice

# Of 70 tokens two layers move all, and two that have a window of 32 the last three blocks: 38.
tokens=70 go 2 --engine shm,tcp --model tiny-window --start all --wire pages,packed
expect "exit code of windows" "$rc" 0
expect "bytes of windows" \
	"$(rows ",$(((70 + 38) * 2 * 2 * 2 * 64 * 2)),.*model=tiny-window;.*,(ok|few),")" 16
verdict stream_windows

tokens=16,32 go 2 --engine shm
plotdata=$FB_BUILD/bin/plotdata
[ ! -x "$plotdata" ] ||
	expect "curves over the length" "$("$plotdata" --count --axis tokens -- axis "$csv")" 1
tokens=600 go 2 --engine shm --algorithm layerwise
expect "prompts of several chunks" "$(rows ',(ok|few),')" 1
go 1 --engine shm
expect "too few ranks" "$(rows ',skipped,2 ranks are needed,')" 2
verdict stream_lengths

# On emulated GPUs, which do what they are told.
fake=$FB_BUILD/tests/fake_gpu/stream
if [ -x "$fake" ]; then
	bin=$fake
	export FB_FAKE_GPU_WORKS=right
	go 2 --engine copy,cuda --start all
	expect "exit code on emulated GPUs" "$rc" 0
	expect "rows on emulated GPUs" "$(rows ',(ok|few),')" 8
	go 2 --engine copy,cuda --wire fp8
	expect "rows of messages on emulated GPUs" "$(rows ',(ok|few),')" 4
	unset FB_FAKE_GPU_WORKS
	verdict stream_fake_gpu
else
	echo "SKIP stream_fake_gpu: built without CUDA"
fi
exit "$bad"
