# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # the test reads hosts, mpirun and log, and sets name
#
# Functions of tests that run Open MPI between hosts in network name spaces; sourced behind
# scripts/lib.sh, with the test's `name` set.

hosts=$PWD/tests/netns/hosts

skip() {
	echo "SKIP $name: $*"
	exit 0
}

# need_hosts PROGRAM: skips the test where there cannot be hosts or the program; sets mpirun.
need_hosts() {
	local tool

	[ "$(id -u)" -eq 0 ] || skip "needs root"
	for tool in ip nsenter unshare setsid taskset; do
		fb_have "$tool" || skip "no command $tool"
	done
	mpirun=$(fb_mpi_tool mpirun openmpi) || skip "no Open MPI"
	[ -x "$1" ] || skip "$1 has not been built"
}

# start_hosts N: hosts until the test ends; sets FB_HOSTS, log, and what Open MPI needs. Skips the
# test where there cannot be any.
start_hosts() {
	FB_HOSTS=$(mktemp -d "${FB_TMP:-/tmp}/hosts.XXXXXX") || exit 1
	export FB_HOSTS
	trap '"$hosts" down; rm -rf "$FB_HOSTS"' EXIT
	trap 'exit 130' INT TERM
	"$hosts" up "$1" 2>"$FB_HOSTS/why" || skip "$(tail -n 1 "$FB_HOSTS/why")"
	log=$FB_HOSTS/log
	fb_mpi_env openmpi
	# MPI must not take interfaces that lead nowhere, nor spin where a rank waits for another.
	export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$FB_HOSTS/rsh \
		OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1 \
		OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
}

# across HOSTS RANKS PROGRAM...: HOSTS as h0:2,h1:2. In the background, because bash runs a trap
# only between commands or while it waits.
across() {
	local where=$1 ranks=$2

	shift 2
	timeout -k 5 $((120 * ${FB_SLOW:-1})) "$hosts" sh h0 "$mpirun" --bind-to none \
		-host "$where" -n "$ranks" "$@" &
	wait $!
}

# verdict_of NAME RC LOG
verdict_of() {
	if [ "$2" = 0 ]; then
		echo "PASS $name-$1"
	else
		sed 's/^\(PASS\|FAIL\|SKIP\) /  &/' "$3" | tail -n 20
		echo "FAIL $name-$1: exit code $2"
	fi
}
