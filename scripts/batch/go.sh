# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # settings come before this part
#
# The work of the templates beside this file: the study on the nodes of this job, or what is missing
# from it. To be sourced; ends the job.
#
# The batch system's signal before the end of the time ends sweep, which keeps all rows; after
# SIGUSR1 the row that is under way ends with the samples that it has.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3
. scripts/lib.sh
MPI=$(fb_mpi_built .)
export MPI
MPIRUN=${MPIRUN-$(fb_mpi_tool mpirun "$MPI")} || exit 3
export MPIRUN
fb_mpi_env "$MPI"
if [ -e "$results/plan.tsv" ]; then
	exec scripts/sweep --resume "$results"
fi
exec scripts/sweep "$study" --nodes "$nodes" --ranks-per-node "$ranks_per_node" \
	--results "$results"
