# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of tests/run
#
# The parts of tests/run: building, finding, running and counting. Sourced by it; uses its
# variables pattern, list, verbose, unit_only, asan and logs.

passed=0 failed=0 skipped=0
failures=()
declare -A running=() # by process id: kind, limit, start, folder and name of a test that runs
beside=no          # whether tests run beside each other
# One more than there are processors: some wait most of the time.
slots=$(($(fb_cores) + 1))

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

# begin KIND NAME SECONDS COMMAND...: starts a test into its log. In the background, so that an
# interrupt is seen while it runs; it must not inherit the background's ignored signals.
begin() {
	local folder

	folder=$(mktemp -d) || exit 3
	FB_TMP=$folder env --default-signal=INT,QUIT timeout -k 10 "$3" "${@:4}" </dev/null \
		>"$logs/${2//\//.}.log" 2>&1 &
	running[$!]="$1 $3 $EPOCHREALTIME $folder $2"
}

# end PROCESS: waits for that test and counts it.
end() {
	local kind limit start folder name rc log took

	wait "$1"
	rc=$?
	read -r kind limit start folder name <<<"${running[$1]}"
	unset "running[$1]"
	rm -rf "$folder"
	took=$(seconds_since "$start")
	log=$logs/${name//\//.}.log
	[ "$rc" -eq 124 ] && echo "stopped after the limit of $limit s" >>"$log"
	[ "$verbose" = yes ] && sed 's/^/      | /' "$log"
	"count_$kind" "$name"
}

# await_fewer N: counts tests that have ended, until fewer than N run.
await_fewer() {
	local process

	while [ ${#running[@]} -ge "$1" ]; do
		for process in "${!running[@]}"; do
			kill -0 "$process" 2>/dev/null || end "$process"
		done
		[ ${#running[@]} -lt "$1" ] || sleep 0.05
	done
}

# run_test KIND NAME SECONDS COMMAND...: beside others, or alone, which is when it has ended on
# return. KIND is code, where the exit code is the result, or lines, where lines PASS, FAIL and SKIP
# are.
run_test() {
	wanted "$2" "${@:4}" || return 0
	if [ "$beside" = yes ]; then
		await_fewer "$slots"
		begin "$@"
	else
		await_fewer 1
		begin "$@"
		end $!
	fi
}

# Ends the tests that run, with their process groups, and the runner.
interrupted() {
	local process folder

	for process in "${!running[@]}"; do
		kill "$process" && wait "$process"
		read -r _ _ _ folder _ <<<"${running[$process]}"
		rm -rf "$folder"
	done
	echo "interrupted: $passed passed, $failed failed, $skipped skipped so far" >&2
	exit 130
}

show_failure() {
	[ "$verbose" = yes ] || tail -n 30 "$log" | sed 's/^/      | /'
	echo "      log: $log"
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

# limit_of SOURCE DEFAULT LABEL: a test's seconds; sanitizers make it slower.
limit_of() {
	local limit

	limit=$(note_of "$1" timeout "$2")
	case $3 in
	asan/*) echo $((limit * 3)) ;;
	*) echo "$limit" ;;
	esac
}

# by_limit DEFAULT FILE...: prints seconds and name of each, those that may take longest first: what
# is begun last should not be what all wait for.
by_limit() {
	local default=$1 file

	shift
	for file in "$@"; do
		[ ! -e "$file" ] || echo "$(note_of "$file" timeout "$default") $file"
	done | sort -k 1,1nr -k 2
}

# run_unit BUILD LABEL. Without MPI's threads and plugins the quick unwinder finds every frame; it
# makes tests that allocate much five times as fast.
run_unit() {
	local source name ASAN_OPTIONS=$ASAN_OPTIONS:fast_unwind_on_malloc=1

	while read -r _ source; do
		name=$(basename "$source" .c)
		run_test code "$2/$name" "$(limit_of "$source" 60 "$2")" "$1/tests/$name"
	done < <(by_limit 60 tests/unit/test_*.c)
}

# Whether mpirun of family $MPI starts N ranks that see each other. Ubuntu 24.04's MPICH starts
# N single ranks (its bug 2072338), which says nothing about this project.
starts_ranks() {
	[ -x "$1/tests/world" ] || return 0
	FB_RANKS=2 timeout 60 scripts/launch 2 "$1/tests/world" </dev/null >/dev/null 2>&1
	[ $? -ne 77 ]
}

# ranks_of SOURCE LABEL: on how many ranks a test runs. MPICH spins while it waits, which with more
# ranks than cores costs a time slice a message, so it gets fewer where the test does not mind, and
# of counts beyond the cores the first one only: what they prove does not depend on the library.
# Every run with sanitizers takes seconds at its end; they get the fewest and the most ranks.
ranks_of() {
	local cores ranks all list='' default=4

	cores=$(fb_cores)
	[ "$2" = mpich ] && [ "$cores" -lt 4 ] && default=2
	read -ra all <<<"$(note_of "$1" ranks $default)"
	case $2 in
	mpich)
		for ranks in "${all[@]}"; do
			list+=" $ranks"
			[ "$ranks" -le "$cores" ] || break
		done
		;;
	asan/*)
		list=${all[0]}
		[ ${#all[@]} -eq 1 ] || list+=" ${all[-1]}"
		;;
	*) list=${all[*]} ;;
	esac
	echo "$list"
}

# run_mpi FAMILY BUILD LABEL: the MPI tests.
run_mpi() {
	local MPI=$1 source name ranks

	export MPI
	if [ "$list" = no ] && ! starts_ranks "$2"; then
		count SKIP "$3" "mpirun of $1 starts single ranks instead of a job"
		return
	fi
	for source in tests/mpi/*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$source" .c)
		for ranks in $(ranks_of "$source" "$3"); do
			FB_RANKS=$ranks run_test code "$3/$name-$ranks" \
				"$(limit_of "$source" 120 "$3")" \
				scripts/launch "$ranks" "$2/tests/$name"
		done
	done
}

# run_shell PROCESSORS: the shell tests that say that they need one processor, or (0) the others.
run_shell() {
	local script limit

	while read -r limit script; do
		case $script in
		*/lib*.sh) continue ;;
		esac
		[ "$(note_of "$script" processors 0)" != "$1" ] ||
			run_test lines "${script:6:-3}" "$limit" bash "$script"
	done < <(by_limit 300 tests/*/*.sh)
}

# The rules of the code base. The two that take minutes are tests of their own, each on half of the
# processors.
run_lint() {
	local FB_JOBS=$((($(fb_cores) + 1) / 2))

	export FB_JOBS
	run_test lines lint/clang_tidy 1800 tests/lint clang_tidy
	run_test lines lint/cppcheck 900 tests/lint cppcheck
	run_test lines lint/rules 300 tests/lint -clang_tidy -cppcheck
}

# First what needs one processor each, beside each other; then, alone, what starts ranks on all of
# them or takes times.
run_all() {
	local family

	beside=yes
	if [ "$unit_only" = no ]; then
		run_lint
		run_shell 1
		[ "$asan" = no ] || run_unit "build/$MPI-asan" asan/unit
	fi
	run_unit "build/$MPI" unit
	await_fewer 1
	beside=no
	[ "$unit_only" = no ] || return
	for family in $FB_MPIS; do
		run_mpi "$family" "build/$family" "$family"
	done
	[ "$asan" = no ] || run_mpi "$MPI" "build/$MPI-asan" "asan/$MPI"
	run_shell 0
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
