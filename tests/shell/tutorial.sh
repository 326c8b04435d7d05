#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 2
# timeout: 300
#
# docs/tutorial.md is true: its file and its line, in a copy of the sources, are built, proved by
# the checker and run with right data; and the mistake that it names is found.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
copy=$FB_TMP/copy
bin=build/$MPI/bin
mkdir "$copy"
tar cf - --exclude=./build --exclude=./.git --exclude=./results --exclude=./tests . |
	tar xf - -C "$copy"
# What has been built is not built again.
mkdir -p "$copy/build/$MPI" && cp -a build/cuda "$copy/build/" 2>/dev/null
(cd "build/$MPI" && tar cf - --exclude=./bin --exclude=./tests .) |
	tar xf - -C "$copy/build/$MPI"
cd "$copy" || exit 3

# block LANGUAGE: the text of the page's block in that language.
block() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{ /^\`\`\`/d; p; }" docs/tutorial.md
}
file=$(grep -oE -m 1 'collectives/algorithm/[a-z_]+\.c' docs/tutorial.md)
block c >"$file"
line=$(block def)
[ -s "$file" ] && [ -n "$line" ] || fail "docs/tutorial.md has no file or no line"
sed -i "/^FB_ALGORITHM(all_gather, direct)/a $line" collectives/algorithm/algorithms.def

# build: the one program, from what has changed.
build() {
	make -s "$bin/all_gather" MPI="$MPI" WERROR=1 >"$FB_TMP/out" 2>&1 ||
		{ fail "does not build"; said "$FB_TMP/out"; }
}
build
words=(all_gather --engine host --algorithm backwards "--bytes=8,4K")
scripts/launch 4 "${words[@]}" --check-plan >"$FB_TMP/out" 2>&1
expect "exit code of --check-plan" $? 0
holds "$FB_TMP/out" '^[1-9][0-9]* plans checked, 0 wrong'
scripts/launch 3 "${words[@]}" --quiet --min-samples 5 --max-samples 5 --csv "$FB_TMP/mine" \
	>"$FB_TMP/out" 2>&1
expect "exit code of the run" $? 0
[ "$(grep -cE ',host,backwards,.*,(ok|few),' "$FB_TMP/mine/all_gather.csv")" -ge 4 ] ||
	fail "too few rows of backwards"
verdict tutorial_example

# The mistake of the page's end.
sed -i 's/for (int i = 0; i < n; i++)/for (int i = 0; i < n - 1; i++)/' "$file"
grep -q 'i < n - 1' "$file" || fail "the loop of the page is not in its file"
build
scripts/launch 4 "${words[@]}" --check-plan >"$FB_TMP/out" 2>&1
[ $? -ne 0 ] || fail "the checker takes a plan in which a block is missing"
verdict tutorial_mistake
exit "$bad"
