#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 60
#
# First steps of a new user: programs by their names, an axis of all values, a launch in which
# nothing could be measured, and names that a spreadsheet would take for formulas.

set -u
export LC_ALL=C
root=$PWD
. scripts/lib.sh
. tests/shell/lib.sh
fast=(--max-samples 5 --min-samples 5 --quiet)
cd "$FB_TMP" || exit 3

# launch RANKS ARGUMENT...: sets rc, out and err.
launch() {
	"$root/scripts/launch" "$@" >out 2>err </dev/null
	rc=$?
}

launch 1 all_reduce --engine host --in-place all --algorithm ring --bytes 8 --list
cp out all
launch 1 all_reduce --engine host --in-place both --algorithm ring --bytes 8 --list
expect "exit code of a program's name" "$rc" 0
expect "cases of --in-place all" "$(cat all)" "$(cat out)"
[ "$(grep -c ring all)" -ge 2 ] || fail "--in-place all has only one value: $(cat all)"
launch 1 all_reduce --raw
holds err '^fabricbench: option --raw: expected --csv DIR with it$'
launch 1 all_reduce --operation x
holds err '^fabricbench: unknown option --operation: --help lists what is accepted$'
launch 1 all_reduce -b 8 -e 128M
holds err "^fabricbench: option --engine: '128M' is not accepted: "
launch 1 all_reduce -b 8 -f 2
holds err '^fabricbench: unknown option -f: .*docs/start.md'
launch 1 all_reduce -b 8 -n 20
holds err "^fabricbench: argument '20' is not accepted: .*docs/start.md"
launch 1 all_reduce -b 8 -c 1
holds err "^fabricbench: option --csv: '1' is not accepted: .*--verify"
[ ! -e 1 ] || fail "-c 1 makes a folder"
launch 1 all_reduce --bytes 64M:8:2
holds err "^fabricbench: option --bytes: .*'64M:8:2' runs backwards$"
launch -n 2 all_reduce
holds err '^fabricbench launch: .*; usage: launch RANKS PROGRAM'
launch 1 no_such_program
holds err "^fabricbench launch: program 'no_such_program': neither"
expect "exit code of a name that is none" "$rc" 3
launch 1 "$root/README.md"
expect "exit code of a file that is no program" "$rc" 3
# One line says that a variable's name is misspelt; names of other software are left alone.
FB_NCCL_PLUGINS=x FB_MOVERS='' FB_TOKEN=x launch 2 all_reduce --engine host --bytes 8 "${fast[@]}"
expect "misspelt variables" "$(cat err)" "$(echo fabricbench: warning: nothing reads the variable \
	'FB_NCCL_PLUGINS: did you mean FB_NCCL_PLUGIN?')"
verdict cli/names

