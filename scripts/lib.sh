# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# Rules that the Makefile and all scripts share: which MPI is meant, how its tools are called, and
# how a program is started on N ranks of this host. POSIX sh, to be sourced; defines functions and
# does nothing else.

# Whether a command can be found.
fb_have() {
	command -v "$1" >/dev/null 2>&1
}

# Prints the family of an MPI compiler wrapper: openmpi or mpich. MPICH's relatives (MVAPICH,
# Intel MPI, Cray MPT) share its ABI and its `-show`.
fb_mpi_family() {
	case $("$1" --showme:version 2>/dev/null) in
	*"Open MPI"*) echo openmpi ;;
	*) "$1" -show >/dev/null 2>&1 && echo mpich ;;
	esac
}

# Prints the MPI family to use where none was asked for: that of mpicc, else Open MPI, else MPICH;
# nothing where there is none.
fb_mpi_default() {
	if fb_have mpicc; then
		fb_mpi_family mpicc
	elif fb_have mpicc.openmpi; then
		echo openmpi
	elif fb_have mpicc.mpich; then
		echo mpich
	fi
}

# Ends the script where MPI= names no family.
fb_check_mpi() {
	case ${MPI-} in
	'' | openmpi | mpich) return ;;
	esac
	echo "fabricbench: MPI=$MPI: accepted are openmpi and mpich" >&2
	exit 3
}

# fb_help SCRIPT: prints what its first comment says, for --help.
fb_help() {
	sed -n '1,3d; /^#/!q; s/^# \{0,1\}//p' "$1"
}

# fb_mpi_of PROGRAM: prints the MPI family that a program was built with: that of the build folder
# it lies in, else MPI=, else the default one.
fb_mpi_of() {
	case $1 in
	*build/openmpi/* | *build/openmpi-*/*) echo openmpi ;;
	*build/mpich/* | *build/mpich-*/*) echo mpich ;;
	*) echo "${MPI:-$(fb_mpi_default)}" ;;
	esac
}

# fb_mpi_built ROOT [PROGRAM]: prints the family to use of those whose programs are in ROOT/build:
# MPI= where it is set, else the default one, else any; one that has PROGRAM goes first. Prints
# the default one, or nothing, where none is built.
fb_mpi_built() {
	if [ -n "${MPI-}" ]; then
		echo "$MPI"
		return
	fi
	family_built=
	for family in $(fb_mpi_default) openmpi mpich none; do
		[ -d "$1/build/$family/bin" ] || continue
		family_built=${family_built:-$family}
		[ -x "$1/build/$family/bin/${2-}" ] && family_built=$family && break
	done
	echo "${family_built:-$(fb_mpi_default)}"
}

# Whether this tree can be built. An installed copy has the same scripts without the sources, and
# writes its results to the folder that it is called in.
fb_in_sources() {
	[ -e Makefile ]
}

# fb_mpi_tool TOOL FAMILY: prints the command of that family. Debian gives each family its own
# name (mpicc.mpich); elsewhere there is one plain mpicc, which counts if it is of that family.
fb_mpi_tool() {
	if [ -z "$2" ]; then
		return 1
	elif fb_have "$1.$2"; then
		echo "$1.$2"
	elif fb_have "$1" && [ "$(fb_mpi_family mpicc)" = "$2" ]; then
		echo "$1"
	else
		return 1
	fi
}

# Prints the number of processors this process may use.
fb_cores() {
	nproc 2>/dev/null || echo 1
}

