#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# Figures that documents quote are those that the tools make of the files under results/reference:
# the table of its README, the tables of means and of times in docs/gpu-engine.md, and the output
# of every command on such files that a document shows behind "$ ".

set -u
export LC_ALL=C
. tests/shell/lib.sh
summary=$FB_BUILD/bin/summary
reference=results/reference
[ -x "$summary" ] || { echo "SKIP quoted: not built (no libcsv)"; exit 0; }

# rounded NUMBER QUOTED: the number with as many digits behind the point as the quoted one has.
rounded() {
	local digits=${2#*.}

	[[ $2 == *.* ]] || digits=''
	printf "%.${#digits}f" "$1"
}

# size SIZE: as a table of summary writes it.
size() {
	sed -E 's/ ([KMG])iB$/\1/; s/ B$//' <<<"$1"
}

# bytes SIZE: as a number.
bytes() {
	numfmt --from=iec "$(size "$1")"
}

# The README's rows: `folder` | ... | MEAN over SIZES | LEAST (OPERATION, SIZE). A row that says
# "see below" is made of something else, which stands there.
compared=0
while IFS='|' read -r _ folder _ _ _ mean least _; do
	[[ $folder =~ \`([a-z0-9-]+)\` ]] || continue
	folder=${BASH_REMATCH[1]}
	[[ $mean != *'see below'* && $mean =~ ([0-9.]+)\ over\ ([0-9]+) ]] || continue
	quoted=${BASH_REMATCH[1]} sizes=${BASH_REMATCH[2]}
	[[ $least =~ ([0-9.]+)\ \(([a-z_]+),\ ([0-9]+\ [A-Za-z]+) ]] ||
		{ fail "$folder: no least ratio in '$least'"; continue; }
	least=${BASH_REMATCH[1]} where="${BASH_REMATCH[2]}, $(size "${BASH_REMATCH[3]}")"
	[[ $("$summary" "$reference/$folder") =~ library/own\ over\ ([0-9]+)\ sizes:\ \
geometric\ mean\ ([0-9.]+)\;\ least\ ([0-9.]+)\ \(([^\)]*)\) ]] ||
		{ fail "$folder: summary says no mean"; continue; }
	expect "sizes of $folder" "$sizes" "${BASH_REMATCH[1]}"
	expect "mean of $folder" "$quoted" "$(rounded "${BASH_REMATCH[2]}" "$quoted")"
	expect "least of $folder" "$least ($where)" \
		"$(rounded "${BASH_REMATCH[3]}" "$least") (${BASH_REMATCH[4]})"
	compared=$((compared + 1))
done <$reference/README.md
[ "$compared" -ge 8 ] || fail "only $compared rows were compared"
verdict quoted_reference

# table FOLDER OPERATION: bytes, own time, library's time, own GB/s, library's GB/s and ratio of
# each size, for the variant that has most sizes.
table() {
	"$summary" --csv "$reference/$1/$2.csv" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["library_us"] == "" { next }
		{ key = $at["nodes"] $at["datatype"] $at["launch"] $at["cadence"] $at["variant"]
		  ratio = $at["ratio"]
		  if (rows[key]++ == 0 || rows[key] > rows[best]) best = key
		  text[key] = text[key] $at["bytes"] " " $at["median_us"] " " \
			$at["library_us"] " " $at["busbw_GBps"] " " $at["busbw_GBps"] / ratio \
			" " ratio "\n" }
		END { printf "%s", text[best] }'
}

# Means and least ratios of each collective on four, two and three GPUs.
compared=0
while IFS='|' read -r _ operation four least4 two least2 three least3 _; do
	operation=${operation// /}
	[ -e "$reference/h200x4/$operation.csv" ] && [[ $four =~ ^\ [0-9.]+\ $ ]] || continue
	for side in "h200x4 $four $least4" "h200x2 $two $least2" "h200x3 $three $least3"; do
		read -r folder mean least where <<<"$side"
		table "$folder" "$operation" >"$FB_TMP/table"
		read -r got smallest at < <(awk '{ sum += log($6)
			if (NR == 1 || $6 < smallest) { smallest = $6; at = $1 } }
			END { print exp(sum / NR), smallest, at }' "$FB_TMP/table")
		expect "mean of $operation in $folder" "$mean" "$(rounded "$got" "$mean")"
		expect "least of $operation in $folder" "$least" "$(rounded "$smallest" "$least")"
		[ -z "$where" ] || expect "size of the least of $operation in $folder" \
			"$(bytes "$(tr -d '()' <<<"$where")")" "$at"
		compared=$((compared + 1))
	done
done <docs/gpu-engine.md
[ "$compared" -ge 18 ] || fail "only $compared means were compared"
verdict quoted_means

# Times of all_reduce by size; the last column is a bandwidth.
compared=0 folder='' IFS='|'
while read -r _ name cells; do
	name=${name# } name=${name% }
	case $name in
	'all_reduce, us') read -ra heads <<<"$cells" ;;
	'four H200') folder=h200x4 column=2 ;;
	'two H200') folder=h200x2 column=2 ;;
	NCCL) column=3 ;;
	*) folder='' ;;
	esac
	[ -n "$folder" ] && [ -n "${heads[*]-}" ] || continue
	read -ra values <<<"$cells"
	for i in "${!values[@]}"; do
		quoted=${values[i]# } quoted=${quoted% } rates=0
		[[ $quoted == *GB/s ]] && rates=2
		quoted=${quoted% GB/s}
		head=${heads[i]# }
		got=$(table $folder all_reduce | awk -v at="$(bytes "${head% }")" \
			-v column=$((column + rates)) -F ' ' '$1 == at { print $column }')
		expect "$name, ${heads[i]}, in $folder" "$quoted" "$(rounded "$got" "$quoted")"
		compared=$((compared + 1))
	done
done <docs/gpu-engine.md
[ "$compared" -eq 36 ] || fail "$compared times were compared, not 36"
verdict quoted_times

# column PROGRAM COLUMN OPERATION ENGINE VARIANT: of the row of results/reference/h100x2-steps.
column() {
	sed 's/"[^"]*"/-/g' "$reference/h100x2-steps/$1.csv" |
		awk -F, -v column="$2" -v want="$3,$4,$5" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["operation"] "," $at["engine"] "," $at["variant"] == want { print $at[column] }'
}

# The steps on two H100: exposed time over buckets, in ms, and bubbles beside theory.
compared=0 program=''
while read -r _ name cells; do
	name=${name# } name=${name% }
	case $name in
	'exposed, ms') program=ddp; read -ra heads <<<"$cells" ;;
	bubble_share) program=pipeline; read -ra heads <<<"$cells" ;;
	'') program='' ;;
	esac
	[[ -n $program && $cells =~ ^\ [0-9.]+\ .*[0-9]\.[0-9] ]] || continue
	read -ra values <<<"$cells"
	for i in "${!values[@]}"; do
		quoted=${values[i]// /} head=${heads[i]// /}
		if [ "$program" = ddp ]; then
			got=$(column ddp exposed_us overlap "$name" \
				"bucket=$head;layers=8;tokens=2048" | awk '{ print $1 / 1000 }')
		else
			side=${name#*, } what=bubble_share
			[ "$side" != theory ] || { side=copy what=bubble_theory; }
			got=$(column pipeline "$what" "${name%,*}" "$side" \
				"compute=20ms;layers=8;microbatches=$head")
		fi
		expect "$program, $name, $head" "$quoted" "$(rounded "$got" "$quoted")"
		compared=$((compared + 1))
	done
done <docs/overlap.md
[ "$compared" -eq 68 ] || fail "$compared figures of steps were compared, not 68"
verdict quoted_steps
# is_output COMMAND: whether what it prints has the lines of stdin, in this order and each at the
# beginning of a line, as documents may leave out last columns. "..." stands for any lines.
is_output() {
	local words

	IFS=' ' read -ra words <<<"$1"
	"${words[@]}" >"$FB_TMP/printed" 2>"$FB_TMP/err" || return
	[ -s "$FB_TMP/printed" ] || { echo "it prints nothing"; return 1; }
	awk 'NR == FNR { printed[++n] = $0; next }
		/^ *\.\.\.$/ { next }
		{ do at++; while (at <= n && index(printed[at], $0) != 1)
		  if (at > n) { print "not printed: " $0; exit 1 } }' "$FB_TMP/printed" -
}

compared=0
for document in README.md docs/*.md "$reference/README.md"; do
	awk 'function done() { if (command != "") print command lines; command = lines = "" }
		/^    \$ / { done() }
		/^    \$ scripts\/[^|]*$/ { command = substr($0, 7); next }
		command ~ /\\$/ {
			sub(/ *\\$/, "", command); sub(/^ */, " ")
			command = command $0; next
		}
		/^    / && command != "" { lines = lines "\t" substr($0, 5) }
		/^[^ ]/ { done() }
		END { done() }' "$document" |
		grep 'results/reference/' >"$FB_TMP/commands"
	while IFS=$'\t' read -r command lines; do
		tr '\t' '\n' <<<"$lines" >"$FB_TMP/quoted"
		is_output "$command" <"$FB_TMP/quoted" >"$FB_TMP/why" ||
			fail "$document quotes $command otherwise:" \
				"$(cat "$FB_TMP/why" "$FB_TMP/err")"
		compared=$((compared + 1))
	done <"$FB_TMP/commands"
done
[ "$compared" -ge 7 ] || fail "only $compared quoted commands were compared"
verdict quoted_outputs
exit "$bad"
