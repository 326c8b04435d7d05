#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# Study files: what they become (golden), that the order of launches is balanced, and that every
# mistake is one line with file, line number, what was given and what is accepted.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
study=$FB_BUILD/bin/study
cd "$FB_TMP" || exit 3
[[ $study == /* ]] || study=$OLDPWD/$study
golden=$OLDPWD/tests/golden/study
mkdir -p build/here/bin build/other/bin
for name in all_reduce barrier broadcast; do
	printf '#!/bin/sh\n' >build/here/bin/$name
	chmod +x build/here/bin/$name
	cp build/here/bin/$name build/other/bin
done

# plan [option...]: the plan of my.study, without comments.
plan() {
	"$study" "$@" my.study >out 2>err || fail "exit code $? of $*: $(cat err)"
	grep -v '^#' out | tail -n +2
}

cp "$golden/all.study" .
"$study" --build build/here --seed 7 all.study >out 2>err
expect "exit code" $? 0
diff -u "$golden/all.txt" out || fail "the plan is another one"
diff -u - err <<-'END' || fail "what is left out is not said so"
	fabricbench: all.study:13: left out: no program 'absent' in build/here/bin
	fabricbench: all.study: left out: 2 ranks on 4 nodes, which do not divide
	fabricbench: all.study: left out: 2 ranks on 8 nodes, which do not divide
	fabricbench: all.study: left out: 4 ranks on 8 nodes, which do not divide
END
expect "lines for one launch" "$("$study" --lines --build build/here all.study 2>err)" \
	"$(printf 'all_reduce\t--ci=2%% --max-time=10ms --bytes=8\n'
	printf 'barrier\t--ci=1%% --max-time=10ms --bytes=0')"
expect "for several launches" "$("$study" --directives --build build/here all.study 2>err)" \
	"launches ranks nodes env side canary-limit canary"
expect "other options" "$("$study" --lines --only barrier --options='--ci=9% --x' all.study)" \
	"$(printf 'barrier\t--ci=9%% --max-time=10ms --bytes=0 --x')"
verdict sweep_plan_golden

# Sides: each pair of launch indexes is ABBA or BAAB, each variant whole; both kinds occur.
printf 'launches 6\nranks 2,3,4\nside b\nall_reduce\n' >my.study
for seed in 1 2 3 4 5; do
	plan --seed "$seed" | cut -f 2-4 | paste - - - - | sed 's/\t/ /g' >blocks
	expect "blocks of seed $seed" "$(wc -l <blocks)" 9
	grep -vE '^([0-9]) a ([234]) \1 b \2 [135] b \2 [135] a \2$' blocks |
		grep -vE '^([0-9]) b ([234]) \1 a \2 [135] a \2 [135] b \2$' >neither
	[ -s neither ] && fail "neither ABBA nor BAAB: $(cat neither)"
	cat blocks >>all_blocks
	expect "launches of seed $seed" "$(sort -u blocks | wc -l)" 9
done
[ "$(grep -c '^. a' all_blocks)" -ge 5 ] && [ "$(grep -c '^. b' all_blocks)" -ge 5 ] ||
	fail "of 45 blocks $(grep -c '^. a' all_blocks) begin with a"
plan --seed 1 --repeat 5 | cut -f 3 | tail -n 6 | paste -sd ' ' >last
holds last '^((a b|b a) ?){3}$'
# The same seed gives the same order, another one another.
expect "same seed" "$(plan --seed 9)" "$(plan --seed 9)"
[ "$(plan --seed 9)" != "$(plan --seed 10)" ] || fail "the seed changes nothing"
# Without sides every launch index is a block of all variants, in different orders.
printf 'launches 8\nranks 1,2,3,4\nall_reduce\n' >my.study
plan | cut -f 2 | uniq -c | awk '{ print $1, $2 }' >blocks
expect "blocks" "$(paste -sd ' ' blocks)" "4 0 4 1 4 2 4 3 4 4 4 5 4 6 4 7"
[ "$(plan | cut -f 4 | paste - - - - | sort -u | wc -l)" -ge 4 ] || fail "variants in one order"
expect "two sides" "$(plan --two-sides | cut -f 3 | sort | uniq -c | awk '{ print $1 $2 }' |
	paste -sd ' ')" "32a 32b"
expect "other numbers" "$(plan --ranks-per-node 3 --nodes 1,2 --repeat 1 | cut -f 4,5 | sort |
	paste -sd ' ' | tr '\t' /)" "3/1 6/2"
# --np is for a study that says no number of ranks, and for no other.
expect "--np beside ranks" "$(plan --np 7 | cut -f 4 | sort -u | paste -sd ' ')" "1 2 3 4"
printf 'all_reduce\n' >my.study
expect "--np" "$(plan --np 7 | cut -f 4) $(plan | cut -f 4)" "7 4"
verdict sweep_plan_order

# bad LINE MESSAGE: a study whose third line is this.
bad() {
	printf '# a study\nall_reduce --bytes=8\n%s\n' "$1" >my.study
	"$study" --build build/here my.study >out 2>err
	expect "exit code of '$1'" $? 3
	expect "lines of '$1'" "$(wc -l <err)" 1
	expect "output of '$1'" "$(cat out)" ''
	[[ $(cat err) == "fabricbench: my.study:3: "*$2* ]] || fail "'$1': $(cat err)"
	grep -qE 'accepted (is|are)' err || fail "'$1' does not say what is accepted: $(cat err)"
}

bad 'nosuch --bytes=8' "no program 'nosuch' in build/here/bin"
bad 'lunches 3' "lunches: '3'"
bad 'lunches' "no program 'lunches'"
bad 'All_Reduce' "'All_Reduce'"
bad '-x' "'-x'"
bad '??all_reduce' "'??all_reduce'"
bad 'launches' 'launches with 0 words'
bad 'launches 3 4' 'launches with 2 words'
bad 'launches 0' "launches '0'"
bad 'launches 10001' "launches '10001'"
bad 'launches -1' "launches '-1'"
bad 'launches ten' "launches 'ten'"
bad 'ranks 0' "ranks '0'"
bad 'ranks 2,x' "ranks '2,x'"
bad 'ranks 2 4' 'ranks with 2 words'
bad 'nodes 2000000' "nodes '2000000'"
bad 'ranks-per-node' 'ranks-per-node with 0 words'
bad 'env' 'env without a word'
bad 'env A="x' 'a second " at the value'
bad 'env UCX_TLS' "env 'UCX_TLS'"
bad 'env 1A=2' "env '1A=2'"
bad 'env A=1;B' "env 'A=1;B'"
bad 'env A=1;A=2' "env 'A=1;A=2'"
bad 'env A=1 - -' "env '-' twice"
bad 'side' "side ''"
bad 'side c' "side 'c'"
bad 'side b ucx' "'ucx'"
bad 'side b --build=' "'--build='"
bad 'side b --build=build/nowhere' "build/nowhere"
bad 'canary' "canary ''"
bad 'canary none --x=1' "canary 'none'"
bad 'canary barrier x' "'x'"
bad 'canary-limit' 'canary-limit with 0 words'
bad 'canary-limit much' "canary-limit 'much'"
bad 'canary-limit 0' "canary-limit '0'"
bad 'barrier bytes=8' "'bytes=8'"
bad 'barrier -b' "'-b'"
bad '* ring' "'ring'"
bad 'barrier --csv=x' "'--csv=x'"
bad 'barrier --resume' "'--resume'"
bad '* --launch-index=3' "'--launch-index=3'"
bad 'side b --tag=a=1' "'--tag=a=1'"
verdict sweep_plan_bad_lines

# Mistakes of which one line alone is innocent: the later one is named.
bad_pair() {
	printf '%s\nall_reduce\n%s\n' "$1" "$2" >my.study
	"$study" --build build/here my.study >out 2>err
	expect "exit code of '$1', '$2'" $? 3
	[[ $(cat err) == "fabricbench: my.study:3: "*accepted* ]] || fail "'$2': $(cat err)"
}

bad_pair 'ranks 2' 'ranks 4'
bad_pair 'ranks 2' 'ranks-per-node 4'
bad_pair 'nodes 2' 'nodes 4'
bad_pair 'env A=1 A=2' 'env B=1 A=3'
bad_pair 'env A=1' 'side b A=2'
bad_pair 'side a' 'side a X=1'
bad_pair 'canary none' 'canary barrier'
for wrong in nosuch /nowhere/my.study .; do
	"$study" $wrong >out 2>err
	expect "exit code of study $wrong" $? 3
	holds err "^fabricbench: no study '$wrong': neither"
done
printf 'launches 3\n?absent\n' >my.study
"$study" --build build/here my.study >out 2>err
expect "exit code of an empty study" $? 3
holds err 'my.study names no program'
printf 'ranks 2\nnodes 4\nall_reduce\n' >my.study
"$study" my.study >out 2>err
expect "exit code of a study without a variant" $? 3
holds err 'no number of ranks divides among the nodes'
verdict sweep_plan_bad_files

# What is shipped can be read, and names programs that exist or may be absent.
for file in "$OLDPWD"/scripts/studies/*.study; do
	"$study" --build "$OLDPWD/build/$MPI" "$file" >out 2>err ||
		# A product of many axes is for scripts/search.
		{ [[ $file == *nccl*-search.study ]] && grep -q 'than 1000 combinations' err; } ||
		fail "$file: $(cat err)"
	name=$(basename "$file" .study)
	grep -q "\`$name\`" "$OLDPWD/docs/studies.md" || fail "docs/studies.md lacks \`$name\`"
done
verdict sweep_plan_shipped
exit "$bad"
