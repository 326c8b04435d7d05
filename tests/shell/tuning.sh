#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# tune and what programs make of its tables: rows whose best choice is known (made of a row of
# tests/golden/summary), what is refused, and --algorithm auto by a table and without.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
work=$FB_TMP
example=tests/golden/summary/one/all_reduce.csv

if [ ! -x "$bin/tune" ]; then
	echo "SKIP tuning: tune was not built (no libcsv)"
	exit 0
fi

# rows FOLDER: a result file of the lines `engine algorithm protocol bytes us [variant [channels
# [status [in_place]]]]` on stdin, 2 ranks, +-1%.
rows() {
	mkdir -p "$work/$1"
	head -n 1 "$example" >"$work/$1/all_reduce.csv"
	awk -F, -v OFS=, 'NR == FNR {
			if (FNR == 1) for (i = 1; i <= NF; i++) at[$i] = i
			if (FNR == 2) row = $0
			next
		}
		{
			split($0, f, " "); $0 = row
			$at["engine"] = f[1]; $at["algorithm"] = f[2]; $at["protocol"] = f[3]
			$at["bytes"] = f[4]; $at["ranks"] = 2; $at["nodes"] = 1
			$at["transport"] = f[1] == "host" ? "shm" : "p2p"
			$at["variant"] = f[6] == "-" ? "" : f[6]
			$at["channels"] = f[7] ? f[7] : 1
			$at["status"] = f[8] ? f[8] : "ok"
			$at["reason"] = f[8] && f[8] != "ok" ? "because" : ""
			$at["in_place"] = f[9] ? f[9] : "no"
			$at["median_us"] = f[8] == "skipped" ? "" : f[5]
			$at["median_low_us"] = f[5] * 0.99; $at["median_high_us"] = f[5] * 1.01
			print
		}' "$example" - >>"$work/$1/all_reduce.csv"
	printf '%s\n' scope,host,rank,key,value "run,,,gpu.model,${gpu:-NVIDIA Example}" \
		'run,,,cpu.model,Some CPU' >"$work/$1/environment.csv"
}

# table FOLDER ARGUMENT...: the rules, without what stands behind #.
table() {
	"$bin/tune" "$work/$1" "${@:2}" >"$work/out" 2>"$work/err" ||
		fail "tune $*: $(cat "$work/err")"
	sed -n 's/ *#.*//; s/  */ /g; /^\(table\|rule\) /p' "$work/out"
}

rows plain <<-'END'
	cuda one_shot ll 8 3
	cuda one_shot ll 64 3.01
	cuda one_shot ll 512 3.1
	cuda one_shot ll 4096 5
	cuda ring simple 8 9
	cuda ring simple 64 9
	cuda ring simple 512 9
	cuda ring simple 4096 9 - 8
	cuda ring simple 4096 2 channels=4 4
	cuda ring simple 4096 1.995 channels=16;threads=256 16
	cuda two_shot ll 64 2.98
	cuda swing ll 8 0 - 1 skipped
	mpi library library 8 1
	cuda auto auto 8 1
	cuda ring ll 8 1 overlap=1
END
expect "best" "$(table plain --best-only)" "table example gpu NVIDIA Example
rule cuda all_reduce 2 1 p2p any any 8 512 auto auto one_shot ll 0 0 0
rule cuda all_reduce 2 1 p2p any any 4K 4K auto auto ring simple 4 0 0
rule cuda all_reduce 2 1 p2p any any 4K 4K auto auto ring simple 16 256 0 channels=16
rule cuda all_reduce 2 1 p2p any any 4K 4K auto auto ring simple 4 0 0 channels=4"
holds "$work/err" '1 rows have keys in variant that no rule can have'
expect "like" "$("$bin/tune" "$work/plain" --best-only --like other | grep -A 1 ^table)" \
	"table example gpu NVIDIA Example
like other"
expect "a quicker one by more" "$(table plain --best-only --change 0 bytes=4096 | tail -n 1)" \
	"rule cuda all_reduce 2 1 p2p any any 4K 4K auto auto ring simple 4 0 0 channels=4"
