#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# Every program on two ranks with the address and undefined behaviour sanitizers: all algorithms,
# protocols and transports, sizes 0, less than an element, odd and more than a slot.

set -u
export LC_ALL=C
. tests/faults/lib.sh

options=(-q --min-samples 3 --max-samples 3 --max-time 2ms --timeout 60s --in-place both)

# Names of runs in which leaks could not be looked for.
unchecked=()

# stopped: whether LeakSanitizer gave up in the last run. At the end it stops the process by ptrace
# from a thread that also reads all its memory; if that thread fails, nothing is known of leaks, and
# the run counts for nothing.
stopped() {
	grep -aq 'LeakSanitizer has encountered a fatal error' "$dir/err"
}

# sanitized NAME ARGUMENT...: the program, and once more if LeakSanitizer gave up; if it does so
# again, says what it says of the reason, and a third time without looking for leaks.
sanitized() {
	run 2 "${@:2}"
	stopped || return
	rm -rf "$csv"
	LSAN_OPTIONS=$LSAN_OPTIONS:verbosity=1:log_threads=1 run 2 "${@:2}"
	stopped || return
	echo "  $1: LeakSanitizer gave up twice:"
	grep -aE 'Tracer|[Cc]ould not|[Ff]ail|errno|open /proc|LeakSanitizer' "$dir/err" |
		grep -av 'failed to intercept' | head -n 8 | sed 's/^/    /'
	unchecked+=("$1")
	rm -rf "$csv"
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run 2 "${@:2}"
}

# clean NAME ARGUMENT...
clean() {
	local csv=$dir/${1//[^a-z_]/}

	sanitized "$1" --csv "$csv" "${options[@]}" "${@:2}"
	expect "$1" "exit code" "$rc" 0
	expect "$1" "findings" "$(grep -aE 'ERROR: |runtime error: |LeakSanitizer' "$dir/err" |
		head -n 3)" ""
	whole "$1" "$csv/${program##*/}.csv"
	expect "$1" "wrong or faulty rows" "$(rows "$csv/${program##*/}.csv" 'wrong|fault')" 0
}

use "$MPI" all_reduce
build=$FB_BUILD-asan/bin
if [ ! -x "$build/all_reduce" ]; then
	echo "SKIP faults/sanitizers: no $build (make asan)"
	exit 0
fi
failures=0
for program in "$build"/*; do
	# The tools run alone, under their own tests.
	"$program" --help 2>/dev/null | grep -q -- --check-plan || continue
	clean "${program##*/}" --bytes 0,1,13,4K --raw
	# The ways over tcp are the same for all programs; these two use all of them.
	case ${program##*/} in
	all_reduce | all_to_all_v)
		clean "${program##*/} tcp" --engine host --protocol simple --bytes 0,13,200K \
			--nodes-as 2 --transport "tcp,shm+tcp"
		;;
	esac
done
verdict "faults/sanitizers, all programs ($MPI)"
[ "${#unchecked[@]}" -eq 0 ] ||
	echo "SKIP faults/leaks: LeakSanitizer gave up twice: ${unchecked[*]}"
exit $bad
