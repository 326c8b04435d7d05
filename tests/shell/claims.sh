#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
#
# The scripts of claims, with a launcher's output made up: the verdict follows from the intervals,
# a row that was skipped or has no interval gives none, and fields with commas are one field.

set -u
export LC_ALL=C
. tests/shell/lib.sh

# judged WHAT OPTION...: a claim with these rows (file rows) and these calls of the library.
judged() {
	bash -c '. scripts/studies/claims/lib.sh; cat "$FB_TMP/rows" >"$rows"; '"$1" claim 2 host \
		>"$FB_TMP/out" 2>&1
}
export FB_TMP
cat >"$FB_TMP/rows" <<-'END'
	schema,operation,variant,status,reason,median_us,median_low_us,median_high_us
	2,slow,bucket=4M;tokens=16,ok,,200,190,210
	2,fast,"bucket=4M;x=1,2",ok,"a, b",100,95,105
	2,vague,bucket=4M,ok,,100,,
	2,none,bucket=4M,skipped,only GPUs have graphs,,,
END
judged 'judge that least 1.5 $(ratio $(interval slow) $(interval fast))'
holds "$FB_TMP/out" '^measured: that 2, 95% interval 1.81 to 2.211$'
holds "$FB_TMP/out" '^verdict:  holds$'
judged 'judge that least 2.5 $(ratio $(interval slow) $(interval fast))'
holds "$FB_TMP/out" '^verdict:  does not hold$'
judged 'judge that most 1.5 $(ratio $(interval slow) $(interval fast))'
holds "$FB_TMP/out" '^verdict:  does not hold$'
judged 'judge that most 2 $(ratio $(interval slow) $(interval fast))'
holds "$FB_TMP/out" '^verdict:  cannot be tested here: the interval contains 2$'
judged 'judge that most 2 $(ratio $(interval slow) $(interval vague))'
holds "$FB_TMP/out" '^verdict:  cannot be tested here: no interval'
judged 'why=$(reason none); judge that most 2 $(ratio $(interval none) $(interval fast))'
holds "$FB_TMP/out" 'skipped: only GPUs have graphs$'
judged 'value median_us slow tokens=16 bucket=4M'
expect "a value by two keys" "$(cat "$FB_TMP/out")" 200
judged 'value median_us slow tokens=1'
expect "a key that is only the begin of one" "$(cat "$FB_TMP/out")" ''
verdict claims

exit $bad