expect "given" "$(table plain | grep -c '^rule')" 13
expect "shapes" "$(table plain | grep 'ring simple ring')" \
	"rule cuda all_reduce 2 1 p2p any any 8 512 ring simple ring simple 0 0 0
rule cuda all_reduce 2 1 p2p any any 4K 4K ring simple ring simple 4 0 0"
expect "without" "$(table plain --best-only --without ring --name x --gpu Y)" "table x gpu Y
rule cuda all_reduce 2 1 p2p any any 8 4K auto auto one_shot ll 0 0 0"
verdict tuning_table

rows kinds <<-'END'
	host ring direct 8 1 - 1 ok no
	host tree direct 8 5 - 1 ok no
	host ring direct 8 9 - 1 ok yes
	host tree direct 8 2 - 1 ok yes
	copy push direct 8 7
	copy pull direct 8 6
	host ring direct 64 1 - 1 skipped no
	host ring direct 64 1 - 1 skipped yes
END
expect "in place apart" "$(table kinds --best-only)" "table example gpu NVIDIA Example
rule copy all_reduce 2 1 p2p any any 8 8 auto auto pull direct 0 0 0
table cpu cpu Some CPU
rule host all_reduce 2 1 shm yes any 8 8 auto auto tree direct 0 0 0
rule host all_reduce 2 1 shm any any 8 8 auto auto ring direct 0 0 0"
holds "$work/err" 'no data: host all_reduce on 2 ranks over shm: 64$'
holds "$work/out" '^# no data: host all_reduce on 2 ranks over shm: 64$'
verdict tuning_kinds

# Blocks of odd lengths have rules of their own; short ones have not.
rows lengths <<-'END'
	cuda ring direct 24 3
	cuda ring direct 1048576 20
	cuda tree direct 1048576 30
	cuda ring direct 1000004 40
	cuda tree direct 1000004 31
END
expect "unaligned" "$(table lengths --best-only)" "table example gpu NVIDIA Example
rule cuda all_reduce 2 1 p2p any any 24 1M auto auto ring direct 0 0 0
rule cuda all_reduce 2 1 p2p any any 1000004 1000004 auto auto tree direct 0 0 0 unaligned"
verdict tuning_lengths

# Engines too: the quicker of both by size, in place apart.
rows engines <<-'END'
	cuda ring direct 8 1
	copy push direct 8 5
	cuda ring direct 512 3
	copy push direct 512 2
	copy pull direct 512 2.5
	cuda ring direct 8 1 - 1 ok yes
	copy push direct 8 5 - 1 ok yes
	cuda ring direct 512 3 - 1 ok yes
	copy push direct 512 4 - 1 ok yes
END
expect "engines" "$(table engines --best-only | grep '^rule auto')" \
	"rule auto all_reduce 2 1 p2p yes any 8 512 auto auto ring direct 0 0 0
rule auto all_reduce 2 1 p2p any any 8 8 auto auto ring direct 0 0 0
rule auto all_reduce 2 1 p2p any any 512 512 auto auto copy/push direct 0 0 0"
verdict tuning_engines

# Beside computing: the bucket's size and the step's time count, the amount of work is a context.
rows steps <<-'END'
	cuda ring direct 64M 90 bucket=4M;layers=8;tokens=2048
	cuda ring direct 64M 80 bucket=4M;channels=8;layers=8;tokens=2048 8
	copy push direct 64M 95 bucket=4M;layers=8;tokens=2048
	cuda ring direct 64M 900 bucket=4M;layers=8;tokens=8192
	cuda ring direct 64M 890 bucket=4M;channels=8;layers=8;tokens=8192 8
	copy push direct 64M 990 bucket=4M;layers=8;tokens=8192
	cuda ring direct 64M 70 bucket=whole;layers=8;tokens=2048
	copy push direct 64M 60 bucket=whole;layers=8;tokens=2048
END
sed -i '2,$s/,all_reduce,all_reduce,/,ddp,overlap,/; s/,64M,2,/,67108864,2,/' \
	"$work/steps/all_reduce.csv"
mv "$work/steps/all_reduce.csv" "$work/steps/ddp.csv"
expect "beside computing" "$(table steps --best-only --objective overlapped | grep '^rule auto')" \
	"rule auto all_reduce 2 1 p2p any any 4M 4M auto auto ring direct 8 0 0 objective=overlapped
