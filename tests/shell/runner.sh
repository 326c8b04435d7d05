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
cp tests/run tests/lib.sh tests/lib_count.sh tests/lib_stuck.sh "$tree/tests"
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

# gone: whether the process in $FB_TMP/child ends at once; a zombie has.
gone() {
	local i

	for ((i = 0; i < 100 * slow; i++)); do
		grep -qs '^State:[[:blank:]]*[^Z]' "/proc/$(cat "$FB_TMP/child")/status" || return 0
		sleep 0.1
	done
	return 1
}

script good 1 20 <<'END'
echo "PASS one"
echo "SKIP two: because"
END
go
expect "exit code" "$rc" 0
expect "last line" "$(tail -n 1 "$FB_TMP/out")" "1 passed, 0 failed, 1 skipped"
holds "$FB_TMP/out" '^PASS  shell/good .* s \([0-9.]+ s of processors\), 1 passed$'
holds "$FB_TMP/out" '^all tests: [0-9]+ s of processors; the run: [0-9]+ s on [0-9]+ processors$'
holds "$FB_TMP/out" '^  shell/good: [0-9.]+ s of processors in [0-9.]+ s$'
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
# What it leaves behind hears no TERM, and must not outlive it.
script endless 1 1 <<END
(trap '' TERM; echo \$BASHPID >"$FB_TMP/child"; exec >"$FB_TMP/trash" 2>&1; sleep 1000 & wait) &
echo "fabricbench: endless"
mkdir -p build
cp "$(type -P sleep)" build/sits
build/sits 1000 &
wait
END
go -k 'shell/endless'
expect "exit code after a limit" "$rc" 1
holds "$FB_TMP/out" 'stopped after the limit of [0-9]+ s'
expect "second runs of what hangs" "$(grep -c '^AGAIN' "$FB_TMP/out")" 0
holds "$FB_TMP/out" '^FAIL  shell/endless .* s of processors\), stopped at its limit, exit code'
holds "$FB_TMP/out" '\|   [0-9]+ S[^ ]* [0-9]+ s sleep 1000$'
sits='\|   [0-9]+ S[^ ]* [0-9]+ s build/sits 1000: '
# gdb may be forbidden to attach to what it did not start, as it is by Ubuntu's default.
sleep 100 &
gdb -nx -batch -iex 'set debuginfod enabled off' -p $! -ex bt </dev/null 2>/dev/null |
	grep -q nanosleep && sits+='.*nanosleep'
kill $!
holds "$FB_TMP/out" "$sits"
gone || fail "a process outlives its test"
# The run as a whole: its limit is in minutes, so this tree's has seconds of them.
script later 1 20 <<'END'
echo "PASS later"
END
sed 's/run_limit \* 60/run_limit/' tests/lib.sh >"$tree/tests/lib.sh"
sed -i 's/^# timeout: 1$/# timeout: 1000/; s/^# processors: 1$/# processors: 99/' \
	"$tree/tests/shell/endless.sh"
go -k 'shell/(endless|later)' --limit $((5 * slow))
cp tests/lib.sh "$tree/tests"
expect "exit code after the run's limit" "$rc" 1
holds "$FB_TMP/out" '^FAIL  shell/endless .*still running after the run.s limit of [0-9]+ min'
holds "$FB_TMP/out" '\| fabricbench: endless'
holds "$FB_TMP/out" '^FAIL  shell/later .*not begun within the run.s limit of [0-9]+ min'
expect "last line after the run's limit" "$(tail -n 1 "$FB_TMP/out")" \
	"0 passed, 2 failed, 0 skipped"
gone || fail "a process outlives the run"
rm "$tree"/tests/shell/{endless,later}.sh
verdict runner_failures

# Fails the first time only: it has passed, and its first log is shown.
script unsteady 1 20 <<END
[ -e "$FB_TMP/seen" ] && echo "PASS unsteady" && exit
: >"$FB_TMP/seen"
echo "fabricbench: an unlucky start"
echo "FAIL unsteady"
END
go -k 'shell/unsteady'
expect "exit code of one that passes when run again" "$rc" 0
holds "$FB_TMP/out" '^passed only when run again: shell/unsteady$'
holds "$FB_TMP/out" '\| fabricbench: an unlucky start'
expect "last line of it" "$(tail -n 1 "$FB_TMP/out")" "1 passed, 0 failed, 0 skipped"
rm "$FB_TMP/seen"
# Many that fail have a reason: only the first ten run again.
for ((i = 0; i < 12; i++)); do
	script "many$i" 1 20 <<-END
		echo "FAIL many"
	END
done
go -k 'shell/many'
expect "tests that ran again" "$(grep -c '^AGAIN' "$FB_TMP/out")" 10
expect "last line of many" "$(tail -n 1 "$FB_TMP/out")" "0 passed, 12 failed, 0 skipped"
rm "$tree"/tests/shell/many*.sh "$tree/tests/shell/unsteady.sh"
verdict runner_again

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
