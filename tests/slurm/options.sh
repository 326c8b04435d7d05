#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# Command lines that submit must refuse: one line on stderr, exit code 3, nothing written. Needs no
# Slurm: what is wrong is said before anything is looked for. And what it does without Slurm.

set -u
. tests/shell/lib.sh
submit=scripts/slurm/submit
out=$FB_TMP/out

# refuses PATTERN ARGUMENT...
refuses() {
	local pattern=$1

	shift
	$submit "$@" --results "$FB_TMP/results" >"$out" 2>"$FB_TMP/err" </dev/null
	expect "exit code of $*" $? 3
	expect "stdout of $*" "$(cat "$out")" ''
	expect "lines on stderr of $*" "$(wc -l <"$FB_TMP/err")" 1
	holds "$FB_TMP/err" "^fabricbench submit: .*$pattern"
	[ ! -e "$FB_TMP/results" ] || fail "$*: something was written"
}

refuses 'no study'
refuses 'one study' quick other --nodes 1
refuses "no such option" quick --nodes 1 --node 2
for nodes in '' 0 1,,2 '1,' 2,1,2 two -1 1.5; do
	refuses "--nodes '$nodes'" quick --nodes "$nodes"
done
for time in '' 0 0:30 1h 1:2:3:4 -5 1-; do
	refuses "--time '$time'" quick --nodes 1 --time "$time"
done
refuses "--ranks-per-node '0'" quick --nodes 1 --ranks-per-node 0
refuses "--array-tasks '-1'" quick --nodes 1 --array-tasks=-1
refuses "--attempts 'x'" quick --nodes 1 --attempts x
refuses "--launcher 'mpiexec'" quick --nodes 1 --launcher mpiexec
refuses "--mpi 'pmi1'" quick --nodes 1 --mpi pmi1
refuses "--permute 3 with --nodes 1,2: .*3 nodes" quick --nodes 1,2 --permute 3
refuses "accepted is srun" quick --nodes 2 --shuffle-nodes --launcher mpirun
refuses "--switches '1@x'" quick --nodes 1 --switches 1@x
refuses "--partition 'a b'" quick --nodes 1 --partition 'a b'
refuses "--extra 'mem=0'" quick --nodes 1 --extra 'mem=0'
# shellcheck disable=SC2016 # must not be expanded
refuses "--constraint" quick --nodes 1 --constraint '$(true)'
verdict slurm/options

$submit --help >"$out" 2>&1
expect "exit code of --help" $? 0
expect "widest line of --help" "$(($(wc -L <"$out") <= 100))" 1
for option in $(sed -n 's/^\t--\([a-z-]*\)).*/\1/p' scripts/slurm/options.sh); do
	holds "$out" "--$option"
done
verdict slurm/help

# Without a Slurm the cost can be shown, and srun's own words, whole, say why nothing is submitted.
# The first example of the document is within the limit, with as many launches as its study has.
{
	grep '^launches ' scripts/studies/upgrade-check.study
	echo 'canary none'
	echo 'barrier --bytes=0 --min-samples=5 --max-samples=20'
} >"$FB_TMP/upgrade-check.study"
example=$(grep -m 1 -oE 'scripts/slurm/submit upgrade-check .*' docs/slurm.md)
read -ra words <<<"$example"
[ ${#words[@]} -ge 4 ] || fail "no example in docs/slurm.md: $example"
said='srun: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host'
mkdir "$FB_TMP/path"
printf '#!/bin/sh\necho "%s" >&2\nexit 1\n' "$said" >"$FB_TMP/path/srun"
cp "$FB_TMP/path/srun" "$FB_TMP/path/sbatch"
chmod +x "$FB_TMP"/path/*
export PATH=$FB_TMP/path:$PATH
$submit "$FB_TMP/upgrade-check.study" "${words[@]:2}" --dry-run >"$out" 2>"$FB_TMP/err" </dev/null
expect "exit code of --dry-run without Slurm" $? 0
holds "$out" "^not known here whether srun can start .*: $said\$"
holds "$out" '^in all: [0-9]+ jobs, at most [0-9.]+ node-hours$'
expect "what is above the limit" "$(grep -e --limit "$out")" ''
$submit "$FB_TMP/upgrade-check.study" --nodes 8 --time 60 --dry-run >"$out" 2>"$FB_TMP/err"
holds "$out" 'node-hours: more than --limit 10 needs --yes$'
verdict slurm/no-slurm-dry-run
$submit "$FB_TMP/upgrade-check.study" "${words[@]:2}" --results "$FB_TMP/results" >"$out" \
	2>"$FB_TMP/err" </dev/null
expect "exit code without Slurm" $? 3
holds "$FB_TMP/err" "^fabricbench submit: srun --mpi=list: $said; submit .* --dry-run\$"
[ ! -e "$FB_TMP/results" ] || fail "something was written without Slurm"
verdict slurm/no-slurm
exit $bad