rule auto all_reduce 2 1 p2p any any 64M 64M auto auto copy/push direct 0 0 0 objective=overlapped"
# Steps of contention are of the collective that they name; without work they say nothing.
rows beside <<-'END'
	cuda ring direct 4194304 90 collective=all_gather;compute=20ms;streams=1
	copy push direct 4194304 80 collective=all_gather;compute=20ms;streams=1
	cuda ring direct 4194304 10 collective=all_gather;compute=20ms;streams=0
	cuda ring direct 4194304 70 compute=20ms;streams=1
END
sed -i '2,$s/,all_reduce,all_reduce,/,contention,gemm,/' "$work/beside/all_reduce.csv"
mv "$work/beside/all_reduce.csv" "$work/beside/contention.csv"
table beside --best-only --objective overlapped | grep '^rule auto' >"$work/rule"
expect "other collectives" "$(cut -d ' ' -f 2-12 "$work/rule")" \
	"auto all_gather 2 1 p2p any any 4M 4M auto auto"
holds "$work/rule" 'copy/push direct 0 0 0 objective=overlapped$'
expect "steps are nothing alone" "$("$bin/tune" "$work/steps" 2>&1)" \
	"fabricbench: no row of engines cuda, copy or host with a time is left to make a table of"
verdict tuning_overlapped

# For NCCL itself: lines where a forced choice is better than NCCL's own, which is the rest.
rows nccl <<-'END'
	nccl library library 8 10
	nccl ring ll 8 10.1
	nccl tree ll 8 7
	nccl library library 64 10
	nccl ring ll 64 10.1
	nccl tree ll 64 7.5
	nccl library library 512 10
	nccl ring ll 512 9.99
	nccl tree ll 512 12
	nccl library library 4096 20
	nccl ring ll 4096 30
	nccl tree ll 4096 0 - 1 skipped
	nccl ring simple 4096 10 channels=4 4
	nccl library library 4096 9 channels=4 4
	nccl library library 1048576 50 - 32
	nccl ring simple 1048576 49.9 channels=4 4
	nccl tree simple 1048576 50.1 channels=1 1
	nccl library library 16777216 900 - 32
	nccl ring simple 16777216 700 channels=4 4
	nccl grouped library 4096 1
	cuda ring ll 4096 1
END
sed -i 's/,registered,/,none,/' "$work/nccl/all_reduce.csv"
# At 1M they cannot be told apart, and fewer channels are no reason to leave NCCL's choice.
"$bin/tune" "$work/nccl" --nccl-table >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
expect "a table of NCCL's" "$(grep -v '^#' "$work/out")" \
	"allreduce 8 64 tree ll 0  # 7 us (NCCL's choice 10) to 7.5 us (NCCL's choice 10)
allreduce 4096 4096 ring simple 4  # 10 us (NCCL's choice 20)
allreduce 16777216 16777216 ring simple 4  # 700 us (NCCL's choice 900)"
holds "$work/out" '^# For 2 ranks on 1 nodes: NCCL_TUNER_PLUGIN='

