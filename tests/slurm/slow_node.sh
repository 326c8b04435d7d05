#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# slow-node: what it says about folders that it cannot judge. That it names a node with a slow link
# is tested in jobs.sh, which node is named in tests/unit/test_slow_nodes.c. Needs no Slurm.

set -u
name=slurm/slow_node
. tests/slurm/lib.sh
slow_node=scripts/slurm/slow-node

# judge WANT ARGUMENT...: its exit code.
judge() {
	local want=$1

	shift
	$slow_node "$@" >"$FB_TMP/said" 2>"$FB_TMP/err"
	expect "exit code of slow-node $*" $? "$want"
}

[ -x "$FB_BUILD/bin/slow_node" ] || skip "not built (no libcsv)"
mkdir -p "$FB_TMP/empty"
judge 3 "$FB_TMP/empty"
holds "$FB_TMP/err" '^fabricbench: .*/empty: no folder with a file nodes.txt'
judge 3 "$FB_TMP/nowhere"
judge 3
holds "$FB_TMP/err" 'expected one results folder'
# Two sets of nodes that have no rows yet, and one node is in one set only.
for pair in a+b b+c; do
	mkdir -p "$FB_TMP/none/$pair"
	tr + '\n' <<<"$pair" >"$FB_TMP/none/$pair/nodes.txt"
	: >"$FB_TMP/none/$pair/all_reduce.csv"
done
judge 4 "$FB_TMP/none"
holds "$FB_TMP/said" '^3 nodes, 2 sets, 2 of them without a time$'
holds "$FB_TMP/said" '^cannot tell for 3 of 3 nodes'
verdict slurm/slow-node-input

# Two laps of four nodes, of which c takes twice the time for 1 MiB and nobody for 8 bytes.
row() {
	awk -F, -v OFS=, -v bytes="$1" -v us="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; print; next }
		NR == 2 { $column["bytes"] = bytes; $column["median_us"] = us; print; exit }' \
		tests/golden/summary/six/all_reduce.csv
}
for pair in a+b a+c a+d b+c b+d c+d; do
	for lap in 0 1; do
		part=$FB_TMP/known/$pair/part-$lap
		mkdir -p "$part"
		tr + '\n' <<<"$pair" >"$part/nodes.txt"
		# The last attempt counts; d is at another switch.
		printf 'address %s %s\n' a top.right.a a top.left.a b top.left.b c top.left.c \
			d top.right.d >"$part/allocation.txt"
		us=100
		[[ $pair != *c* ]] || us=200
		row 1048576 $us >"$part/all_reduce.csv"
		row 8 5 | tail -n 1 >>"$part/all_reduce.csv"
		echo "index,launch_index" >"$part/launches.csv" # none of ours: passed over
	done
done
judge 1 "$FB_TMP/known"
holds "$FB_TMP/said" '^4 nodes, 12 sets$'
holds "$FB_TMP/said" '^a +6 +1\.00 +1\.00$'
holds "$FB_TMP/said" '^c +6 +1\.00 +2\.00  slow$'
holds "$FB_TMP/said" '^1 leaf switch +6 +1\.00 +1\.00$'
holds "$FB_TMP/said" '^2 leaf switches +6 +1\.00 +0\.50$'
expect "verdicts" "$(grep -c ':' "$FB_TMP/said")" 1
holds "$FB_TMP/said" '^slow node: c, 2\.00 times the time of other nodes, messages above 256K$'
judge 0 --threshold 150% "$FB_TMP/known"
holds "$FB_TMP/said" '^no node is slow$'
rm -r "$FB_TMP"/known/*/part-1
judge 4 "$FB_TMP/known"
holds "$FB_TMP/said" '^perhaps slow: c, 2\.00 times'
holds "$FB_TMP/said" '^  luck alone would name a node so in 16% of such runs: more rounds tell$'
verdict slurm/slow-node-known

# The tournament: in each round nobody is in two pairs, and a lap has every pair once.
eval "$(sed -n '/^pairs_of() {$/,/^}$/p' scripts/slurm/pairs.sh)"
for n in 3 4 5 8 13 16; do
	mapfile -t nodes < <(seq -f n%02g "$n")
	for ((round = 0; round < n - 1 + n % 2; round++)); do
		pairs_of "$round" "${nodes[@]}" >"$FB_TMP/round"
		expect "busiest of $n in round $round" \
			"$(tr ' ' '\n' <"$FB_TMP/round" | sort | uniq -c | awk '$1 > 1')" ''
		cat "$FB_TMP/round"
	done | awk '/^  / { print; next } { print $1 < $2 ? $1 " " $2 : $2 " " $1 }' >"$FB_TMP/lap"
	expect "pairs of $n" "$(wc -l <"$FB_TMP/lap")" $((n * (n - 1) / 2))
	expect "different pairs of $n" "$(sort -u "$FB_TMP/lap" | wc -l)" $((n * (n - 1) / 2))
done
verdict slurm/tournament
exit $bad
