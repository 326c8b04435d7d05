#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 240
#
# compare: what it makes of environments, of unusable input, and of many nights.

set -u
export LC_ALL=C
. tests/shell/lib_compare.sh
[ -x "$compare" ] || { echo "SKIP compare_input: not built (no libcsv)"; exit 0; }

# --- environments --------------------------------------------------------------------------------

# changed SED: the golden study with side b's environment changed.
changed() {
	copy env
	cp "$study/a/environment.csv" "$FB_TMP/env/b/environment.csv"
	sed -i "$1" "$FB_TMP/env/b/environment.csv"
}

changed 's/load_average,0.10/load_average,9.90/;
	s/24684092 kB/24684000 kB/; s/run.name,golden/run.name,x/'
run 1 "$FB_TMP/env"
holds "$FB_TMP/out" 'WHAT CHANGED: nothing that environment.csv records'
changed 's/Example CPU/Other CPU/'
refuses 'machines differ in cpu.model \(Example CPU -> Other CPU\)' "$FB_TMP/env"
run 1 "$FB_TMP/env" --force
holds "$FB_TMP/out" '! cpu.model: Example CPU -> Other CPU'
changed 's/bind.cpus,8-15/bind.cpus,4-11/'
refuses 'bind.cpus \(rank 0: 0-7, rank 1: 8-15 -> rank 0: 0-7, rank 1: 4-11\)' "$FB_TMP/env"
changed 's/^rank,n1/rank,n7/; s/hostname,n1/hostname,n7/'
run 1 "$FB_TMP/env"
holds "$FB_TMP/out" 'hostname: n1 -> n7'
# Environments that rows have as keys, and numbers of ranks, differ between launches on purpose.
sed -i 's/,4,1,,/,4,1,env.OMPI_X=1,/' "$FB_TMP/env"/?/results.csv
echo 'run,,,run.ranks,4' >>"$FB_TMP/env/a/environment.csv"
printf '%s\n' 'run,,,run.ranks,8' 'run,,,variable.OMPI_X,1' 'rank,n1,0,bind.cpus,0-3' \
	'run,,,variable.OMPI_Y,1' >>"$FB_TMP/env/b/environment.csv"
run 1 "$FB_TMP/env"
holds "$FB_TMP/out" 'variable.OMPI_Y: '
! grep -qE 'variable.OMPI_X|bind[.]' "$FB_TMP/out" ||
	fail "a difference on purpose is shown: $(grep -E "variable.OMPI_X|bind[.]" "$FB_TMP/out")"
# GPUs count by model, wherever they sit; a driver may differ, that is what is looked for.
for s in a b; do
	for i in 0 1; do
		echo "run,,,nvidia.gpu.0000:$i$s:00.0,NVIDIA X"
	done >>"$FB_TMP/env/$s/environment.csv"
	echo "run,,,nvidia.driver,version 5$s" >>"$FB_TMP/env/$s/environment.csv"
done
run 1 "$FB_TMP/env"
holds "$FB_TMP/out" '^  driver'
holds "$FB_TMP/out" 'nvidia.driver: version 5a -> version 5b'
sed -i '/1b:00.0/d' "$FB_TMP/env/b/environment.csv"
refuses 'GPUs \(2 x NVIDIA X -> 1 x NVIDIA X\)' "$FB_TMP/env"
# One node with another firmware stands out.
changed ''
for n in 1,,infiniband.mlx5_0.firmware,1.0 2,,infiniband.mlx5_0.firmware,1.0 \
	3,,infiniband.mlx5_0.firmware,1.1; do
	echo "node,n$n" >>"$FB_TMP/env/b/environment.csv"
done
sed -i '$a run,,,infiniband.mlx5_0.firmware,1.0' "$FB_TMP/env/a/environment.csv"
run 1 "$FB_TMP/env"
holds "$FB_TMP/out" 'infiniband.mlx5_0.firmware: 1.0 -> 1.0 on 2, 1.1 on n3'
rm "$FB_TMP/env/b/environment.csv"
run 1 "$FB_TMP/env"
holds "$FB_TMP/out" 'WHAT CHANGED: not known'
verdict compare_environment

