#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# plotdata: small files in, the data of one figure out. tests/golden/plotdata/ holds inputs made by
# hand whose answers can be worked out in the head; FB_GOLDEN=update writes the answers anew.

set -u
export LC_ALL=C
. tests/shell/lib.sh
FB_ROOT=$PWD
golden=$PWD/tests/golden/plotdata
rows=$PWD/tests/golden/summary
plotdata=$FB_BUILD/bin/plotdata
tool=$plotdata
[ -x "$plotdata" ] || { echo "SKIP plotdata: not built (no libcsv or no jansson)"; exit 0; }
cd "$golden" || exit 3

# prints NAME ARGUMENT...: plotdata's output is golden/NAME.txt.
prints() {
	"$plotdata" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of ${*:2}" $? 0
	expect "stderr of ${*:2}" "$(cat "$FB_TMP/err")" ''
	same "$FB_TMP/out" "$1.txt"
}

count() {
	expect "figures of ${*:2}" "$("$plotdata" "${@:2}" --count)" "$1"
}

# Rows of 4 ranks, and the same of 2 that take half as long (but for those with commas in a text).
awk -F, -v OFS=, 'NF != 49 { next } NR > 1 { $20 = 2; $29 /= 2; $30 /= 2; $31 /= 2 } { print }' \
	"$rows/one/all_reduce.csv" >"$FB_TMP/two.csv"
prints map map "$rows/one/all_reduce.csv" "$FB_TMP/two.csv"
prints scaling scaling "$rows/one/all_reduce.csv" "$FB_TMP/two.csv"
count 1 scaling "$rows/one/all_reduce.csv" "$FB_TMP/two.csv"
count 0 scaling "$rows/one"
# Four ranks have 1.6 times the tokens a second of two: 0.8 times for each rank.
prints steps scaling steps.csv
count 2 map "$rows/one"
verdict plotdata_ranks

prints matrix matrix pairs.csv
prints matrix-text matrix nvbandwidth.txt
prints matrix-second matrix --figure 2 nvbandwidth.txt
count 2 matrix nvbandwidth.txt
# Eight ranks on four hosts, of which slow ones take twice as long: a rank, then both of its host.
mkdir "$FB_TMP/slow"
printf '%s\n' scope,host,rank,key,value 'run,,,run.ranks_of_hosts,"n1:0-1 n2:2-3 n3:4,5 n4:6-7"' \
	node,n2,,program.all_pairs.0.rank.tcp,eth2 node,n3,,program.all_pairs.0.rank.tcp,eth3 \
	rank,n3,4,program.all_pairs.0.rank.gpu,1\ at\ 0000:61:00.0 >"$FB_TMP/slow/environment.csv"
for slow in 4 '4 5' none; do
	awk -F, -v OFS=, -v slow=" $slow " 'NR == 1 { print; next }
		NR == 2 {
			$20 = 8; $44 = $45 = ""
			for (s = 0; s < 8; s++) for (d = 0; d < 8; d++) if (s != d) {
				us = 10 + (s * 3 + d * 5) % 4 / 10
				if (slow ~ " " s " ") us *= 2
				if (slow ~ " " d " ") us *= 2
				$22 = "dst=" d ";qps=1;src=" s
				$29 = $30 = $31 = us
				$42 = $43 = 65.536 / us
				print
			}
		}' pairs.csv >"$FB_TMP/slow/all_pairs.csv"
	"$plotdata" matrix "$FB_TMP/slow/all_pairs.csv" >"$FB_TMP/out" || fail "slow $slow"
	case $slow in
	4) want='; rank 4 is slow: 2[.0-9]* times' ;;
	'4 5') want='; node n3 is slow: 2[.0-9]* times' ;;
	*) want='to rank [0-9]+\)' ;;
	esac
	holds "$FB_TMP/out" "^NOTE = '.*$want'$"
	# The adapter and the GPU of the slow rank, where rows are of such.
	sed 's/,shm,host,/,tcp,device,/' "$FB_TMP/slow/all_pairs.csv" >"$FB_TMP/slow/gpus.csv"
	"$plotdata" matrix "$FB_TMP/slow/gpus.csv" >"$FB_TMP/out" || fail "slow $slow"
	[ "$slow" != 4 ] || want='; rank 4 \(GPU 1 at 0000:61:00.0, eth3\) is slow: 2[.0-9]* times'
	holds "$FB_TMP/out" "^NOTE = '.*$want'$"
	rm "$FB_TMP/slow/gpus.csv"
	"$FB_BUILD/bin/summary" "$FB_TMP/slow" >"$FB_TMP/out"
	expect "lines of SLOW" "$(grep -c '^SLOW in put, 64K bytes' "$FB_TMP/out")" \
		"$([ "$slow" = none ] && echo 0 || echo 1)"
done
count 0 matrix "$rows/one"
verdict plotdata_matrix

