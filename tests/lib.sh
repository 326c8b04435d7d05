# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/run, and for tests/lib_count.sh
#
# The parts of tests/run: building, finding and running. Sourced by it; uses its variables pattern,
# list, verbose, unit_only, asan and logs.

queue=()             # what waits: kind, processors, limit, name and command, separated by \x1f
declare -A running=() # by process id: kind, processors, limit, start, folder and name of a test
declare -A entry=()   # by name: what stood in the queue
again=()              # entries of tests that failed, for a second try
second=no             # whether these run now
most_again=10         # more than that fail by no chance
# One more than there are processors: some tests wait most of the time.
slots=$(($(fb_cores) + 1)) used=0
processes=()         # that take part in measuring it
measured=-60         # when FB_SLOW was, in seconds of $SECONDS

# A make above this script must not pass its job slots on: they are not open here.
test_make() {
	env -u MAKEFLAGS -u MAKELEVEL make -j"$(fb_cores)" WERROR="${WERROR:-1}" "$@"
}

# Builds what the tests to come use: without --full that is little of the other MPI.
build_all() {
	local family all=tests checked=tests

	[ -n "$FB_FULL" ] || all=mpi_tests checked=sanitized_tests
	for family in $FB_MPIS; do
		echo "build with $family"
		if [ "$family" = "$MPI" ]; then
			test_make MPI="$family" tests || return 3
		elif [ "$unit_only" = no ]; then
			test_make MPI="$family" $all || return 3
		fi
	done
	if [ "$asan" = yes ]; then
		echo "build with $MPI and sanitizers"
		test_make SANITIZE=asan $checked || return 3
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

# full_of FILE: what the test leaves to the full set, by its line `full:`.
full_of() {
	sed -n '1,15s|^[ #/*]*full: *||p' "$1"
}

# full_only NAME WHAT: with -l says what runs in the full set only.
full_only() {
	[ "$list" = no ] || [ -z "$2" ] || ! [[ $1 =~ $pattern ]] ||
		echo "$1: in the full set only, for its length: $2"
}

# took_since START FILE NAME: seconds since then, and of processors as FILE says; noted in $costs.
took_since() {
	awk -v a="$1" -v b="$EPOCHREALTIME" -v name="$3" -v costs="$costs" '
		NF == 2 { cpu = $1 + $2 }
		END {
			printf "%.1f s (%.1f s of processors)", b - a, cpu
			printf "%.1f %.1f %s\n", cpu, b - a, name >>costs
		}' "$2" 2>/dev/null
}

# wanted NAME COMMAND...: whether to run the test; with -l it is listed instead.
wanted() {
	local IFS=' '

	[[ $1 =~ $pattern ]] || return 1
	[ "$list" = no ] && return 0
	echo "$1: ${*:2}"
	return 1
}

# slowness: sets FB_SLOW, how many times as long as on an idle machine this one takes now, for a
# loop on each processor; measured once a minute. All limits are multiplied by it. 200,000 steps
# take 0.2 s where nothing else runs.
slowness() {
	local start=$EPOCHREALTIME n

	[ $((SECONDS - measured)) -ge 60 ] || return 0
	for ((n = $(fb_cores); n > 0; n--)); do
		(for ((i = 0; i < 200000; i++)); do :; done) &
		processes+=($!)
	done
	wait "${processes[@]}"
	processes=() measured=$SECONDS
	FB_SLOW=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN {
		n = int((b - a) / 0.3 + 0.999)
		print (n < 1 ? 1 : n > 20 ? 20 : n)
	}')
}

# begin KIND PROCESSORS SECONDS NAME COMMAND...: starts a test into its log. In the background, so
# that an interrupt is seen while it runs; it must not inherit the background's ignored signals.
begin() {
	local folder limit least most

	slowness
	# Others may come while the test runs, so there is room for four times as much. A test that
	# hangs must leave time for the others, but each test has the time that it needs.
	least=$(($3 * FB_SLOW)) most=$((run_limit * 20))
	limit=$((4 * least))
	[ $limit -le $most ] || limit=$((least > most ? least : most))
	folder=$(mktemp -d) || exit 3
	# The inner shell writes what the test took of processors, by which tests are compared even
	# on a busy machine.
	# shellcheck disable=SC2016 # the inner shell expands it
	FB_TMP=$folder env --default-signal=INT,QUIT timeout -k 10 $((limit + 120)) bash -c '
		TIMEFORMAT="%U %S"
		{ time "${@:2}" 2>&3; } 3>&2 2>"$1"' - "$folder.cpu" "${@:5}" </dev/null \
		>"$logs/${4//\//.}.log" 2>&1 &
	running[$!]="$1 $2 $limit $EPOCHREALTIME $folder $4"
	used=$((used + $2))
}

# end PROCESS: waits for that test and counts it.
end() {
	local kind processors limit start folder name rc log took stopped=no

	wait "$1"
	rc=$?
	read -r kind processors limit start folder name <<<"${running[$1]}"
	unset "running[$1]"
	used=$((used - processors))
	took=$(took_since "$start" "$folder.cpu" "$name")
	log=$logs/${name//\//.}.log
	# A test may end while the stacks are taken: what it says then counts.
	[ ! -e "$folder.stuck" ] || [ "$rc" -eq 0 ] || [ "$rc" -eq 77 ] || stopped=yes
	# 137: after KILL. What does not end by TERM may be left of the group either way.
	if [ $stopped = yes ] || [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
		kill -KILL -- "-$1" 2>/dev/null
		cat "$folder.stuck" >>"$log" 2>/dev/null
		echo "stopped after the limit of $limit s" >>"$log"
		stopped=yes rc=124 took+=", stopped at its limit"
	fi
	rm -rf "$folder" "$folder".{cpu,stuck}
	[ "$verbose" = yes ] && sed 's/^/      | /' "$log"
	# What hangs is no bad luck, and would cost its limit twice.
	if [ $second = no ] && [ $stopped = no ] && [ ${#again[@]} -lt $most_again ] &&
		"failed_$kind"; then
		again+=("${entry[$name]}")
		mv "$log" "${log%.log}.first.log"
		report AGAIN "$name" "$took, exit code $rc: failed, and runs once more at the end"
		return
	fi
	[ $second = no ] || "failed_$kind" || lucky+=("$name")
	"count_$kind" "$name"
}

# run_test KIND PROCESSORS SECONDS NAME COMMAND...: puts a test into the queue. KIND is code, where
# the exit code is the result, or lines, where lines PASS, FAIL and SKIP are.
run_test() {
	local IFS=$'\x1f'

	wanted "$4" "${@:5}" || return 0
	queue+=("$*")
}

# Starts what fits beside the tests that run: the first of the queue.
start_some() {
	local i
	local -a test

	for i in "${!queue[@]}"; do
		[ "$used" -lt "$slots" ] || return 0
		IFS=$'\x1f' read -ra test <<<"${queue[i]}"
		[ "${test[1]}" -le "$slots" ] || test[1]=$slots
		[ $((used + test[1])) -le "$slots" ] || continue
		entry[${test[3]}]=${queue[i]}
		unset "queue[$i]"
		begin "${test[@]}"
	done
}

# Runs all of the queue, and once more, each alone, what failed.
run_queue() {
	local process i
	local -a test

	while [ ${#queue[@]} -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
		start_some
		for process in "${!running[@]}"; do
			kill -0 "$process" 2>/dev/null || end "$process"
		done
		stop_stuck
		[ "$SECONDS" -lt $((run_limit * 60)) ] || out_of_time
		sleep 0.05
	done
	[ $second = no ] && [ ${#again[@]} -gt 0 ] || return 0
	second=yes
	for i in "${again[@]}"; do
		IFS=$'\x1f' read -ra test <<<"$i"
		test[1]=$slots
		queue+=("$(IFS=$'\x1f' && echo "${test[*]}")")
	done
	run_queue
}

interrupted() {
	stop_running
	echo "interrupted: $passed passed, $failed failed, $skipped skipped so far" >&2
	exit 130
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
	local source name

	while read -r _ source; do
		name=$(basename "$source" .c)
		if [[ $2 == asan/* && -z $FB_FULL ]] &&
			sed -n 1,15p "$source" | grep -q 'sanitizers: full$'; then
			full_only "$2/$name" "all of it"
			continue
		fi
		run_test code 1 "$(limit_of "$source" 60 "$2")" "$2/$name" \
			env ASAN_OPTIONS="$ASAN_OPTIONS:fast_unwind_on_malloc=1" "$1/tests/$name"
	done < <(by_limit 60 tests/unit/test_*.c)
}

# run_fuzz BUILD LABEL: the fuzzers' known inputs.
run_fuzz() {
	local source name seeds

	for source in tests/fuzz/*.c; do
		name=$(basename "$source" .c)
		[ -e "$source" ] && [ "$name" != replay ] || continue
		mapfile -t seeds < <(fuzz_seeds "$name")
		run_test code 1 "$(limit_of "$source" 60 "$2")" "$2/$name" \
			env ASAN_OPTIONS="$ASAN_OPTIONS:fast_unwind_on_malloc=1" \
			"$1/tests/fuzz/$name" "${seeds[@]}"
	done
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
# Without --full both get one number, the least with a peer; the default MPI alone gets all.
ranks_of() {
	local cores ranks all list='' default=4

	cores=$(fb_cores)
	[ "$2" = mpich ] && [ "$cores" -lt 4 ] && default=2
	read -ra all <<<"$(note_of "$1" ranks $default)"
	if [ -z "$FB_FULL" ] && [ "$2" != "$MPI" ]; then
		for ranks in "${all[@]}"; do
			[ "$ranks" -lt 2 ] || break
		done
		echo "$ranks"
		return
	fi
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
	local source name ranks

	if [ "$list" = no ] && ! MPI=$1 starts_ranks "$2"; then
		count SKIP "$3" "mpirun of $1 starts single ranks instead of a job"
		return
	fi
	for source in tests/mpi/*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$source" .c)
		for ranks in $(ranks_of "$source" "$3"); do
			run_test code "$ranks" "$(limit_of "$source" 120 "$3")" \
				"$3/$name-$ranks" env MPI="$1" FB_RANKS="$ranks" \
				scripts/launch "$ranks" "$2/tests/$name"
		done
	done
}

# The shell tests; by default with the default MPI only.
run_shell() {
	local script limit full families=$MPI

	[ -z "$FB_FULL" ] || families=$FB_MPIS
	while read -r limit script; do
		case $script in
		*/lib*.sh) continue ;;
		esac
		if [ -z "$FB_FULL" ]; then
			full=$(full_of "$script")
			full_only "${script:6:-3}" "$full"
			[ "$full" != all ] || continue
		fi
		run_test lines "$(note_of "$script" processors $((slots - 1)))" "$limit" \
			"${script:6:-3}" env FB_MPIS="$families" bash "$script"
	done < <(by_limit 300 tests/*/*.sh)
}

# The rules of the code base. Those that take minutes are tests of their own.
run_lint() {
	run_test lines 1 1800 lint/clang_tidy env FB_JOBS=1 tests/lint clang_tidy
	run_test lines 1 900 lint/cppcheck env FB_JOBS=1 tests/lint cppcheck
	run_test lines 1 300 lint/rules tests/lint -clang_tidy -cppcheck
}

# Puts those first that need the most processors: tests that need one run beside them, as long as
# there are any.
by_processors() {
	mapfile -t queue < <(printf '%s\n' "${queue[@]}" | sort -s -t $'\x1f' -k 2,2nr)
}

run_all() {
	local family

	run_unit "build/$MPI" unit
	run_fuzz "build/$MPI" fuzz
	if [ "$unit_only" = no ]; then
		run_lint
		run_shell
		[ "$asan" = no ] || run_unit "build/$MPI-asan" asan/unit
		[ "$asan" = no ] || run_fuzz "build/$MPI-asan" asan/fuzz
		for family in $FB_MPIS; do
			run_mpi "$family" "build/$family" "$family"
		done
		[ "$asan" = no ] || run_mpi "$MPI" "build/$MPI-asan" "asan/$MPI"
	fi
	[ ${#queue[@]} -eq 0 ] || by_processors
	run_queue
}
