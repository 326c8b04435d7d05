# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Functions that scripts/run and scripts/sweep share: reading a study, asking its programs how many
# rows they will measure, and running one of them with its progress on the terminal. To be sourced
# from the root of the sources after scripts/lib.sh; needs bash. `child` is the launcher that runs,
# if any.

child=''
say_every=60 # seconds from one line of progress to the next where there is no terminal

# $1: seconds. Prints 75 as "1m15s".
duration() {
	if [ "$1" -lt 60 ]; then
		printf '%ds' "$1"
	elif [ "$1" -lt 3600 ]; then
		printf '%dm%02ds' $(($1 / 60)) $(($1 % 60))
	else
		printf '%dh%02dm' $(($1 / 3600)) $(($1 / 60 % 60))
	fi
}

# check_study STUDY: whether there is such a file, or a study of that name. What there is has been
# said when it fails.
check_study() {
	local names

	[ ! -f "$1" ] && [ ! -f "scripts/studies/$1.study" ] || return 0
	names=$(cd scripts/studies && echo *.study)
	echo "fabricbench: no study '$1': neither a file that can be read nor one of" \
		"${names//.study/}" >&2
	return 3
}

# variables_of TEXT: sets all[] to the assignments NAME=VALUE that ';' joins. What stood in quotes
# in the study has letters that part words as %20, %23, %3B, and % as %25.
variables_of() {
	local i

	IFS=';' read -ra all <<<"$1"
	for i in "${!all[@]}"; do
		if [ -z "${all[i]}" ]; then
			unset "all[i]"
			continue
		fi
		all[i]=${all[i]//%20/ } all[i]=${all[i]//%09/$'\t'} all[i]=${all[i]//%23/#}
		all[i]=${all[i]//%3B/;} all[i]=${all[i]//%25/%}
	done
}

# read_study BUILD STUDY OPTIONS ONLY: sets programs[] and options[], an entry for each line of the
# study. OPTIONS replace the study's; ONLY names the programs whose lines count (empty: all). What
# is wrong has been said when it fails.
read_study() {
	local text name words

	text=$("$1/bin/study" --lines --build="$1" ${3:+--options="$3"} ${4:+--only="$4"} \
		-- "$2") || return 3
	programs=() options=()
	while IFS=$'\t' read -r name words; do
		programs+=("$name")
		options+=("$words")
	done <<<"$text"
}

# study_code RC: what a launcher's exit code stands for, see fb_exit_code. No program of a study is
# a test that may be skipped.
study_code() {
	local code

	code=$(fb_exit_code "$1")
	[ "$code" -le 5 ] || code=5
	echo "$code"
}

# count_rows COMMAND [option...]: prints how many rows the program that it runs will measure. Fails
# with the program's exit code, which has said why.
count_rows() {
	local text

	text=$("$@" --list </dev/null) || return "$(study_code $?)"
	tail -n 1 <<<"$text" | awk '
		/^[0-9]+ cases, of which [0-9]+ would/ { print $1 - $5; found = 1 }
		END { if (!found) print 0 }'
}

# watch NAME SHOW: a program's stderr. Of its progress, `SHOW done all` makes one line that is
# rewritten where there is a terminal, and a line each say_every seconds elsewhere;
# everything else passes.
watch() {
	local line said=$SECONDS format='\r\033[K%s'

	# A batch system may send it to all processes, and the program still writes to this one.
	trap '' USR1
	[ -t 1 ] || format='%s\n'
	while IFS= read -r line; do
		if [[ $line =~ ^$1:\ ([0-9]+)\ of\ ([0-9]+),.*left ]]; then
			[ -t 1 ] || [ $((SECONDS - said)) -ge "$say_every" ] || continue
			said=$SECONDS
			# shellcheck disable=SC2059 # one of the two above
			printf "$format" "$("$2" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}")"
		else
			[ -t 1 ] && printf '\r\033[K'
			printf '%s\n' "$line" >&2
		fi
	done
	[ -t 1 ] && printf '\r\033[K'
}

# run_program SHOW SETUP OUTPUT RANKS PROGRAM [argument...]: runs it, see watch; sets rc. SETUP is
# called in the launcher's shell, to export its environment; OUTPUT gets the program's output.
run_program() {
	local show=$1 setup=$2 output=$3 name=${5##*/} to watcher i

	shift 3
	exec {to}> >(watch "$name" "$show")
	watcher=$!
	# In the background, so that a signal is seen while it runs.
	{
		"$setup"
		exec scripts/launch "$@"
	} </dev/null >"$output" 2>&"$to" {to}>&- &
	child=$!
	wait "$child"
	rc=$?
	# A signal may have ended the waiting, not the program.
	while kill -0 "$child" 2>/dev/null; do
		wait "$child"
		rc=$?
	done
	child=''
	exec {to}>&-
	# What a failed launcher left behind may hold the other end open for long.
	if [ "$rc" -ne 0 ]; then
		for ((i = 0; i < 50; i++)); do
			kill -0 "$watcher" 2>/dev/null || break
			sleep 0.1
		done
		[ "$i" -lt 50 ] || kill "$watcher"
	fi
	wait "$watcher"
	rc=$(study_code "$rc")
}
