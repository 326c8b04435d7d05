#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 240
#
# The installed copy is whole: a tree of sources is installed, removed, and what lies below PREFIX
# is used from an empty folder: programs, tools, every script, studies, plots, pages, documents.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
copy=$FB_TMP/copy prefix=$FB_TMP/prefix
small='--max-time=10ms --min-samples=5 --max-samples=20 --ci=50%'

# What has been built is not built again: -o says that `all` is done.
mkdir -p "$copy/build"
tar cf - --exclude=./build --exclude=./.git --exclude=./results --exclude=./tests . |
	tar xf - -C "$copy"
ln -s "$FB_BUILD" "$copy/build/$MPI"
make -s -C "$copy" -o all install MPI="$MPI" PREFIX="$prefix" >"$FB_TMP/out" 2>&1 ||
	{ cat "$FB_TMP/out"; fail "make install fails"; }
rm -rf "$copy"
expect "links out of the installed copy" "$(find "$prefix" -type l -lname '/*')" ''
expect "files that name the sources" "$(grep -rlIF -e "$PWD/" -e "$copy" "$prefix")" ''
mkdir "$FB_TMP/empty"
cd "$FB_TMP/empty" || exit 3
export PATH=$prefix/bin:$PATH SETUP=no
unset FB_BIN FB_BUILD CUDA_HOME

# go NAME COMMAND...: with exit code 0 and nothing that looks like an error.
go() {
	"${@:2}" >out 2>err </dev/null
	expect "exit code of $1" $? 0
	expect "errors of $1" "$(grep -v 'fabricbench: warning: ' err |
		grep -E 'No such file|not found|fabricbench')" ''
}

go version fabricbench --version
holds out '^fabricbench [0-9]+\.[0-9]+.*, revision '
go help fabricbench
for name in all_reduce kv_reshard ddp summary sweep search launch run slurm studies plot report; do
	grep -qw "$name" out || fail "fabricbench --help does not name $name"
done
go studies fabricbench studies
holds out '^quick +[A-Z]'
go 'a study' fabricbench studies quick
holds out '^all_reduce '
fabricbench nosuch >out 2>err
expect "exit code of an unknown program" $? 3
holds err "^fabricbench: no program 'nosuch'; accepted: .*all_reduce"
verdict install_names

# shellcheck disable=SC2086 # words
go launch fabricbench launch 2 all_reduce --bytes 8,4K $small --quiet --csv mine
[ "$(wc -l <mine/all_reduce.csv)" -gt 5 ] || fail "no rows in mine/all_reduce.csv"
go csvcheck fabricbench csvcheck mine/all_reduce.csv
bin=$prefix/libexec/fabricbench/build/$MPI/bin
if [ -x "$bin/summary" ]; then
	go summary fabricbench summary mine
	holds out 'best of own'
	if [ -x "$bin/report" ]; then
		go report fabricbench report mine
		expect "what report says" "$(cat out)" mine/report.html
		[ -s mine/report.html ] || fail "no page"
	fi
	if fb_have gnuplot; then
		go plot fabricbench plot time mine
		[ -s mine/all_reduce-time.svg ] || fail "no figure"
	fi
fi
verdict install_programs

ONLY=barrier OPTIONS=$small NP=2 go run fabricbench run
holds out '^results: .*/empty/results/2'
[ -n "$(find results -name barrier.csv)" ] || fail "run wrote no rows below $PWD/results"
printf 'launches 2\ncanary none\nbarrier %s --bytes=0\n' "$small" >my.study
NP=2 go sweep fabricbench sweep my.study
[ -n "$(find results -path '*-my/barrier.csv')" ] || fail "sweep wrote no rows below results"
mkdir path
printf '#!/bin/sh\nexit 1\n' >path/srun
cp path/srun path/sbatch
chmod +x path/*
PATH=$PWD/path:$PATH go slurm fabricbench slurm my.study --nodes 1,2 --dry-run
holds out '^in all: '
expect "results of a dry run" "$(find . -name '*slurm*')" ''
verdict install_scripts

pages=$prefix/share/man/man1
for program in fabricbench "$prefix/libexec/fabricbench/build/$MPI"/bin/*; do
	program=${program##*/}
	case $program in csvcheck | csvdoc) continue ;; esac
	[ "$program" = fabricbench ] || program=fabricbench-$program
	[ -s "$pages/$program.1" ] || { fail "no page $program.1"; continue; }
	holds "$pages/$program.1" '^\.SH "?NAME'
	fb_have groff || continue
	groff -man -Tutf8 -ww -W break "$pages/$program.1" 2>err >page
	expect "groff on $program.1" "$(cat err)" ''
done
documents=$prefix/share/doc/fabricbench
while read -r link; do
	[ -e "$documents/$link" ] || fail "the installed README.md links to $link: not there"
done < <(grep -oE '\]\(docs/[^):]*\)' "$documents/README.md" | sed 's/^](//; s/)$//; s/#.*//')
verdict install_documents
exit "$bad"
