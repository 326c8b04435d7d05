#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 180
#
# The program ddp from its options to its rows, with each MPI: every schedule, buckets that divide
# and that do not, keys, columns that fit together, what is skipped and why, going on, and options
# that are refused.

set -u
export LC_ALL=C
. tests/shell/lib.sh

small=(--quiet --bytes 300000 --layers 2 --tensors '1,3' --hidden 128 --compute 200us --ci 50%
	--min-samples 3 --max-samples 20 --max-time 5ms
	--timeout "$((60 * slow))s")

# go FAMILY RANKS OPTION...: runs into a new file; sets csv.
go() {
	csv=$FB_TMP/$1-$2-$((++runs))
	scripts/launch "$2" "build/$1/bin/ddp" --csv "$csv" --run t "${small[@]}" "${@:3}" \
		--engine "$engine" >"$FB_TMP/out" 2>&1 </dev/null ||
		fail "ddp ${*:3}: $(tail -n 5 "$FB_TMP/out")"
	build/"$1"/bin/csvcheck "$csv/ddp.csv" >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
}

# column NAME: its values, a line each.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print $at }' "$csv/ddp.csv"
}

# rows PATTERN: how many rows match.
rows() {
	tail -n +2 "$csv/ddp.csv" | grep -cE -- "$1"
}

