# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # settings and functions come before this part
#
# The study on pairs of the job's nodes: $rounds rounds. In each round every node is in one pair and
# all pairs run at once. After n - 1 rounds (n if n is odd) every pair of nodes has run once. Pairs
# follow the circle method of tournaments: one node stays, the others move on by one place.

# pairs_of ROUND NODE...: the pairs of that round, two names a line.
pairs_of() {
	local round=$1 i n
	local -a name circle

	shift
	name=("$@")
	[ $((${#name[@]} % 2)) -eq 0 ] || name+=(-) # whoever meets this one waits
	n=${#name[@]}
	for ((i = 0; i < n - 1; i++)); do
		circle[i]=${name[1 + (i + round) % (n - 1)]}
	done
	{
		echo "${name[0]} ${circle[0]}"
		for ((i = 1; i < n / 2; i++)); do
			echo "${circle[i]} ${circle[n - 1 - i]}"
		done
	} | awk '$1 != "-" && $2 != "-"'
}

# launch_pair LAP A B: a sweep in the background, into a folder of that pair and lap.
launch_pair() {
	local a=$2 b=$3 folder

	[[ $a < $b ]] || { a=$3 b=$2; }
	folder=$results/pairs/$a+$b
	note_nodes "$folder/part-${lists[$1]}" "$a" "$b"
	[ -e "$folder/plan.tsv" ] || cp "$results/pairs/plan.tsv" "$folder/plan.tsv"
	MPIRUN=$(pair_launcher "$a" "$b") sweep "$folder" "${lists[$1]}" >>"$folder/log.txt" 2>&1
}

pair_launcher() {
	case "${MPIRUN%% *} $MPI" in
	srun*) echo "$MPIRUN --nodelist=$1,$2" ;;
	*openmpi) echo "$MPIRUN --host $1:$ranks_per_node,$2:$ranks_per_node" ;;
	*) echo "$MPIRUN -hosts $1,$2" ;;
	esac
}

mapfile -t names < <(node_names)
lap=$((${#names[@]} - 1 + ${#names[@]} % 2)) # rounds until every pair has been
# The plan's launches, one list for each launch_index: a lap runs the study once.
mapfile -t lists < <(awk -F'\t' '
	/^[0-9]/ { list[$2] = list[$2] (list[$2] == "" ? "" : ",") $1; if ($2 > last) last = $2 }
	END { for (i = 0; i <= last; i++) print list[i] }' "$results/pairs/plan.tsv")
[ "$(((rounds - 1) / lap))" -lt ${#lists[@]} ] ||
	die "$rounds rounds: $results/pairs/plan.tsv has ${#lists[@]} launches of $lap rounds"
look_at_topology
launcher=$MPIRUN
MPIRUN=$(pair_launcher "${names[@]:0:2}")
check_ranks $((2 * ranks_per_node)) 2
MPIRUN=$launcher
bad=0
for ((round = 0; round < rounds; round++)); do
	mapfile -t pairs < <(pairs_of $((round % lap)) "${names[@]}")
	say "round $((round + 1)) of $rounds: ${pairs[*]/ /+}"
	for pair in "${pairs[@]}"; do
		# shellcheck disable=SC2086 # two words
		launch_pair $((round / lap)) $pair
	done
	await
	[ "$stop_reason" = no ] || again
	[ "$worst" -le "$bad" ] || bad=$worst
done
say "ended with exit code $bad"
exit "$bad"
