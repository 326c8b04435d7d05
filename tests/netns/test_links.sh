#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# links: rows carry what the link was, a limited rate is not exceeded, two leaf switches with a slow
# spine are slower than their hosts' own links allow, and large packets pass the spine. No limit is
# from below: a busy machine may be as slow as it wants.

set -u
. scripts/lib.sh
name=netns/test_links
build=$(dirname "$FB_BUILD")/openmpi
rows=$FB_TMP/rows
[ -x "$build/bin/bandwidth" ] || {
	echo "SKIP $name: $build/bin/bandwidth has not been built"
	exit 0
}

# check NAME WHAT: WHAT is empty, or says what is wrong.
check() {
	if [ -z "$2" ]; then
		echo "PASS $name-$1"
	else
		printf '  %s\n' "$2"
		echo "FAIL $name-$1"
	fi
}

# measure OPTION...: prints what went wrong; exits where there can be no hosts, which the test's own
# output, 3, then says.
exec 3>&1
measure() {
	tests/netns/links "$@" >"$FB_TMP/log" 2>&1
	case $? in
	0) ;;
	77)
		sed -n "s|^SKIP links|SKIP $name|p" "$FB_TMP/log" >&3
		exit 0
		;;
	*) tail -n 20 "$FB_TMP/log" ;;
	esac
}

# over LIMIT CONDITION...: the rows of that variant whose rate in Gbit/s is above the limit.
over() {
	scripts/query "$rows" "status=ok,few" "${@:2}" --columns busbw_GBps --csv |
		awk -v limit="$1" 'NR > 1 { n++; if (8 * $1 > limit) print 8 * $1 " Gbit/s" }
			END { if (!n) print "no row" }'
}

options=(--engine=host --transport=tcp --protocol=simple --bytes=4M --min-samples=1
	--max-samples=3 --max-time=1s --window=1 --timeout=1min)
measure --rate none,50mbit "$rows" -- bandwidth "${options[@]}" >"$FB_TMP/wrong"
check rows "$(cat "$FB_TMP/wrong")"
# What may pass at once comes on top: 64 KiB of 4 MiB.
check rate "$(over 0.055 rate=50mbit)"
check unlimited "$(over 1e9 rate=none)"
measure --mtu 1500,9000 "$rows" -- bandwidth "${options[@]}" >"$FB_TMP/wrong"
check mtu "$(cat "$FB_TMP/wrong"; over 1e9 mtu=1500; over 1e9 mtu=9000)"
# The program has read the interface in the last variant.
check mtu-fact "$(grep -q '\.eth0\.mtu,9000$' "$rows/environment.csv" || echo "no MTU of 9000")"
measure --spine 50mbit --starts 2 "$rows" -- bandwidth "${options[@]}" --pairs=0-3 >"$FB_TMP/wrong"
check spine "$(cat "$FB_TMP/wrong"; over 0.055 "spine=50mbit")"
for start in 0 1; do
	check "start-$start" "$(grep -qE "^[0-9]+,[^,]*,$start,.*spine=50mbit" \
		"$rows/bandwidth.csv" || echo "no row of launch index $start")"
done
# A spine whose links kept the MTU of 1500 would drop every packet of 9000.
measure --spine 60mbit --mtu 9000,1500 "$rows" -- bandwidth "${options[@]}" --pairs=0-3 \
	>"$FB_TMP/wrong"
check spine-mtu "$(cat "$FB_TMP/wrong"
	over 0.066 spine=60mbit mtu=9000; over 0.066 spine=60mbit mtu=1500)"
if tests/netns/links --speed 1 "$rows" -- bandwidth >/dev/null 2>&1 ||
	tests/netns/links --rate 1gbit "$rows" >/dev/null 2>&1; then
	check refused "an unknown option, or no program, is not refused"
else
	check refused ''
fi
