# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # variables of submit
#
# The command line of scripts/slurm/submit.

usage() {
	cat <<-'END'
	usage: scripts/slurm/submit STUDY --nodes LIST [option...]
	  --nodes LIST           numbers of nodes, as 1,2,4,8: an array of jobs for each
	  --ranks-per-node N     ranks on each node (default 1)
	  --time TIME            limit of each job, as Slurm writes times (default 30: minutes)
	  --array-tasks K        jobs of an array, among which the launches are dealt out (default:
	                         one for each launch, at most 10)
	  --parallel M           jobs that may run at once; 0: any number (default 1: they would
	                         disturb each other)
	  --attempts N           how often a job may be started: it goes back into the queue when
	                         its time is up (default 5)
	  --permute P            also P rounds of the study on pairs of the largest number of nodes,
	                         to find a slow one
	  --switches N           nodes under at most N leaf switches; N@TIME: wait so long for them
	  --shuffle-nodes        each job with its own order of nodes (srun only)
	  --repeat R             launches, instead of what the study says
	  --launcher WHICH       srun, or mpirun inside the allocation (default srun)
	  --mpi WHICH            srun's way to start MPI: pmix, pmi2 or auto (default auto: pmix for
	                         Open MPI, pmi2 for MPICH)
	  --partition NAME, --account NAME, --qos NAME, --constraint TEXT
	                         as sbatch has them
	  --extra "WORDS"        further options of sbatch, as --extra "--mem=0 --gres=gpu:8"
	  --shared               do not ask for whole nodes
	  --results DIR          where to write (default results/<utc>-slurm-<study>)
	  --limit NODE_HOURS     more than that needs --yes (default 10)
	  --yes                  submit, however much it may cost
	  --dry-run              show the cost; write and submit nothing
	  --write-only           write the scripts, submit nothing
	environment: MPI=openmpi or mpich; MPIRUN_FLAGS: words for the launcher
	END
}

refuse() {
	echo "fabricbench submit: $*" >&2
	exit 3
}

# number OPTION VALUE LEAST MOST
number() {
	[[ $2 =~ ^[0-9]{1,9}$ ]] && [ "$((10#$2))" -ge "$3" ] && [ "$((10#$2))" -le "$4" ] ||
		refuse "$1 '$2': accepted is a whole number from $3 to $4"
}

one_of() {
	[[ " ${*:3} " == *" $2 "* && -n $2 ]] || refuse "$1 '$2': accepted is one of ${*:3}"
}

# A value that becomes part of a line that Slurm reads.
word() {
	[[ $2 =~ ^[A-Za-z0-9_.,:+@/=-]+$ ]] ||
		refuse "$1 '$2': accepted are letters, digits and _ . , : + @ / = -"
}

