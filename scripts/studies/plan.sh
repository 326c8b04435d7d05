# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034 # variables of scripts/sweep
#
# The plan of a sweep: made by the tool `study`, completed with how long each launch may take, kept
# in DIR/plan.tsv, read back into arrays. docs/studies.md describes the file. Sourced by
# scripts/sweep.

# A row takes at least that long, and seldom as long as --max-time allows; a start takes a second.
# Corrected by what launches really take as soon as the first has ended.
row_s=0.03 row_share=0.3 start_s=1

# $1: options. Prints --max-time in seconds; 1 where it is not given.
max_time() {
	awk -v words="$1" 'BEGIN {
		unit["ns"] = 1e-9; unit["us"] = 1e-6; unit["ms"] = 1e-3; unit["s"] = 1
		unit["min"] = 60; unit["h"] = 3600
		n = split(words, word, " "); time = 1
		for (i = 1; i <= n; i++)
			if (sub(/^--max-time=/, "", word[i])) {
				number = word[i]; name = word[i]
				sub(/[a-z]+$/, "", number); sub(/^[0-9.e-]*/, "", name)
				if (name in unit) time = number * unit[name]
			}
		print time }'
}

# ask_rows BUILD RANKS LINE: prints how many rows the line will measure; nothing where that cannot
# be known. A program that refuses its options ends the sweep. Where so many ranks cannot be started
# here, fewer are: then a little less or more may be skipped, and a refusal means nothing.
ask_rows() {
	local name=${3%% *} ranks=$2 words='' rows MPI command most=$((4 * $(fb_cores)))

	[[ $3 != *' '* ]] || words=${3#* }
	MPI=$(fb_mpi_of "$1/bin/$name")
	if [ -z "${MPIRUN-}" ] && [ "$ranks" -gt "$most" ]; then
		ranks=$most
	fi
	command=(launch "$ranks")
	if [ -z "${MPIRUN-}" ] && ! fb_mpi_tool mpirun "$MPI" >/dev/null; then
		command=() ranks=1
	fi
	# shellcheck disable=SC2086 # options are words without blanks
	rows=$(count_rows "${command[@]}" "$1/bin/$name" $words 2>"$scratch/said")
	case $? in
	0) echo "$rows" ;;
	3)
		[ "$ranks" -eq "$2" ] || return 0
		[ ! -t 2 ] || printf '\r\033[K' >&2
		grep '^fabricbench' "$scratch/said" >&2 || cat "$scratch/said" >&2
		return 3
		;;
	esac
}

