# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034 # variables of scripts/search
#
# The steps of a search: which combinations each measures, which one it keeps, and their table.
# Sourced by scripts/search.

# The setting comes last: it may be longer than any column.
table_format='%-4s %6s %15s %8s  %-10s %-24s %s\n'

# only_in A B: prints what A sets and B does not.
only_in() {
	comm -23 <(tr ';' '\n' <<<"$1" | sort) <(tr ';' '\n' <<<"$2" | sort) | paste -sd ';'
}

# What a combination sets otherwise than the best so far, for people.
difference() {
	local all

	all=$(only_in "$1" "$best")
	echo "${all:-without $(only_in "$best" "$1")}"
}

# note NUMBER WORD...: a line of the table of steps, on the terminal and in steps.tsv.
note() {
	local IFS=$'\t'

	echo "$*" >>"$results/steps.tsv"
	# shellcheck disable=SC2059 # the format above
	printf "$table_format" "$1" "$3" "$4 to $5" "$6" "$7" "$8" "$2"
}

# list_rows STUDY FOLDER: what its programs would measure, as result files.
list_rows() {
	local ranks lines line count=0

	while IFS=$'\t' read -r ranks lines; do
		while [ -n "$lines" ]; do
			line=${lines%% ; *} lines=${lines#"${lines%% ; *}"}
			lines=${lines# ; } count=$((count + 1))
			# shellcheck disable=SC2086 # options are words without blanks
			scripts/launch "$ranks" "$build/bin/${line%% *}" ${line#"${line%% *}"} \
				--list --format=csv </dev/null >"$2/$count.csv" || return
		done
	done < <("${study_tool[@]}" -- "$1" | grep '^[0-9]' | cut -f 4,10 | sort -u)
}

# check_goal STUDY: refuses conditions of the goal that no row of the study can meet, before
# anything is measured. Of columns that only a measurement fills, or that differ in a sweep from
# what is listed, the name alone is looked at.
check_goal() {
	local condition measured keys=() listed

	[ ${#conditions[@]} -gt 0 ] || return 0
	listed=$(mktemp -d) || exit 3
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$listed'" EXIT
	list_rows "$1" "$listed" || die "the rows of $1 cannot be listed: exit code $?"
	measured=,run,launch_index,utc,nodes,$(head -qn 1 "$listed"/*.csv |
		sed 's/.*,variant,//' | paste -sd ,),
	for condition in "${conditions[@]}"; do
		"$build/bin/query" --csv "$listed" "$condition" >/dev/null || exit 3
		[[ $measured == *",${condition%%[!A-Za-z0-9_]*},"* ]] || keys+=("$condition")
	done
	[ "$("$build/bin/query" --csv --columns=bytes "$listed" "${keys[@]}" | wc -l)" -gt 1 ] ||
		die "goal $metric ${conditions[*]}: no row of $1 meets these conditions"
	rm -rf "$listed"
	trap - EXIT
}

# step LINE...: measures these axes around the best so far. Sets found to the best combination of
# those that are surely better, or to nothing.
step() {
	local name variant ratio low high count verdict ran planned
	local -A seen=()

	found=none
	name=step-$(printf '%02d' $((number + 1)))
	write_study "$name" "$launches" "$@"
	planned=$("${study_tool[@]}" -- "$results/$name.study" | grep -c '^[0-9]')
	[ -z "$stop_reason" ] || stop_incomplete
	[ "$planned" -gt 0 ] || exit 3
	[ "$number" -gt 0 ] || [ "$planned" -le "$most" ] ||
		die "--budget $most: the first step takes $planned launches"
	if [ $((used + planned)) -gt "$most" ] || { [ -n "$minutes" ] &&
		[ "$(spent)" -ge $((60 * minutes)) ]; }; then
		over="the budget is over after $used launches in $(duration "$(spent)")"
		return
	fi
	number=$((number + 1)) used=$((used + planned))
	measure "$name"
	compare_variants "$name" ${best:+--base="$best"} "$results/$name"
	while IFS=$'\t' read -r variant ratio low high count _ verdict ran; do
		[ "$variant" != - ] || variant=''
		seen[x$variant]=yes tried=$((tried + 1))
		if [ "$verdict" = better ] && [ "$found" = none ]; then
			found=$variant verdict=kept kept_step=$name kept_ran=$ran
		fi
		note "$number" "$(difference "$variant")" "$ratio" "$low" "$high" "$count" \
			"$verdict" "$ran"
	done <"$results/$name.effects"
	while IFS= read -r variant; do
		variant=$(combine "$variant")
		[ "$variant" != "$best" ] && [ -z "${seen[x$variant]-}" ] || continue
		tried=$((tried + 1))
		note "$number" "$(difference "$variant")" - - - 0 "no rows" -
	done < <(grep '^[0-9]' "$results/$name/plan.tsv" | cut -f 6 | sort -u)
}

# Seconds that all launches of the steps so far took. A search that is resumed does not count steps
# that it has not come to, so that it decides as it did at first.
spent() {
	local i

	for ((i = 1; i <= number; i++)); do
		cat "$results/step-$(printf '%02d' "$i")/launches.csv"
	done |
		awk -F, '$1 != "index" { s += $11 } END { printf "%d", s }'
}

search_product() {
	step "${axis[@]/#/env }"
	[ "$found" != none ] || return 0
	ran_of=("$(difference "$found")"$'\t'"$kept_ran")
	best=$found
}

# One axis after the other, round and round, until all of them have been measured around the same
# combination.
search_steps() {
	local i=0 j unchanged=0 lines word before

	while [ "$unchanged" -lt ${#axis[@]} ] && [ -z "$over" ]; do
		lines=()
		for j in "${!axis[@]}"; do
			if [ "$j" -eq "$i" ]; then
				lines+=("env ${axis[j]}")
			elif [ "${current[j]}" != - ]; then
				lines+=("env ${current[j]}")
			fi
		done
		step "${lines[@]}"
		unchanged=$((unchanged + 1))
		if [ "$found" != none ]; then
			before=$best
			for word in ${axis[i]}; do
				current[i]=$word
				[ "$(combine "${current[@]}")" != "$found" ] || break
			done
			# What an axis had before is in the combination no longer.
			ran_of[i]=$word$'\t'$kept_ran
			[ "$word" != - ] || unset "ran_of[i]"
			best=$found unchanged=1
			[ "$best" != "$before" ] || die "step $number kept what it began with"
		fi
		i=$(((i + 1) % ${#axis[@]}))
	done
}

search() {
	local combinations=1 i words

	for i in "${!axis[@]}"; do
		read -ra words <<<"${axis[i]}"
		current[i]=-
		[ "$combinations" -gt "$product" ] || combinations=$((combinations * ${#words[@]}))
	done
	: >"$results/steps.tsv"
	# shellcheck disable=SC2059 # the format above
	printf "$table_format" step ratio '95% interval' launches '' ran setting
	if [ "$combinations" -le "$product" ]; then
		search_product
	else
		search_steps
	fi
	[ -z "$over" ] || echo "$over"
	cat <<-END

	ratio: $metric by that of the best combination so far, geometric mean over rows and
	launches. These ratios are biased, because the best of $tried measured combinations was
	taken, which is partly luck. Each interval is a 95% interval for itself: of $tried that
	change nothing, about $(awk -v n="$tried" 'BEGIN { printf "%.1f", n / 40 }') would be called
	better. Only the proof counts.
	END
}
