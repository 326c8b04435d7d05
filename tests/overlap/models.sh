#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 180
#
# --model: every program computes and communicates the sizes of one that is built in and of a file,
# says so in its keys, and refuses what does not go together.

set -u
export LC_ALL=C
. tests/shell/lib.sh

small=(--quiet --ci 50% --min-samples 1 --max-samples 2 --max-time 5ms --engine host
	--timeout "$((60 * slow))s")

# go PROGRAM OPTION...: two ranks, into a new file; sets csv.
go() {
	csv=$FB_TMP/$((++runs))
	scripts/launch 2 "$FB_BUILD/bin/$1" --csv "$csv" --run t "${small[@]}" "${@:2}" \
		>"$FB_TMP/out" 2>&1 </dev/null || fail "$*: $(tail -n 5 "$FB_TMP/out")"
	csv=$csv/$1.csv
	"$FB_BUILD/bin/csvcheck" "$csv" >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
}

# column NAME: its values, a line each.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print $at }' "$csv"
}

runs=0
go ddp --model llama3-8b --shrink 64 --model-layers 2 --tokens 4 --bucket 0
# 2 x 2004 x 64 of tables, 2 x (2 x 64 x 64 + 2 x 16 x 64 + 3 x 224 x 64), and vectors in 128s.
expect "bytes of a shrunk model" "$(column bytes | sort -u)" 1454592
expect "keys" "$(column variant | sort -u)" \
	'bucket=whole;model=llama3-8b;model_layers=2;shrink=64;tokens=4'
go ddp --model llama3-8b --shrink 64 --model-layers 2 --batch 2 --sequence 6 --cp 3 --bucket 0 \
	--schedule overlap
expect "tokens of two sequences on three ranks" "$(column tokens)" 4
# Of 774272 elements each of two ranks keeps: half of 740608 in matrices that tp cuts (projections,
# experts, one table); half of the experts, 2 x 8 x 3 x 224 x 64; a layer less, 355072.
go ddp --model mixtral-8x7b --shrink 64 --model-layers 2 --tokens 4 --bucket 0
expect "bytes of all experts" "$(column bytes | sort -u)" 3097088
for cut in "tp 370304" "ep 344064" "pp 355072"; do
	go ddp --model mixtral-8x7b --shrink 64 --model-layers 2 --tokens 4 --bucket 0 \
		"--${cut% *}" 2
	expect "bytes with --${cut% *} 2" "$(column bytes | sort -u)" $((3097088 - 4 * ${cut#* }))
	expect "rows with the key" "$(column variant | grep -cv "${cut% *}=2")" 0
done
cat >"$FB_TMP/mine.model" <<-'END'
	# two layers, not alike
	model mine
	layer wide 1
	tensor a 64 128
	layer narrow 2
	tensor b 32 16
END
go ddp --model "$FB_TMP/mine.model" --tokens 4 --bucket 1,0 --schedule overlap
expect "buckets of tensors that are not alike" "$(column collectives | sort -n | xargs)" '1 3'
expect "bytes of a file's model" "$(column bytes | sort -u)" $(((64 * 128 + 2 * 32 * 16) * 4))
go fsdp --model "$FB_TMP/mine.model" --tokens 4 --prefetch 1
expect "rows of fsdp" "$(column status | sort -u)" few
go pipeline --model gpt2-xl --shrink 32 --model-layers 3 --tokens 8 --bytes 4K --microbatches 4
expect "rows of pipeline" "$(column status | grep -c few)" 4
# Stages that are not alike: theory is not that of equal ones, which is 1/5 with two ranks.
expect "bubble of unequal stages" "$(column bubble_theory | sort -n | tail -n 1 |
	awk '{ print ($1 > 0 && $1 < 0.5 && ($1 < 0.199 || $1 > 0.201)) }')" 1
go moe --model mixtral-8x7b --shrink 64 --tokens 8 --skew 0
expect "bytes of moe" "$(column bytes | sort -u)" $((8 * 2 * 64 * 4))
go tensor_parallel --model llama3-70b --shrink 64 --tokens 8 --chunks 1
expect "bytes of tensor_parallel" "$(column bytes | sort -u)" $((8 * 128 * 4))
go context_parallel --model deepseek-v3 --shrink 64 --tokens 8
expect "bytes of latent keys and values" "$(column bytes | sort -u)" $((8 * 9 * 4))
verdict models

# refuses PHRASE PROGRAM OPTION...: code 3 and one line that says it.
refuses() {
	"$FB_BUILD/bin/$2" --engine host "${@:3}" >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	expect "code of ${*:2}" "$?" 3
	holds "$FB_TMP/err" "$1"
	expect "lines of ${*:2}" "$(wc -l <"$FB_TMP/err")" 1
}
refuses "no model 'llama'.*llama3-8b" ddp --model llama
refuses 'No such file' fsdp --model "$FB_TMP/none.model"
printf 'model m\nlayer l 1\ntensor t 3\n' >"$FB_TMP/broken.model"
refuses "broken.model:3: 'tensor': expected" ddp --model "$FB_TMP/broken.model"
refuses 'no experts' moe --model llama3-8b
refuses 'no attention' context_parallel --model resnet-50
refuses 'beside --bytes' ddp --model gpt2-xl --bytes 3M
refuses 'expected a model .* with --batch' ddp --batch 3
refuses 'bytes' moe --bytes 1M
refuses 'bytes' tensor_parallel --bytes 1M
refuses 'bytes' context_parallel --bytes 1M
verdict models_refuses

exit $bad
