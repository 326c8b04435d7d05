#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A study by PBS (OpenPBS, PBS Professional): a template to copy and change. From the root of the
# sources: qsub my-pbs.sh. Not done at the end of its time? The same again goes on.
#
#PBS -N fabricbench
#PBS -l select=2:ncpus=8:mpiprocs=8
#PBS -l walltime=01:00:00
#PBS -j oe

nodes=2 ranks_per_node=8       # as above
study=upgrade-check            # a name in scripts/studies, or a file
results=results/pbs-$study     # the folder to go on with, if it is there

# The launcher, as the site has it; Open MPI and MPICH built for PBS find their hosts themselves.
# Others need the list: export MPIRUN="mpirun --hostfile $PBS_NODEFILE".
. "${PBS_O_WORKDIR:-.}/scripts/batch/go.sh"
