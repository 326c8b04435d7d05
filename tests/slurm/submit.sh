#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 600
# full: slurm/singles
#
# Studies through a real Slurm: what is submitted runs on 1, 2 and 4 nodes, and all of its rows come
# out; by srun and by mpirun; a launcher that does not fit the MPI library is refused.

set -u
name=slurm/submit
. tests/slurm/lib.sh
start_cluster 4
study=$FB_TMP/small.study
cat >"$study" <<-'END'
	launches 3
	canary none
	* --bytes=8,4K --max-time=20ms --min-samples=5 --max-samples=20
	all_reduce --engine=host,mpi --algorithm=ring --protocol=simple
END

submit_job "$study" --nodes 1,2,4 --time 5 --dry-run --results "$FB_TMP/none"
expect "exit code of --dry-run" $rc 0
holds "$FB_TMP/out" '^ +4 +4 +3 +3 '
# 3 launches on each of 1 + 2 + 4 nodes, a job of 5 minutes for each, 5 attempts.
holds "$FB_TMP/out" '^in all: 10 jobs, at most 8\.75 node-hours$'
[ ! -e "$FB_TMP/none" ] || fail "--dry-run wrote something"
queue_is_empty || fail "--dry-run submitted something"
submit_job "$study" --nodes 1,2,4 --time 5 --limit 8 --results "$FB_TMP/none"
expect "exit code above the limit" $rc 3
holds "$FB_TMP/err" '^fabricbench submit: at most 8.75 node-hours: more than --limit 8 needs --yes$'
[ ! -e "$FB_TMP/none" ] || fail "something was written above the limit"
sed '1a side b' "$study" >"$FB_TMP/sides.study"
submit_job "$FB_TMP/sides.study" --nodes 4 --permute 3 --results "$FB_TMP/none"
expect "exit code of pairs with sides" $rc 3
holds "$FB_TMP/err" '^fabricbench submit: --permute 3 with a study of two sides: accepted is one '
verdict slurm/dry-run

# all_rows RESULTS NODES...: whether every launch has each of its four rows once, on those nodes.
all_rows() {
	local file=$1/merged/all_reduce.csv n launch want

	shift
	want=$(for n; do
		for launch in 0 1 2; do
			printf "$n $n $launch %s\n" "host 4096" "host 8" "mpi 4096" "mpi 8"
		done
	done | sort)
	diff <(rows "$file" | sed -n 's/ \(ok\|few\)$//p') <(echo "$want") >"$FB_TMP/diff" ||
		fail "rows differ: $(head -n 5 "$FB_TMP/diff")"
	"$build/bin/csvcheck" "$file" >"$FB_TMP/diff" 2>&1 || fail "$(head -n 3 "$FB_TMP/diff")"
}

results=$FB_TMP/srun
submit_job "$study" --nodes 1,2,4 --array-tasks 2 --parallel 0 --shuffle-nodes --time 5 --yes \
	--switches 2 --results "$results"
expect "exit code of submit" $rc 0
cat "$FB_TMP/err"
if await_end "$results"; then
	all_rows "$results" 1 2 4
	holds "$results/merged/all_reduce.csv" ',host,ring,simple,tcp,'
	expect "parts on 4 nodes" "$(cd "$results/n4" && echo part-*)" "part-0 part-1-2"
	expect "nodes of a part" "$(sort "$results/n4/part-1-2/nodes.txt" | tr '\n' ' ')" \
		"h0 h1 h2 h3 "
	holds "$results/n4.sbatch" '^#SBATCH --switches=2$'
	holds "$results/n4/part-0/allocation.txt" '^address h3 top.right.h3$'
	holds "$results/n4/part-0/allocation.txt" '^switch SwitchName=left '
	holds "$results/n4/part-0/environment.csv" ',variable\.SLURM_JOB_NODELIST,h\[0-3\]'
	holds "$results/merged/summary.txt" 'all_reduce, f32 sum, 4 ranks on 4 nodes'
else
	tail -n 20 "$results"/logs/*
fi
verdict slurm/srun

results=$FB_TMP/mpirun
MPIRUN_FLAGS="--bind-to none" submit_job "$study" --nodes 2 --array-tasks 1 --launcher mpirun \
	--time 5 --results "$results"
expect "exit code of submit" $rc 0
! await_end "$results" || all_rows "$results" 2
verdict slurm/mpirun

# Open MPI here knows PMIx only; started with PMI2 it is no job, or several.
results=$FB_TMP/wrong
submit_job "$study" --nodes 2 --array-tasks 1 --mpi pmi2 --time 5 --results "$results"
expect "exit code of submit" $rc 0
await_end "$results"
holds "$results/logs/n2-0.txt" "does not start one job of 2 ranks on 2 nodes, but .*--mpi pmix"
expect "rows of a wrong launcher" "$(find "$results" -name all_reduce.csv)" ''

# MPICH started with PMIx is the worse case: as many jobs of one rank, each of which refuses to run.
# Without --full the programs are built with one MPI.
verdict slurm/wrong-match
mpich=$(dirname "$FB_BUILD")/mpich
if ! in_set slurm/singles; then
	echo "SKIP slurm/singles: in the full set only, which builds the programs with both MPIs"
elif [ -x "$mpich/bin/barrier" ]; then
	results=$FB_TMP/singles
	UCX_TLS=self,tcp MPI=mpich submit_job "$study" --nodes 2 --array-tasks 1 --mpi pmix \
		--time 5 --results "$results"
	expect "exit code of submit" $rc 0
	await_end "$results"
	holds "$results/logs/n2-0.txt" "of 2 ranks on 2 nodes, but none that begins: .*pmi2"
	expect "rows of single ranks" "$(find "$results" -name all_reduce.csv)" ''
	verdict slurm/singles
else
	echo "SKIP slurm/singles: $mpich/bin/barrier has not been built"
fi
exit $bad
