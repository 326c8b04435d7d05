#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The standard output of a run: CSV where it is no terminal, a table in the order of sizes on a
# terminal and beside --csv, and the format that --format names everywhere.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
few=(--engine host --algorithm "ring,two_shot,hierarchical" --protocol simple --transport shm
	--min-samples 1 --max-samples 2 --bytes "64K,8,1K")

# shown OPTION...: standard output of all_reduce, in $FB_TMP/out.
shown() {
	scripts/launch 2 "$bin/all_reduce" "${few[@]}" "$@" >"$FB_TMP/out" 2>"$FB_TMP/err" ||
		fail "all_reduce $*: $(cat "$FB_TMP/err")"
}

# is_table: sizes ascend, each row has a time, and what could not run is one line.
is_table() {
	expect "sizes of $1" "$(awk '/^ +[0-9]/ { print $1 }' "$FB_TMP/out" | tr '\n' ' ')" \
		"8 8 1024 1024 65536 65536 "
	expect "quickest first of $1" "$(awk '/^ +[0-9]/ {
		if ($1 == size && $3 < us) print $1; size = $1; us = $3 }' "$FB_TMP/out")" ""
	holds "$FB_TMP/out" '^operation all_reduce, engine host, protocol simple, transport shm'
	holds "$FB_TMP/out" '^ +bytes +algorithm +median_us'
	holds "$FB_TMP/out" '^skipped 3: needs two nodes or more'
	expect "CSV in $1" "$(grep -c '^schema' "$FB_TMP/out")" 0
}

shown
expect "CSV in a file" "$(head -n 1 "$FB_TMP/out" | cut -d, -f 1,2)" schema,run
expect "rows in a file" "$(wc -l <"$FB_TMP/out")" 10
"$bin/csvcheck" "$FB_TMP/out" >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
shown --format table
is_table "a table that was asked for"
shown --csv "$FB_TMP/rows"
is_table "a table beside --csv"
shown --csv "$FB_TMP/quiet" --quiet
expect "output with --quiet" "$(wc -c <"$FB_TMP/out")" 0
shown --csv "$FB_TMP/none" --format csv
expect "output with CSV in a folder" "$(wc -c <"$FB_TMP/out")" 0
# Many keys: those that would make it too wide break it into tables. Long remarks are continued.
scripts/launch 2 "$bin/latency" --engine host,mpi --bytes 8 --algorithm all --transport shm,tcp \
	--memory host,hugepage --numa any,local --cadence isolated,streaming --format table \
	--min-samples 2 --max-samples 3 --max-time 1ms >"$FB_TMP/out" 2>"$FB_TMP/err" ||
	fail "latency with many keys: $(cat "$FB_TMP/err")"
expect "tables" "$(grep -cE '^(operation|memory) .*variant .*:$' "$FB_TMP/out")" \
	"$(grep -cE '^ +bytes  ' "$FB_TMP/out")"
[ "$(grep -cE '^ +bytes  ' "$FB_TMP/out")" -ge 2 ] || fail "one table: $(cat "$FB_TMP/out")"
[ "$(wc -L <"$FB_TMP/out")" -le 110 ] || fail "a table of $(wc -L <"$FB_TMP/out") columns"
verdict table_format

# A terminal of our own. The standard output of ranks says nothing, because Open MPI gives them a
# terminal.
if fb_have script; then
	on_terminal() {
		script -qec "scripts/launch 2 $bin/all_reduce ${few[*]} --quiet $1" /dev/null \
			</dev/null 2>"$FB_TMP/err" | tr -d '\r' >"$FB_TMP/out"
	}
	on_terminal ""
	is_table "a terminal"
	on_terminal "| cat"
	expect "CSV in a pipe on a terminal" "$(head -n 1 "$FB_TMP/out" | cut -d, -f 1,2)" \
		schema,run
	on_terminal "--format csv"
	expect "CSV on a terminal" "$(head -n 1 "$FB_TMP/out" | cut -d, -f 1,2)" schema,run
	verdict table_terminal
else
	echo "SKIP table_terminal: no program script"
fi
exit "$bad"
