#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# The templates for PBS, LSF and Kubernetes' MPI operator, as far as they can be run without these:
# what such a job does on one node, and that the same script goes on with what an earlier one left.

set -u
. scripts/lib.sh
. tests/shell/lib.sh
study=$FB_TMP/small.study
cat >"$study" <<-'END'
	launches 2
	canary none
	barrier --engine=mpi --max-time=20ms --min-samples=5 --max-samples=20
END

# The script of the launcher's pod is the one block of text in the operator's file.
template() {
	if [ "$1" = mpijob ]; then
		sed -n '/^ *- |$/,/^ *volumeMounts/p' scripts/batch/mpijob.yaml |
			sed '1d; $d; s/^ *//'
	else
		cat "scripts/batch/$1.sh"
	fi
}

# run_template KIND VARIABLE...: a copy with other settings, in such a job's environment.
run_template() {
	local kind=$1

	template "$kind" | sed "s|^nodes=.*|nodes=1 ranks_per_node=2|; s|^study=.*|study=$study|
		s|^results=.*|results=$FB_TMP/$kind|" >"$FB_TMP/$kind.sh"
	timeout $((60 * slow)) env "${@:2}" OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader \
		bash "$FB_TMP/$kind.sh" >"$FB_TMP/out" 2>&1 </dev/null
	expect "exit code of $kind" $? 0
}

for template in "pbs PBS_JOBID=1 PBS_O_WORKDIR=$PWD" "lsf LSB_JOBID=1 LS_SUBCWD=$PWD" \
	"mpijob FB_IMAGE=image:1"; do
	kind=${template%% *}
	# shellcheck disable=SC2086 # several words
	run_template $template
	holds "$FB_TMP/out" '^launches: 2 in 2 attempts.* 2 ok'
	expect "rows of $kind" "$(wc -l <"$FB_TMP/$kind/barrier.csv")" 3
	# shellcheck disable=SC2086
	run_template $template
	holds "$FB_TMP/out" '^2 launches are finished already$'
	expect "rows of $kind after all" "$(wc -l <"$FB_TMP/$kind/barrier.csv")" 3
	[ "$kind" = mpijob ] && holds "$FB_TMP/$kind/environment.csv" ',container.image,image:1$'
	verdict "slurm/$kind"
done
exit $bad