# A library that took another way is named; counters behind the way are not compared.
changed ''
for s in a b; do
	way=$([ $s = a ] && echo 'ring ll' || echo 'tree, simple')
	sed -i "1s/\$/,path/; 2,\$s/\$/,\"same (eth0 $s)\"/; /,mpi,/s/,\"same.*/,\"$way (1)\"/" \
		"$FB_TMP/env/$s/results.csv"
done
run 1 "$FB_TMP/env" --csv "$FB_TMP/w.csv"
holds "$FB_TMP/out" '^  ring ll -> tree, simple: 2$'
expect "other ways" "$(grep -c '^  .* -> .*: [0-9]*$' "$FB_TMP/out")" 1
holds "$FB_TMP/w.csv" ',ring ll,"tree, simple",$'
holds "$FB_TMP/out" '; 2 rerouted '
# With --strict a change of way fails, even where no row is slower.
quiet=(--filter 'algorithm=ring,protocol=simple,bytes=8,bytes=4096' "$FB_TMP/env")
run 0 "${quiet[@]}" --strict
sed -i '/ring,simple/s/"same (eth0 b)"/"host (fell back)"/' "$FB_TMP/env/b/results.csv"
run 0 "${quiet[@]}"
holds "$FB_TMP/out" '^2 rows: .*SAME 2.*; 2 rerouted .exit code 0'
run 4 "${quiet[@]}" --strict --junit "$FB_TMP/w.xml"
holds "$FB_TMP/w.xml" '<failure message=.*ran another way: same -&gt; host'
# Figures, warnings and versions are no way: WHAT CHANGED has versions, and NIXL measures always.
# path FROM TO: what a change of the path from FROM to TO ends in with --strict.
path() {
	sed -i "/ring,simple/s/,\"[^\"]*\"\$/,\"$1\"/" "$FB_TMP/env/a/results.csv"
	sed -i "/ring,simple/s/,\"[^\"]*\"\$/,\"$2\"/" "$FB_TMP/env/b/results.csv"
	"$compare" "${quiet[@]}" --strict >"$FB_TMP/out" 2>"$FB_TMP/err"
	echo $?
}
nccl='ncclAllReduce: ring ll clusters of 4 via P2P\/CUMEM, network IB'
expect "NCCL's version" "$(path "NCCL 2.28.3 $nccl" "NCCL 2.32.3 $nccl, 12 warnings: RMA; no")" 0
expect "NCCL's way" "$(path "NCCL 2.28.3 $nccl" "NCCL 2.28.3 ${nccl/IB/Socket}")" 4
expect "clusters" "$(path "NCCL 2.28.3 $nccl" "NCCL 2.28.3 ${nccl/4/8}")" 4
expect "GPUs a process" "$(path "NCCL 2.28.3, 2 GPUs a process" "NCCL 2.28.3, 4 GPUs a process")" 4
expect "a communicator" "$(path "NCCL 2.28.3, init" "NCCL 2.32.3, init")" 0
expect "NIXL's figures" "$(path 'NIXL, UCX plugin; 0% of the payload over own TCP sockets' \
	'NIXL, UCX plugin (3% of the payload over own TCP sockets; post 3.1 us)')" 0
expect "NIXL on TCP" "$(path 'NIXL, UCX plugin (3% of the payload)' \
	'NIXL, UCX plugin over TCP (99% of the payload)')" 4