# setting VARIABLES TIME...: rows of sizes 8, 16, 32, ... with these times, 100 without variables.
setting() {
	local bytes=8 us

	for us in "${@:2}"; do
		echo "nccl library library $bytes $us $1"
		bytes=$((2 * bytes))
	done
}
{
	setting - {,}{,}{100,100,100}
	setting 'env.NCCL_MAX_CTAS=16;env.NCCL_MIN_CTAS=4' {,}{,}{80,80,80}
	setting env.NCCL_NTHREADS=128 {,}{,}{90,90,90}
	# Quicker on the mean, but by one cell; in as many cells slower; not in all cells.
	setting env.NCCL_BUFFSIZE=1 10 {,}{100,100,100,100,100} 100
	setting env.NCCL_BUFFSIZE=2 {,,}{,}{10,110}
	setting env.NCCL_BUFFSIZE=3 {,}{10,10,10,10,10}
	echo 'nccl library library 8 40 channels=2;env.NCCL_NTHREADS=256'
	echo 'nccl library library 8 10 env.OMP_NUM_THREADS=1'
} | rows variables
"$bin/tune" "$work/variables" --nccl-env >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
expect "variables" "$(sed -n 's/ of the time .* mean//; /export/p' "$work/out")" \
	"export NCCL_MAX_CTAS='16' NCCL_MIN_CTAS='4'  # 0.800 of 12 cells (0.800 to 0.800); \
surely quicker in 12, slower in 0: p 0.00049
# export NCCL_NTHREADS='128'  # 0.900 of 12 cells (0.900 to 0.900); \
surely quicker in 12, slower in 0: p 0.00049
# export NCCL_BUFFSIZE='3'  # 0.100 of 10 cells (0.100 to 0.100); \
surely quicker in 10, slower in 0: p 0.002; not ranked, others have 12 cells
# export NCCL_BUFFSIZE='2'  # 0.332 of 12 cells (0.100 to 1.100); \
surely quicker in 6, slower in 6: p 1
# export NCCL_BUFFSIZE='1'  # 0.825 of 12 cells (0.100 to 1.000); \
surely quicker in 1, slower in 0: p 1"
expect "what they do in a shell" "$(. "$work/out" && echo "$NCCL_MAX_CTAS $NCCL_MIN_CTAS")" '16 4'
"$bin/tune" "$work/variables" --nccl-env --change 30% >"$work/out"
expect "none gains so much" "$(grep -c '^export' "$work/out")" 0
holds "$work/out" 'No setting surely gains more than 30%'
{
	setting - {100,100,100}
	setting env.NCCL_BUFFSIZE=1 50 100 100
} | rows luck
"$bin/tune" "$work/luck" --nccl-env >"$work/out"
expect "one cell is luck" "$(grep -c '^export' "$work/out")" 0
holds "$work/out" 'No setting surely gains more than 2%'
verdict tuning_nccl

# refuses CODE PATTERN ARGUMENT...: one line on stderr, nothing on stdout, no file.
refuses() {
	"$bin/tune" "${@:3}" -o "$work/file" >"$work/out" 2>"$work/err"
	expect "exit code of tune ${*:3}" $? "$1"
	expect "stdout of tune ${*:3}" "$(cat "$work/out")" ''
	expect "lines on stderr of tune ${*:3}" "$(wc -l <"$work/err")" 1
	holds "$work/err" "$2"
	[ ! -e "$work/file" ] || fail "tune ${*:3} wrote a file"
}
rows wrong <<<'cuda ring ll 8 3 - 1 wrong'
rows fault <<<'cuda ring ll 8 3 - 1 fault'
rows skipped <<<'cuda ring ll 8 3 - 1 skipped'
gpu='NVIDIA Other' rows other <<<'cuda ring ll 8 3'
rows unknown <<<'cuda ring ll 8 3'
sed -i /gpu.model/d "$work/unknown/environment.csv"
refuses 2 'all_reduce cuda ring ll, 8 bytes: wrong' "$work/wrong"
refuses 5 'all_reduce cuda ring ll, 8 bytes: fault' "$work/plain" "$work/fault"
refuses 3 'no row of engines cuda, copy or host with a time' "$work/skipped"
refuses 3 "several machines, 'NVIDIA (Example|Other)' and" "$work/other" "$work/unknown" \
	"$work/kinds"
refuses 3 'expected --gpu MODEL' "$work/unknown"
rows host <<<'host ring direct 8 3'
sed -i /pu.model/d "$work/host/environment.csv"
refuses 3 'expected --cpu MODEL' "$work/host"
expect "--cpu" "$(table host --name x --cpu Z | head -n 1)" "table x cpu Z"
refuses 3 "no column 'bites'" "$work/other" bites=3
refuses 3 'no row of engine nccl with --nccl-force' "$work/other" --nccl-table
refuses 3 'no rows of engine nccl that differ in variables' "$work/nccl" --nccl-env
refuses 3 'No such file' "$work/missing"
refuses 3 'no input'
verdict tuning_refused

# A table for this machine's processors, whatever they are called; it may say a shape too.
cat >"$work/my.tuning" <<-'END'
	table mine cpu Nobody's CPU
	rule host all_reduce 2 1 shm any any 8 64 auto auto ring ll 2 0 0
	rule host all_reduce 2 1 shm any any 64K 64K auto auto tree simple 0 0 0
	rule host all_reduce 2 1 shm any any 8 64K two_shot direct two_shot direct 3 0 0
