#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# The programs of steps other than ddp, from their options to their rows, with each MPI: every
# schedule on four ranks, groups of two, right data, columns that fit together, what is skipped and
# why, and a trace that plotdata draws.

set -u
export LC_ALL=C
. tests/shell/lib.sh

small=(--quiet --ci 50% --min-samples 1 --max-samples 3 --max-time 5ms
	--timeout "$((100 * slow))s")

# go FAMILY RANKS PROGRAM OPTION...: runs into a new file; sets csv.
go() {
	csv=$FB_TMP/$1-$((++runs))
	scripts/launch "$2" "build/$1/bin/$3" --csv "$csv" --run t "${small[@]}" "${@:4}" \
		--engine "$engine" >"$FB_TMP/out" 2>&1 </dev/null ||
		fail "$3 ${*:4}: $(tail -n 5 "$FB_TMP/out")"
	csv=$csv/$3.csv
	build/"$1"/bin/csvcheck "$csv" >"$FB_TMP/check" || fail "$(cat "$FB_TMP/check")"
}

# rows PATTERN: how many rows match.
rows() {
	tail -n +2 "$csv" | grep -cE -- "$1"
}

# values COLUMN: of all rows, a line each.
values() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print $at[name] }' "$csv"
}

# cost: operation, median_us and cost_us of the good rows.
cost() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["status"] ~ /ok|few/ {
			print $at["operation"], $at["median_us"], $at["cost_us"]
		}' "$csv"
}