expect "UCX" "$(path 'UCX 1.16.0 sysv\/memory' 'UCX 1.18.0 sysv\/memory')" 0
expect "UCX's way" "$(path 'UCX 1.16.0 sysv\/memory' 'UCX 1.16.0 tcp\/eth0')" 4
expect "libfabric" "$(path 'libfabric 1.17 tcp\/eth0' 'libfabric 2.1 tcp\/eth0')" 0
expect "libfabric's way" "$(path 'libfabric 1.17 tcp\/eth0' 'libfabric 1.17 efa\/eth0')" 4
expect "MPI's version" "$(path 'Open MPI v4.1.4, package: Debian' 'Open MPI v5.0.0')" 0
expect "another MPI" "$(path 'Open MPI v4.1.4, package: Debian' 'MPICH Version: 4.0.2')" 4
verdict compare_path

# cause ENGINE TRANSPORT SEEN: the class that comes first when only such rows get slower.
cause() {
	changed 's/performance/powersave/; s/Linux 6.1.0/Linux 6.8.0/; s/v4.1.4/v5.0.0/
		s/abc1234/fff/; $a run,,,nvidia.driver,550\nrun,,,library.libnccl.version,2.20'
	sed -i '$a run,,,nvidia.driver,535\nrun,,,library.libnccl.version,2.19' \
		"$FB_TMP/env/a/environment.csv"
	awk -v e="$1" -v t="$2" '{ $9 = $2 ~ e && $5 ~ t ? 1.3 : 1 } 1' <<-'END' >"$FB_TMP/rows"
		all_reduce host ring simple shm 1024 20 0.01 1
		all_reduce host ring simple tcp 1024 200 0.01 1
		all_reduce nccl ring simple p2p 1024 30 0.01 1
		all_reduce nccl tree simple p2p 1024 30 0.01 1
		all_reduce mpi library library library 1024 30 0.01 1
	END
	make_side "$FB_TMP/env/a" a 8 3 <"$FB_TMP/rows"
	make_side "$FB_TMP/env/b" b 8 3 <"$FB_TMP/rows"
	run 1 "$FB_TMP/env"
	expect "first cause when $1 $2 rows get slower" \
		"$(grep -A1 '^WHAT CHANGED' "$FB_TMP/out" | sed -n '2s/^  //; 2s/:.*//p')" "$3"
}

cause nccl . 'loaded libraries'
holds "$FB_TMP/out" 'only rows of engine nccl are slower'
expect "the first library" "$(grep -A2 '^WHAT' "$FB_TMP/out" | sed -n '3s/:.*//p')" \
	'    library.libnccl.version'
cause mpi . 'loaded libraries'
expect "the first library" "$(grep -A2 '^WHAT' "$FB_TMP/out" | sed -n '3s/:.*//p')" \
	'    mpi.library'
cause . tcp 'kernel and system'
cause host . 'build of fabricbench'
cause . . clocks
holds "$FB_TMP/out" 'nearly all rows are slower'
# What only the plan knows: variables that a side sets and no program writes down, and its build.
copy plan
{
	printf '# fabricbench plan 1\n'
	printf 'index\tlaunch_index\tside\tranks\tnodes\tvariant\tenv\tbuild\tseconds\tlines\n'
	printf '0\t0\ta\t4\t-\t-\tDELAY_US=0;X=1\tbuild/one\t5.0\tbarrier\n'
	printf '1\t0\tb\t4\t-\t-\tDELAY_US=20;X=1\tbuild/two\t5.0\tbarrier\n'
} >"$FB_TMP/plan/plan.tsv"
for sides in "$FB_TMP/plan" "$FB_TMP/plan/a $FB_TMP/plan/b"; do
	# shellcheck disable=SC2086 # words
	run 1 $sides
	holds "$FB_TMP/out" '^    variable.DELAY_US: 0 -> 20'
	holds "$FB_TMP/out" '^    build.folder: build/one -> build/two'
	grep -q 'variable.X' "$FB_TMP/out" && fail 'a variable that both sides set is a difference'
done
sed -i 's/\tside\t/\tseite\t/' "$FB_TMP/plan/plan.tsv"
refuses 'plan.tsv: no column side' "$FB_TMP/plan"
verdict compare_cause

# --- unusable input ------------------------------------------------------------------------------

