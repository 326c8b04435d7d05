#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# --preset: every program that has presets accepts both of them, their defaults are those of the
# rows and of --help, options that are given go before them, and other programs refuse them.

set -u
export LC_ALL=C
. tests/shell/lib.sh
bin=$FB_BUILD/bin

# list PROGRAM OPTION...: the cases of two ranks on processors.
list() {
	scripts/launch 2 "$bin/$1" --engine host --list "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err" ||
		fail "$*: $(tail -n 3 "$FB_TMP/err")"
}

"$bin/ddp" --preset training >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "code of ddp --preset" "$?" 3
holds "$FB_TMP/err" "'training' is not accepted: ddp does not use it"
users=$(sed -n 's/.*programs that do: //p' "$FB_TMP/err" | tr -d ,)
expect "programs with presets" "$(wc -w <<<"$users")" 15
"$bin/all_reduce" --preset none,training 2>"$FB_TMP/err"
expect "code of two presets" "$?" 3
holds "$FB_TMP/err" 'expected one of none, inference, training'
for program in $users; do
	for preset in inference training; do
		list "$program" --preset "$preset"
		grep -q ', of which' "$FB_TMP/out" || fail "$program --preset $preset lists nothing"
	done
done
verdict preset_all

sizes() {
	grep -oE '[0-9]+ B( |$)' "$FB_TMP/out" | sort -un | xargs
}
list all_reduce --preset inference
expect "sizes" "$(sizes)" '16384 B 32768 B 65536 B 131072 B 262144 B 524288 B 1048576 B'
expect "other types than bf16" "$(grep -c '^all_reduce host' "$FB_TMP/out")" \
	"$(grep -c '^all_reduce host.* bf16 ' "$FB_TMP/out")"
list all_reduce --preset training
expect "sizes" "$(sizes)" '1048576 B 4194304 B 16777216 B 67108864 B 268435456 B'
list all_reduce --bytes 8 --preset inference --datatype f32
expect "sizes that are given" "$(sizes)" '8 B'
holds "$FB_TMP/out" ' f32 sum'
list tensor_parallel --preset inference
holds "$FB_TMP/out" 'all_reduce host .* 65536 B nonblocking chunks=1;layers=4;tokens=8$'
list tensor_parallel --preset training
holds "$FB_TMP/out" 'train_sequence host .*tokens=2048$'
list moe --preset training --tokens 64
holds "$FB_TMP/out" 'overlap host .*dispatch=fp8;.*tokens=64$'
"$bin/moe" --preset training --help >"$FB_TMP/out"
holds "$FB_TMP/out" 'default 4096'
verdict preset_values
exit "$bad"