runs=0 engine=host,mpi
# A named table serves any machine. Its rules beside computing differ from those alone.
cat >"$FB_TMP/tuning" <<END
table t cpu any
rule host all_reduce 2 1 shm any any 8 1G auto auto ring simple 0 0 0
rule host all_reduce 2 1 shm any any 8 1G auto auto two_shot simple 0 0 0 objective=overlapped
END
for family in $FB_MPIS; do
	# Two engines: four depths of prefetch with reshard, one without.
	go "$family" 4 fsdp --bytes 60000 --layers 3 --hidden 64 --tokens 4 --shard 2 \
		--reshard yes,no
	expect "rows of fsdp" "$(rows ',(ok|few),')" 10
	expect "depths that mean nothing" "$(rows ',skipped,without reshard')" 6
	go "$family" 4 fsdp --bytes 60000 --layers 3 --hidden 64 --tokens 4 --prefetch 1 \
		--shard 1,2,4
	expect "divisions into shards and replicas" "$(rows 'shard=[124];.*,(ok|few),')" 6
	go "$family" 3 fsdp --bytes 60000 --layers 3 --hidden 64 --tokens 4 --shard 2
	expect "groups that do not divide" "$(rows ',skipped,--shard 2 does not divide 3')" 8
	go "$family" 4 tensor_parallel --hidden 64 --ffn 96 --tokens 8 --degree 2 --layers 2
	expect "rows of tensor_parallel" "$(rows ',(ok|few),')" 12
	# Where nothing computes beside the sums, auto takes what is best alone.
	for chunks in 1 2; do
		engine=host go "$family" 2 tensor_parallel --hidden 64 --ffn 96 --tokens 8 \
			--layers 2 --schedule all_reduce --chunks "$chunks" \
			--tuning "$FB_TMP/tuning"
		expect "what auto takes with $chunks chunks" "$(values path | sed 's/ by .*//')" \
			"$([ "$chunks" -eq 1 ] && echo ring || echo two_shot) simple"
	done
	# Blocks of three ranks, whose products and sums are right whatever moves beside them.
	go "$family" 3 tensor_parallel --hidden 64 --ffn 96 --tokens 12 --layers 3 \
		--schedule gather_gemm,gemm_scatter --chunks 1,2
	expect "rows of products with their collective" "$(rows ',(ok|few),')" 8
	# Two kinds of groups at once, and traffic of an engine of its own beside the step.
	go "$family" 4 tensor_parallel --hidden 64 --ffn 96 --tokens 8 --degree 1,2,4 --layers 2 \
		--schedule train,train_sequence --chunks 2 --background 0,64K \
		--background-engine mpi
	expect "rows of train" "$(rows ',(ok|few),')" 24
	expect "steps with and without traffic" "$(cost | awk '$3 != ""' | wc -l)" 12
	go "$family" 3 fsdp --bytes 60000 --layers 3 --hidden 64 --tokens 4 --prefetch 1 \
		--background 64K --background-engine nccl
	expect "traffic that has no memory" \
		"$(rows ',skipped,engines (host|mpi) and nccl have no common memory')" 2
	go "$family" 4 pipeline --hidden 64 --tokens 16 --bytes 4K
	expect "rows of pipeline" "$(rows ',(ok|few),')" 16
	expect "hidden shares of pipelines" "$(values hidden_share | tr -d '\n')" ""
	expect "shares of bubbles" "$(values bubble_theory | grep -c .)" 16
	# Two ranks share each of two stages: neighbours, or every other one.
	go "$family" 4 pipeline --hidden 64 --tokens 16 --bytes 4K --tensor-ranks 1,2,3 \
		--placement inside,across --microbatches 4 --nodes-as 2
	expect "rows of shared stages" "$(rows 'tensor_ranks=2.*,(ok|few),')" 16
	expect "rows of stages of one rank" "$(rows ',(ok|few),')" 24
	expect "stages that do not divide" "$(rows ',skipped,--tensor-ranks 3 does not divi')" 16
	expect "placements of one" "$(rows ',skipped,one rank a stage')" 8
	go "$family" 2 pipeline --hidden 64 --tokens 16 --bytes 4K --compute-sms 8 --schedule gpipe
	expect "multiprocessors of processors" "$(rows ',skipped,processors have no multi')" 4
	go "$family" 1 pipeline --hidden 64 --tokens 16 --bytes 4K
	expect "pipelines of one rank" "$(rows ',skipped,a pipeline needs two ranks')" 16
	go "$family" 3 moe --hidden 64 --ffn 64 --tokens 32 --topk 2
	expect "rows of moe" "$(rows ',(ok|few),')" 8
	go "$family" 3 moe --hidden 64 --ffn 64 --tokens 32 --topk 2 --dispatch fp8
	expect "rows of moe in 8 bits" "$(rows 'dispatch=fp8.*,(ok|few),')" 8
	# Ranks with unlike buffers choose alike, by the largest of all: a table with two algorithms
	# between the sizes of two ranks.
	cat >"$FB_TMP/unlike.tuning" <<-END
		table unlike cpu any
		rule host all_to_all_v 3 1 shm any any 8 16K  auto auto  direct ll 0 0 0
		rule host all_to_all_v 3 1 shm any any 20K 1M  auto auto  pairwise simple 0 0 0
	END
	go "$family" 3 moe --hidden 64 --ffn 64 --tokens 32 --topk 2 --skew 100 \
		--datatype f32 --schedule sequential --tuning "$FB_TMP/unlike.tuning"
	expect "choices by the largest buffer" "$(rows 'pairwise simple by unlike')" 1
	go "$family" 3 context_parallel --hidden 64 --tokens 16 --background 0,64K \
		--background-operation all_reduce
	expect "rows of context_parallel" "$(rows ',(ok|few),')" 8
	expect "rings with other sums beside them" "$(cost | awk '$3 != ""' | wc -l)" 4
	# A hazard's base has the same traffic, and the careful step's has none.
	go "$family" 2 hazards --bytes 60000 --layers 3 --hidden 64 --tokens 4 --delay 1ms \
		--schedule careful,late_input --background 64K
	expect "hazards beside traffic" "$(cost | awk '$3 != ""' | wc -l)" 4
	cost | awk '$1 == "late_input" && $2 < 1000 { bad++ } END { exit bad > 0 }' ||
		fail "a late step beside traffic is shorter than 1 ms"
	# Ten hazards that processors have; each but the careful step has a cost with its base.
	go "$family" 2 hazards --bytes 60000 --layers 3 --hidden 64 --tokens 4 --delay 1ms
	expect "rows of hazards" "$(rows ',(ok|few),')" 20
	expect "hazards of GPUs" "$(rows ',skipped,processors have neither streams')" 6
	cost >"$FB_TMP/costs"
	expect "costs" "$(awk '$3 != ""' "$FB_TMP/costs" | wc -l)" 18
	# Late by 1 ms is later by about that, however busy the machine is: naps are real time.
	awk '$1 == "late_input" && $2 < 1000 { bad++ } END { exit bad > 0 }' "$FB_TMP/costs" ||
		fail "a step that waits 1 ms is shorter: $(cat "$FB_TMP/costs")"
	go "$family" 2 graph --bytes 60000 --layers 3 --hidden 64 --tokens 4
	expect "rows of graph" "$(rows ',(ok|few),')" 4
	expect "graphs of processors" "$(rows ',skipped,only GPUs have graphs')" 8
	go "$family" 2 contention --bytes 60000 --layers 3 --hidden 64 --tokens 4 --streams 1,2
	expect "rows of contention" "$(rows ',(ok|few),')" 16
	expect "copies on processors" "$(rows ',skipped,"?processors have one memory')" 8
	go "$family" 2 contention --bytes 60000 --layers 3 --hidden 64 --tokens 4 --schedule spin \
		--background 64K --background-operation all_reduce
	expect "contention of three" "$(rows 'background_operation=all_reduce.*,(ok|few),')" 2
	# Two collectives at once, each with an algorithm of its own, against the longer one.
	go "$family" 3 contention --bytes 60000 --layers 3 --hidden 64 --tokens 4 --schedule spin \
		--streams 0 --collective reduce_scatter --background 64K --background-engine host \
		--background-force ring:simple
	expect "rows of two collectives" "$(rows 'background_force=ring:simple.*,(ok|few),')" 2
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			longer = $at["base_us"]
			if ($at["background_us"] > longer) longer = $at["background_us"]
			ratio = $at["over_longer"] * longer / $at["median_us"]
			if (!(ratio > 0.999 && ratio < 1.001)) bad++
			ratio = $at["tokens_per_s_rank"] * 3 / $at["tokens_per_s"]
			if (!(ratio > 0.999 && ratio < 1.001)) bad++
		}
		END { exit bad > 0 }' "$csv" || fail "a ratio is not that of its parts"
	go "$family" 2 fsdp --bytes 60000 --layers 3 --hidden 64 --tokens 4 --prefetch 1 \
		--background 64K --background-force recursive_doubling
	expect "traffic of no such algorithm" \
		"$(rows ',skipped,engine mpi has no recursive_doubling for --background')" 1
	go "$family" 2 graph --bytes 60000 --layers 3 --hidden 64 --tokens 4 --schedule eager \
		--background 64K
	expect "eager steps beside traffic" "$(cost | awk '$3 != ""' | wc -l)" 4
	go "$family" 3 contention --bytes 60000 --layers 3 --hidden 64 --tokens 4 \
		--schedule spin --collective all
	expect "collectives beside spin" "$(rows ',(ok|few),')" 11
	expect "broadcasts of the library" "$(rows ',skipped,MPI_Bcast works in place')" 1
	# Five chunks in turn on streams, of which each has its cost against all on one.
	go "$family" 2 staging --bytes 60000 --hidden 64 --tokens 10 --chunks 5 --streams 1,2,3,9
	expect "rows of staging" "$(rows ',(ok|few),')" 8
	expect "costs of streams" "$(cost | awk '$1 == "streams" && $3 != ""' | wc -l)" 6
	expect "too many streams" "$(rows ',skipped,--streams is from 1 to 8')" 2
	# One process drives all: its step is as right as a process for each, and costs something.
	go "$family" 3 dataparallel --bytes 60000 --layers 3 --hidden 64 --tokens 4 \
		--input-bytes 1001
	expect "rows of dataparallel" "$(rows ',(ok|few),')" 4
	expect "costs of one process" "$(cost | awk '$3 != ""' | wc -l)" 2
	go "$family" 2 dataparallel --bytes 60000 --layers 3 --hidden 64 --tokens 4 \
		--redop max,sum --schedule one_process
	expect "sums only" "$(rows ',skipped,the tasks of this program add')" 2
	go "$family" 4 dataparallel --bytes 60000 --layers 3 --hidden 64 --tokens 4 --nodes-as 2 \
		--schedule one_process
	expect "other nodes" "$(rows ',skipped,a process reaches the memory of its own node')" 2
	# Groups within a node and across nodes differ in what shm reaches: no rank waits for ever.
	engine=host
	go "$family" 4 pipeline --hidden 64 --tokens 16 --bytes 4K --nodes-as 2 --transport shm
	expect "pipelines over nodes by shared memory" "$(rows ',skipped,')" 8
	engine=host,mpi
	verdict "steps_$family"
