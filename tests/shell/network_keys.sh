#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# An option of the network is a key of all rows whose bytes cross that network, in each family of
# programs: without the key, rows that were measured with unlike options would join.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh

# keyed PROGRAM OPTION...: all rows over TCP have tcp_sockets=3, others have no key of TCP.
keyed() {
	scripts/launch 3 "$FB_BUILD/bin/$1" --run t --list --format csv --tcp-sockets 3 "${@:2}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" || fail "$1: $(head -n 2 "$FB_TMP/err")"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ over = $at["transport"] ~ /tcp/; all += over }
		over != (";" $at["variant"] ";") ~ /;tcp_sockets=3;/ { print; bad = 1 }
		END { exit bad || !all }' "$FB_TMP/out" || fail "$1: keys of the rows above"
}

keyed all_reduce --engine host --transport shm,tcp --bytes 8
keyed communicator --engine host --transport tcp
keyed connection
keyed fsdp --engine host,mpi --transport tcp
keyed latency --engine host,mover-shm,mover-tcp --transport auto --bytes 8
keyed kv_reshard --engine shm,tcp
keyed handoff --engine shm,tcp
keyed stream --engine shm,tcp
keyed serve --engine shm,tcp
verdict network_keys
exit "$bad"
