#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# tests/run itself, on a tree with tests of its own: what it shows of a failure, what --full adds,
# that tests run beside each other, and that its limits end what hangs.

set -u
export LC_ALL=C
. tests/shell/lib.sh
tree=$FB_TMP/tree
mkdir -p "$tree"/{scripts,tests/{shell,fuzz}}
cp scripts/lib.sh "$tree/scripts"
cp tests/run tests/lib.sh tests/lib_count.sh "$tree/tests"
cp tests/fuzz/lib.sh "$tree/tests/fuzz"

# script NAME PROCESSORS SECONDS: a test from standard input.
script() {
	printf '#!/bin/bash\n# processors: %s\n# timeout: %s\n' "$2" "$3" >"$tree/tests/shell/$1.sh"
	cat >>"$tree/tests/shell/$1.sh"
}

# go OPTION...: sets rc; output in $FB_TMP/out.
go() {
	env -u FB_FULL -u FB_SLOW MPI="$MPI" "$tree/tests/run" --no-build --no-asan -k '^shell/' \
		"$@" >"$FB_TMP/out" 2>&1 </dev/null
	rc=$?
}

script good 1 20 <<'END'
echo "PASS one"
echo "SKIP two: because"
END
go
expect "exit code" "$rc" 0
expect "last line" "$(tail -n 1 "$FB_TMP/out")" "1 passed, 0 failed, 1 skipped"
holds "$FB_TMP/out" '^PASS  shell/good .* s \([0-9.]+ s of processors\), 1 passed$'
# An idle machine has 1, and no test starts without it.
script slow 1 20 <<'END'
[[ $FB_SLOW =~ ^[1-9][0-9]*$ ]] && echo "PASS slow"
END
go -k 'shell/slow'
expect "exit code with FB_SLOW" "$rc" 0
verdict runner_counts

# The program's own line is shown, though many of mpirun's follow.
script bad 1 20 <<'END'
echo "fabricbench: rank 1 is missing"
for ((i = 0; i < 100; i++)); do echo "mpirun says line $i"; done
echo "FAIL bad: reason"
END
go -k 'shell/bad'
expect "exit code" "$rc" 1
holds "$FB_TMP/out" '\| fabricbench: rank 1 is missing'
holds "$FB_TMP/out" '^FAIL  shell/bad '
rm "$tree/tests/shell/bad.sh"
script endless 1 1 <<'END'
sleep 1000
END
go -k 'shell/endless'
expect "exit code after a limit" "$rc" 1
holds "$FB_TMP/out" 'stopped after the limit of [0-9]+ s'
rm "$tree/tests/shell/endless.sh"
verdict runner_failures

# Two tests that wait for each other can only pass beside each other.
for name in left right; do
	script $name 1 60 <<-END
		: >"$FB_TMP/$name"
		for ((i = 0; i < 2000; i++)); do
			[ -e "$FB_TMP/left" ] && [ -e "$FB_TMP/right" ] && echo "PASS met" && exit
			sleep 0.05
		done
	END
done
go -k 'shell/(left|right)'
expect "exit code of two tests that wait for each other" "$rc" 0
# One that needs all processors finds no other.
for name in all every; do
	script $name 99 60 <<-END
		mkdir "$FB_TMP/alone" && sleep 0.3 && rmdir "$FB_TMP/alone" && echo "PASS alone"
	END
done
go -k 'shell/(all|every)'
expect "exit code of tests that need all processors" "$rc" 0
verdict runner_beside

script families 1 20 <<'END'
echo "PASS $FB_FULL:$FB_MPIS"
END
for family in $FB_MPIS; do
	go -k 'shell/families' -v
	holds "$FB_TMP/out" "PASS :$MPI$"
	go -k 'shell/families' -v --full
	holds "$FB_TMP/out" "PASS 1:.*$family"
done
verdict runner_full
exit $bad
