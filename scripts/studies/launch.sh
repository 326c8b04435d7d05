# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034 # variables of scripts/sweep
#
# One launch of a sweep: canary, all programs of the study, canary; and its line in launches.csv.
# Sourced by scripts/sweep.

launches_header=index,launch_index,side,attempt,ranks,nodes,status,exit,begin_utc,end_utc
launches_header+=,seconds,canary_before_us,canary_after_us,flags,variant

# field TEXT: as a field of a CSV file.
field() {
	case $1 in
	*[,\"]*) printf '"%s"' "${1//\"/\"\"}" ;;
	*) printf '%s' "$1" ;;
	esac
}

# record FILE LINE: appends a line, whole or not at all: the file is replaced.
record() {
	local new=$1.new

	{
		if [ -s "$1" ]; then cat "$1"; else printf '%s\n' "$launches_header"; fi
		printf '%s\n' "$2"
	} >"$new" && mv -f "$new" "$1" || die "cannot write $1; the rows so far are safe"
}

# status_of HOME INDEX: sets last and attempts: how the last attempt ended, and how many there
# were. Fields before the status hold no commas.
status_of() {
	local found

	last='' attempts=0
	[ -s "$1/launches.csv" ] || return 0
	found=$(awk -F, -v index_="$2" 'NR > 1 && $1 == index_ { n++; last = $7 }
		END { if (n) print n, last }' "$1/launches.csv")
	[ -z "$found" ] || read -r attempts last <<<"$found"
}

# place RANKS NODES NAME...: prints the launcher's flags for that many nodes, and for taking the
# variables of these names along to them, which Open MPI does not do unasked.
place() {
	local command=${MPIRUN-} name

	[ "$2" != - ] || return 0
	command=${command%% *}
	if [ "${command##*/}" = srun ]; then
		printf -- '--nodes=%d --ntasks-per-node=%d ' "$2" $(($1 / $2))
	elif [ "$MPI" = openmpi ]; then
		printf -- '--map-by ppr:%d:node ' $(($1 / $2))
		for name in "${@:3}"; do
			printf -- '-x %s ' "$name"
		done
	else
		printf -- '-ppn %d ' $(($1 / $2))
	fi
}

# In the launcher's shell: the environment of the launch `at`.
set_up() {
	local -a all

	variables_of "${variant[at]};${env[at]}"
	[ ${#all[@]} -eq 0 ] || export "${all[@]}"
	MPI=$(fb_mpi_of "${builds[at]}/bin/x")
	MPIRUN_FLAGS="${MPIRUN_FLAGS-} $(place "${ranks[at]}" "${nodes[at]}" "${all[@]%%=*}")"
	export MPIRUN_FLAGS
}

# Prints the key of the launch's rows: env.NAME=VALUE for each variable, sorted by name.
tag_of() {
	local -a all

	IFS=';' read -ra all <<<"${variant[at]}"
	all=("${all[@]/#/env.}")
	(IFS=';' && printf '%s' "${all[*]}")
}

# show DONE ALL: how far the launch `at` is.
show() {
	printf 'launch %d of %d: %s row %d of %d, %s' "$number" ${#todo[@]} "$program" "$1" "$2" \
		"$(times)"
}

# run_canary: runs the canary and sets took to its median in microseconds, empty where it failed.
run_canary() {
	local program=${canary%% *} words=${canary#* }

	took=''
	[ "$canary" != none ] && [ -z "$stop_reason" ] || return 0
	# shellcheck disable=SC2086 # options are words without blanks
	run_program show set_up "$scratch/canary" "${ranks[at]}" "${builds[at]}/bin/$program" \
		$words 2>>"$log"
	took=$(awk -F, '
		{ gsub(/"[^"]*"/, "text") }
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["status"] ~ /^(ok|few)$/ { print $column["median_us"]; exit }' \
		"$scratch/canary")
	[ -n "$took" ] || echo "the canary $program gave no time: exit code $rc" >>"$log"
}

# run_lines: all programs of the launch `at`; sets code to the worst of their exit codes.
run_lines() {
	local left=${lines[at]} line program words tag

	tag=$(tag_of)
	code=0
	while [ -n "$left" ] && [ -z "$stop_reason" ]; do
		line=${left%% ; *}
		left=${left#"$line"}
		left=${left# ; }
		program=${line%% *} words=''
		[[ $line != *' '* ]] || words=${line#* }
		# shellcheck disable=SC2086 # options are words without blanks
		run_program show set_up /dev/null "${ranks[at]}" "${builds[at]}/bin/$program" \
			--csv="$out" --run="$run" --launch-index="${launch_index[at]}" --resume \
			${tag:+--tag="$tag"} $words 2>>"$log"
		[ "$rc" -eq 0 ] || echo "$program ended with exit code $rc" >>"$log"
		[ "$rc" -le "$code" ] || code=$rc
	done
}

# row_flags: prints `throttle` where a row of the launch says so, and `nodes` where they ran on
# another number of nodes than was planned.
row_flags() {
	local file

	for file in "$out"/*.csv; do
		case $file in
		*/environment.csv | */samples.csv | */ranks.csv | */launches.csv | */\*.csv)
			continue
			;;
		esac
		awk -F, -v launch="${launch_index[at]}" -v ranks="${ranks[at]}" \
			-v nodes="${nodes[at]}" '
			{ gsub(/"[^"]*"/, "text") }
			NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
			$column["launch_index"] != launch || $column["ranks"] != ranks { next }
			(";" $column["flags"] ";") ~ /;throttle;/ { print "throttle"; exit }
			nodes != "-" && $column["nodes"] != nodes { print "nodes"; exit }' "$file"
	done | sort -u
}

# drifted A B: whether two canaries differ by more than the limit.
drifted() {
	awk -v a="$1" -v b="$2" -v limit="$canary_limit" 'BEGIN {
		exit !(a > b * (1 + limit) || b > a * (1 + limit)) }'
}

# Prints the flags of the attempt that has just ended, joined by ';'.
flags_of() {
	local -a found

	mapfile -t found < <(row_flags)
	if [ "$canary" != none ] && [ -z "$stop_reason" ]; then
		if [ -z "$before" ] || [ -z "$after" ]; then
			found+=(canary)
		elif drifted "$before" "$after"; then
			found+=(drift)
		fi
	fi
	[ "$resumed" = no ] || found+=(resumed)
	[ "$retried" = no ] || found+=(retried)
	(IFS=';' && printf '%s' "${found[*]}")
}

# Prints the status of an attempt.
status_name() {
	if [ -n "$stop_reason" ]; then
		echo interrupted
	else
		case $code in
		0) echo ok ;;
		2) echo wrong ;;
		3) echo refused ;;
		*) echo failed ;;
		esac
	fi
}

# run_attempt: the launch `at` once; sets status, before, after, flags, took_s.
run_attempt() {
	local began began_s=$EPOCHREALTIME took resumed=no

	began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	log=$home/logs/$(printf '%04d-%d.log' "$at" "$attempt")
	[ "$last" != interrupted ] || resumed=yes
	# What a sweep that was killed had begun and did not come to record.
	[ ! -e "$home/.running" ] || [ "$(cat "$home/.running")" != "$at" ] || resumed=yes
	echo "$at" >"$home/.running" && : >"$log" || die "cannot write to $home"
	run_canary
	before=$took
	run_lines
	run_canary
	after=$took
	status=$(status_name)
	flags=$(flags_of)
	took_s=$(awk -v a="$began_s" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }')
	cp -f "$out/environment.csv" "${log%.log}.environment.csv" 2>/dev/null
	record "$home/launches.csv" "$at,${launch_index[at]},${side[at]#-},$attempt,${ranks[at]},$(
		)${nodes[at]#-},$status,$code,$began,$(date -u +%Y-%m-%dT%H:%M:%SZ),$took_s,$(
		)$before,$after,$flags,$(field "${variant[at]}")"
	rm -f "$home/.running"
}

# run_launch: the launch `at`, a second time where a fault ended it. Sets status and what else
# run_attempt sets.
run_launch() {
	local attempt retried=no last attempts home=${home_of[at]} out log

	out=$home
	[ "${side[at]}" = - ] || out=$home/${side[at]}
	mkdir -p "$out" "$home/logs" || die "cannot make $out"
	status_of "$home" "$at"
	attempt=$((attempts + 1))
	run_attempt
	[ "$status" = failed ] || return 0
	retried=yes last='' attempt=$((attempt + 1))
	say_launch
	run_attempt
}
