# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # `tool` and `golden` of the tests
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

# refuses PATTERN ARGUMENT...: $tool ends with 3, one line on stderr and nothing on stdout.
refuses() {
	"$tool" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of ${*:2}" $? 3
	expect "stdout of ${*:2}" "$(cat "$FB_TMP/out")" ''
	expect "lines on stderr of ${*:2}" "$(wc -l <"$FB_TMP/err")" 1
	holds "$FB_TMP/err" "$1"
}

# same FILE NAME: a file is $golden/NAME. FB_GOLDEN=update writes it instead.
same() {
	[ "${FB_GOLDEN-}" = update ] && cp "$1" "$golden/$2"
	diff -u "$golden/$2" "$1" || fail "differs from $2"
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
