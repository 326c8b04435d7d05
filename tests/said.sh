# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What a program said when it failed. To be sourced.

# said FILE: lines that the program itself or a sanitizer wrote, and then the first others: mpirun
# writes a dozen of its own after them, and a tail would show nothing else.
said() {
	local own='^fabricbench|^FAIL |: failed: |ERROR: |runtime error: '

	{
		grep -aE -- "$own" "$1" | head -n 10
		grep -avE -- "$own" "$1" | head -n 10
	} | sed 's/^/    /'
}
