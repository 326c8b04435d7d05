#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 240
#
# Every claim that is shipped can be judged once its study has been measured: with a row for each
# case of all launches, each line `show` has its values. A term that fits rows of several variants
# or operations, and one that fits no row, would be found only on the machine that has the hardware.
# The cases are those that the programs list; their times are made up, and all alike.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
fb_mpi_env "$MPI"

# list RANKS PROGRAM TAG OPTION...: the cases as rows. One rank is there five times as fast.
list() {
	local -a words=("$bin/$2" "${@:4}" --list --format=csv --quiet)

	[ "$3" = - ] || words+=("--tag=env.${3//;/;env.}")
	[ "$1" -eq 1 ] && "${words[@]}" </dev/null 2>"$FB_TMP/log" && return
	scripts/launch "$(($1 > 1 ? $1 : 2))" "${words[@]}" </dev/null 2>"$FB_TMP/log" ||
		fail "$2 ${*:4}: $(cat "$FB_TMP/log")" >&2
}

# measured RANKS NODES: of the rows of `list` those that a launch would write.
measured() {
	local new

	new=$([ -s "$rows/$program.csv" ] || echo 1)
	awk -F, -v ranks="$1" -v nodes="${2/-/1}" -v new="$new" '
		NR == 1 {
			n = split($0, name, ",")
			for (i = 1; i <= n; i++) at[name[i]] = i
			if (new) print
			next
		}
		{
			rest = $0
			$at["ranks"] = ranks
			$at["nodes"] = nodes
			for (i = 1; i < at["variant"]; i++) {
				printf "%s,", $i
				rest = substr(rest, index(rest, ",") + 1)
			}
			match(rest, /^("([^"]|"")*"|[^,]*)/)
			printf "%s,ok,,20,ci", substr(rest, 1, RLENGTH)
			for (i = at["stop"] + 1; i <= n; i++) {
				value = 100 - (name[i] ~ /_low(_|$)/) + (name[i] ~ /_high(_|$)/)
				text = name[i] ~ /^(path|flags|traffic|counters)$/
				printf ",%s", text ? "" : value
			}
			printf "\n"
		}'
}

# measure STUDY: all launches of it, into the folder `rows`.
measure() {
	local line key number=1
	local -a launch ranks=(--ranks '1,2,8')
	local -A listed=()

	! grep -q '^ranks' "$1" || ranks=()
	"$bin/study" "$1" "${ranks[@]}" --repeat 1 >"$FB_TMP/plan" 2>"$FB_TMP/log" ||
		fail "$1: $(cat "$FB_TMP/log")"
	# index, launch_index, side, ranks, nodes, variant, env, build, seconds, lines
	while IFS=$'\t' read -r -a launch; do
		[[ ${launch[0]} =~ ^[0-9]+$ ]] || continue
		while read -r line; do
			program=${line%% *}
			[ ${#ranks[@]} -gt 0 ] || number=${launch[3]}
			key="$number ${launch[5]} $line"
			: "${listed[$key]:=${#listed[@]}}"
			list=$FB_TMP/list/${listed[$key]}
			# shellcheck disable=SC2086 # words without blanks
			[ -s "$list" ] ||
				list "$number" "$program" "${launch[5]}" ${line#* } >"$list"
			measured "${launch[3]}" "${launch[4]}" <"$list" >>"$rows/$program.csv"
		done < <(echo "${launch[9]// ; /$'\n'}")
	done <"$FB_TMP/plan"
}

for study in scripts/studies/claims/*.study; do
	name=$(basename "$study" .study)
	rows=$FB_TMP/$name
	rm -rf "$FB_TMP/list"
	mkdir -p "$rows" "$FB_TMP/list"
	measure "$study"
	"$bin/claims" "$study" "$rows" >"$FB_TMP/out" 2>"$FB_TMP/log"
	expect "exit code of $name ($(cat "$FB_TMP/log"))" $? 0
	expect "values of $name that no row has" "$(grep -F ': nothing (' "$FB_TMP/out")" ''
	holds "$FB_TMP/out" '^verdict:  (holds|does not hold|.*: the interval contains .*)$'
	[ "$(grep -c '^measured: ' "$FB_TMP/out")" -ge "$(grep -c '^show ' "$study")" ] ||
		fail "$name: a line show without a value"
	verdict "claims_rows_$name"
done
exit $bad
