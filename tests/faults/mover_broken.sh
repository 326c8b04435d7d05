#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 300
#
# A mover one of whose calls fails on one rank (tests/fake/libmover_broken.c), in handoff,
# kv_reshard, stream and serve: registration, connection and preparation in setup, and moves of
# setup and of measured calls. The other ranks, which may wait for what never comes, learn of it at
# once: the case is a fault whose reason names the rank and what it said, long before the timeout.

set -u
export LC_ALL=C
. tests/faults/lib.sh

timeout_s=$((60 * slow))
options=(-q --min-samples 5 --max-samples 5 --max-time 60s --timeout "${timeout_s}s" --run t)
use "$MPI" handoff
bin=${program%/*}
export FB_MOVERS=$FB_BUILD/tests/libmover_broken.so FB_BROKEN FB_BROKEN_RANK FB_BROKEN_AT

# broken CALL RANK AT RANKS PROGRAM OPTION...: that call of that rank fails, counted from 1.
broken() {
	local name="call $3 of $1 on rank $2, ${*:5}" csv=$dir/csv-$((++runs)) began=$SECONDS

	FB_BROKEN=$1 FB_BROKEN_RANK=$2 FB_BROKEN_AT=$3 program=$bin/$5
	rows=$csv/$5.csv
	failures=0
	run "$4" --csv "$csv" "${options[@]}" --engine broken "${@:6}"
	expect "$name" "exit code" "$rc" 5
	at_most "$name" "seconds" $((SECONDS - began)) $((timeout_s / 2))
	whole "$name" "$rows"
	holds "$name" "$rows" \
		",fault,\"?rank $2 on [^ ]* .* failed: mover broken: $1 is broken on purpose"
	verdict "faults/$name"
}

runs=0
# In setup, which all ranks agree on. The cause is that of later cases, too.
broken add 1 1 2 handoff --tokens 64
broken connect 1 1 2 handoff --tokens 64,128
failures=0
expect "two cases" "rows with the cause" "$(grep -c ',fault,.*on purpose' "$rows")" 2
verdict "faults/cases behind one that failed"
broken prepare 1 1 2 kv_reshard --algorithm direct --tokens 64
broken prepare 1 1 2 stream --tokens 64
# Moves of setup, for which others wait: of the bulk, of watched requests, of phases and parts.
broken post 1 1 2 handoff --tokens 64
broken test 0 1 2 handoff --algorithm get --tokens 64
broken post 0 8 2 handoff --tokens 64
broken post 0 1 2 kv_reshard --algorithm pack --tokens 64
broken test 1 1 2 kv_reshard --algorithm direct --tokens 64
broken post 1 1 2 stream --tokens 64
broken post 0 6 2 stream --tokens 64
broken post 1 7 2 stream --tokens 64
# Measured calls, and what they prepare.
broken prepare 0 8 2 handoff --build cold --tokens 64
broken post 0 3 2 handoff --operation fit
broken post 1 1 3 serve --requests 4 --rate 10 --scale 0.02
exit $bad
