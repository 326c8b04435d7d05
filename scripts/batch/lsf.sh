#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A study by LSF: a template to copy and change. From the root of the sources: bsub < my-lsf.sh.
# Not done at the end of its time? The same again goes on.
#
#BSUB -J fabricbench
#BSUB -n 16 -R span[ptile=8] -x
#BSUB -W 1:00
#BSUB -wa USR1 -wt 2
#BSUB -o fabricbench.%J.txt

nodes=2 ranks_per_node=8       # as above
study=upgrade-check            # a name in scripts/studies, or a file
results=results/lsf-$study     # the folder to go on with, if it is there

# The launcher, as the site has it; Open MPI and MPICH built for LSF find their hosts themselves.
# Others need the list: export MPIRUN="mpirun --hostfile $LSB_DJOB_HOSTFILE".
. "${LS_SUBCWD:-.}/scripts/batch/go.sh"
