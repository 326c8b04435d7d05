# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of tests/run
#
# The part of tests/run that counts and reports. Sourced by it.

passed=0 failed=0 skipped=0
failures=()
lucky=() # passed only when run again
# Lines of a log that say what failed.
own_words='^(fabricbench|csvcheck|FAIL|  [^ ].*: got )|(ERROR|WARNING): |runtime error: |failed: '

# report WORD NAME TEXT: one line of progress.
report() {
	printf '%-4s  %-44s %s\n' "$1" "$2" "$3"
}

# count WORD NAME TEXT: counts one test and reports it.
count() {
	case $1 in
	PASS) passed=$((passed + 1)) ;;
	SKIP) skipped=$((skipped + 1)) ;;
	FAIL)
		failed=$((failed + 1))
		failures+=("$2")
		;;
	esac
	report "$@"
}

# What the program said goes first: the last lines are often mpirun's alone.
show_failure() {
	if [ "$verbose" = no ]; then
		head -n -30 "$log" | grep -aE "$own_words" | head -n 10 | sed 's/^/      | /'
		tail -n 30 "$log" | sed 's/^/      | /'
	fi
	echo "      log: $log"
}

# failed_code, failed_lines: whether the test failed that end waited for.
failed_code() {
	[ "$rc" -ne 0 ] && [ "$rc" -ne 77 ]
}

failed_lines() {
	[ "$rc" -ne 0 ] || grep -q '^FAIL ' "$log" || ! grep -qE '^(PASS|SKIP) ' "$log"
}

# count_code NAME, count_lines NAME: for end, whose variables they use.
count_code() {
	case $rc in
	0) count PASS "$1" "$took" ;;
	77) count SKIP "$1" "$(sed -n 's/^SKIP [^:]*: *//p' "$log" | head -n 1)" ;;
	*)
		count FAIL "$1" "$took, exit code $rc"
		show_failure
		;;
	esac
}

count_lines() {
	local word what bad=0 good=0 lines=0

	while read -r word what; do
		lines=$((lines + 1))
		case $word in
		PASS) good=$((good + 1)) ;;
		SKIP) count SKIP "$name" "$what" ;;
		FAIL)
			bad=$((bad + 1))
			count FAIL "$name" "$what"
			;;
		esac
	done < <(grep -E '^(PASS|FAIL|SKIP) ' "$log")
	passed=$((passed + good))
	[ "$good" -gt 0 ] && report PASS "$name" "$took, $good passed"
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		count FAIL "$name" "$took, exit code $rc"
		bad=1
	elif [ "$lines" -eq 0 ]; then
		count FAIL "$name" "$took, no line PASS, FAIL or SKIP"
		bad=1
	fi
	[ "$bad" -eq 0 ] || show_failure
}

# What all tests took, and which five took most: a change that makes the run longer is seen.
show_costs() {
	local cpu wall name

	[ -s "$costs" ] || return 0
	awk -v wall="$SECONDS" -v cores="$(fb_cores)" '{ cpu += $1 }
		END { printf "all tests: %.0f s of processors; the run: %d s on %d processors\n",
			cpu, wall, cores }' "$costs"
	sort -k 1,1gr "$costs" | head -n 5 | while read -r cpu wall name; do
		echo "  $name: $cpu s of processors in $wall s"
	done
}

# The last line is for machines as well: nothing may follow it.
finish() {
	local name log

	[ "$list" = yes ] && exit 0
	for name in "${lucky[@]}"; do
		echo "passed only when run again: $name"
		log=$logs/${name//\//.}.first.log
		show_failure
	done
	show_costs
	if [ "$failed" -gt 0 ]; then
		echo "failed:"
		printf '  %s\n' "${failures[@]}" | sort -u
	fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
