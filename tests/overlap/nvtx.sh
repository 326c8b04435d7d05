#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# Ranges for profilers around steps and their parts, with a library that writes down what it is
# called with (tests/fake/libfake_nvtx.c): only where a profiler listens, nested and ended on every
# rank, as many as there are steps; and NVTX that is not there or is something else.

set -u
export LC_ALL=C
. tests/shell/lib.sh
mkdir -p "$FB_TMP/lib"
found=$FB_TMP/lib/libnvtx3interop.so.1
export LD_LIBRARY_PATH=$FB_TMP/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export FAKE_NVTX_LOG=$FB_TMP/log

# go PROGRAM OPTION...: exactly five repetitions of one row on two ranks.
go() {
	rm -f "$FAKE_NVTX_LOG"
	scripts/launch 2 "$FB_BUILD/bin/$1" --engine host --bytes 100000 --layers 2 --hidden 64 \
		--compute 100us --quiet --ci 100% --min-samples 5 --max-samples 5 --max-time 20s \
		--timeout "$((60 * slow))s" "${@:2}" >"$FB_TMP/rows" 2>"$FB_TMP/err" </dev/null
	expect "exit code of $*" "$?" 0
	expect "rows of $*" "$(grep -cE ',(ok|few),' "$FB_TMP/rows")" 1
}

# ranges NAME: how many each process has had, without doubles.
ranges() {
	awk -v name="$1" '
		{ pid = $1; seen[pid] += 0; sub(/^[0-9]+ -?[0-9]+ /, "") }
		$0 == name { seen[pid]++ }
		END { for (pid in seen) print seen[pid] }' "$FAKE_NVTX_LOG" | sort -u | tr '\n' ' '
}

ln -s "$(readlink -f "$FB_BUILD")/tests/libfake_nvtx.so" "$found" || exit 3
go ddp --bucket 0 --schedule overlap
[ ! -e "$FAKE_NVTX_LOG" ] || fail "ranges without a profiler"
verdict nvtx_unheard

export NVTX_INJECTION64_PATH=$FB_TMP/profiler.so
go ddp --bucket 0 --schedule overlap
expect "what ddp says" "$(cat "$FB_TMP/err")" ""
expect "processes" "$(cut -d ' ' -f 1 "$FAKE_NVTX_LOG" | sort -u | wc -l)" 2
expect "names" "$(sed -E 's/^[0-9]+ -?[0-9]+ //' "$FAKE_NVTX_LOG" | sort -u | tr '\n' ,)" \
	"communicating alone,computing alone,pop,step,"
# Every range has ended before the next one begins: depth 1 within, 0 behind.
awk '{ behind = ($3 == "pop") ? 0 : 1; last[$1] += behind ? 1 : -1 }
	$2 != behind || last[$1] != behind { bad++ }
	END { for (pid in last) bad += last[pid] != 0; exit bad > 0 }' "$FAKE_NVTX_LOG" ||
	fail "ranges are not nested: $(head -n 5 "$FAKE_NVTX_LOG")"
# Behind each step there is one of each part, but for the two whose buffers are checked.
read -r steps rest <<<"$(ranges step)"
expect "steps of both ranks" "$rest" ""
[ "${steps:-0}" -ge 6 ] || fail "${steps:-0} steps, at least 6 are in a row of 5 repetitions"
for part in computing communicating; do
	expect "ranges of $part" "$(ranges "$part alone")" "$((steps - 2)) "
done
verdict nvtx_steps

go hazards --schedule synchronise
expect "steps of both ranks and the careful ones behind them" "$(ranges base)" \
	"$(ranges "computing alone")"
[ "$(ranges base)" != "0 " ] || fail "no careful steps"
verdict nvtx_base

# Something else by that name, which is no fault of the run's.
ln -sf "$(readlink -f "$FB_BUILD")/tests/libfake_nvml.so" "$found"
go fsdp --prefetch 0
holds "$FB_TMP/err" 'no ranges for the profiler: it has no nvtxRangePushA'
expect "lines about it" "$(grep -c 'no ranges' "$FB_TMP/err")" 1
verdict nvtx_else
exit "$bad"
