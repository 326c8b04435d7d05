#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 600
# full: sysv,self many_ranks_tcp,self
#
# Engine ucx: every program, protocol and cadence over what UCX has on any machine, with each MPI;
# the path says what UCX really used; what is missing or wrong is said, in time.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh

small=(--quiet --max-samples 20 --min-samples 3 --ci 50% --timeout "$((60 * slow))s")
runs=0 engine=ucx time=5ms

# go FAMILY RANKS PROGRAM OPTION...: runs into a new file; sets rc and csv.
go() {
	local family=$1 ranks=$2 program=$3

	shift 3
	csv=$FB_TMP/$family-$ranks-$program-$((++runs))
	scripts/launch "$ranks" "build/$family/bin/$program" --csv "$csv" --run t "${small[@]}" \
		--engine "$engine" --max-time "$time" "$@" >"$FB_TMP/out" 2>&1 </dev/null
	rc=$?
	csv=$csv/$program.csv
}

# rows PATTERN: how many of the last program's rows match.
rows() {
	tail -n +2 "$csv" | grep -cE -- "$1"
}

# good COUNT: the last program ended well, with so many measured rows, and none of other engines.
good() {
	[ "$rc" -eq 0 ] || {
		fail "$csv: exit code $rc"
		tail -n 5 "$FB_TMP/out"
	}
	expect "measured rows of ${csv#"$FB_TMP"/}, UCX_TLS=$UCX_TLS" "$(rows ',(ok|few),')" "$1"
	build/"$family"/bin/csvcheck "$csv" >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
}

family=${FB_MPIS%% *}
go "$family" 2 latency --bytes 8 --protocol tag
reason=$(sed -n '2s/.*,skipped,\(libucp[^,]*\),.*/\1/p' "$csv")
if [ -n "$reason" ]; then
	echo "SKIP p2p_ucx: $reason"
	exit 0
fi

# many_ranks: the programs with patterns of their own; `family` and UCX_TLS are set.
many_ranks() {
	local ranks=4

	[ "$family" = mpich ] && ranks=3
	go "$family" "$ranks" all_pairs --bytes 64 --algorithm all
	# One way between ordered pairs; there and back, or a put or get, once for both directions.
	good $((ranks * (ranks - 1) * (2 + 1 + 1) + ranks * (ranks - 1) / 2 * (3 + 1 + 1)))
	go "$family" "$ranks" multi_pair --bytes 8,100000 --algorithm all
	good $((2 * 2 * (ranks / 2) * 4))
	go "$family" "$ranks" incast --bytes 8,100000 --algorithm all --root 1
	# 1, 2, 4, ... others and all of them.
	good $((2 * 2 * (ranks == 4 ? 3 : 2) * 4))
	go "$family" 4 loaded_latency --probes 5 --load-bytes 50000 --bytes 8,5000 --algorithm all
	good $((2 * 2 * (3 + 1 + 1)))
	expect "loads of loaded_latency" "$(rows ';load=1;')" $((2 * (3 + 1 + 1)))
	time=50ms go "$family" 2 steady
	good 1
}

# Sizes that UCX sends in one piece, in several, and by rendezvous; none has no message.
sizes=0,1,8,1000,65536,1048581
for family in $FB_MPIS; do
	for UCX_TLS in posix,self sysv,self posix,cma,self tcp,self; do
		in_set $UCX_TLS || continue
		export UCX_TLS
		go "$family" 2 latency --bytes $sizes --algorithm all --cadence all
		good $((2 * 5 * (3 + 1 + 1)))
		expect "rows without bytes" "$(rows ',skipped,messages of 0 bytes')" $((2 * 5))
		expect "rows of ping_pong" \
			"$(rows ',ping_pong,ucx,send,(tag|am|put),library,')" $((2 * 6 * 3))
		expect "rows that say what carried them" \
			"$(rows ",\"?UCX [0-9.]+[^,]* ${UCX_TLS%%,*}/")" $((2 * 5 * 5))
		case $UCX_TLS in
		*cma* | tcp*) ;;
		*) continue ;;
		esac
		go "$family" 2 bandwidth --bytes $sizes --algorithm all --cadence all
		good $((2 * 2 * 5 * (2 + 1 + 1)))
		# MPICH uses UCX itself, and over tcp, with more ranks than processors, does not
		# always come back from MPI_Finalize (4.0.2), whatever the engine.
		[ "$family $UCX_TLS" = "mpich tcp,self" ] || ! in_set "many_ranks_$UCX_TLS" ||
			many_ranks
	done
	verdict "p2p_ucx_$family"
done
unset UCX_TLS

# Ranks of other nodes have no memory in common: there a message says that all is done.
family=${FB_MPIS%% *}
UCX_TLS=tcp,self go "$family" 4 bandwidth --bytes 8,100000 --algorithm put,get --nodes-as 2 \
	--pairs 0-3,2-1
[ "$rc" -eq 0 ] || fail "pretended nodes: exit code $rc"
grep -q 'variable.UCX_TLS,"*tcp,self' "${csv%/*}/environment.csv" ||
	fail "environment.csv does not say UCX_TLS"
grep -qE 'library.libucp.version,[0-9]' "${csv%/*}/environment.csv" ||
	fail "environment.csv does not say UCX's version"
verdict p2p_ucx_recorded

# Missing: a row with the reason; left out where all engines are meant.
go "$family" 2 latency --bytes 8 --ucx-library /nowhere/libucp.so.0
expect "exit code without the library" "$rc" 0
expect "rows with the reason" "$(rows ',skipped,/nowhere/libucp.so.0 not found: ')" 3
go "$family" 2 latency --bytes 8 --ucx-library libc.so.6
expect "rows of a wrong library" "$(rows ',skipped,libc.so.6 is no UCX')" 3
engine=all go "$family" 2 latency --bytes 8 --protocol simple,tag --algorithm send \
	--ucx-library /nowhere/libucp.so.0
expect "rows among all engines" "$(rows ',ucx,')" 0
expect "exit code among all engines" "$rc" 0
verdict p2p_ucx_missing

# Wrong settings end a run that asks for UCX, with UCX's own words, and no other.
if [ "$family" = openmpi ]; then
	UCX_TLS=nonsense go "$family" 2 latency --bytes 8
	expect "exit code of nonsense" "$rc" 5
	holds "$FB_TMP/out" 'ucp_init_version: No such device; UCX_TLS=nonsense'
	UCX_TLS=nonsense engine=all go "$family" 2 latency --bytes 8 --algorithm send
	expect "exit code of nonsense and all engines" "$rc" 0
	expect "rows of nonsense and all engines" "$(rows ',ucx,')" 0
	UCX_TLS=self go "$family" 2 latency --bytes 8 --protocol tag
	expect "exit code of self" "$rc" 5
	holds "$FB_TMP/out" 'ucp_ep_create with rank [01]: Destination is unreachable; UCX_TLS=self'
	expect "row of self" "$(rows ',fault,')" 1
	verdict p2p_ucx_wrong
fi
exit "$bad"
