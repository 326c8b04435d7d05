#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# Documents say what the programs do: docs/csv.md is what csvdoc writes, --help and --man of every
# program are whole, and every option, file, program and make target named in a document exists.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
documents=(README.md results/README.md docs/*.md docs/notes/*.md)

"$bin/csvdoc" >"$FB_TMP/csv.md"
diff -u docs/csv.md "$FB_TMP/csv.md" || fail "docs/csv.md: run csvdoc >docs/csv.md"
"$bin/csvdoc" symptoms >"$FB_TMP/symptoms"
sed -n '/^| what you see | usual causes/,/^$/p' docs/start.md | sed '$d' >"$FB_TMP/table"
diff -u "$FB_TMP/table" "$FB_TMP/symptoms" ||
	fail "docs/start.md: replace its table of symptoms by the output of csvdoc symptoms"
# Every flag that a program sets on a row is explained there.
{
	grep -rhoE 'fb_traits_flag\(traits, "[a-z-]+"' --include='*.c' collectives common \
		overlap p2p
	sed -n 's/.*{FB_FLAG_[A-Z_]*, ".*/&/p' common/run/measure_flags.c |
		grep -oE '"[a-z-]+"'
	sed -n '/names\[\] = {"stray-traffic"/,/}/p' common/run/counters.c | grep -oE '"[a-z-]+"'
} | sed 's/.*"\(.*\)"/\1/' | sort -u >"$FB_TMP/flags"
while read -r flag; do
	grep -qF "| flag \`$flag\`:" "$FB_TMP/symptoms" ||
		fail "scripts/tools/lib/symptoms.c does not explain flag $flag"
done <"$FB_TMP/flags"
[ "$(wc -l <"$FB_TMP/flags")" -ge 19 ] || fail "hardly any flag was found"
verdict docs_csv

# docs/algorithms.md has a row for each algorithm, in the order of the registry, and no other.
diff <(sed -n 's/^FB_ALGORITHM(\([a-z_]*\), \([a-z_]*\))$/\1 \2/p' \
	collectives/algorithm/algorithms.def) \
	<(sed -n '/^| collective | algorithm/,/^$/s/^| \([a-z_]*\) | \([a-z_]*\) |.*/\1 \2/p' \
		docs/algorithms.md | sed 1d) >"$FB_TMP/diff" ||
	fail "docs/algorithms.md (>) is not algorithms.def (<): $(cat "$FB_TMP/diff")"
[ "$(grep -c '^FB_ALGORITHM' collectives/algorithm/algorithms.def)" -ge 40 ] ||
	fail "hardly any algorithm was compared"
verdict docs_algorithms

mapfile -t programs < <(sed -n '/^PROGRAMS :=/,/EOL/s|^\t[a-z0-9_/]*/\([a-z0-9_]*\) \\$|\1|p' \
	Makefile)
[ ${#programs[@]} -ge 11 ] || fail "only ${#programs[@]} programs in the Makefile"
for program in "${programs[@]}"; do
	"$bin/$program" --help >"$FB_TMP/help" 2>"$FB_TMP/err" || fail "$program --help fails"
	holds "$FB_TMP/help" "$program"
	holds "$FB_TMP/help" '--engine=LIST'
	holds "$FB_TMP/help" 'Exit code: 0 good'
	[ "$(wc -L <"$FB_TMP/help")" -le 100 ] || fail "$program --help is wider than 100 columns"
	expect "stderr of $program --help" "$(cat "$FB_TMP/err")" ''
	grep -oE -- '--[a-z][a-z-]+' "$FB_TMP/help" >>"$FB_TMP/options"
done
"$bin/latency" --help | grep -qe --copy-direction &&
	fail "latency --help lists --copy-direction, which it refuses"
"$bin/all_reduce" --help >"$FB_TMP/help"
holds "$FB_TMP/help" '--copy-direction=LIST'
verdict docs_help

for program in "$bin"/*; do
	program=${program##*/}
	case $program in csvcheck | csvdoc) continue ;; esac # have no page
	"$bin/$program" --man >"$FB_TMP/man" || fail "$program --man fails"
	"$bin/$program" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' | sort -u \
		>"$FB_TMP/in_help"
	sed 's/\\-/-/g' "$FB_TMP/man" | grep -oE -- '--[a-z][a-z-]+' | sort -u >"$FB_TMP/in_man"
	expect "options of $program --help that --man lacks" \
		"$(comm -23 "$FB_TMP/in_help" "$FB_TMP/in_man")" ''
	expect "title of $program --man" "$(grep -c "^\.TH" "$FB_TMP/man")" 1
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS; do
		holds "$FB_TMP/man" "^\.SH \"?$section"
	done
	fb_have groff || continue
	groff -man -Tutf8 -ww -W break "$FB_TMP/man" >"$FB_TMP/page" 2>"$FB_TMP/err"
	expect "groff on $program --man" "$(cat "$FB_TMP/err")" ''
done
verdict docs_man

# fabricbench(1) names all variables, and all programs and scripts and no others.
tr -d '\\' <docs/fabricbench.1 >"$FB_TMP/page"
for section in PROGRAMS SCRIPTS; do
	sed -n "/^.SH $section/,/^.SH [^$(cut -c 1 <<<$section)]/p" "$FB_TMP/page" |
		grep -E '^\.BR? ' | sed 's/f[IRB].*//; s/^.BR* //; s/[",]//g' | tr ' ' '\n'
