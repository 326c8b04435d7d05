#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# Every program on two ranks with the address and undefined behaviour sanitizers: all algorithms,
# protocols and transports, sizes 0, less than an element, odd and more than a slot.

set -u
export LC_ALL=C
. tests/faults/lib.sh

options=(-q --min-samples 3 --max-samples 3 --max-time 2ms --timeout "$((60 * slow))s"
	--in-place both)

# gave_up: whether LeakSanitizer did in the last run. At the end it stops the process by ptrace from
# a thread that also reads all its memory; if that thread fails, nothing is known of leaks.
gave_up() {
	grep -aq 'LeakSanitizer has encountered a fatal error' "$dir/err"
}

# findings PATTERN: the first lines of the last run's errors that have it.
findings() {
	grep -aE "$1" "$dir/err" | head -n 3
}

# clean NAME ARGUMENT...: up to three runs, until LeakSanitizer has looked for leaks; from the
# second one on with its log. All else has to be right in each of them.
clean() {
	local csv=$dir/${1//[^a-z_]/} log='' try

	for try in 1 2 3; do
		rm -rf "$csv"
		LSAN_OPTIONS=$LSAN_OPTIONS$log run 2 --csv "$csv" "${options[@]}" "${@:2}"
		expect "$1" "findings" "$(findings 'ERROR: |runtime error: ')" ""
		whole "$1" "$csv/${program##*/}.csv"
		expect "$1" "wrong or faulty rows" \
			"$(rows "$csv/${program##*/}.csv" 'wrong|fault')" 0
		gave_up || break
		log=:verbosity=1:log_threads=1
		echo "  $1: LeakSanitizer gave up, run $try:"
		grep -aE 'Tracer|[Cc]ould not|[Ff]ail|errno|open /proc' "$dir/err" |
			grep -av 'failed to intercept' | head -n 4 | sed 's/^/    /'
	done
	expect "$1" "exit code" "$rc" 0
	expect "$1" "leaks" "$(findings LeakSanitizer)" ""
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
	sizes=(--bytes "0,1,13,4K")
	# Its messages follow from a cache, whose usual size takes 30 s here.
	[ "${program##*/}" != kv_reshard ] || sizes=(--tokens 37 --layers 2)
	clean "${program##*/}" "${sizes[@]}" --raw
	# The ways over tcp are the same for all programs; these two use all of them.
	case ${program##*/} in
	all_reduce | all_to_all_v)
		clean "${program##*/} tcp" --engine host --protocol simple --bytes 0,13,200K \
			--nodes-as 2 --transport "tcp,shm+tcp"
		;;
	esac
done
verdict "faults/sanitizers, all programs ($MPI)"
exit $bad