runs=0 engine=host,mpi
for family in $FB_MPIS; do
	for ranks in 1 2; do
		go "$family" "$ranks" --schedule compute,communicate,sequential,overlap \
			--bucket 1,100000,1M,0
		# Two engines: backward once; three schedules, each with three buckets and one that
		# is as large as all.
		expect "good rows" "$(rows ',(ok|few),')" 20
		expect "rows of one bucket" "$(rows ',skipped,one bucket holds all')" 6
		expect "buckets" "$(column collectives | sort -n | uniq -c | tr -s ' \n' ' ')" \
			' 8 6 1 6 3 6 4 '
		expect "rows of backward alone" "$(rows ',compute,.*compute=0.2ms;hidden=128')" 2
	done
	go "$family" 2 --bucket 140000 --first-bucket 0,1000 --schedule communicate
	expect "collectives without and with a small first bucket" \
		"$(column collectives | sort -n | xargs)" '2 2 3 3'
	go "$family" 2 --bucket 100000 --tokens 3
	paste -d, <(column exposed_us) <(column exposed_low_us) <(column exposed_high_us) \
		<(column tokens) <(column launches) | awk -F, '$4 != 3 || $5 < 1 ||
			($2 != "" && ($1 < $2 || $1 > $3)) { bad++ }
			END { exit bad > 0 || NR != 4 }' ||
		fail "exposed_us is outside of its interval, or tokens are not 3"
	# A step that took less than its computing alone says so, and no other.
	paste -d, <(column exposed_us) <(column hidden_share) <(column flags) | awk -F, '
			($1 ~ /^-/) != ($3 ~ /exposed-negative/) { bad++ }
			$2 > 1 && $3 !~ /exposed-negative/ { bad++ }
			END { exit bad > 0 || NR != 4 }' ||
		fail "exposed-negative is not where exposed_us is below 0"
	before=$(wc -l <"$csv/ddp.csv")
	scripts/launch 2 "build/$family/bin/ddp" --csv "$csv" --run t "${small[@]}" --tokens 3 \
		--bucket 100000 --engine "$engine" --resume >"$FB_TMP/out" 2>&1 ||
		fail "ddp --resume: code $?"
	expect "rows behind --resume" "$(wc -l <"$csv/ddp.csv")" "$before"
	go "$family" 2 --launch blocking --bucket 0
	expect "rows of calls that block in a thread" "$(rows ',(ok|few),')" 4
	go "$family" 2 --launch blocking --bucket 0 --polls 2
	expect "rows of calls that block" "$(rows ',(ok|few),')" 2
	expect "of those that cannot overlap" "$(rows ',skipped,a blocking call')" 2
	engine=host
	# Schedules of real training: ZeRO, micro-batches, Adam, compression, the next forward.
	go "$family" 2 --tokens 3 --bucket 100000 --schedule overlap,zero1,zero2 \
		--microbatches 1,4 --optimizer all
	expect "rows of ZeRO and micro-batches" "$(rows ',(ok|few),')" 18
	expect "keys of them" "$(column variant | grep -c 'microbatches=4.*optimizer=after')" 3
	# Three buckets: all_reduce; reduce_scatter and all_gather; and of each of 4 batches.
	expect "collectives" "$(column collectives | sort -n | uniq -c | tr -s ' \n' ' ')" \
		' 6 3 9 6 3 15 '
	go "$family" 2 --tokens 3 --bucket 100000 --schedule overlap --compress all --forward all \
		--order all --checkpoint all --optimizer overlap --keep 10%
	expect "rows of compression and orders" "$(rows ',(ok|few),')" 18
	expect "priority for nothing" "$(rows ',skipped,priority without --forward')" 6
	# 300,000 bytes are cut into three, whatever tensors are.
	go "$family" 2 --tokens 3 --bucket 0 --partition 0,100K --schedule overlap,zero2 \
		--forward yes --order priority,ready
	expect "rows of partitions" "$(rows ',(ok|few),')" 8
	expect "collectives" "$(column collectives | sort -n | uniq -c | tr -s ' \n' ' ')" \
		' 2 1 2 2 2 3 2 6 '
	go "$family" 2 --tokens 3 --bucket 0 --schedule overlap,zero1 \
		--compress cast,topk --datatype f16,bf16,f8e4m3
	expect "rows of narrow floats" "$(rows ',(ok|few),')" 9
	expect "ZeRO of a part" "$(rows ',skipped,what top-k sends')" 3
	# A wider float makes less of an error; the largest hundredth is far from the whole.
	paste -d, <(column datatype) <(column compression_error) <(column variant) |
		awk -F, '/topk/ && $2 != "" { if ($2 < 0.5 || $2 > 1) bad++ }
			/cast/ && $1 == "f16" && !($2 > 1e-5 && $2 < 1e-3) { bad++ }
			/cast/ && $1 == "bf16" && !($2 > 1e-3 && $2 < 1e-2) { bad++ }
			/cast/ && $1 == "f8e4m3" && !($2 > 1e-2 && $2 < 0.1) { bad++ }
			END { exit bad > 0 || NR != 12 }' || fail "errors of compression: $(
		paste -d, <(column datatype) <(column compression_error) <(column variant))"
	# Sizes follow from times: at least two, and within the range. The fact names the best.
	go "$family" 2 --tokens 3 --bucket 8K,256K --find-bucket --schedule overlap
	column variant | sed -n 's/.*bucket=\([0-9]*\)K;.*/\1/p' | sort -un >"$FB_TMP/sizes"
	[ "$(wc -l <"$FB_TMP/sizes")" -ge 2 ] || fail "sizes: $(column variant)"
	awk '$1 < 8 || $1 > 256 { bad++ } END { exit bad > 0 }' "$FB_TMP/sizes" ||
		fail "sizes beyond the range: $(xargs <"$FB_TMP/sizes")"
	holds "$csv/environment.csv" "found_bucket.overlap.host,\"($(paste -sd'|' \
		"$FB_TMP/sizes"))K, [0-9.]* us, $(wc -l <"$FB_TMP/sizes") sizes"
	# A row's step has buckets of the row's size: four tensors are four buckets, or three.
	paste -d ' ' <(column variant) <(column collectives) |
		sed -nE 's/.*bucket=(30|68)K;.* /\1 /p' | sort -n | xargs >"$FB_TMP/buckets"
	expect "buckets of the first two sizes" "$(cat "$FB_TMP/buckets")" "30 4 68 3"
	# Sizes that have a row are not measured again, and the search goes on from them.
	head -n 3 "$csv/ddp.csv" >"$FB_TMP/begun"
	cp "$FB_TMP/begun" "$csv/ddp.csv"
	scripts/launch 2 "build/$family/bin/ddp" --csv "$csv" --run t "${small[@]}" --tokens 3 \
		--bucket 8K,256K --find-bucket --schedule overlap --engine host --resume \
		>"$FB_TMP/out" 2>&1 || fail "ddp --find-bucket --resume: code $?"
	head -n 3 "$csv/ddp.csv" | cmp -s - "$FB_TMP/begun" || fail "--resume changed rows"
	expect "rows of a size that --resume measured" "$(column variant | sort | uniq -d)" ""
	[ "$(column variant | wc -l)" -ge 3 ] || fail "--resume ended the search"
	engine=host go "$family" 2 --tokens 3 --bucket 8K,256K --find-bucket --schedule overlap \
		--tag where=here
	[ "$(rows 'where=here')" -ge 2 ] || fail "the search ended with --tag: $(column variant)"
	engine=host,mpi
	verdict "ddp_$family"
done

# refuses PHRASE OPTION...: code 3 and one line that says it.
refuses() {
	"$FB_BUILD/bin/ddp" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	expect "code of ddp ${*:2}" "$?" 3
	holds "$FB_TMP/err" "$1"
}
refuses 'tensors' --tensors 1,,2
refuses 'tensors' --tensors 0
refuses 'schedule' --schedule none
refuses 'layers' --layers 0
refuses 'bucket' --bucket 1X
refuses 'find-bucket' --bucket 1M,0 --find-bucket --engine host
refuses 'optimizer' --optimizer later
verdict ddp_refuses

exit $bad