a=$study/a/results.csv
mkdir "$FB_TMP/none"
head -c -20 "$a" >"$FB_TMP/torn.csv"
sed 's/,bytes,/,size,/' "$a" >"$FB_TMP/column.csv"
sed '3s/^1,/4,/' "$a" >"$FB_TMP/schema.csv"
sed '3s/,ok,/,good,/' "$a" >"$FB_TMP/status.csv"
sed '3s/,golden,[0-9]*,/,golden,one,/' "$a" >"$FB_TMP/index.csv"
sed '3s/,[^,]*,[^,]*$/,fast,1/' "$a" >"$FB_TMP/number.csv"
sed '3s/,[^,]*,[^,]*$/,nan,1/' "$a" >"$FB_TMP/nan.csv"
sed '3s/,[^,]*$//' "$a" >"$FB_TMP/short.csv"
sed '3s/ring/"ri"ng/' "$a" >"$FB_TMP/quote.csv"
sed '3p' "$a" >"$FB_TMP/twice.csv"
sed 's/,isolated,/,streaming,/' "$a" >"$FB_TMP/streaming.csv"
: >"$FB_TMP/empty.csv"
head -n 1 "$a" >"$FB_TMP/header.csv"
refuses 'no input' --all
refuses 'expected a folder with the sides a and b' "$study/a"
refuses 'holds the sides a and b' "$study" "$study/a"
refuses "'3': expected two" 1 2 3
refuses 'unknown option --bogus' --bogus "$study"
refuses 'metric.*name ends in its unit' --metric samples "$study"
refuses 'no file of .* has such a column' --metric p99_us "$study"
refuses 'filter.*colour is no key' --filter colour=red "$study"
refuses 'No such file' "$FB_TMP/missing" "$study/b"
refuses 'no result file in this folder' "$FB_TMP/none" "$study/b"
refuses 'not a result file' "$PWD/LICENSE" "$study/b"
refuses 'not a result file' "$FB_TMP/empty.csv" "$study/b"
refuses 'no column bytes' "$FB_TMP/column.csv" "$study/b"
refuses "schema.csv:3: schema '4': expected schema 1 to 3" "$FB_TMP/schema.csv" "$study/b"
refuses "status.csv:3: status 'good'" "$study/b" "$FB_TMP/status.csv"
refuses "index.csv:3: launch_index: 'one' is not of type u64" "$FB_TMP/index.csv" "$study/b"
refuses "number.csv:3: median_us: 'fast' is not" "$FB_TMP/number.csv" "$study/b"
refuses "nan.csv:3: median_us: 'nan' is not" "$FB_TMP/nan.csv" "$study/b"
refuses 'short.csv:3: 25 fields where the header has 26' "$FB_TMP/short.csv" "$study/b"
refuses 'quote.csv:3: ' "$FB_TMP/quote.csv" "$study/b"
refuses "launch 0 of run 'golden' has two rows of all_reduce" "$FB_TMP/twice.csv" "$study/b"
refuses 'differ in cadence \(isolated, streaming\)' "$study/b" "$FB_TMP/streaming.csv"
refuses 'no row with a median_us in common' "$FB_TMP/header.csv" "$study/b"
refuses 'csv.*can be written' "$study" --csv "$FB_TMP/missing/v.csv"
refuses 'one of --history and --self-test' --history --self-test "$study"
printf '%s\n' launch_index,flags {0..7},drift >"$FB_TMP/launches.csv"
cp "$a" "$FB_TMP/marked.csv"
refuses 'no launch of BASE can be used: launches.csv marks' "$FB_TMP/marked.csv" "$study/b"
rm "$FB_TMP/launches.csv"
sed 's/,golden,/,golden,9/' "$a" >"$FB_TMP/other.csv"
refuses 'no launch of BASE can be used: --paired' "$FB_TMP/other.csv" "$study/b" --paired
# A line that is being written is not there yet.
run 1 "$FB_TMP/torn.csv" "$study/b"
# Both cadences in one set are different rows; the one that only one side has is listed.
(cat "$a"; tail -n +2 "$FB_TMP/streaming.csv") >"$FB_TMP/both.csv"
run 1 "$FB_TMP/both.csv" "$study/b"
holds "$FB_TMP/out" 'only in BASE: 1[0-9]'
"$compare" --help >"$FB_TMP/out" || fail "--help fails"
[ "$(wc -L <"$FB_TMP/out")" -le 100 ] || fail "--help is wider than 100 columns"
verdict compare_bad_input

