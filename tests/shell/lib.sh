# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Functions that the shell tests share: comparisons, and one line PASS or FAIL for each group of
# comparisons. `bad` is what a test exits with.

# shellcheck disable=SC2034
bad=0
failures=0
# shellcheck disable=SC2034 # all limits are multiplied by it
slow=${FB_SLOW:-1}
. tests/said.sh

# fail TEXT: something in the current group is not as it should be.
fail() {
	echo "  $*"
	failures=$((failures + 1))
}

# expect WHAT GOT WANT
expect() {
	[ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

# holds FILE PATTERN: whether a line matches the extended regular expression.
holds() {
	grep -Eq -- "$2" "$1" && return
	fail "no line like '$2' in $1:"
	said "$1"
}

# verdict NAME: ends the group.
verdict() {
	if [ "$failures" -eq 0 ]; then
		echo "PASS $1"
	else
		echo "FAIL $1"
		bad=1
	fi
	failures=0
}

# windows FAMILY: has Open MPI carry one-sided calls by messages where it has no other way, as in
# containers without cross-memory attach.
windows() {
	unset OMPI_MCA_osc
	[ "$1" = openmpi ] || return 0
	scripts/launch 2 build/openmpi/bin/latency --engine mpi --algorithm put --bytes 8 \
		--min-samples 1 --max-samples 2 2>/dev/null </dev/null |
		grep -q ',skipped,.*OMPI_MCA_osc=pt2pt' && export OMPI_MCA_osc=pt2pt
	return 0
}