mkdir "$FB_TMP/raw"
cp "$rows/one/"*.csv samples.csv "$FB_TMP/raw"
prints distribution distribution --bytes 1K "$FB_TMP/raw"
prints distribution-64k distribution --bytes 64K "$FB_TMP/raw/samples.csv"
prints ranks ranks ranks.csv
count 2 ranks ranks.csv
# Ranks of several hosts: durations without begins, hence nobody is late.
sed -E 's/,[0-9]+,([0-9]+)$/,,\1/' ranks.csv >"$FB_TMP/ranks.csv"
"$plotdata" ranks "$FB_TMP/ranks.csv" >"$FB_TMP/out" || fail "ranks without begins"
holds "$FB_TMP/out" '^LATE = 0$'
holds "$FB_TMP/out" '^1 0 0 0 0 0 21 21 21 112 112$'
# A rank that begins late is named, whatever number the first repetition has.
for first in 0 18446744073709551596; do
	awk -v first="$first" 'BEGIN {
		print "run,launch_index,program,row,repetition,rank,begin_us,end_us"
		for (i = 0; i < 20; i++)
			for (r = 0; r < 4; r++)
				printf "r,0,all_reduce,0,%s,%d,%d,%d\n",
					first == 0 ? i : "18446744073709551" 596 + i, r,
					1000 * i + 10 + (r == 3 ? 50 : 0), 1000 * i + 110
	}' >"$FB_TMP/raw/ranks.csv"
	"$FB_BUILD/bin/summary" "$FB_TMP/raw" >"$FB_TMP/out"
	holds "$FB_TMP/out" '^LATE in all_reduce: rank 3 begins 50 us after .* 1 of 1 rows'
done
verdict plotdata_samples

# A bucket sweep is a figure of each pass, a handover over two numbers of ranks a map per layout.
ddp=$FB_ROOT/results/reference/h200x4-ddp
kv=$FB_ROOT/results/reference/h200x4-kv
prints axis axis --axis bucket "$ddp"
prints heat heat --axis prefill,decode "$kv"
count 2 axis --axis bucket "$ddp"
count 0 heat --axis bucket "$ddp"
count 2 heat --axis prefill,decode "$kv"
"$plotdata" axis --axis rate "$FB_ROOT/results/reference/links-rate" >"$FB_TMP/out"
expect "rates on an axis" "$(sed -n 's/^LABEL.*= //p' "$FB_TMP/out" | tr -d "'\"" | xargs)" \
	'10mbit 20mbit 50mbit 100mbit'
refuses 'differ in one key' axis "$ddp"
refuses 'differ in two keys' heat --axis bucket "$ddp"
refuses "'bukcet': no row has it; these rows have bucket, layers" axis --axis bukcet "$ddp"
sed '1s/$/,hidden_share/; 2,$s/$/,/' "$kv/kv_reshard.csv" >"$FB_TMP/no-value.csv"
refuses "--columns 'nosuch': no row has such a column" axis --axis bucket --columns nosuch "$ddp"
refuses 'no row of this figure has a value' heat --axis prefill,decode --columns hidden_share \
	"$FB_TMP/no-value.csv"
verdict plotdata_axis

prints timeline timeline spans.csv
prints rows timeline rows.csv
# Rank 0 communicates from 40 to 130, computes until 50 and from 60 to 110: 10 and 20 are exposed.
prints exposed timeline exposed.csv
prints distribution-spans distribution spans.csv
prints trace timeline trace.json
prints forest forest forest.csv
prints history history history.csv
verdict plotdata_tables

# What cannot be used is refused with the place.
printf 'lane,name,begin_us,end_us\na,b,5,4\n' >"$FB_TMP/back.csv"
printf 'run,utc,value,low,high,change\na,yesterday,1,1,1,\n' >"$FB_TMP/utc.csv"
printf 'label,ratio,low,high\na,1,1,1\n' >"$FB_TMP/column.csv"
printf '[{"ph":"X","name":"a"\n "ts":1}]' >"$FB_TMP/trace.json"
printf '[{"ph":"X","args":%s' "$(printf '%*s' 200 '' | tr ' ' '[')" >"$FB_TMP/deep.json"
refuses 'expected a kind' nosuch forest.csv
refuses 'expected a kind' map
refuses 'there are 2 figures' matrix --figure 3 nvbandwidth.txt
refuses 'nothing scales' scaling "$rows/one"
refuses 'no matrix' matrix forest.csv
refuses 'data line 1: begin_us' timeline "$FB_TMP/back.csv"
refuses "utc 'yesterday'" history "$FB_TMP/utc.csv"
refuses 'no column verdict: expected label,' forest "$FB_TMP/column.csv"
refuses "trace.json:2: not JSON" timeline "$FB_TMP/trace.json"
refuses 'deep.json:1: not JSON' timeline "$FB_TMP/deep.json"
refuses 'No such file' forest "$FB_TMP/missing.csv"
refuses 'no column run: expected run,launch_index,program,row,' ranks forest.csv
refuses 'samples.csv.*No such file' distribution "$rows/six"
# What cannot be written is said, by all tools in the same way.
for tool in "plotdata forest forest.csv" "summary $rows/one" \
	"topology $FB_ROOT/results/reference/h200x4-doctor"; do
	# shellcheck disable=SC2086 # words
	"$FB_BUILD/bin/"$tool >/dev/full 2>"$FB_TMP/err"
	expect "exit code of $tool to a full device" $? 5
	holds "$FB_TMP/err" 'standard output could not be written'
done
verdict plotdata_bad_input
exit "$bad"