# Bytes that are cut off, doubled or replaced at places all over the files: some answer, no crash.
copy fuzz
files=(a/results.csv a/environment.csv b/results.csv)
inserts=('"' ',' '\n' '\01' 9999999999999999999999 - '\0377')
for i in {1..60}; do
	file=${files[i % 3]}
	at=$((i * 7919 % $(wc -c <"$study/$file")))
	cut=$((i % 5 == 0 ? 200 : i % 4))
	{
		head -c "$at" "$study/$file"
		printf '%b' "${inserts[i % 7]}"
		tail -c "+$((at + cut + 1))" "$study/$file"
	} >"$FB_TMP/fuzz/$file"
	"$compare" "$FB_TMP/fuzz" --csv "$FB_TMP/w.csv" --junit "$FB_TMP/x.xml" \
		>"$FB_TMP/out" 2>"$FB_TMP/err"
	code=$?
	if [ "$code" -gt 5 ] || grep -qE 'Sanitizer|runtime error' "$FB_TMP/err"; then
		fail "exit code $code for $file changed at byte $at (number $i)"
	fi
	cp "$study/$file" "$FB_TMP/fuzz/$file"
done
verdict compare_fuzz

# --- many nights ---------------------------------------------------------------------------------

nights=()
for n in {01..24}; do
	slow=1
	[ "$n" -ge 13 ] && slow=1.2
	printf '%s\n' "all_reduce host ring simple shm 1024 20 0.01 $slow" \
		'all_reduce host tree simple shm 1024 30 0.01 1' |
		make_side "$FB_TMP/nights/$n" b 3 "$n" day="$((10#$n))" common=0.005
	printf '%s\n' scope,host,rank,key,value \
		"run,,,os.kernel,Linux 6.$([ "$n" -ge 13 ] && echo 8 || echo 1)" \
		>"$FB_TMP/nights/$n/environment.csv"
	nights+=("$FB_TMP/nights/$n")
done
run 1 --history "${nights[@]}" --csv "$FB_TMP/h.csv"
holds "$FB_TMP/out" '^24 nights, 2026-03-01T00:01 to 2026-03-24T00:01'
holds "$FB_TMP/out" '^night 12, 2026-03-13'
holds "$FB_TMP/out" '^all_reduce ring simple 1K .* 1\.[12][0-9]*!'
holds "$FB_TMP/out" 'os.kernel: Linux 6.1 -> Linux 6.8'
expect "changes" "$(tail -n 1 "$FB_TMP/out")" 'changes: 1'
expect "lines of the history" "$(wc -l <"$FB_TMP/h.csv")" 2
holds "$FB_TMP/h.csv" ',ring,.*,median_us,12,.*,yes,yes$'
run 0 --history "${nights[@]:0:12}"
# In the last night of these a row ran another way.
for n in {01..12}; do
	sed -i '1s/$/,path/; 2,$s/$/,tree/' "$FB_TMP/nights/$n/results.csv"
done
sed -i 's/,tree$/,ring/' "$FB_TMP/nights/12/results.csv"
run 0 --history "${nights[@]:0:12}"
holds "$FB_TMP/out" '^night 11, .*: REROUTED'
holds "$FB_TMP/out" '^  tree -> ring: 2$'
run 4 --history "${nights[@]:0:12}" --strict
refuses '9 folders: expected at least 10' --history "${nights[@]:0:9}"
verdict compare_history
exit "$bad"