done

scripts/launch 1 "$FB_BUILD/bin/contention" "${small[@]}" --background 64K \
	--background-force rong >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "code of an algorithm that is none" "$?" 3
holds "$FB_TMP/err" "background-force: 'rong' is not accepted"
verdict steps_force

# The row without computing has no tokens, whether it comes first (launch 0) or not; the time asked
# for is that of the other one.
engine=host
for launch in 0 1; do
	go "$family" 2 contention --bytes 4K --layers 2 --hidden 64 --repeats 1 --schedule gemm \
		--streams 0,1 --compute 1ms --launch-index "$launch"
	values variant | grep -o 'streams=.' >"$FB_TMP/streams"
	expect "the first row's lanes" "$(head -n 1 "$FB_TMP/streams")" "streams=$launch"
	expect "tokens" "$(values tokens | sed 's/[1-9][0-9]*/some/' | paste "$FB_TMP/streams" - |
		sort | tr '\t\n' '  ')" 'streams=0  streams=1 some '
	expect "rows of a time that nothing takes" "$(values tokens | grep -cx 1048576)" 0
done
verdict steps_tokens

# A checkpoint is written where the user says; nothing is left there. Facts say what that lies on.
mkdir "$FB_TMP/storage"
scripts/launch 1 "$FB_BUILD/bin/hazards" "${small[@]}" --engine host --schedule checkpoint \
	--bytes 6000 --tokens 4 --storage-bytes 3M --storage-folder "$FB_TMP/storage" \
	--csv "$FB_TMP/saved" >"$FB_TMP/out" 2>"$FB_TMP/err" ||
	fail "checkpoint: $(tail -n 3 "$FB_TMP/err")"
