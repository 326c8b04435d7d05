# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Functions that shell tests of all kinds share: the messages of a program that failed, and which
# parts of a test run. To be sourced.

# said FILE: lines that the program itself or a sanitizer wrote, and then the first others: mpirun
# writes a dozen of its own after them, and a tail would show nothing else.
said() {
	local own='^fabricbench|^FAIL |: failed: |ERROR: |runtime error: '

	{
		grep -aE -- "$own" "$1" | head -n 10
		grep -avE -- "$own" "$1" | head -n 10
	} | sed 's/^/    /'
}

# in_set NAME: whether that part of the test runs: what its line `full:` names, among its first
# lines, takes long and runs in the full set only.
in_set() {
	[ -n "${FB_FULL-}" ] || [[ " $(sed -n '1,15s/^# full: *//p' "$0") " != *" $1 "* ]]
}
