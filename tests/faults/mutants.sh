#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 240
#
# Engines and protocols with one mistake each (tests/mpi/mutant_engine.c) must not get past
# verification: every row of theirs says `wrong` and names an element, the exit code is 2, and the
# rows of the right engine beside them are good.

set -u
export LC_ALL=C
. tests/faults/lib.sh

# One slot of 4 KiB: with more or larger ones a sender seldom catches up with the receiver. By
# number and not by time: some mutants need a dozen calls, which take long on a busy machine.
options=(-q --slots 1 --slot-bytes 4K --max-samples 20 --min-samples 20 --max-time 60s
	--timeout "$((60 * slow))s")
element='^"?[0-9]+ wrong elements; first: rank [0-9]+ element [0-9]+ is [^,]+'

# caught NAME FILE: all rows of mutants are wrong, those of the host engine are good.
caught() {
	expect "$1" "exit code" "$rc" 2
	whole "$1" "$2"
	expect "$1" "rows of mutants that were not caught" "$(awk -F, -v element="$element" '
		NR > 1 && $7 != "host" && $23 != "skipped" &&
			($23 != "wrong" || $24 !~ element) {
				print $7, $8, $9, $19, $23, $24 }' "$2")" ""
	expect "$1" "rows of the right engine that are wrong" "$(awk -F, '
		NR > 1 && $7 == "host" && $23 !~ /^(ok|few)$/ { print $8, $9, $19, $23 }' "$2")" ""
}

# mutants NAME RANKS ENGINES ROWS ARGUMENT...: at least so many rows of mutants, all of them wrong.
mutants() {
	local csv=$dir/${1//[^a-z]/}

	failures=0
	run "$2" --csv "$csv" --engine "host,$3" "${options[@]}" "${@:5}"
	caught "$1" "$csv/all_reduce.csv"
	at_most "$1" "fewest wrong rows" "$4" "$(rows "$csv/all_reduce.csv" wrong)"
	verdict "mutants/$1 ($MPI)"
}

# None of it depends on the MPI: one is enough.
use "$MPI" mutant_engine
# By the name that its facts go by.
ln -sf "$(realpath "$program")" "$FB_TMP/all_reduce"
program=$FB_TMP/all_reduce
mutants "element left out, bit flipped, last repetition not done" 2 drop,bit,stale 48 \
	--bytes 8,64K
mutants "chunks swapped" 2 swap 8 --bytes 64K
mutants "streaming" 2 drop,bit,swap,stale 16 --bytes 64K --cadence streaming \
	--algorithm ring
mutants "flag not waited for, or raised before the data" 2 blind,early 24 --bytes 8,64K \
	--protocol simple,ll,ll128
mutants "slot overwritten before it was read" 2 greedy 2 --bytes 64K --protocol simple
# With two ranks each has the other's data in the end; with three one forwards data that it does not
# have.
mutants "announcement not waited for" 3 blind 1 --bytes 64K --protocol direct \
	--algorithm ring

# What is left in slots and staging memory is an answer of older data.
mutants "no payload from the 13th message on" 2 tired 3 --bytes 8 --protocol simple,ll,ll128 \
	--algorithm recursive_doubling
mutants "every seventh call wrong, each repetition checked" 2 seldom 4 --bytes 8,64K \
	--protocol simple,ll --algorithm ring --verify each

# Wrong parts and guesses, memory written too early, over several tcp sockets, without copies.
use "$MPI" mutant_tcp
for mutant in none offset order guess twice early; do
	failures=0
	run 2 $mutant
	if [ $mutant = none ]; then
		expect "tcp $mutant" "exit code" "$rc" 0
	else
		expect "tcp $mutant" "exit code" "$rc" 2
		holds "tcp $mutant" "$dir/out" "^CAUGHT mutant_tcp $mutant: (-1|[1-9][0-9]*) "
	fi
	verdict "mutants/tcp: $mutant ($MPI)"
done
exit $bad
