#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# A tier of an object store: blocks go to a server that the test starts and come back, all bytes
# compared by the program; what the server does wrong is found; and rows have the reason where there
# is no server, or no libcurl.

program=offload
. tests/kvtransfer/lib.sh
command -v python3 >/dev/null || { echo "SKIP object: no python3"; exit 0; }
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY http_proxy all_proxy

# start MISTAKE: a server; its URL in url, its process in server.
start() {
	: >"$FB_TMP/port"
	python3 tests/kvtransfer/object_server.py "$1" >"$FB_TMP/port" 2>"$FB_TMP/log" &
	server=$!
	while [ ! -s "$FB_TMP/port" ]; do
		kill -0 "$server" || { cat "$FB_TMP/log"; exit 3; }
		sleep 0.1
	done
	url=http://127.0.0.1:$(head -n 1 "$FB_TMP/port")/bucket
}

stop() {
	kill "$server"
	wait "$server"
}
trap 'kill "$server" 2>/dev/null' EXIT

start right
go 1 --engine object --object-store "$url"
if [ "$(rows ',skipped,"?libcurl')" -gt 0 ]; then
	stop
	echo "SKIP object: no libcurl"
	exit 0
fi
# 600 tokens are one object and a part of another; layer by layer, a half comes back from many
# places of both.
tokens=600 go 2 --engine object,store --object-store "$url" --operation evict,onboard \
	--tier-order all
expect "exit code" "$rc" 0
[ "$rc" -eq 0 ] || head -n 3 "$FB_TMP/err"
expect "rows of objects" "$(rows ',object,.*,(ok|few),.*HTTP, libcurl [0-9.]+, 2 requests')" 4
expect "rows of files" "$(rows ',store,.*,(ok|few),')" 4
"$FB_BUILD/bin/csvcheck" "$csv" >"$FB_TMP/check" || fail "$(head -n 5 "$FB_TMP/check")"
tokens=300 go 1 --engine object --object-store "$url" --operation ttft --hit 50 \
	--tier-order layer --connections 1
expect "rows of a half that comes back" "$(rows ',ttft,object,.*,(ok|few),')" 1
go 1 --engine object,store --object-store "$url" --crossover "$FB_TMP/table" --piece 4K \
	--count 1,300 --algorithm all
expect "rows of lists" "$(rows ',object,.*,(ok|few),')" 4
holds "$FB_TMP/table" '^tier (store|object)'
stop
expect "objects that are left" "$(tail -n 1 "$FB_TMP/port")" 0
verdict object_tier

start wrong
tokens=64 go 1 --engine object --object-store "$url" --operation onboard
expect "rows with a wrong bit" "$(rows ',object,.*,wrong,')" 1
stop
start short
tokens=64 go 1 --engine object --object-store "$url" --operation onboard
[ "$rc" -ne 0 ] || fail "an object that was cut: exit code 0"
holds "$FB_TMP/err" 'mover object: GET of object 0: .* of [0-9]+ bytes'
stop
start full
tokens=64 go 1 --engine object --object-store "$url" --operation evict
expect "exit code of a store that is full" "$rc" 5
expect "rows of a store that is full" "$(rows ',object,.*,fault,')" 1
holds "$FB_TMP/err" 'mover object: PUT of object 0: .*507'
stop
expect "objects left in a store that is full" "$(tail -n 1 "$FB_TMP/port")" 0
verdict object_mistakes

start refuse
go 1 --engine object --object-store "$url" --operation evict
expect "rows of a server that refuses" "$(rows ',object,.*,skipped,"?http.*403')" 1
stop
go 1 --engine object --object-store "$url" --operation evict
expect "rows without a server" "$(rows ',object,.*,skipped,"?http')" 1
FB_CURL_LIBRARY=$FB_TMP/none.so go 1 --engine object --object-store "$url" --operation evict
expect "rows without libcurl" "$(rows ',object,.*,skipped,.*none\.so not found')" 1
go 1 --engine object --operation evict
expect "rows without a store" "$(rows ',object,.*,skipped,no object store was named')" 1
verdict object_absent
exit "$bad"
