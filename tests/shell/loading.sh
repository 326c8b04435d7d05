#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# The examples of docs/loading.md, run as they stand there on the reference results; their figures
# are compared with those of query. FB_PYTHON names a Python that has pandas, where it is not
# python3 or /usr/bin/python3.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh

# example LANGUAGE N: the N-th block of that language.
example() {
	awk -v language="$1" -v want="$2" '
		$0 == "```" language { inside = ++n == want; next }
		/^```/ { inside = 0 }
		inside' docs/loading.md
}

# The median over launches of one cell, as query has it.
want=$("$FB_BUILD/bin/query" results/reference/pair-openmpi program=all_reduce engine=mpi bytes=4K \
	--group engine --columns median_us --csv | tail -n 1 | cut -d, -f3)
[ -n "$want" ] || fail "query has no such cell"

# says FILE PATTERN: whether a line that matches holds that median, but for its last digits.
says() {
	awk -v want="$want" -v pattern="$2" '
		$0 ~ pattern {
			for (i = 1; i <= NF; i++)
				if ($i > want * 0.99999 && $i < want * 1.00001) found = 1
		}
		END { exit !found }' "$1" || fail "no line like '$2' says $want in $(cat "$1")"
}

pandas=
for python in ${FB_PYTHON-} python3 /usr/bin/python3; do
	[ -z "$pandas" ] && "$python" -c 'import pandas' 2>/dev/null && pandas=$python
done
if [ -n "$pandas" ]; then
	example python 1 >"$FB_TMP/with.py"
	sed -i '1i import pandas; pandas.set_option("display.max_rows", None)' "$FB_TMP/with.py"
	"$pandas" "$FB_TMP/with.py" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of the example with pandas" $? 0
	expect "its stderr" "$(cat "$FB_TMP/err")" ''
	says "$FB_TMP/out" '4096 '
	verdict loading_pandas
else
	echo "SKIP loading_pandas: no Python with pandas"
fi

if fb_have python3; then
	example python 2 >"$FB_TMP/without.py"
	python3 "$FB_TMP/without.py" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of the example without pandas" $? 0
	expect "its stderr" "$(cat "$FB_TMP/err")" ''
	says "$FB_TMP/out" '^mpi library library 4096 '
	verdict loading_python
else
	echo "SKIP loading_python: no python3"
fi

if fb_have Rscript; then
	{ echo 'options(max.print = 100000, width = 200)'; example r 1; } >"$FB_TMP/example.R"
	Rscript "$FB_TMP/example.R" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of the example in R" $? 0
	expect "its stderr" "$(cat "$FB_TMP/err")" ''
	says "$FB_TMP/out" 'mpi +library +library +4096'
	verdict loading_r
else
	echo "SKIP loading_r: no Rscript"
fi
exit "$bad"
