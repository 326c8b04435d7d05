#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 240
#
# Every line of every study that is shipped is one that its program accepts: a name that a program
# has no more would stop a study on the user's cluster. Without a launcher, which takes five times
# as long, unless the line wants several ranks.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
log=$FB_TMP/log

fb_mpi_env "$MPI"
lines=0
for file in scripts/studies/*.study scripts/studies/claims/*.study; do
	"$bin/study" --lines "$file" >"$FB_TMP/lines" 2>"$log" || fail "$file: $(cat "$log")"
	while IFS=$'\t' read -r program options; do
		lines=$((lines + 1))
		# shellcheck disable=SC2206 # words
		words=("$bin/$program" $options --list --quiet)
		"${words[@]}" </dev/null >"$log" 2>&1 ||
			scripts/launch 2 "${words[@]}" </dev/null >"$log" 2>&1 ||
			fail "$file: $program $options: $(grep -m 1 '^fabricbench: ' "$log")"
	done <"$FB_TMP/lines"
done
[ "$lines" -ge 100 ] || fail "only $lines lines"
# A product of many axes is for scripts/search, which goes through them one by one.
"$bin/study" scripts/studies/nccl-search.study >"$log" 2>&1 && fail "a plan of nccl-search"
grep -q 'more than 1000 combinations' "$log" || fail "nccl-search: $(cat "$log")"
verdict studies