done | sed '/^$/d' | sort -u >"$FB_TMP/in_page"
scripts/fabricbench --help | sed -n 's/^\(programs\|scripts\): //p' | tr ' ' '\n' |
	sort -u >"$FB_TMP/there"
diff "$FB_TMP/in_page" "$FB_TMP/there" >"$FB_TMP/diff" ||
	fail "docs/fabricbench.1 (<) does not name what there is (>): $(cat "$FB_TMP/diff")"
# The list by which programs warn of misspelt variables is no place where they are read.
known=environment_variable.c
grep -rhoE '"(FB_[A-Z_]+[A-Z]|FABRICBENCH_[A-Z]+)"' --include='*.c' --exclude=$known common \
	collectives p2p overlap kvtransfer | tr -d '"' | sort -u >"$FB_TMP/own"
expect "variables that common/system/$known knows" "$(grep -oE '"F(B|ABRICBENCH)_[A-Z_]*[A-Z]"' \
	common/system/$known | tr -d '"' | sort -u)" "$(cat "$FB_TMP/own")"
# What scripts/launch passes to the ranks is no setting.
{
	grep -vxE 'FABRICBENCH_(CLOSING|LAUNCH)' "$FB_TMP/own"
	grep -rhoE 'getenv\("(AWS_[A-Z_]+|TMPDIR|[A-Z_]+_HOME)"' --include='*.c' common |
		cut -d '"' -f 2
	grep -oE '^ \*#   *[A-Z]+=' scripts/run | tr -dc 'A-Z\n'
	printf '%s\n' MPI MPIRUN MPIRUN_FLAGS
} | sort -u >"$FB_TMP/variables"
while read -r variable; do
	grep -qE "(^|[^A-Z_])(fB)?$variable([^A-Z_]|\$)" "$FB_TMP/page" ||
		fail "docs/fabricbench.1 does not name the variable $variable"
done <"$FB_TMP/variables"
[ "$(wc -l <"$FB_TMP/variables")" -ge 20 ] || fail "hardly any variable was found"
verdict docs_page

# Options of scripts and tools, whose --help says them as well, and of MPI launchers.
for tool in summary plotdata report predict merge query import study compare tune overlap_of \
	claims doctor topology profile; do
	[ -x "$bin/$tool" ] && "$bin/$tool" --help |
		grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
done
tests/netns/links --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
scripts/doctor --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
scripts/claims --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
scripts/sweep --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
scripts/search --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
sed -n 's/^# //p' scripts/plot scripts/report | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
for script in scripts/slurm/submit scripts/slurm/slow-node; do
	$script --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
done
printf '%s\n' --kill-on-bad-exit --distribution --export >>"$FB_TMP/options" # of srun
printf '%s\n' --type >>"$FB_TMP/options" # of nsys
# Of srun on GPU clusters, of its container plugin, and of nvidia-smi.
printf '%s\n' --gres --cpu-bind --cpus-per-task --gpus-per-task --query-gpu \
	--container-image --container-mounts --container-workdir >>"$FB_TMP/options"
tests/run --help | grep -oE -- '--[a-z][a-z-]+' >>"$FB_TMP/options"
# Scripts in Python, which may not be there.
grep -ohE '"--[a-z][a-z-]+"' tests/peers/*torch* | tr -d '"' >>"$FB_TMP/options"
printf '%s\n' --mpi --oversubscribe --ntasks-per-node --nodes --map-by --mca --hostfile \
	>>"$FB_TMP/options"
sort -u "$FB_TMP/options" >"$FB_TMP/known"
grep -ohE '(^|[^-[:alnum:]])--[a-z][a-z-]+' "${documents[@]}" | grep -oE -- '--[a-z-]+' |
	sort -u >"$FB_TMP/named"
while read -r option; do
	fail "a document names $option, which no program has: $(grep -lFe "$option" \
		"${documents[@]}" | tr '\n' ' ')"
done < <(comm -13 "$FB_TMP/known" "$FB_TMP/named")
[ "$(wc -l <"$FB_TMP/named")" -ge 5 ] || fail "documents name hardly any option"
verdict docs_options

# Paths in backquotes that begin with a folder of the project. <...>, * and x stand for something,
# and results/reference/ need not hold anything yet.
while read -r path; do
	case $path in
	build/* | results/* | */x.c | *'<'* | *\**) continue ;;
	esac
	[ -e "${path%%:*}" ] || fail "a document names $path, which does not exist"
done < <(grep -ohE '`(common|collectives|scripts|plots|results|tests|docs|\.ci)/[^` ]*' \
	"${documents[@]}" | tr -d '`' | sort -u)
while read -r link; do
	[ -e "$link" ] || fail "README.md links to $link, which does not exist"
done < <(grep -oE '\]\([a-z][^):]*\)' README.md | sed 's/^](//; s/)$//; s/#.*//')
while read -r target; do
	grep -qE "^([a-z ]* )?$target( [a-z ]*)?:" Makefile || fail "no make target '$target'"
done < <(grep -ohE '`make [a-z]+' "${documents[@]}" | sed 's/.* //' | sort -u)
for program in "${programs[@]}"; do
	grep -qF "\`$program\`" README.md || fail "README.md does not name $program"
done
verdict docs_names
exit "$bad"
