#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 60
#
# slow-node: what it says about folders that it cannot judge. That it names a node with a slow link
# is tested in jobs.sh, who is to be blamed for what in tests/unit/test_blame.c. Needs no Slurm.

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
exit $bad
