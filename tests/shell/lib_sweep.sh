# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # variables of those who source this
#
# A build of programs that measure nothing, and a launcher that starts nothing, so that the tests of
# scripts/sweep take milliseconds where real programs take seconds. What they do is told by files in
# $fake; what they were told is in $fake/starts.

fake=$FB_TMP/fake
export fake
build=$fake/build/openmpi
mkdir -p "$build/bin"
ln -s "$(realpath "$FB_BUILD")/bin/study" "$build/bin/study"
# As the real one: everything from the program on is run, once.
cat >"$fake/mpirun" <<'END'
#!/bin/bash
echo "$*" >>"$fake/launcher"
while [ "$1" != -n ]; do shift; done
export RANKS=$2
exec "${@:3}"
END
# Writes rows for --bytes=N: sizes 1 to N, those that are not there already, each after $fake/pause
# seconds. Exit code 5 as often as $fake/faults says; $fake/refuse makes it 3.
cat >"$build/bin/work" <<'END'
#!/bin/bash
name=$(basename "$0") count=2 csv='' launch='' tag='' run='' nodes=1 list=no
for word; do
	case $word in
	--list) list=yes ;;
	--bytes=*) count=${word#*=} ;;
	--csv=*) csv=${word#*=} ;;
	--launch-index=*) launch=${word#*=} ;;
	--tag=*) tag=${word#*=} ;;
	--run=*) run=${word#*=} ;;
	--nosuch*) echo "fabricbench: unknown option $word" >&2; exit 3 ;;
	esac
done
if [ "$list" = yes ]; then
	echo "$count cases, of which 0 would be skipped"
	exit
fi
echo "$name $RANKS $launch A=${A-none} B=${B-none} tag=$tag" >>"$fake/starts"
[ ! -e "$fake/refuse" ] || { echo "fabricbench: $name: no device" >&2; exit 3; }
[ ! -e "$fake/nodes" ] || nodes=$(cat "$fake/nodes")
flags=$(cat "$fake/flags" 2>/dev/null)
file=$csv/$name.csv
[ -s "$file" ] || echo 'run,launch_index,program,bytes,ranks,nodes,variant,status,flags' >"$file"
echo 'scope,host,rank,key,value' >"$csv/environment.csv"
for ((i = 1; i <= count; i++)); do
	key=$run,$launch,$name,$i,$RANKS,$nodes,\"$tag\"
	grep -qF "$key" "$file" && continue
	sleep "$(cat "$fake/pause" 2>/dev/null || echo 0)"
	if [ -s "$fake/faults" ] && [ "$(cat "$fake/faults")" -gt 0 ]; then
		echo $(($(cat "$fake/faults") - 1)) >"$fake/faults"
		echo "fabricbench: rank 1 is gone" >&2
		exit 5
	fi
	echo "$key,ok,$flags" >>"$file"
done
code=$(cat "$fake/code" 2>/dev/null || echo 0)
echo "run,,,program.$name.$((launch)).exit_code,$code" >>"$csv/environment.csv"
exit "$code"
END
# Prints a time: the next one of the words in $fake/times, 10 where there is none.
cat >"$build/bin/canary" <<'END'
#!/bin/bash
read -ra times < <(cat "$fake/times" 2>/dev/null)
echo "${times[*]:1}" >"$fake/times"
echo canary >>"$fake/starts"
[ "${times[0]-10}" != none ] || exit 5
printf 'variant,status,reason,median_us\n"a,b",ok,,%s\n' "${times[0]-10}"
END
cp "$build/bin/work" "$build/bin/more"
chmod +x "$fake/mpirun" "$build"/bin/{work,more,canary}
export MPIRUN=$fake/mpirun LOCK_WAIT=10

# begin TEXT: a study of these lines, and everything else as it was at first.
begin() {
	printf '%b\n' "$1" >"$fake/my.study"
	rm -f "$fake"/{starts,launcher,faults,refuse,nodes,flags,pause,code,times}
	: >"$fake/starts"
	rm -rf "$fake/results"
	results=$fake/results
}

# sweep [argument...]: runs it; sets rc, leaves $fake/out and $fake/err.
sweep() {
	scripts/sweep "$@" </dev/null >"$fake/out" 2>"$fake/err"
	rc=$?
}

# The study of `begin` into its results.
sweep_new() {
	sweep "$fake/my.study" --build "$build" --results "$results" --seed 1 "$@"
}

# column NAME [FOLDER]: a column of launches.csv in one line. No field of these tests has commas.
column() {
	awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ printf "%s%s", (NR > 2 ? " " : ""), $at }' "${2:-$results}/launches.csv"
}

# lines_of FILE: without the header.
lines_of() {
	tail -q -n +2 "$@" | wc -l
}