expect "rows of checkpoint" "$(grep -cE ',checkpoint,.*,(ok|few),' "$FB_TMP/saved/hazards.csv")" 1
holds "$FB_TMP/saved/environment.csv" "^run,,,program\\.hazards\\.0\\.storage\\.file_system,\"?$(
	df --output=fstype "$FB_TMP/storage" | tail -n 1) "
expect "files left" "$(find "$FB_TMP/storage" -type f | wc -l)" 0
scripts/launch 1 "$FB_BUILD/bin/hazards" "${small[@]}" --engine host --schedule checkpoint \
	--bytes 6000 --tokens 4 --storage-folder "$FB_TMP/none" >"$FB_TMP/out" 2>"$FB_TMP/err"
holds "$FB_TMP/err" "cannot make a file in $FB_TMP/none: No such file"
verdict steps_checkpoint

# A trace of a step: every rank's lanes, and spans that a figure can be made of.
engine=host
go "$family" 2 context_parallel --hidden 64 --tokens 16 --schedule overlap \
	--trace "$FB_TMP/trace"
expect "spans" "$(grep -c '^rank [01] ' "$FB_TMP/trace/spans.csv")" 12
expect "lanes" "$(cut -d, -f1 "$FB_TMP/trace/spans.csv" | sort -u | wc -l)" 5
"$FB_BUILD/bin/plotdata" timeline "$FB_TMP/trace/spans.csv" >"$FB_TMP/out" 2>&1 ||
	fail "plotdata: $(tail -n 3 "$FB_TMP/out")"
