#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# --resume: what a folder already holds is not measured again, what it lacks is, and a file that
# cannot be gone on with is left alone. How a killed run is continued: tests/faults.

set -u
export LC_ALL=C
. tests/faults/lib.sh

options=(-q --engine host --algorithm "ring,tree" --protocol simple --max-time 5ms
	--max-samples 50 --min-samples 10)

sizes_of() {
	awk -F, 'NR > 1 { print $8 "-" $19 }' "$1" | sort | tr '\n' ' '
}

test_growing() {
	local csv=$dir/growing file=$dir/growing/all_reduce.csv before

	failures=0
	run 2 --csv "$csv" "${options[@]}" --bytes 8,16
	expect "first" "exit code" "$rc" 0
	before=$(cat "$file")
	run 2 --csv "$csv" "${options[@]}" --bytes 8,16 --resume
	expect "nothing left" "exit code" "$rc" 0
	expect "nothing left" "the file" "$(cat "$file")" "$before"
	run 2 --csv "$csv" "${options[@]}" --bytes 8,16,32 --resume
	expect "a size more" "exit code" "$rc" 0
	expect "a size more" rows "$(sizes_of "$file")" \
		"ring-16 ring-32 ring-8 tree-16 tree-32 tree-8 "
	expect "a size more" "the rows before" "$(head -n 5 "$file")" "$before"
	run 2 --csv "$csv" "${options[@]}" --bytes 64 --resume
	expect "other sizes" rows "$(rows "$file" 'ok|few')" 8
	run 1 --csv "$csv" "${options[@]}" --bytes 64 --resume
	expect "other ranks" rows "$(rows "$file" 'ok|few')" 10
	run 2 --csv "$csv" "${options[@]}" --bytes 64 --resume --launch-index 1
	expect "another launch" rows "$(rows "$file" 'ok|few')" 12
	whole growing "$file"
	verdict "resume/rows that are there and rows that are not ($MPI)"
}

# Without --resume a folder that has the rows is refused before anything is written.
test_refused() {
	local csv=$dir/growing before

	failures=0
	before=$(cat "$csv"/*.csv | cksum)
	run 2 --csv "$csv" "${options[@]}" --bytes 8,4K
	expect "refused" "exit code" "$rc" 3
	holds "refused" "$dir/err" "^fabricbench: --csv $csv: the folder has .*use --resume"
	expect "refused" "the files" "$(cat "$csv"/*.csv | cksum)" "$before"
	verdict "resume/refused without it ($MPI)"
}

# spoil COMMAND...: a copy of a good file changed by a filter, in a folder of its own; sets csv.
spoil() {
	csv=$dir/spoilt
	rm -rf "$csv"
	mkdir "$csv"
	"$@" <"$dir/growing/all_reduce.csv" >"$csv/all_reduce.csv"
}

# torn BYTES: the row that a dying machine left half written goes, all others stay.
torn() {
	local before after

	spoil head -c "-$1"
	before=$(grep -c . "$csv/all_reduce.csv")
	run 2 --csv "$csv" "${options[@]}" --bytes 8,16,32 --resume
	after=$(rows "$csv/all_reduce.csv" 'ok|few')
	expect "torn by $1" "exit code" "$rc" 0
	holds "torn by $1" "$dir/err" 'ended in a torn line of [0-9]+ bytes, which was cut off'
	whole "torn by $1" "$csv/all_reduce.csv"
	# The torn row was of launch 1 or of another size, so nothing takes its place.
	expect "torn by $1" rows "$after" $((before - 2))
}

test_torn() {
	failures=0
	torn 1
	torn 20
	torn 150
	verdict "resume/a torn last line ($MPI)"
}

test_again() {
	local csv

	failures=0
	# A row that says fault is measured again; one that says wrong or skipped is not.
	spoil awk -F, -v OFS=, 'NR == 2 { $23 = "fault"; $24 = "a rank died"
		for (i = 25; i <= 45; i++) $i = ""; $46 = 0 } { print }'
	run 2 --csv "$csv" "${options[@]}" --bytes 8,16,32 --resume
	expect "fault" "exit code" "$rc" 0
	expect "fault" rows "$(awk 'END { print NR }' "$csv/all_reduce.csv")" 14
	expect "fault" "the last row" "$(tail -n 1 "$csv/all_reduce.csv" | cut -d, -f 8,9,19)" \
		"$(sed -n 2p "$csv/all_reduce.csv" | cut -d, -f 8,9,19)"
	verdict "resume/rows of a fault are measured again ($MPI)"
}

# foreign NAME COMMAND...: a file that this program did not write.
foreign() {
	local before

	spoil "${@:2}"
	before=$(cksum <"$csv/all_reduce.csv")
	run 2 --csv "$csv" "${options[@]}" --bytes 8,4K --resume
	expect "$1" "exit code" "$rc" 3
	expect "$1" "lines" "$(grep -c '^fabricbench: ' "$dir/err")" 1
	holds "$1" "$dir/err" "^fabricbench: .*$csv/all_reduce.csv"
	expect "$1" "the file" "$(cksum <"$csv/all_reduce.csv")" "$before"
	expect "$1" "files" "$(ls "$csv")" all_reduce.csv
}

test_foreign() {
	failures=0
	foreign "a column less" sed 1s/,flags//
	foreign "a column renamed" sed 1s/median_us/median/
	foreign "a row that is too short" sed 3s/,[^,]*$//
	foreign "no header" sed 1d
	foreign "another file" cat scripts/launch
	verdict "resume/files of another kind are left alone ($MPI)"
}

# None of it depends on the MPI: one is enough.
use "$MPI" all_reduce
test_growing
test_refused
test_torn
test_again
test_foreign
exit $bad