# fb_mpi_env FAMILY: exports what a run of that family on this host needs. Whatever the user has
# set stays; inside a batch job nothing is narrowed down to one host.
fb_mpi_env() {
	if [ "$1" = openmpi ]; then
		# mpirun refuses root, which in a container is the only user (PRTE is Open MPI 5).
		if [ "$(id -u)" -eq 0 ]; then
			export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
			export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
		fi
		fb_in_job && return 0
		# Without ssh the launcher of remote daemons fails even where none is needed.
		case "${MPIRUN_FLAGS-} ${OMPI_MCA_plm_rsh_agent+plm}" in
		*plm*) ;;
		*) fb_have ssh || fb_have rsh || export OMPI_MCA_plm="${OMPI_MCA_plm-isolated}" ;;
		esac
		fb_one_host || return 0
		# Probing UCX and libfabric costs 0.2 s a start, and the TCP transport picks an
		# interface that in a container may lead nowhere. What is left is shared memory, by
		# smcuda in a CUDA-aware library: vader reads GPU memory like any other, and dies.
		if [ -z "${OMPI_MCA_pml-}${OMPI_MCA_btl-}" ]; then
			export OMPI_MCA_pml=ob1 OMPI_MCA_btl=^tcp,ofi,openib,portals4,uct,ugni,usnic
		fi
	elif fb_one_host; then
		# UCX takes 30 s to start on a host with a software RDMA device.
		export UCX_TLS="${UCX_TLS-self,sm,tcp}"
	fi
}

# Whether a batch system has given this shell its hosts.
fb_in_job() {
	[ -n "${SLURM_JOB_ID-}${PBS_JOBID-}${LSB_JOBID-}${OAR_JOB_ID-}" ]
}

# Whether the ranks of a run are all on this host: no batch system, and no hosts for mpirun.
fb_one_host() {
	fb_in_job && return 1
	case " ${MPIRUN_FLAGS-} ${OMPI_MCA_orte_default_hostfile+-f }$(
		)${PRTE_MCA_prte_default_hostfile+-f }${HYDRA_HOST_FILE+-f }" in
	*' '-host* | *' '--host* | *' -H '* | *' '-machinefile* | *' '--machinefile* | *' -f '*)
		return 1
		;;
	esac
}

# launch RANKS PROGRAM [argument...]: runs a program on that many ranks under the MPI family $MPI,
# also with more ranks than cores. MPIRUN replaces the command ("srun --mpi=pmix"), MPIRUN_FLAGS
# adds to it. The exit code is the launcher's own, see fb_exit_code.
launch() (
	fb_exec_launcher "$@"
)

# The same, but the launcher takes this shell's place: $! of `fb_exec_launcher ... &` is mpirun.
fb_exec_launcher() {
	ranks=$1
	shift
	if [ -n "${MPIRUN-}" ]; then
		# shellcheck disable=SC2086 # both hold several words
		exec $MPIRUN ${MPIRUN_FLAGS-} -n "$ranks" "$@"
	fi
	if ! mpirun=$(fb_mpi_tool mpirun "$MPI"); then
		echo "fabricbench: no mpirun of $MPI: set MPIRUN=, or run scripts/setup run" >&2
		exit 3
	fi
	fb_mpi_env "$MPI"
	if [ "$MPI" = openmpi ]; then
		set -- --oversubscribe --bind-to none -n "$ranks" "$@"
	else
		set -- -n "$ranks" "$@"
	fi
	# shellcheck disable=SC2086
	exec "$mpirun" ${MPIRUN_FLAGS-} "$@"
}

# fb_exit_code RC: prints the exit code that what a launcher ended with stands for, and says so on
# stderr where it is another one. A study decides by this code, and launchers have no common rule: a
# rank killed by SIGKILL ends Open MPI's job with 137 (128 + 9), MPICH's with 9 or, as it joins the
# codes of all ranks bit by bit, with something like 13; after a signal Open MPI's mpirun ends with
# 1, which would read as a regression. The programs themselves end with 0, 2, 3, 4, 5 or 6, tests
# also with 77 (skipped); so everything else is a fault: 5. Test programs that fail with 1 are no
# exception, failed they are all the same.
fb_exit_code() {
	case $1 in
	0 | 2 | 3 | 4 | 5 | 6 | 77) echo "$1" ;;
	*)
		echo "fabricbench: the launcher ended with $1, as after a rank or the" \
			"launcher itself was killed: a fault, exit code 5" >&2
		echo 5
		;;
	esac
}
