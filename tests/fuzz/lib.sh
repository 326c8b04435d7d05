# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What tests/run and tests/fuzz/run share. Sourced from the root of the sources.

# fuzz_seeds NAME: the folders with inputs for that fuzzer: its own corpus, and what the line
# `seeds:` of its source names.
fuzz_seeds() {
	[ ! -d "tests/fuzz/corpus/$1" ] || echo "tests/fuzz/corpus/$1"
	sed -n '1,12s/^ \* seeds: *//p' "tests/fuzz/$1.c" | tr ' ' '\n' | sed '/^$/d'
}
