#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 600
#
# `make run` as a person starts it, in a copy of the sources, with few and small rows: what it
# leaves behind, what it says, and that it does without gnuplot and without libcsv.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
export SETUP=no NP=2
copy=$FB_TMP/copy
small='--max-time=10ms --max-samples=50 --ci=50%'
mkdir "$copy"
tar cf - --exclude=./build --exclude=./.git --exclude='./results/2*' . | tar xf - -C "$copy"
# What has been built is not built again, device code least of all.
mkdir "$copy/build" && cp -a "$FB_BUILD" "$copy/build/" || exit 3
[ ! -d build/cuda ] || cp -a build/cuda "$copy/build/" || exit 3
cd "$copy" || exit 3

# go OPTIONS COMMAND...: sets rc and dir, the newest results folder.
go() {
	OPTIONS=$1 "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	rc=$?
	dir=$(find results -mindepth 1 -maxdepth 1 -name '2*' | sort | tail -n 1)
}

listed=$(grep -vcE '^(#|\*|$)' scripts/studies/quick.study)

go "--bytes=8,4K $small" make -s run
expect "exit code" "$rc" 0
[ "$rc" -eq 0 ] || cat "$FB_TMP/err"
expect "result files" "$(find "$dir" -name '*.csv' ! -name environment.csv | wc -l)" "$listed"
expect "programs in all" "$listed" 11
build/"$MPI"/bin/csvcheck "$dir"/*.csv >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
holds "$FB_TMP/out" "^quick: [0-9]+ rows of $listed programs on 2 ranks, to $dir"
holds "$FB_TMP/out" "^quick: counting the rows of $listed programs\$"
progress='^\[ *[0-9]+/11\] [a-z_]+ +[0-9]+ rows in .* gone, about .* left$'
expect "lines of progress" "$(grep -cE "$progress" "$FB_TMP/out")" "$listed"
holds "$FB_TMP/out" "^results: $dir$"
[ -s "$dir/environment.csv" ] || fail "no environment.csv"
# Where there is no terminal, progress is a line now and then; what else a program says passes.
for every in 0 1000; do
	(
		. scripts/studies/lib.sh
		# shellcheck disable=SC2034 # for watch
		say_every=$every
		show() { echo "row $1 of $2"; }
		printf '%s\n' 'p: 1 of 4, 3s gone, about 9s left' 'a remark' | watch p show
	) >"$FB_TMP/watched" 2>"$FB_TMP/rest"
	expect "progress each $every s" "$(cat "$FB_TMP/watched")" \
		"$([ $every -gt 0 ] || echo "row 1 of 4")"
	expect "the rest" "$(cat "$FB_TMP/rest")" "a remark"
done
verdict make_run

if [ -x "build/$MPI/bin/summary" ]; then
	expect "tables" "$(grep -c 'best of own' "$dir/summary.txt")" "$listed"
	expect "barriers' rows" "$(grep -cE '^ +0  (dissemination|tree) ' "$dir/summary.txt")" 1
	# Two sizes of ten programs; own ones are better or worse, but there.
	expect "rows of the tables" "$(grep -cE '^ +(8|4K)  [a-z_]+ (ll|ll128|simple|direct) ' \
		"$dir/summary.txt")" 20
	holds "$FB_TMP/out" '^library/own over 21 sizes'
	verdict make_run_summary
fi
if [ -x "build/$MPI/bin/summary" ] && fb_have gnuplot; then
	# Three figures of each, of the barrier two.
	expect "SVGs" "$(find "$dir" -name '*.svg' -size +1k | wc -l)" $((3 * listed - 1))
	expect "PNGs" "$(find "$dir" -name '*.png' -size +1k | wc -l)" $((3 * listed - 1))
	holds "$FB_TMP/out" "^plots: .*$dir"
	expect "stderr" "$(grep -v 'reading the clock' "$FB_TMP/err")" ''
	verdict make_run_plots
fi

# What is asked wrongly is refused before anything is written.
before=$(find results | wc -l)
for wrong in '--bogus=1' '--bytes=x' 'bytes=8' '--algorithm=nosuch'; do
	ONLY=barrier go "$wrong" scripts/run
	expect "exit code of OPTIONS=$wrong" "$rc" 3
done
ONLY='barrier nosuch' go '' scripts/run
expect "exit code of an unknown program" "$rc" 3
STUDY=nosuch go '' scripts/run
expect "exit code of an unknown study" "$rc" 3
NP=x go '' scripts/run
expect "exit code of NP=x" "$rc" 3
expect "files in results" "$(find results | wc -l)" "$before"
verdict make_run_refuses

# The worst exit code counts, and the others still run. A launcher's own code, here the 1 of a rank
# that ends so, is a fault, not a regression.
fake() {
	local program=build/$MPI/bin/$1

	printf '#!/bin/sh\ncase $* in *--list*) %s ;; esac\nexit %d\n' "$2" "$3" >"$program"
	chmod +x "$program"
}
fake broken 'echo "2 cases, of which 1 would be skipped"; exit 0' 1
fake dead 'exit 1' 0
printf '* --max-time=10ms\nbroken\nbarrier --algorithm=tree # a remark\n' >"$FB_TMP/my.study"
STUDY=$FB_TMP/my.study RESULTS=$FB_TMP/mine go '--max-samples=50' scripts/run
expect "exit code" "$rc" 5
[ -s "$FB_TMP/mine/barrier.csv" ] || fail "no result of the program after the broken one"
holds "$FB_TMP/out" 'not all is well: exit code 5'
holds "$FB_TMP/err" 'broken ended with exit code 5'
echo dead >"$FB_TMP/my.study"
STUDY=$FB_TMP/my.study RESULTS=$FB_TMP/none go '' scripts/run
expect "exit code where rows cannot be counted" "$rc" 5
[ ! -e "$FB_TMP/none" ] || fail "a folder for a study that was not begun"
verdict make_run_worst

# Interrupted: the program ends too, and its rows stay.
(
	export RESULTS=$FB_TMP/short ONLY=all_reduce OPTIONS=--ci=0.01%
	exec scripts/run </dev/null >"$FB_TMP/out" 2>"$FB_TMP/err"
) &
pid=$!
for ((i = 0; i < 600 * slow; i++)); do
	[ "$(wc -l 2>/dev/null <"$FB_TMP/short/all_reduce.csv")" -gt 3 ] 2>/dev/null && break
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
expect "exit code when interrupted" $? 130
holds "$FB_TMP/err" 'interrupted; rows so far'
build/"$MPI"/bin/csvcheck "$FB_TMP/short/all_reduce.csv" >"$FB_TMP/check" ||
	fail "$(cat "$FB_TMP/check")"
verdict make_run_interrupted

# Without gnuplot, and then without libcsv as well: said once, and nothing else is missing.
# Whatever else is in the path stays where it is, nvcc above all: another one would have everything
# built again.
tools=$FB_TMP/tools path=$FB_TMP/tools
mkdir "$tools" "$FB_TMP/headers"
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
	if compgen -G "$folder/gnuplot*" >/dev/null; then
		find "$folder/" -maxdepth 1 ! -type d ! -name 'gnuplot*' \
			-exec ln -sf -t "$tools" {} + 2>/dev/null
	else
		path+=:$folder
	fi
done
ONLY=barrier PATH=$path go "$small" scripts/run
expect "exit code without gnuplot" "$rc" 0
expect "remarks on gnuplot" "$(grep -c '^no gnuplot: no plots' "$FB_TMP/out")" 1
expect "figures without gnuplot" "$(find "$dir" -name '*.svg' | wc -l)" 0
[ ! -x "build/$MPI/bin/summary" ] || holds "$dir/summary.txt" 'best of own'
verdict make_run_without_gnuplot

echo '#error "there is no libcsv"' >"$FB_TMP/headers/csv.h"
# Only tools could include it; a folder in the compiler's environment changes no other object.
rm -r "build/$MPI"/{bin,scripts} "build/$MPI"/*.a
ONLY=barrier PATH=$path CPATH=$FB_TMP/headers go "$small" scripts/run
expect "exit code without libcsv" "$rc" 0
expect "remarks on libcsv" "$(grep -c '^no libcsv: no comparison and no plots' "$FB_TMP/out")" 1
# On a busy machine all rows may have too few samples for an interval.
holds "$dir/summary.txt" '^barrier.csv .* [0-9]+ (ok|few)'
holds "$FB_TMP/out" '^operation barrier, '
holds "$FB_TMP/out" ' ranks [0-9]+, nodes 1'
holds "$FB_TMP/out" '^ +bytes +.*median_us'
verdict make_run_without_libcsv
exit "$bad"