holds "$FB_TMP/out" 'LANES = 4'
go "$family" 2 context_parallel --hidden 64 --tokens 16 --schedule sequential \
	--trace "$FB_TMP/trace"
"$FB_BUILD/bin/plotdata" timeline "$FB_TMP/trace/spans.csv" >"$FB_TMP/out" 2>&1 ||
	fail "plotdata of two rows: $(tail -n 3 "$FB_TMP/out")"
holds "$FB_TMP/out" 'LANES = 8'
holds "$FB_TMP/out" "PANEL\[2\] = 'sequential'"
# All of a sequential step's communication is exposed, and all of it is marked.
awk '$1 == "PANEL_SENT[2]" { sent = $3 } $1 == "PANEL_EXPOSED[2]" { exposed = $3 }
	END { exit !(sent > 0 && exposed == sent) }' "$FB_TMP/out" ||
	fail "exposed: $(grep '^PANEL' "$FB_TMP/out")"
"$FB_BUILD/bin/plotdata" timeline "$FB_TMP/trace/trace.json" >"$FB_TMP/out" 2>&1 ||
	fail "plotdata of a Chrome trace: $(tail -n 3 "$FB_TMP/out")"
scripts/launch 1 "$FB_BUILD/bin/moe" "${small[@]}" --engine host --trace "$FB_TMP/out/below" \
	--hidden 64 --ffn 64 --tokens 4 >/dev/null 2>"$FB_TMP/err" &&
	fail "a trace below a file: exit code 0"
holds "$FB_TMP/err" 'cannot create the folder.*out'
verdict steps_trace

# That steps take long is said before the first one. Nobody waits for its end.
scripts/launch 1 "$FB_BUILD/bin/moe" "${small[@]}" --engine host --blas-library none --tokens 256 \
	>/dev/null 2>"$FB_TMP/err" &
while kill -0 $! 2>/dev/null && ! grep -q 'a step of' "$FB_TMP/err"; do
	sleep 0.1
done
kill $! 2>/dev/null
wait $! 2>/dev/null
holds "$FB_TMP/err" 'warning: a step of moe computes 241 GFLOP on a rank, which takes about'
grep -q 'no progress' "$FB_TMP/err" && fail "the warning came behind the first step"
engine=host go "$MPI" 1 moe --hidden 64 --ffn 64 --tokens 4
grep -q 'a step of' "$FB_TMP/out" && fail "a short step was announced"
verdict steps_long

# Options that only a row or a message shows: a share of the time that a step may take, ranks whose
# input is late, and a library that is not there.
for budget in 1us 1min; do
	engine=host go "$MPI" 2 tensor_parallel --schedule all_reduce --layers 1 --hidden 64 \
		--ffn 64 --tokens 4 --token-budget "$budget"
	share[${#budget}]=$(values budget_share | head -n 1)
done
awk -v tight="${share[3]}" -v wide="${share[4]}" 'BEGIN { exit !(tight > 1000 * wide) }' ||
	fail "shares of 1 us and of a minute: ${share[*]}"
engine=host go "$MPI" 2 hazards --schedule late_input --delay 1us --bytes 4K --layers 1 \
	--compute 100us --late-ranks 1 --trace "$FB_TMP/late"
[ "$(rows ',late_input,.*late_ranks=1[;,]')" -ge 1 ] || fail "no row with a late rank"
# The ranks that wait for their input have a span of the host on their lane of computing.
expect "ranks whose input is late" \
	"$(sed -n 's/^rank \([01]\) compute,host .*/\1/p' "$FB_TMP/late/spans.csv" | xargs)" 0
engine=host go "$MPI" 1 ddp --bytes 4K --bucket 0 --layers 1 --schedule overlap \
	--blas-library /nowhere.so
expect "rows without that BLAS" "$(rows ',skipped,--blas-library /nowhere.so: ')" 1
verdict steps_options

exit $bad
