# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # settings and functions come before this part
#
# One task of an array: its share of the plan's launches, in the plan's order, into a folder of its
# own.

task=${SLURM_ARRAY_TASK_ID:-0}
first=$((task * launches / tasks)) last=$(((task + 1) * launches / tasks - 1))
list=$first
[ "$last" -eq "$first" ] || list=$first-$last
folder=$results/n$nodes
part=$folder/part-$list # what sweep calls it

# Each task has its own order of nodes then, the same in every attempt.
names=$(node_names)
[ "$shuffle" = no ] || names=$(shuf --random-source=<(yes "$task") <<<"$names")
look_at_topology
# shellcheck disable=SC2086 # a list of words
note_nodes "$part" $names
if [ "$shuffle" = yes ]; then
	for name in $names; do
		for ((i = 0; i < ranks_per_node; i++)); do
			echo "$name"
		done
	done >"$part/hosts.txt"
	export SLURM_HOSTFILE=$part/hosts.txt
	MPIRUN="$MPIRUN --distribution=arbitrary"
fi
check_ranks $((nodes * ranks_per_node)) "$nodes"
say "launches $list on" $names
sweep "$folder" "$list"
await
[ "$stop_reason" = no ] || again
say "ended with exit code $worst"
exit "$worst"