# restricted FLAGS: whether a run with these MPIRUN_FLAGS is given shared memory alone.
restricted() (
	unset OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_plm OMPI_MCA_orte_default_hostfile \
		PRTE_MCA_prte_default_hostfile HYDRA_HOST_FILE SLURM_JOB_ID PBS_JOBID \
		LSB_JOBID OAR_JOB_ID
	MPIRUN_FLAGS=$1
	[ $# -eq 1 ] || export "${@:2}"
	fb_mpi_env openmpi
	echo "${OMPI_MCA_btl+yes}"
)
# starter FLAGS: how mpirun starts daemons there in an image that has no ssh.
starter() (
	fb_have() {
		[[ $1 != [rs]sh ]] && command -v "$1" >/dev/null
	}
	unset OMPI_MCA_plm OMPI_MCA_plm_rsh_agent SLURM_JOB_ID PBS_JOBID LSB_JOBID OAR_JOB_ID
	MPIRUN_FLAGS=$1
	fb_mpi_env openmpi
	echo "${OMPI_MCA_plm-}"
)
expect "one host" "$(restricted '--tag-output')" yes
for flags in '--hostfile hosts' '-x A --host a,b' '-H a,b' '--machinefile m' '-f hosts'; do
	expect "hosts by $flags" "$(restricted "$flags")" ''
done
for name in OMPI_MCA_orte PRTE_MCA_prte; do
	expect "hosts by $name" "$(restricted '' "${name}_default_hostfile=hosts")" ''
done
expect "starter of this host" "$(starter '')" isolated
expect "starter of this host by name" "$(starter '--host localhost:8')" isolated
expect "starter of one's own" "$(starter '--mca plm_rsh_agent mine --host a')" ''
verdict cli/hosts

# Two ranks of one host have no second node: no row of this algorithm can be measured.
# A person who reads a table has it from the exit code too; scripts find the reason in the rows.
fast=(--max-samples 5 --min-samples 5 --bytes 8 --engine host)
launch 2 all_reduce "${fast[@]}" --algorithm hierarchical --format table
expect "exit code of a table of skips" "$rc" 6
holds out '^skipped .*: needs two nodes or more$'
holds err '^fabricbench: nothing was measured: .*: needs two nodes or more$'
launch 2 all_reduce "${fast[@]}" --algorithm hierarchical --csv none
expect "exit code of a file of skips" "$rc" 0
holds err '^fabricbench: nothing was measured: .*: needs two nodes or more$'
expect "such lines" "$(grep -c 'nothing was measured' err)" 1
grep -q ',skipped,' none/all_reduce.csv || fail "no skipped row"
launch 2 all_reduce "${fast[@]}" --algorithm hierarchical,ring --protocol simple --format table
expect "exit code where one is skipped" "$rc" 0
expect "what is said where one is skipped" "$(grep '^fabricbench' err)" ''
verdict cli/nothing_measured

fast=(--max-samples 5 --min-samples 5 --quiet)
launch 1 barrier "${fast[@]}" --bytes 0 --engine host --csv '=1+1'
expect "exit code of a folder =1+1" "$rc" 0
expect "names of its run" "$(awk -F, 'NR > 1 { print $2 }' '=1+1/barrier.csv' | sort -u)" 1+1
if [ -x "$FB_BUILD/bin/import" ]; then
	log=$root/tests/golden/import/osu_put_latency.txt
	"$FB_BUILD/bin/import" --csv imported --run '=1+1' "$log" >out 2>err
	expect "exit code of import --run =1+1" $? 3
	holds err "option --run: '=1\+1'"
	"$FB_BUILD/bin/import" --csv '=2+2' "$log" >out 2>err
	expect "runs of an import to =2+2" \
		"$(cat '=2+2'/osu*.csv | awk -F, '$1 ~ /^[0-9]/ { print $2 }' | sort -u)" 2+2
fi
verdict cli/formulas

# Scripts say what they are for, whatever they need otherwise; what they do not take is refused.
cd "$root" || exit 3
for script in launch run install gpu-nic kv-paths reference setup doctor claims sweep plot \
	report; do
	timeout $((60 * slow)) "scripts/$script" --help >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	expect "exit code of scripts/$script --help" "$?" 0
	expect "stderr of scripts/$script --help" "$(cat "$FB_TMP/err")" ''
	holds "$FB_TMP/out" "$script"
done
SETUP=no timeout $((60 * slow)) scripts/run quick >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
expect "exit code of scripts/run quick" "$?" 3
holds "$FB_TMP/err" "^fabricbench run: 'quick': expected no argument"
scripts/fabricbench studies nosuch >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code of a study that is none" "$?" 3
holds "$FB_TMP/err" "^fabricbench: no study 'nosuch'"
scripts/fabricbench kv-paths --help >"$FB_TMP/out" 2>&1
expect "exit code of fabricbench kv-paths" "$?" 0
for script in 'launch 2 all_reduce' 'setup run' doctor 'fabricbench summary'; do
	# shellcheck disable=SC2086 # words
	MPI=lam SETUP=no timeout $((60 * slow)) scripts/$script >"$FB_TMP/out" \
		2>"$FB_TMP/err" </dev/null
	expect "exit code of scripts/$script with MPI=lam" "$?" 3
	expect "stderr of scripts/$script with MPI=lam" "$(cat "$FB_TMP/err")" \
		'fabricbench: MPI=lam: accepted are openmpi and mpich'
done
verdict cli/scripts
exit "$bad"