END

# choices FOLDER: what ran, of the rows there.
choices() {
	"$bin/query" --csv "$work/$1" --columns algorithm,protocol,bytes,path,channels \
		--sort bytes | tail -n +2
}

# all_reduce FOLDER OPTION...
all_reduce() {
	scripts/launch 2 "$bin/all_reduce" --engine host --min-samples 1 --max-samples 2 --quiet \
		--csv "$work/$1" "${@:2}" >"$work/log" 2>&1 ||
		fail "all_reduce ${*:2}: $(cat "$work/log")"
}
auto=(--algorithm auto --protocol auto)
all_reduce run "${auto[@]}" --bytes 8,512,4K --tuning "$work/my.tuning"
expect "by a table" "$(choices run)" "auto,auto,8,ring ll by mine: shm,2
auto,auto,512,ring ll by mine: shm,2
auto,auto,4096,tree simple by mine: shm,1"
holds "$work/log" "table mine is for Nobody's CPU"
holds "$work/run/environment.csv" "tuning.cpu,mine for Nobody's CPU"
all_reduce run "${auto[@]}" --bytes 8,512,4K,64K --tuning "$work/my.tuning" --resume
expect "rows after --resume" "$(choices run | wc -l)" 4
all_reduce shape --algorithm two_shot --protocol direct --bytes 8 --tuning "$work/my.tuning"
expect "channels by a table" "$(choices shape)" "two_shot,direct,8,shape by mine: shm,3"
all_reduce user --algorithm two_shot --protocol direct --bytes 8 --tuning "$work/my.tuning" \
	--channels 1
expect "channels of the user's" "$(choices user | sed 's/.*,//')" 1
all_reduce none "${auto[@]}" --bytes 8 --tuning none
choices none >"$work/none.txt"
holds "$work/none.txt" '^auto,auto,8,[a-z_]+ (ll|ll128|simple|direct) by model: shm,'
all_reduce given --algorithm ring --protocol auto --bytes 8,4M --tuning none
expect "protocols of ring" "$(choices given | sed 's/ by.*//' | tr '\n' ' ')" \
	'ring,auto,8,ring ll ring,auto,4194304,ring direct '
"$bin/csvcheck" "$work"/{run,shape,none,given}/*.csv >"$work/log" || fail "$(cat "$work/log")"
verdict tuning_auto

scripts/launch 2 "$bin/all_reduce" --engine host "${auto[@]}" --bytes 8,1M --check-plan \
	>"$work/log" 2>&1 || fail "--check-plan"
holds "$work/log" '^2 plans checked, 0 wrong, 0 cases skipped'
"$bin/all_reduce" "${auto[@]}" --engine host --bytes 8 --list >"$work/log"
holds "$work/log" '^all_reduce host auto auto shm host f32 sum 8 B$'
# auto is none of "all", and engines without plans know none of it.
"$bin/all_reduce" --bytes 8 --list >"$work/log"
expect "cases with auto" "$(grep -c ' auto ' "$work/log")" 0
expect "engines of a plain run without a GPU" "$("$bin/all_reduce" --bytes 8 --list |
	awk '/^all_reduce / { print $2 }' | sort -u | tr '\n' ' ')" "host mpi "
expect "cases of mpi" "$("$bin/all_reduce" --engine mpi "${auto[@]}" --bytes 8 --list |
	grep -c '^all_reduce mpi library library')" 1
expect "cases of copy" "$("$bin/all_gather" --engine copy --copy-direction auto --bytes 8 --list |
	grep -c '^all_gather copy auto direct')" 1
printf 'table x cpu y\nrule z\n' >"$work/bad.tuning"
"$bin/all_reduce" --tuning "$work/bad.tuning" --list >"$work/log" 2>&1
expect "exit code of a bad table" $? 3
expect "a bad table" "$(cat "$work/log")" \
	"fabricbench: --tuning $work/bad.tuning:2: 1 words behind rule: expected 16"
verdict tuning_lists
exit "$bad"
