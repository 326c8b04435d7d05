#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# query: the rows of tests/golden/summary and an import, chosen, sorted and grouped; tables in
# tests/golden/query/.

set -u
export LC_ALL=C
. tests/shell/lib.sh
golden=$PWD/tests/golden/query
query=$FB_BUILD/bin/query
tool=$query
import=$FB_BUILD/bin/import
inputs=$PWD/tests/golden/import
scripts=$PWD/scripts
cp -r tests/golden/summary/one "$FB_TMP"
cd "$FB_TMP" || exit 1
"$query" one bytes=0 >out 2>err
expect "rows before a torn one" "$(wc -l <out)" 4
holds err 'one/all_reduce.csv:16: the last line has no end and is left out$'
sed -i '$d' one/all_reduce.csv
verdict query_torn

# Every tool can be started from any folder, and what is no tool says so.
for name in compare csvcheck import merge query summary; do
	[ -x "$FB_BUILD/bin/$name" ] || continue
	"$scripts/$name" --help >out 2>err || fail "scripts/$name --help: $(cat err)"
	grep -q "$name" out || fail "scripts/$name --help does not name $name"
done
"$scripts/fabricbench" bogus >out 2>err
expect "exit code of a tool that is none" $? 3
holds err "no program 'bogus'; accepted: .*query"
verdict query_wrappers

"$query" --axis bucket "$OLDPWD/results/reference/h200x4-ddp" engine=copy operation=overlap >out
expect "the order of buckets" "$(awk '{ print $1 }' out | tr '\n' ' ')" \
	'bucket 1M 25M 64M 256M whole '
holds out 'exposed_us'
verdict query_axis

"$query" --share operation,bytes one --columns operation,bytes,median_us,share,status --csv >out
expect "fastest rows of each size" "$(awk -F, 'NR > 1 && $4 == 1 { print $1, $2 }' out | sort -u)" \
	"$(awk -F, 'NR > 1 && $4 != "" { print $1, $2 }' out | sort -u)"
expect "shares" "$(awk -F, 'NR > 1 && $3 > 0 && ($5 == "ok" || $5 == "few") {
		key = $1 FS $2; if (!(key in best) || $3 < best[key]) best[key] = $3
		row[++n] = $0 }
	END { for (i = 1; i <= n; i++) { split(row[i], f, FS)
		if (sprintf("%.3g", best[f[1] FS f[2]] / f[3]) != f[4]) print row[i] } }' out)" ''
[ "$(awk -F, 'NR > 1 && $4 != "" && $4 < 1' out | wc -l)" -ge 3 ] || fail "no slower: $(cat out)"
verdict query_share

# prints NAME ARGUMENT...: query's output is golden/NAME.
prints() {
	"$query" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of ${*:2}" $? 0
	expect "stderr of ${*:2}" "$(cat "$FB_TMP/err")" ''
	same "$FB_TMP/out" "$1"
}

# rows WHAT COUNT ARGUMENT...: how many rows match.
rows() {
	expect "rows of $1" "$("$query" --csv "${@:3}" | tail -n +2 | wc -l)" "$2"
}

prints usual.txt one
prints columns.txt one --columns bytes,algorithm,median_us --sort -median_us 'median_us>=10'
prints quoted.csv --csv one status=skipped --columns bytes,reason
# A file that Excel saved.
{ printf '\xef\xbb\xbf'; sed 's/$/\r/' one/all_reduce.csv; } >excel.csv
expect "rows of a file that Excel saved" "$("$query" excel.csv --csv | tr -d '\r')" \
	"$("$query" one/all_reduce.csv --csv)"
verdict query_tables

total=17
rows all $total one
rows 'one program' 3 one program=barrier
rows 'two values' $total one program=barrier,all_reduce
rows 'a pattern' 3 one 'program=b*'
rows 'not' 3 one program!=all_reduce
rows 'a size' 4 one bytes=64K
rows 'a range' "$(($("$query" --csv one 'bytes>=8' 'bytes<=1K' | wc -l) - 1))" one bytes=8:1K
rows 'an open range' "$(($("$query" --csv one 'bytes>1023' | wc -l) - 1))" one bytes=1K:
rows 'a list of both' 7 one bytes=0,64K
rows 'no text' "$(($("$query" --csv one status=ok | wc -l) - 1))" one reason=
rows 'greater' 1 one 'errors>0'
rows 'less' 1 one 'median_us<2'
rows nothing 0 one bytes=12345
rows 'all conditions' 1 one program=barrier engine=mpi
rows 'options anywhere' 1 engine=mpi --sort bytes program=barrier one
verdict query_filters

# Median of 1 2 3 10 is 2.5, geometric mean of 2 and 8 is 4; a wrong row and a fault do not count.
header=$(head -n 1 one/barrier.csv)
{
	echo "$header"
	for i in 0:8:1 1:8:2 2:8:3 3:8:10 0:64:2 1:64:8; do
		sed -n 2p one/barrier.csv | awk -F, -v OFS=, -v l="${i%%:*}" -v b="$i" \
			-v m="${i##*:}" '{ split(b, x, ":"); $3 = l; $19 = x[2]; $29 = m; print }'
	done
	sed -n 2p one/barrier.csv | awk -F, -v OFS=, '{ $3 = 9; $23 = "wrong"; $29 = 1000; print }'
} >"$FB_TMP/groups.csv"
# group AGGREGATE WANT: of bytes 8 and 64.
group() {
	expect "$1" "$("$query" --csv "$FB_TMP/groups.csv" 'bytes>0' --group bytes \
		--aggregate "$1" --columns median_us | tail -n +2 | tr '\n' ' ')" "$2"
}
group median '8,4,2.5 64,2,5 '
group min '8,4,1 64,2,2 '
group max '8,4,10 64,2,8 '
expect "geometric mean" "$("$query" --csv "$FB_TMP/groups.csv" bytes=64 -g bytes -a geomean \
	--columns median_us | tail -n 1)" 64,2,4
"$query" "$FB_TMP/groups.csv" -g program >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/err" '^fabricbench: warning: 1 rows with a status other than ok and few are left'
verdict query_groups

# Keys of `variant` are columns too.
"$import" --csv "$FB_TMP/import" "$inputs/nvbandwidth.txt" >/dev/null
rows 'a key of variant' 2 "$FB_TMP/import" matrix=Total
expect "a key of variant as a column" "$("$query" --csv "$FB_TMP/import" matrix=Total \
	--columns row,column --sort row | tail -n +2 | tr '\n' ' ')" '0,1 1,0 '
verdict query_variant

refuses 'no input' program=barrier
refuses "no column 'bites': did you mean bytes" one bites=3
refuses "no column 'busbw': did you mean busbw_GBps" one --columns busbw
refuses "no column 'xyzzy'; the first line" one --sort xyzzy
refuses "'bytes=big': 'big' is not accepted: expected numbers" one bytes=big
refuses "a value is too long" one "algorithm=$(printf %0300d 0)"
refuses "'bytes>big': expected a number" one 'bytes>big'
refuses '--columns.*program.*numbers with --group' one --group bytes --columns program
refuses '--aggregate.*median, min, max, geomean' one --aggregate mean
refuses 'No such file' one missing
refuses 'No such file' one noequals
refuses 'not a result file' "$golden/usual.txt"
verdict query_bad_input
exit "$bad"
