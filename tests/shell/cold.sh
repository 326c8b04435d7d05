#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# Cold and hot caches of collectives on processors: both are cases, the cold ones take longer, and
# what cannot be is said. Of GPUs: tests/shell/fake_gpu.sh.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
fast=(--quiet --min-samples 5 --max-samples 5 --max-time 20s --ci 100% --verify first)

# column NAME PATTERN: of the rows of $FB_TMP/out that match.
column() {
	awk -F, -v name="$1" -v rows="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		$0 ~ rows { print $at }' "$FB_TMP/out"
}

# colder: whether the cold row's least time is well above the hot row's. Out of the second level
# 256 KiB are copied in some 20 us, out of memory in several times that.
colder() {
	scripts/launch 1 "$bin/all_reduce" "${fast[@]}" --engine host --algorithm ring \
		--protocol simple --bytes 256K --cache all >"$FB_TMP/out" 2>"$FB_TMP/err"
	cold=$(column min_us cache=cold) hot=$(column min_us '1,1,,')
	awk -v c="${cold:-0}" -v h="${hot:-0}" 'BEGIN { exit !(h > 0 && c > 1.5 * h) }'
}

# Other processes may keep the caches cold, but not in each of these attempts.
for ((i = 0; i < 10; i++)); do
	colder || grep -q 'size is not known' "$FB_TMP/err" && break
done
if grep -q 'size is not known' "$FB_TMP/err"; then
	echo "SKIP cold_rows: this machine does not say how large its caches are"
else
	expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 2
	[ "$i" -lt 10 ] || fail "cold $cold us, hot $hot us"
	verdict cold_rows
fi

scripts/launch 1 "$bin/all_reduce" "${fast[@]}" --engine host --algorithm ring --protocol simple \
	--bytes 8 --cache cold --cadence streaming --list >"$FB_TMP/out" 2>&1
holds "$FB_TMP/out" 'cold caches need cadence isolated'
for program in latency ddp kv_reshard; do
	scripts/launch 1 "$bin/$program" --cache cold --list >"$FB_TMP/out" 2>&1 &&
		fail "$program --cache cold is not refused"
	holds "$FB_TMP/out" "option --cache: 'cold' is not accepted: $program does not use it"
done
verdict cold_refused

exit $bad
