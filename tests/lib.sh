# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of tests/run
#
# The parts of tests/run: building, finding, running and counting. Sourced by it; uses its
# variables pattern, list, verbose, unit_only, asan and logs.

passed=0 failed=0 skipped=0
child= # process id of the test that runs
failures=()

# A make above this script must not pass its job slots on: they are not open here.
test_make() {
	env -u MAKEFLAGS -u MAKELEVEL make -j"$(fb_cores)" WERROR="${WERROR:-1}" "$@" tests
}

build_all() {
	local family

	for family in $FB_MPIS; do
		echo "build with $family"
		test_make MPI="$family" || return 3
	done
	if [ "$asan" = yes ]; then
		echo "build with $MPI and sanitizers"
		test_make SANITIZE=asan || return 3
	fi
	[ "$unit_only" = yes ] || env -u MAKEFLAGS -u MAKELEVEL make compile_commands.json
}

# note_of FILE KEY DEFAULT: the value of `KEY: value` in the first lines of a file. The first,
# because further down the same words may be about something else.
note_of() {
	local value

	value=$(sed -n "1,15s|^[ #*/]*$2: *\([0-9][0-9 ]*\).*|\1|p" "$1" | head -n 1)
	echo "${value:-$3}"
}

seconds_since() {
	awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }'
}

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

# wanted NAME COMMAND...: whether to run the test; with -l it is listed instead.
wanted() {
	[[ $1 =~ $pattern ]] || return 1
	[ "$list" = no ] && return 0
	echo "$1: ${*:2}"
	return 1
}

# execute NAME SECONDS COMMAND...: runs a test into its log; sets log, took and rc.
execute() {
	local name=$1 limit=$2 start=$EPOCHREALTIME

	shift 2
	log=$logs/${name//\//.}.log
	FB_TMP=$(mktemp -d) || exit 3
	export FB_TMP
	# In the background, so that an interrupt is seen while the test runs; it must not inherit
	# the background's ignored signals.
	env --default-signal=INT,QUIT timeout -k 10 "$limit" "$@" </dev/null >"$log" 2>&1 &
	child=$!
	wait "$child"
	rc=$?
	child=
	rm -rf "$FB_TMP"
	took=$(seconds_since "$start")
	[ "$rc" -eq 124 ] && echo "stopped after the limit of $limit s" >>"$log"
	[ "$verbose" = yes ] && sed 's/^/      | /' "$log"
	return 0
}

# Ends the test that runs, with its process group, and the runner.
interrupted() {
	[ -n "$child" ] && kill "$child" && wait "$child"
	rm -rf "${FB_TMP-}"
	echo "interrupted: $passed passed, $failed failed, $skipped skipped so far" >&2
	exit 130
}

show_failure() {
	[ "$verbose" = yes ] || tail -n 30 "$log" | sed 's/^/      | /'
	echo "      log: $log"
}

# run_program NAME SECONDS COMMAND...: a test whose exit code is its result.
run_program() {
	wanted "$1" "${@:3}" || return 0
	execute "$@"
	case $rc in
	0) count PASS "$1" "$took" ;;
	77) count SKIP "$1" "$(sed -n 's/^SKIP [^:]*: *//p' "$log" | head -n 1)" ;;
	*)
		count FAIL "$1" "$took, exit code $rc"
		show_failure
		;;
	esac
}

# run_lines NAME SECONDS COMMAND...: a test whose lines PASS, FAIL and SKIP are its results.
run_lines() {
	local name=$1 word what bad=0 good=0 lines=0

	wanted "$1" "${@:3}" || return 0
	execute "$@"
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

# limit_of SOURCE DEFAULT LABEL: a test's seconds; sanitizers make it slower.
limit_of() {
	local limit

	limit=$(note_of "$1" timeout "$2")
	case $3 in
	asan/*) echo $((limit * 3)) ;;
	*) echo "$limit" ;;
	esac
}

# run_unit BUILD LABEL. Without MPI's threads and plugins the quick unwinder finds every frame; it
# makes tests that allocate much five times as fast.
run_unit() {
	local source name ASAN_OPTIONS=$ASAN_OPTIONS:fast_unwind_on_malloc=1

	for source in tests/unit/test_*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$source" .c)
		run_program "$2/$name" "$(limit_of "$source" 60 "$2")" "$1/tests/$name"
	done
}

# Whether mpirun of family $MPI starts N ranks that see each other. Ubuntu 24.04's MPICH starts
# N single ranks (its bug 2072338), which says nothing about this project.
starts_ranks() {
	[ -x "$1/tests/world" ] || return 0
	FB_RANKS=2 timeout 60 scripts/launch 2 "$1/tests/world" </dev/null >/dev/null 2>&1
	[ $? -ne 77 ]
}

# run_mpi FAMILY BUILD LABEL: the MPI tests. MPICH spins while it waits, which with more ranks than
# cores costs a time slice a message, so it gets fewer ranks where the test does not mind.
run_mpi() {
	local MPI=$1 source name ranks default=4

	export MPI
	[ "$1" = mpich ] && [ "$(fb_cores)" -lt 4 ] && default=2
	if [ "$list" = no ] && ! starts_ranks "$2"; then
		count SKIP "$3" "mpirun of $1 starts single ranks instead of a job"
		return
	fi
	for source in tests/mpi/*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$source" .c)
		for ranks in $(note_of "$source" ranks $default); do
			FB_RANKS=$ranks run_program "$3/$name-$ranks" \
				"$(limit_of "$source" 120 "$3")" \
				scripts/launch "$ranks" "$2/tests/$name"
		done
	done
}

run_shell() {
	local script

	for script in tests/*/*.sh; do
		case $script in
		*/lib*.sh | tests/\*/*) continue ;;
		esac
		run_lines "${script:6:-3}" "$(note_of "$script" timeout 300)" bash "$script"
	done
}

run_all() {
	local family

	run_unit "build/$MPI" unit
	[ "$unit_only" = yes ] && return
	for family in $FB_MPIS; do
		run_mpi "$family" "build/$family" "$family"
	done
	if [ "$asan" = yes ]; then
		run_unit "build/$MPI-asan" asan/unit
		run_mpi "$MPI" "build/$MPI-asan" "asan/$MPI"
	fi
	run_shell
	run_lines lint 900 tests/lint
}

# The last line is for machines as well: nothing may follow it.
finish() {
	[ "$list" = yes ] && exit 0
	if [ "$failed" -gt 0 ]; then
		echo "failed:"
		printf '  %s\n' "${failures[@]}" | sort -u
	fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
