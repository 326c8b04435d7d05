# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # the test reads hosts and mpirun, and sets name
#
# What tests that run Open MPI between hosts in network name spaces need; sourced behind
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