# estimate BUILD RANKS LINES: sets estimated to the rows and the seconds of a launch, `-` for not
# known, as of a launch that could measure nothing here: other nodes may have the GPUs for it.
estimate() {
	local line rows left=$3 all=0 sum=$start_s key

	while [ -n "$left" ]; do
		line=${left%% ; *}
		left=${left#"$line"}
		left=${left# ; }
		key="$1 $2 $line"
		if [ -z "${rows_of[$key]+set}" ]; then
			[ ! -t 2 ] || printf '\r\033[Kcounting the rows of %s on %d ranks' \
				"${line%% *}" "$2" >&2
			rows=$(ask_rows "$1" "$2" "$line") || return 3
			rows_of[$key]=$rows
		fi
		[ -n "${rows_of[$key]}" ] || { estimated='- -'; return; }
		all=$((all + rows_of[$key]))
		sum=$(awk -v s="$sum" -v n="${rows_of[$key]}" -v t="$(max_time "$line")" \
			-v a="$row_s" -v b="$row_share" -v c="$start_s" \
			'BEGIN { printf "%.1f", s + c + n * (a + b * t) }')
	done
	[ "$all" -gt 0 ] && estimated="$all $sum" || estimated='- -'
}

# complete_plan: stdin, a plan without seconds, to stdout with them.
complete_plan() {
	local line field estimated key
	local -A rows_of known

	while IFS= read -r line; do
		if [[ ! $line =~ ^[0-9] ]]; then
			printf '%s\n' "$line"
			continue
		fi
		IFS=$'\t' read -ra field <<<"$line"
		key="${field[7]} ${field[3]} ${field[9]}"
		if [ -z "${known[$key]-}" ]; then
			estimate "${field[7]}" "${field[3]}" "${field[9]}" || return 3
			known[$key]=$estimated
		else
			estimated=${known[$key]}
		fi
		field[8]=${estimated#* }
		(IFS=$'\t' && printf '%s\n' "${field[*]}")
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

# make_plan: prints the plan of $study by what the command line says, without seconds.
make_plan() {
	"$build/bin/study" --build="$build" --np="$NP" --seed="$seed" "${plan_options[@]}" \
		-- "$study"
}

# Prints what a plan says of a key in its comments.
plan_fact() {
	sed -n "s/^# $1=//p" "$plan" | head -n 1
}

# Two sweeps may begin at once: the first one's plan counts.
keep_plan() {
	local new=$plan.$$

	cat >"$new" && { ln "$new" "$plan" 2>/dev/null || [ -e "$plan" ]; }
	local failed=$?
	rm -f "$new"
	[ "$failed" -eq 0 ] || die "cannot write $plan"
}

# open_plan: makes DIR/plan.tsv or takes the one that is there.
open_plan() {
	local made

	plan=$results/plan.tsv
	if [ -e "$plan" ]; then
		[ -n "$study" ] || return 0
		# The same study, whatever it is estimated to take.
		seed=$(plan_fact seed)
		made=$(make_plan) || exit
		[ "$(cut -f 9 --complement <<<"$made")" = \
			"$(grep -v '^# run=' "$plan" | cut -f 9 --complement)" ] ||
			die "--results $results: has the plan of another study, or of this one" \
				"with other options; accepted is a new folder, or --resume $results"
		return 0
	fi
	[ -n "$study" ] || die "--resume $results: there is no plan.tsv; accepted is the folder" \
		"of a sweep"
	made=$(make_plan) || exit
	made=$(complete_plan <<<"$made") || exit
	mkdir -p "$results" || die "cannot make the folder $results"
	{
		head -n 1 <<<"$made"
		printf '# run=%s\n' "$(basename "$results")"
		tail -n +2 <<<"$made"
	} | keep_plan
}

# read_plan: sets the arrays launch_index, side, ranks, nodes, variant, env, builds, seconds and
# lines by the launches' index, and canary, canary_limit and run.
read_plan() {
	local index a b c d e f g h i

	head -n 1 "$plan" | grep -qx '# fabricbench plan 1' ||
		die "$plan: accepted is a file that scripts/sweep has written"
	canary=$(plan_fact canary) canary_limit=$(plan_fact canary_limit) run=$(plan_fact run)
	study_name=$(plan_fact study)
	while IFS=$'\t' read -r index a b c d e f g h i; do
		[[ $index =~ ^[0-9]+$ ]] || continue
		launch_index[index]=$a side[index]=$b ranks[index]=$c nodes[index]=$d
		variant[index]=${e#-} env[index]=${f#-} builds[index]=$g seconds[index]=$h
		lines[index]=$i
	done <"$plan"
}

# select_launches LIST: sets wanted[] to the indexes of a list as 0-9,12; all where it is empty.
select_launches() {
	local item i count=${#lines[@]} first last

	wanted=()
	for item in ${1//,/ }; do
		[[ $item =~ ^([0-9]{1,6})(-([0-9]{1,6}))?$ ]] || bad_launches "$1"
		first=$((10#${BASH_REMATCH[1]}))
		last=$((10#${BASH_REMATCH[3]:-${BASH_REMATCH[1]}}))
		[ "$first" -le "$last" ] && [ "$last" -lt "$count" ] || bad_launches "$1"
		for ((i = first; i <= last; i++)); do
			wanted[i]=$i
		done
	done
	if [ -z "$1" ]; then
		wanted=("${!lines[@]}")
	elif [ ${#wanted[@]} -eq 0 ]; then
		bad_launches "$1"
	fi
}

bad_launches() {
	die "--launches '$1': accepted are numbers from 0 to $((${#lines[@]} - 1)), as 0-4,7"
}
