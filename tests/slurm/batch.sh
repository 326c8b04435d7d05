#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# The templates for PBS and LSF, as far as they can be run without these: what such a job does on
# one node, and that the same script goes on with what an earlier one left.

set -u
. scripts/lib.sh
. tests/shell/lib.sh
study=$FB_TMP/small.study
cat >"$study" <<-'END'
	launches 2
	canary none
	barrier --engine=mpi --max-time=20ms --min-samples=5 --max-samples=20
END

# run_template KIND VARIABLE...: a copy with other settings, in such a job's environment.
run_template() {
	local kind=$1

	sed "s|^nodes=.*|nodes=1 ranks_per_node=2|; s|^study=.*|study=$study|
		s|^results=.*|results=$FB_TMP/$kind|" "scripts/batch/$kind.sh" >"$FB_TMP/$kind.sh"
	timeout $((60 * slow)) env "${@:2}" OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader \
		bash "$FB_TMP/$kind.sh" >"$FB_TMP/out" 2>&1 </dev/null
	expect "exit code of $kind" $? 0
}

for template in "pbs PBS_JOBID=1 PBS_O_WORKDIR=$PWD" "lsf LSB_JOBID=1 LS_SUBCWD=$PWD"; do
	kind=${template%% *}
	# shellcheck disable=SC2086 # several words
	run_template $template
	holds "$FB_TMP/out" '^launches: 2 in 2 attempts.* 2 ok'
	expect "rows of $kind" "$(wc -l <"$FB_TMP/$kind/barrier.csv")" 3
	# shellcheck disable=SC2086
	run_template $template
	holds "$FB_TMP/out" '^2 launches are finished already$'
	expect "rows of $kind after all" "$(wc -l <"$FB_TMP/$kind/barrier.csv")" 3
	verdict "slurm/$kind"
done
exit $bad
