#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# KV transfers between hosts: every mover that can reach another host, the stages of handoff and the
# exposed time of stream on one clock, caches in files and objects, and a service whose workers are
# on several hosts. All programs compare every byte. Open MPI only, as in test_tcp_hosts.sh.
# timeout: 600

set -u
. scripts/lib.sh

name=netns/test_kv_hosts
. tests/netns/lib.sh
build=$(dirname "$FB_BUILD")/openmpi
need_hosts "$build/tests/test_mover"
for program in handoff kv_reshard stream offload serve; do
	[ -x "$build/bin/$program" ] || skip "$build/bin/$program has not been built"
done
start_hosts 3
few=(--quiet --ci 100% --min-samples 3 --max-samples 5 --max-time 0.1s --run t)
# Open MPI has one-sided calls over TCP by this component alone.
export OMPI_MCA_osc=pt2pt

# What a mover's library says of its absence is the reason to skip it.
export FI_PROVIDER=tcp
for mover in mpi mpi_window ucx nixl libfabric; do
	UCX_TLS=tcp,self across h0:1,h1:1 2 "$build/tests/test_mover" $mover >"$log" 2>&1
	rc=$?
	why=$(sed -n "s/^  mover $mover is absent: //p" "$log")
	if [ -n "$why" ] && [[ $mover =~ ^(ucx|nixl|libfabric)$ ]]; then
		echo "SKIP $name-mover_$mover: $why"
	else
		verdict_of mover_$mover $rc "$log"
	fi
done

# The hosts have one clock in truth, so that the test knows what should come out.
across h0:1,h1:1,h2:1 3 "$build/tests/test_moments" >"$log" 2>&1
verdict_of moments $? "$log"

# run PROGRAM HOSTS RANKS OPTION...: rows in $csv; rc.
run() {
	local program=$1 where=$2 ranks=$3

	shift 3
	rm -rf "$FB_HOSTS/csv"
	csv=$FB_HOSTS/csv/$program.csv
	UCX_TLS=tcp,self across "$where" "$ranks" "$build/bin/$program" "${few[@]}" \
		--csv "$FB_HOSTS/csv" "$@" >"$log" 2>&1
	rc=$?
}

# rows GOOD CONDITION: rc is 0 if GOOD rows are all that are not skipped for an absent library, and
# awk's CONDITION holds for each, by the names of columns: value("total_us").
rows() {
	[ $rc -ne 0 ] || sed 's/"[^"]*"/-/g' "$csv" | awk -F, -v want="$1" '
		function value(name) { return $column[name] }
		# A time between hosts is longer than the error of their clocks; or the row says
		# why it is empty, which a busy machine may make of any.
		function timed(name) {
			if (value(name) == "")
				return value("flags") ~ /clock-error/
			return value("clock_error_us") > 0 && value(name) < 60e6 &&
				value(name) > value("clock_error_us")
		}
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		value("status") == "skipped" && value("engine") ~ /ucx|nixl|libfabric/ { next }
		value("flags") ~ /clock-wrong/ { print; bad++; next }
		value("status") !~ /^(ok|few)$/ || !('"$2"') { print; bad++ }
		{ good++ }
		END { print good + 0, "rows"; exit bad || good != want }' >>"$log" 2>&1 || rc=1
}

# Senders of h0 are on one host: their moments have no error.
alone='value("done_us") > 0 && timed("notified_us") && timed("wire_us") && timed("total_us")'
run handoff h0:2,h1:2 4 --engine tcp,mpi,mpi_window --operation reshard,fan --algorithm all \
	--prefill 2 --decode 2 --tokens 100
rows 12 "$alone"
verdict_of handoff $rc "$log"
# Two of three ranks receive, on two hosts.
run handoff h0:1,h1:1,h2:1 3 --engine tcp --algorithm all --prefill 1 --decode 2 --grain layer \
	--tokens 100
rows 3 "$alone"
verdict_of three-hosts $rc "$log"
run kv_reshard h0:1,h1:1 2 --engine tcp --algorithm all --tokens 100
rows 3 'value("operation") == "handover" && value("transport") == "tcp"'
verdict_of kv_reshard $rc "$log"
run handoff h0:1,h1:1 2 --engine ucx,nixl,libfabric --algorithm put,get --tokens 100
good=$(tail -n +2 "$csv" | grep -cvE ',skipped,')
rows "$good" "$alone"
# A run that skips all rows ends with 0; one that crashes or hangs before the first does not.
if [ "$rc" -ne 0 ] || [ "$good" -gt 0 ]; then
	verdict_of libraries $rc "$log"
else
	echo "SKIP $name-libraries: none of UCX, NIXL and libfabric is here"
fi
run handoff h0:1,h1:1 2 --engine tcp --operation fit
rows 1 'value("fit_b_ns") != "" && value("fit_GBps") > 0 &&
	(value("fit_a_us") > value("clock_error_us") || value("flags") ~ /clock-error/)'
verdict_of fit $rc "$log"
run stream h0:1,h1:1 2 --engine tcp,mpi_window --tokens 24 --others 0,2
rows 8 'timed("exposed_us") && (value("transfer_us") != "" || value("exposed_model_us") == "")'
verdict_of stream $rc "$log"

run serve h0:1,h1:1,h2:1 3 --engine tcp,mpi_window,none --rate 200 --requests 8 --scale 0.02
rows 3 1
verdict_of serve $rc "$log"

# Each host has a tier of its own, and one server of objects is for both.
run offload h0:1,h1:1 2 --engine store --algorithm buffered --operation evict,onboard,ttft \
	--tokens 40 --folder "$FB_HOSTS"
rows 3 1
verdict_of offload-files $rc "$log"
if fb_have python3; then
	"$hosts" sh h0 python3 tests/kvtransfer/object_server.py right 10.77.0.10 \
		>"$FB_HOSTS/port" 2>"$log" &
	server=$!
	for ((i = 0; i < 100 * ${FB_SLOW:-1}; i++)); do
		[ -s "$FB_HOSTS/port" ] && break
		sleep 0.1
	done
	run offload h0:1,h1:1 2 --engine object --operation evict,onboard --tokens 40 \
		--object-store "http://10.77.0.10:$(head -n 1 "$FB_HOSTS/port")/bucket"
	kill $server
	why=$(grep -oE 'libcurl[^,"]*not found' "$csv" | head -n 1)
	if [ -n "$why" ]; then
		echo "SKIP $name-offload-objects: $why"
	else
		rows 2 1
		verdict_of offload-objects $rc "$log"
	fi
else
	echo "SKIP $name-offload-objects: no python3"
fi

# The same stages with clocks that are 1000 s apart in truth. Without a correction totals would be
# 1000 s, or negative.
"$hosts" down
if FB_HOSTS_AHEAD=1000 "$hosts" up 2 2>"$FB_HOSTS/why"; then
	run handoff h0:1,h1:1 2 --engine tcp --algorithm all --tokens 300
	rows 3 "$alone"
	for h in 0 1; do
		"$hosts" sh h$h cut -d. -f1 /proc/uptime
	done >"$FB_HOSTS/uptimes"
	apart=$(paste -s "$FB_HOSTS/uptimes" | awk '{ print $2 - $1 }')
	[ "$apart" -ge 1000 ] || rc="$rc, and the clocks are $apart s apart"
	verdict_of wrong-clock "$rc" "$log"
else
	echo "SKIP $name-wrong-clock: $(tail -n 1 "$FB_HOSTS/why")"
fi
