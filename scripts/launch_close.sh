# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2034 # timeout_s is for scripts/launch
#
# Whether a launch is complete. If a rank ends with exit code 0 in the middle of a run, the launcher
# may end the other ranks and then end with 0 too. So the last thing that a program does is to write
# its exit code to environment.csv, as program.NAME.LAUNCH.exit_code; when it begins, it removes the
# code of an earlier attempt. A program without --csv has no such file. Instead its rank 0 appends
# to the file FABRICBENCH_CLOSING, which scripts/launch has created, when it begins and when it
# ends. If rank 0 runs on another host, this file stays empty and proves nothing. A rank that cannot
# use its input writes this into the file and ends with 0, because after any other code mpirun
# prints a dozen lines of its own beside the useful one. POSIX sh, sourced by scripts/launch.

# seconds TEXT: prints the seconds, at least 1, that --timeout says.
seconds() {
	awk -v text="$1" 'BEGIN {
		unit["ns"] = 1e-9; unit["us"] = 1e-6; unit["ms"] = 1e-3; unit["s"] = 1
		unit["min"] = 60; unit["h"] = 3600; unit[""] = 1
		number = name = text
		sub(/[a-z]+$/, "", number); sub(/^[0-9.e-]*/, "", name)
		time = name in unit ? number * unit[name] : 30
		printf "%d", time < 1 ? 1 : time + 0.999 }'
}

# fb_read_arguments RANKS PROGRAM [argument...]: sets timeout_s, and of a program that is to write
# files, their folder, the program's name and the launch; else folder is empty.
fb_read_arguments() {
	timeout_s=30 folder='' program='' launch=0 name='' options=''
	shift
	for word in "$@"; do
		case $name in
		'') ;;
		--timeout) timeout_s=$(seconds "$word") ;;
		--csv) folder=$word ;;
		--launch-index) launch=$word ;;
		esac
		name=
		case $word in
		--timeout | --csv | --launch-index) name=$word ;;
		-c) name=--csv ;;
		--timeout=*) timeout_s=$(seconds "${word#*=}") ;;
		--csv=*) folder=${word#*=} ;;
		--launch-index=*) launch=${word#*=} ;;
		-c*) folder=${word#-c} ;;
		--list | --dry-run | --check-plan | --help | --man | --version | -[lnhV])
			folder=
			return
			;;
		-*) ;;
		*) [ -n "$options" ] || program=$word ;;
		esac
		case $word in
		-*) options=yes ;;
		esac
	done
	# What stands before the options of a tool that runs the program need not be it.
	[ -x "$program" ] || folder=
	program=${program##*/}
	# Names of files and facts have plain numbers.
	while :; do
		case $launch in
		0?*) launch=${launch#0} ;;
		*) break ;;
		esac
	done
}

# Makes the file in which the program writes its beginning and its end. Where MPIRUN itself calls
# scripts/launch, the outer one's is used.
fb_open_closing() {
	[ ! -w "${FABRICBENCH_CLOSING-}" ] || return
	FABRICBENCH_CLOSING=$(mktemp) || return
	export FABRICBENCH_CLOSING
	trap 'rm -f "$FABRICBENCH_CLOSING"' EXIT
}

# Prints which environment.csv the folder has: a new one is another file.
fb_closing_state() {
	[ -z "$folder" ] || stat -c '%i %y' "$folder/environment.csv" 2>/dev/null
}

# fb_is_closed STATE: whether the launch has written its closing fact since the folder was in STATE,
# or has reported its end where it writes no files.
fb_is_closed() {
	if [ -z "$folder" ]; then
		! grep -q '^began ' "$FABRICBENCH_CLOSING" 2>/dev/null ||
			grep -q '^ended ' "$FABRICBENCH_CLOSING"
		return
	fi
	[ "$(fb_closing_state)" != "$1" ] &&
		grep -q "^run,,,program\.$program\.$launch\.exit_code," \
			"$folder/environment.csv" 2>/dev/null
}

# Whether ranks have ended because their input cannot be used, which is exit code 3.
fb_is_refused() {
	grep -q '^refused ' "$FABRICBENCH_CLOSING" 2>/dev/null
}

say_incomplete() {
	if [ -n "$folder" ]; then
		why="$folder/environment.csv lacks its closing fact"
		why="$why program.$program.$launch.exit_code"
		next='; go on with --resume'
	else
		why='rank 0 did not come to its end' next=''
	fi
	echo "fabricbench launch: launch $launch of $program is incomplete, although the launcher" \
		"ended well: $why. A rank has ended in the middle$next. Exit code 5" >&2
}

# fb_is_lost CODE: whether the launcher's exit code is that of a rank that was killed (128 and more,
# of MPICH the signal) or of a host that was lost (205 of Open MPI).
fb_is_lost() {
	case $1 in
	9 | 11 | 134 | 135 | 136 | 137 | 139 | 205) true ;;
	*) false ;;
	esac
}

# fb_move_row CODE: puts the row that rank 0 was at when it ended into the result file, if no rank
# has lived to do so (common/record/under_way.h). Where rank 0 was asked to end, that is a fault
# only if a rank was lost.
fb_move_row() {
	left=$folder/$program.$launch.under_way rows=$folder/$program.csv
	[ -n "$folder" ] && [ -s "$left" ] && [ -z "$(tail -c 1 "$left")" ] || return 0
	# Another job, which lives, may have the folder: it holds a lock on its row.
	! command -v flock >/dev/null || flock -n -s "$left" true || return 0
	if ! grep -q 'nobody was left to say why' "$left" && ! fb_is_lost "$1"; then
		rm -f "$left"
		return
	fi
	# A torn last line is for the next start of the launch to mend, which takes the row then.
	[ -s "$rows" ] && [ -z "$(tail -c 1 "$rows")" ] || return 0
	# A rank that is left on another host may move it now: one of both succeeds in renaming it.
	mv -f "$left" "$left.taken" 2>/dev/null || return 0
	if ! cat "$left.taken" >>"$rows"; then
		mv -f "$left.taken" "$left"
		return
	fi
	rm -f "$left.taken" &&
		echo "fabricbench launch: the row of the fault is in $rows; --resume goes on" \
			"from there" >&2
}
