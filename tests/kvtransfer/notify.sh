#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# The ways to notify receivers of their pages (handoff --notify), by every mover in host memory.

program=handoff
. tests/kvtransfer/lib.sh
# Each way to tell receivers, of several lists, requests, sizes of moves and kinds of messages.
go 3 --engine shm,cma,tcp,file,ucx,libfabric,mpi_window --notify all --grain request,layer-block \
	--decode 1,2 --wire pages,packed --flight 1,3 --model tiny-window --tokens 48
expect "exit code of notify" "$rc" 0
expect "wrong rows of notify" "$(rows ',(wrong|fault),')" 0
expect "rows told by one notice" "$(rows ',(shm|cma|tcp|file),.*notify=last;.*,(ok|few),')" 64
expect "rows told by a message" "$(rows ',(shm|cma),.*notify=message;.*,(ok|few),')" 32
expect "puts that a message can overtake" \
	"$(rows ',(tcp|file|mpi_window),.*notify=message;.*,skipped,.*can overtake the pages')" 48
go 2 --engine tcp,mpi --algorithm get,send --notify all
expect "moves that receivers post themselves" "$(rows "notify=.*,skipped,.*receiver's own moves")" 6
# A notice, or a message, before its data.
FB_MOVERS=$FB_BUILD/tests/libmover_early.so go 2 --engine early --notify all --grain request,layer
expect "exit code of early notices" "$rc" 2
expect "rows of early notices" "$(rows 'notify=(last|message);.*,wrong,')" 4
holds "$csv" 'element 0 is not there when notified, expected there'
expect "rows of notices in time" "$(rows ',early,.*,(ok|few),')" 2
verdict handoff_notify
exit "$bad"