# Prints the seconds of a time as Slurm writes it: minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s.
seconds_of() {
	local days=0 rest=$1
	local -a part

	if [[ $rest == *-* ]]; then
		days=${rest%%-*}
		rest=${rest#*-}
	fi
	IFS=: read -ra part <<<"$rest"
	case $1,${#part[@]} in
	*-*,1) part=("${part[0]}" 0 0) ;;
	*-*,2) part=("${part[0]}" "${part[1]}" 0) ;;
	*,1) part=(0 "${part[0]}" 0) ;;
	*,2) part=(0 "${part[0]}" "${part[1]}") ;;
	esac
	echo $((((10#$days * 24 + 10#${part[0]}) * 60 + 10#${part[1]}) * 60 + 10#${part[2]}))
}

check_time() {
	[[ $time =~ ^([0-9]{1,4}-[0-9]{1,2}(:[0-9]{1,2}){0,2}|[0-9]{1,6}(:[0-9]{1,2}){0,2})$ ]] &&
		seconds=$(seconds_of "$time") && [ "$seconds" -ge 60 ] ||
		refuse "--time '$time': accepted is a minute or more, as 30, 1:30:00 or 1-12"
}

check_nodes() {
	local n
	local -A seen

	IFS=, read -ra nodes_list <<<"$nodes"
	[[ -n $nodes && $nodes != *, ]] ||
		refuse "--nodes '$nodes': accepted are numbers separated by commas, as 1,2,4"
	most=0
	for n in "${nodes_list[@]}"; do
		[[ $n =~ ^[1-9][0-9]{0,5}$ && -z ${seen[$n]-} ]] ||
			refuse "--nodes '$nodes': accepted are different numbers from 1 on," \
				"separated by commas, as 1,2,4"
		seen[$n]=yes
		[ "$n" -le "$most" ] || most=$n
	done
}

check_words() {
	local w

	read -ra extra_words <<<"$extra"
	for w in "${extra_words[@]}"; do
		[[ $w =~ ^-[][A-Za-z0-9_.,:+@/=-]+$ ]] ||
			refuse "--extra '$w': accepted are options of sbatch, as --mem=0"
	done
	[ -z "$constraint" ] || [[ $constraint =~ ^[A-Za-z0-9_.\&\|\(\)\*\[\]-]+$ ]] ||
		refuse "--constraint '$constraint': accepted are features as sbatch has them"
}

check_options() {
	local option

	[ -n "$study" ] || refuse "no study: accepted is a file or a name in scripts/studies"
	check_nodes
	check_time
	check_words
	# Slurm may be a minute early. Rows are safe; the row that is under way only has to end, and
	# then the program.
	warning=$((seconds < 480 ? seconds / 4 : 120))
	# Partitions may have limits too low for what merging never takes.
	merge_time=$time
	[ "$seconds" -le 900 ] || merge_time=15
	number --ranks-per-node "$ranks_per_node" 1 65536
	number --attempts "$attempts" 1 100
	number --permute "$rounds" 0 10000
	number --parallel "$parallel" 0 10000
	number --limit "$limit" 0 999999999
	[ -z "$array_tasks" ] || number --array-tasks "$array_tasks" 1 1000
	[ -z "$repeat" ] || number --repeat "$repeat" 1 10000
	one_of --launcher "$launcher" srun mpirun
	one_of --mpi "$mpi" auto pmix pmi2
	[[ -z $switches || $switches =~ ^[1-9][0-9]{0,3}(@[0-9:-]{1,12})?$ ]] ||
		refuse "--switches '$switches': accepted is a number of switches, as 1 or 1@60"
	for option in partition account qos; do
		[ -z "${!option}" ] || word "--$option" "${!option}"
	done
	[ "$shuffle" = no ] || [ "$launcher" = srun ] ||
		refuse "--shuffle-nodes with --launcher mpirun: accepted is srun"
	[ "$rounds" -eq 0 ] || [ "$most" -ge 3 ] ||
		refuse "--permute $rounds with --nodes $nodes: accepted is 3 nodes or more"
}

# Sets a variable for each option.
read_options() {
	local option value

	study='' nodes='' ranks_per_node=1 time=30 array_tasks='' parallel=1 attempts=5 rounds=0
	shuffle=no repeat='' launcher=srun mpi=auto partition='' account='' qos='' constraint=''
	switches='' extra='' shared=no results='' limit=10 yes=no dry_run=no write_only=no
	while [ $# -gt 0 ]; do
		option=$1 value=
		shift
		case $option in
		-h | --help) usage; exit 0 ;;
		--yes) yes=yes; continue ;;
		--dry-run) dry_run=yes; continue ;;
		--write-only) write_only=yes; continue ;;
		--shared) shared=yes; continue ;;
		--shuffle-nodes) shuffle=yes; continue ;;
		--*=*) value=${option#*=} option=${option%%=*} ;;
		--*)
			[ $# -gt 0 ] || refuse "$option: a value is missing, or there is no such" \
				"option; see --help"
			value=$1
			shift
			;;
		*)
			[ -z "$study" ] || refuse "'$option': accepted is one study; see --help"
			study=$option
			continue
			;;
		esac
		set_option "$option" "$value"
	done
	check_options
}

set_option() {
	case $1 in
	--nodes) nodes=$2 ;;
	--ranks-per-node) ranks_per_node=$2 ;;
	--time) time=$2 ;;
	--array-tasks) array_tasks=$2 ;;
	--parallel) parallel=$2 ;;
	--attempts) attempts=$2 ;;
	--permute) rounds=$2 ;;
	--repeat) repeat=$2 ;;
	--launcher) launcher=$2 ;;
	--mpi) mpi=$2 ;;
	--partition) partition=$2 ;;
	--account) account=$2 ;;
	--qos) qos=$2 ;;
	--constraint) constraint=$2 ;;
	--switches) switches=$2 ;;
	--extra) extra=$2 ;;
	--results) results=$2 ;;
	--limit) limit=$2 ;;
	*) refuse "'$1': no such option; see --help" ;;
	esac
}
