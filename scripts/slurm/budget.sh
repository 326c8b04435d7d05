# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of submit
#
# Limits the node-hours that a submission may cost, before it is made.

# The study as a file, and the folder to write to.
find_study() {
	local file=$study utc

	[[ $file == /* ]] || file=$caller/$file
	[ -f "$file" ] || file=scripts/studies/$study.study
	[ -f "$file" ] || refuse "no study '$study': neither a file nor $file"
	study=$file
	name=$(basename "$file" .study)
	[[ $name =~ ^[A-Za-z0-9_.+-]+$ ]] ||
		refuse "study '$name': accepted are letters, digits and _ . + - in its name"
	utc=$(date -u +%Y%m%dT%H%M%SZ)
	results=${results:-$place/results/$utc-slurm-$name}
	[[ $results == /* ]] || results=$caller/$results
	[[ $results =~ ^[A-Za-z0-9_.,:+@/=-]+$ ]] ||
		refuse "--results '$results': accepted are letters, digits and _ . , : + @ / = -"
	[ ! -e "$results/submit.sh" ] ||
		refuse "--results $results: has been submitted before: to go on, run its submit.sh"
}

# make_plan NODES LAUNCHES: prints the order of launches, with how long each may take where that
# can be known here. All numbers of nodes have the same seed.
make_plan() {
	MPIRUN='' scripts/sweep "$study" --nodes "$1" --ranks-per-node "$ranks_per_node" \
		${2:+--repeat "$2"} --seed "$seed" --build "$build" --expand
}

# sum_of PLAN: sets launches and expected, in seconds, empty where not known.
sum_of() {
	read -r launches expected < <(awk -F'\t' '
		/^[0-9]/ { n++; s += $9; if ($9 !~ /^[0-9.]+$/) unknown = 1 }
		END { print n + 0, unknown ? "" : s }' <<<"$1")
}

# Sets plan_of[n], launches_of[n], expected_of[n] and tasks_of[n] for each number of nodes, and the
# plan for pairs.
make_budget() {
	local n laps launches expected

	declare -gA plan_of launches_of expected_of tasks_of
	seed=$((RANDOM << 15 | RANDOM))
	for n in "${nodes_list[@]}"; do
		plan_of[$n]=$(make_plan "$n" "$repeat") || exit 3
		sum_of "${plan_of[$n]}"
		[ "$launches" -gt 0 ] || refuse "$study has no launch on $n nodes"
		launches_of[$n]=$launches expected_of[$n]=$expected
		tasks_of[$n]=${array_tasks:-10}
		[ "${tasks_of[$n]}" -le "$launches" ] || tasks_of[$n]=$launches
	done
	pairs_expected=''
	[ "$rounds" -gt 0 ] || return
	# Rounds until every pair has been once.
	laps=$((most - 1 + most % 2))
	laps=$(((rounds + laps - 1) / laps))
	pairs_plan=$(make_plan 2 "$laps") || exit 3
	[ "$(awk -F'\t' '/^[0-9]/ { print $3; exit }' <<<"$pairs_plan")" = - ] ||
		refuse "--permute $rounds with a study of two sides: accepted is one without sides"
	sum_of "$pairs_plan"
	[ -z "$expected" ] ||
		pairs_expected=$(awk -v s="$expected" -v n="$laps" -v r="$rounds" \
			'BEGIN { print s / n * r }')
}

# hours SECONDS: as 1.25.
hours() {
	awk -v s="$1" 'BEGIN { printf "%.2f", s / 3600 }'
}

# line NODES LAUNCHES JOBS EXPECTED_SECONDS PREFIX: of the table; adds to the totals.
line() {
	local at_most=$(($1 * $3 * seconds * attempts)) expected='?'

	if [ -n "$4" ]; then
		expected=$(awk -v n="$1" -v s="$4" 'BEGIN { printf "%.2f", n * s / 3600 }')
	fi
	printf '%10s %8s %9s %6s %10s %22s %14s\n' "$5$1" $(($1 * ranks_per_node)) "$2" "$3" \
		"$expected" "$(hours $(($1 * $3 * seconds)))" "$(hours $at_most)"
	jobs=$((jobs + $3))
	cost=$((cost + at_most))
}

print_budget() {
	local n

	jobs=1 cost=0
	echo "$name from $study, $MPI, started by $MPIRUN"
	echo
	printf '%10s %8s %9s %6s %10s %22s %14s\n' nodes ranks launches jobs expected \
		"all jobs to the limit" "with requeues"
	for n in "${nodes_list[@]}"; do
		line "$n" "${launches_of[$n]}" "${tasks_of[$n]}" "${expected_of[$n]}" ''
	done
	[ "$rounds" -eq 0 ] || line "$most" "$rounds" 1 "$pairs_expected" 'pairs '
	echo
	echo "node-hours; each job ends after $time (Slurm's notation) at the latest, and is" \
		"started $attempts times at most"
	echo "in all: $jobs jobs, at most $(hours $cost) node-hours"
}

# Says so where the worst case costs more than the limit; fails where it does not.
over_limit() {
	[ "$cost" -gt $((limit * 3600)) ] &&
		echo "at most $(hours $cost) node-hours: more than --limit $limit needs --yes"
}

ask_budget() {
	[ "$yes" = yes ] || ! over_limit >/dev/null || refuse "$(over_limit)"
}
