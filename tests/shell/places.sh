#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# --numa of collectives and of costs: what every machine can say of it. Two nodes:
# tests/vm/test_numa.sh; messages: tests/p2p/programs.sh.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
fast=(--quiet --min-samples 2 --max-samples 3 --max-time 20ms)

# runs RANKS PROGRAM OPTION...: its rows into $FB_TMP/out.
runs() {
	scripts/launch "$1" "$bin/$2" "${fast[@]}" "${@:3}" >"$FB_TMP/out" 2>"$FB_TMP/err" \
		</dev/null ||
		fail "$2: exit code $?: $(tail -n 3 "$FB_TMP/err")"
}

# rows PATTERN: how many match.
rows() {
	tail -n +2 "$FB_TMP/out" | grep -cE -- "$1"
}

host=(--engine host --algorithm ring --protocol simple)
runs 2 all_reduce "${host[@]}" --bytes 8,64K --numa any
if [ ! -e /sys/devices/system/node/node0/cpulist ]; then
	echo "SKIP places: the kernel has no NUMA"
	exit 0
fi
expect "rows without a choice" "$(rows ',,(ok|few),.*,shm,')" 2
runs 2 all_reduce "${host[@]}" --bytes 8 --numa 0
if grep -qE 'mbind to NUMA|no processor of NUMA node 0' "$FB_TMP/out"; then
	echo "SKIP places: pages and threads cannot be placed here"
	exit 0
fi

runs 2 all_reduce "${host[@]}" --bytes 8,64K --numa any,local,0,0:0,remote,63,0:63
expect "rows of all places" "$(rows '')" $((2 * 6))
expect "rows at home" "$(rows ',numa=local,(ok|few),.*"shm \(threads on [0-9]')" 2
expect "rows on node 0" \
	"$(rows ',numa=0:0,(ok|few),.*"shm \(threads on 0, pages on 0\)"')" 2
expect "rows anywhere" "$(rows ',,(ok|few),.*,shm,')" 2
expect "rows nowhere" "$(rows ',numa=63:63,skipped,no NUMA node 63 with processors,')" 2
expect "rows without memory" "$(rows ',numa=0:63,skipped,no NUMA node 63 with memory,')" 2
[ -e /sys/devices/system/node/node1 ] ||
	expect "rows far off" "$(rows ',numa=remote,skipped,there is one NUMA node only,')" 2
# What memory gives was measured wherever threads were: it bounds those rows only.
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["status"] != "skipped" && ($at["variant"] == "") == ($at["bound_us"] == "") { bad++ }
	END { exit bad > 0 }' "$FB_TMP/out" || fail "bound_us: $(cat "$FB_TMP/out")"
verdict places_all_reduce

runs 3 all_to_all_v --engine host,mpi --protocol direct --skew 1.5 --bytes 64K --numa 0
expect "rows beside other keys" \
	"$(rows ',numa=0:0;skew=1.5,(ok|few),.*\(threads on 0, pages on 0\)')" "$(rows '')"
runs 2 barrier --engine host --algorithm dissemination --protocol ll --numa any,0
expect "barriers" "$(rows ',numa=0:0,(ok|few),.*"shm \(threads on 0, pages on 0\)"')" 1
runs 2 all_reduce --engine host --memory hugepage --numa 63 --bytes 8 "${host[@]}"
expect "huge pages nowhere" "$(rows ',numa=63:63,skipped,no NUMA node 63')" 1
runs 2 all_reduce "${host[@]}" --memory pinned --bytes 8 --numa 0
expect "memory of a GPU" "$(rows ',numa=0:0,skipped,')" 1
verdict places_collectives

runs 2 registration --engine host,mpi --bytes 64K --memory host,hugepage --numa any,0,63
expect "costs of memory" "$(rows ',(map|lock|share|window),(host|mpi),')" $((4 * 2 * 3))
for operation in map lock window; do
	expect "rows of $operation" "$(rows \
		",$operation,.*,numa=0:0,(ok|few),.*\\(threads on 0, pages on 0[,)]")" 2
done
holds "$FB_TMP/out" ',share,.*,host,.*,numa=0:0,(ok|few),.*\(threads on 0, pages on 0\)'
holds "$FB_TMP/out" ',allocate,.*,numa=0:0,skipped,--numa does not place what MPI allocates,'
expect "costs nowhere" "$(rows ',numa=63:63,skipped,no NUMA node 63 with processors,')" 9
verdict places_registration

runs 3 connection --engine host,mpi --numa any,0,63
for operation in connect_shm connect_tcp communicator; do
	holds "$FB_TMP/out" ",$operation,.*,numa=0:0,(ok|few),.*\\(threads on 0\\)"
	holds "$FB_TMP/out" ",$operation,.*,numa=63:63,skipped,no NUMA node 63 with processors,"
done
scripts/launch 1 "$bin/connection" --numa 0:x >"$FB_TMP/out" 2>&1 </dev/null &&
	fail "--numa 0:x is accepted"
holds "$FB_TMP/out" "option --numa: '0:x' is not accepted"
verdict places_connection

exit $bad
