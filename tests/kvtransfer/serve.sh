#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 600
# full: serve_policies serve_knee serve_fake_gpu
#
# A model served on a router and up to four workers: both modes, every mover that can put, router
# policies, arrivals, prompts that share their beginnings, traces of both formats; all blocks of all
# requests compared by the program. Requests that come all at once wait for each other (open loop),
# the knee is found, and both modes are judged.

program=serve
. tests/kvtransfer/lib.sh
small=(--quiet --max-samples 2 --min-samples 2 --ci 100% --timeout "$((60 * slow))s" --run t
	--scale 0.02 --verify first)
requests=8
for family in $FB_MPIS; do
	bin=build/$family/bin/serve
	go 4 --engine shm,cma,tcp,file,mpi_window,none --rate 200 --prefill 1,2 --reuse 50%
	expect "exit code of all movers" "$rc" 0
	[ "$rc" -eq 0 ] || head -n 3 "$FB_TMP/err"
	expect "wrong rows of all movers" "$(rows ',(wrong|fault),')" 0
	expect "rows of shm, tcp and file" \
		"$(rows ',replay,(shm|tcp|file),disaggregated,.*,(ok|few),')" 6
	expect "rows of colocated workers" "$(rows ',none,colocated,.*,(ok|few),')" 1
	# Workers that do both have no pairs.
	expect "pairs of workers on one host" "$(column same_host_share | sort | uniq -c | xargs)" \
		"1 10 1"
	build/"$family"/bin/csvcheck "$csv" >"$FB_TMP/check" ||
		fail "$(head -n 5 "$FB_TMP/check")"
	verdict "serve_movers_$family"
done
bin=$FB_BUILD/bin/serve
if in_set serve_policies; then
	requests=50 go 3 --engine shm --rate 300 --router all --arrivals gamma,fixed \
		--pool-blocks 100 --block-tokens 2 --reuse 80% --algorithm disaggregated
	expect "exit code of policies" "$rc" 0
	expect "rows of policies" "$(rows ',(ok|few),')" 6
	# Prompts that share their first half find it again; a cache of 100 blocks makes others
	# wait.
	expect "hits" "$(column hit_share | awk '$1 <= 0.01 || $1 >= 0.6' | wc -l)" 0
	verdict serve_policies
fi

# A lost notice of a cache is a fault that says who waits for which.
usual=("${small[@]}")
small=(--quiet --timeout "$((3 * slow))s" --run t --scale 0.02)
requests=20 FB_MOVERS=$FB_BUILD/tests/libmover_faulty.so go 3 --engine faulty --rate 100 \
	--algorithm disaggregated
small=("${usual[@]}")
expect "exit code of a lost notice" "$rc" 5
expect "rows of a lost notice" \
	"$(rows ',fault,.*; rank 2: waiting for the cache of request [0-9]+ from rank 1')" 1
verdict serve_lost_notice

# What happened to each request: one behind the other, from its arrival on.
requests=20 go 3 --engine shm --rate 100 --trace-out "$FB_TMP/spans"
expect "exit code of spans" "$rc" 0
expect "interference of transfers with decoding" \
	"$(column decode_interference | awk '{ print ($1 > 0 ? "some" : "-") }' | sort | xargs)" \
	"- some"
awk -F, 'NR == 1 { next }
	{ lane = $6 $1; bad += $4 < $3 || (lane in end && $3 != end[lane]); end[lane] = $4 }
	{ n[$2]++; lanes[lane] = 1; colocated_kv += $2 == "kv" && / colocated / }
	END {
		for (l in lanes) count++
		bad += count != 40 || n["prefill"] != 40 || n["decode"] != 40
		exit bad || colocated_kv || n["kv"] > 20 || n["queue"] > 40
	}' "$FB_TMP/spans/spans.csv" || fail "spans of requests"
if [ -x "$FB_BUILD/bin/plotdata" ]; then
	"$FB_BUILD/bin/plotdata" timeline "$FB_TMP/spans/spans.csv" >"$FB_TMP/out" ||
		fail "a timeline of requests"
	holds "$FB_TMP/out" '^NAME.*prefill'
fi
# A sample's requests and their arrivals do not depend on how many runs there was time to warm up
# with. Other launches have other arrivals, and no two samples of launches with other seeds have the
# same: the first one with --seed 2 is not the second one with --seed 1.
usual=("${small[@]}")
small=(--quiet --timeout "$((60 * slow))s" --run t --scale 0.02 --max-samples 1 --min-samples 1)
for time in 10ms 1s; do
	requests=6 go 3 --engine none --rate 100 --algorithm colocated --max-time "$time" \
		--trace-out "$FB_TMP/spans-$time"
	expect "requests of one sample after a warm-up of at most $time" "$(column requests)" 6
done
requests=6 go 3 --engine none --rate 100 --algorithm colocated --max-time 10ms --launch-index 1 \
	--trace-out "$FB_TMP/spans-other"
requests=6 go 3 --engine none --rate 100 --algorithm colocated --max-time 10ms --seed 2 \
	--trace-out "$FB_TMP/spans-first"
small=("${small[@]:0:7}" --max-samples 2 --min-samples 2)
requests=6 go 3 --engine none --rate 100 --algorithm colocated --max-time 1min --seed 1 \
	--trace-out "$FB_TMP/spans-second"
small=("${usual[@]}")
awk -F, 'FNR == 1 { file++; next }
	(file, $1) in at { next }
	{ at[file, $1] = $3; n[file]++; off = $3 - at[1, $1]; bad[file] += off * off > 1 }
	END { exit bad[2] || bad[3] != 5 || n[1] != 6 || n[2] != 6 || n[3] != 6 }' \
	"$FB_TMP"/spans-{10ms,1s,other}/spans.csv || fail "arrivals of samples"
awk -F, 'FNR == 1 { file++; next }
	(file, $1) in at { next }
	{ at[file, $1] = $3; off = $3 - at[1, $1]; other += off * off > 1 }
	END { exit other != 5 }' "$FB_TMP"/spans-{first,second}/spans.csv ||
	fail "samples with other seeds have the same arrivals"
verdict serve_spans

# Intervals that hardly differ: --cv is about those of gamma.
requests=20 go 3 --engine none --algorithm colocated --rate 100 --arrivals gamma --cv 0.01 \
	--trace-out "$FB_TMP/even"
awk -F, 'FNR == 1 || $1 in at { next }
	{ at[$1] = $3; off = $3 - 1e4 * n++; bad += off < -1000 || off > 1000 }
	END { exit bad || n != 20 }' "$FB_TMP/even/spans.csv" ||
	fail "arrivals of --cv 0.01: $(cut -d, -f1-3 "$FB_TMP/even/spans.csv" | head -n 5 | xargs)"
# A worker that runs one request at a time ends them in the order of their arrival, however long
# their answers are.
for i in 0 1 2 3 4 5; do
	echo "{\"timestamp\": $i, \"input_length\": 2000," \
		"\"output_length\": $((3100 - 600 * i)), \"hash_ids\": [$i]}"
done >"$FB_TMP/shorter.jsonl"
for ranks in 2 3; do
	modes=([2]=colocated [3]=disaggregated)
	requests=6 go $ranks --engine none,shm --algorithm "${modes[ranks]}" --rate 100000 \
		--trace "$FB_TMP/shorter.jsonl" --most-batch 1 --trace-out "$FB_TMP/one-$ranks"
	expect "order of answers by one request at a time, ${modes[ranks]}" \
		"$(grep ',decode,' "$FB_TMP/one-$ranks/spans.csv" | sort -t, -s -g -k4 |
			sed 's/^[^0-9]*\([0-9]*\).*/\1/' | xargs)" "0 1 2 3 4 5"
done
verdict serve_batch

# All at once: a request waits for those before it, so the median time to the first token is a
# large part of the whole. A loop that waits for answers before it asks again would say one
# request's time.
requests=40 go 2 --engine none --rate 100000 --algorithm colocated --chunk 64
expect "exit code of an overload" "$rc" 0
awk -v ttft="$(column ttft_us)" -v all="$(column median_us)" \
	'BEGIN { exit !(ttft > 0.15 * all) }' || fail "requests did not wait for each other"
awk -v queue="$(column queue_us)" -v ttft="$(column ttft_us)" \
	'BEGIN { exit !(queue > 0.5 * ttft) }' || fail "waiting is not in the queue's time"
verdict serve_open_loop

# Searches that --max-samples ends, not the time.
searches=("${usual[@]:1}" --max-time "$((60 * slow))s")
if in_set serve_knee; then
	small=(--quiet "${searches[@]}")
	requests=4 go 3 --engine shm --operation knee,verdict --rate 30 --slo-ttft 200ms
	expect "exit code of knees" "$rc" 0
	expect "rows of knees" "$(rows ',(ok|few),')" 3
	# A fast machine serves all of them at once within the objective, and has no knee then.
	expect "rows that have no knee and do not say so" \
		"$(paste <(column knee_rps) <(column flags) | grep -vcE '^[0-9.]*[1-9]|no-knee')" 0
	expect "a verdict" "$(rows ',verdict,shm,both,.*(-wins|undecided|no-knee)')" 1
	# Each replay of a search says what it has shown. Runs that are no samples are a replay in
	# each mode, the first one at the given rate.
	small=("${searches[@]}")
	requests=4 go 3 --engine shm --operation verdict --rate 30 --slo-ttft 200ms \
		--trace-out "$FB_TMP/searched"
	expect "exit code of a search" "$rc" 0
	expect "spans of a search" "$(cat "$FB_TMP"/searched/*.csv 2>/dev/null | grep -c queue)" 0
	sed -n 's|^serve: verdict, \([a-z]*\): \([0-9.]*\)/s .*|\1 \2|p' "$FB_TMP/err" \
		>"$FB_TMP/said"
	expect "the first replays" "$(head -n 2 "$FB_TMP/said" | sort | xargs)" \
		"colocated 30 disaggregated 30"
	expect "the second replays" "$(sed -n 3,4p "$FB_TMP/said" | grep -cE ' (15|60)$')" 2
	# All requests miss this objective, so a replay is decided by the first one. The others need
	# not arrive, which would take hours at the lowest of the rates that are tried.
	small=(--quiet "${searches[@]}")
	requests=20 go 3 --engine shm --operation knee --rate 30 --slo-ttft 1us \
		--algorithm disaggregated --attainment 99%
	expect "exit code where no rate meets the objective" "$rc" 0
	expect "knee where no rate meets the objective" "$(column knee_rps)" 0
	# A search that --max-time ends is no sample, and the row says how many there are.
	small=(--timeout "$((60 * slow))s" --run t --scale 0.02 --max-samples 3 --min-samples 2)
	requests=8 go 3 --engine shm --operation verdict --rate 30 --max-time 1ms
	expect "exit code of a search without time" "$rc" 0
	holds "$FB_TMP/err" 'max-time is over: this repetition does not count'
	expect "rows of a search without time" \
		"$(rows ',verdict,.*,few,0 samples within 0.001 s')" 1
	expect "a knee without time" "$(column knee_rps)" ""
	small=(--quiet "${searches[@]}")
	# One request meets any objective at any rate.
	requests=1 go 3 --engine shm --operation knee,verdict --rate 30 --slo-ttft 1h --slo-itl 1h
	expect "rows without a knee" "$(rows ',no-knee|[,;"]no-knee')" 3
	expect "knees that are none" "$(column knee_rps | awk '$1 > 0' | wc -l)" 0
	expect "quotients of no knees" "$(column knee_ratio | awk '$1 > 0' | wc -l)" 0
	expect "a verdict without quotients" "$(rows ',verdict,.*undecided')" 1
	small=("${usual[@]}")
	verdict serve_knee
fi

for i in 0 1 2 3 4 5; do
	echo "{\"timestamp\": $((i * 20 * slow)), \"input_length\": $((1000 + 300 * i))," \
		"\"output_length\": 200, \"hash_ids\": [1, 2, $((10 + i))]}"
done >"$FB_TMP/mooncake.jsonl"
{
	echo TIMESTAMP,ContextTokens,GeneratedTokens
	echo 2023-11-16 18:15:46.6805900,374,44
	echo 2023-11-16 18:15:46.7,900,10
} >"$FB_TMP/azure.csv"
go 3 --engine tcp --trace "$FB_TMP/mooncake.jsonl" --arrivals trace --rate 0
expect "exit code of Mooncake's" "$rc" 0
expect "rows of Mooncake's" "$(rows 'trace=mooncake.jsonl,(ok|few),')" 2
expect "prefixes of Mooncake's" "$(column hit_share | awk '$1 < 0.1' | wc -l)" 0
go 3 --engine tcp --trace "$FB_TMP/azure.csv" --arrivals trace,fixed --rate 50
expect "rows of Azure's" "$(rows 'trace=azure.csv,(ok|few),')" 4
verdict serve_traces

# Prompts of 100 to 130 tokens have 31 blocks together. Layers with a window of 32 tokens need three
# of each prompt, even if the decode worker has the blocks for the other layers.
for i in 0 1 2 3; do
	echo "{\"timestamp\": $i, \"input_length\": $((5000 + 500 * i))," \
		"\"output_length\": 150," \
		"\"hash_ids\": [$(seq -s , $((100 * i)) $((100 * i + 12)))]}"
done >"$FB_TMP/unlike.jsonl"
# Those that begin alike need blocks that the window of the first, a longer one, has passed by.
sed 's/hash_ids": .*/hash_ids": [0,1,2,3,4,5,6,7,8,9]}/; s/h": [56][0-9]*/h": 5000/
	1s/5000/6500/; 1s/9]/9,10,11,12]/' "$FB_TMP/unlike.jsonl" >"$FB_TMP/alike.jsonl"
page=$((16 * 2 * 64 * 2))
for trace in alike unlike; do
	requests=4 go 3 --engine shm,tcp --trace "$FB_TMP/$trace.jsonl" \
		--algorithm disaggregated --rate 10 --model tiny,tiny-window
	expect "exit code of windows" "$rc" 0
	expect "rows of windows" "$(rows ',(ok|few),')" 4
done
expect "bytes of unlike prompts" "$(column kv_bytes | sort -nu | xargs)" \
	"$((4 * (31 + 4 * 3) * page / 4)) $((8 * 31 * page / 4))"
verdict serve_windows

# refused PATTERN OPTION...
refused() {
	go 2 "${@:2}"
	[ "$rc" -ne 0 ] || fail "exit code of ${*:2} is 0"
	holds "$FB_TMP/err" "$1"
}
refused '--model.*gpt-5' --model gpt-5
refused '--rate.*fast' --rate fast
refused 'neither a file nor one of azure-conv' --trace "$FB_TMP/nowhere.jsonl"
expect "messages about a trace" "$(grep -c 'neither a file' "$FB_TMP/err")" 1
echo '{"timestamp": 1, "input_length": ' >"$FB_TMP/cut.jsonl"
refused 'cut.jsonl:1: expected' --trace "$FB_TMP/cut.jsonl"
go 2 --engine shm --algorithm disaggregated
expect "too few ranks" \
	"$(rows ',skipped,"?3 ranks are needed: a router, 1 for prompts and one that decodes')" 1
go 3 --engine shm --algorithm disaggregated --arrivals trace
expect "no times" "$(rows ',skipped,a generated trace has no times of arrival,')" 1
go 3 --engine shm --algorithm disaggregated --operation replay,knee --cadence streaming
expect "batches of searches" "$(rows ',knee,.*,skipped,searches cannot run in batches,')" 1
expect "batches of replays" "$(rows ',replay,.*,streaming,.*,(ok|few),')" 1
go 3 --engine shm --algorithm disaggregated --pool-blocks 1
expect "a small cache" "$(rows ',skipped,"?the longest prompt has')" 1
requests=10 go 3 --engine shm --operation replay,knee --rate 0.001
expect "arrivals that last longer than a replay may" "$(rows ",skipped,\"requests arrive in 9000 \
s, and --timeout ends a replay after $((60 * slow)) s\"")" 4
verdict serve_refused

# On emulated GPUs, which do what they are told.
fake=$FB_BUILD/tests/fake_gpu/serve
if ! in_set serve_fake_gpu; then
	:
elif [ -x "$fake" ]; then
	bin=$fake
	export FB_FAKE_GPU_WORKS=right
	requests=4 go 3 --engine copy,cuda,auto,none --memory device --rate 100 \
		--model tiny,tiny-window,deepseek-v4-like
	expect "exit code on emulated GPUs" "$rc" 0
	expect "rows on emulated GPUs" "$(rows ',(ok|few),')" 12
	expect "auto on GPUs" \
		"$(rows ',auto,disaggregated,.*cuda, no path table: kernels, push')" 3
	# The row's rank routes; what carried the caches is said by a rank that sends.
	expect "path of caches" "$(rows ',copy,disaggregated,.*copy engine, [^,]*, push')" 3
	# Requests are cancelled while their caches are on their way.
	small=("${searches[@]}")
	requests=12 go 3 --engine copy,cuda --memory device --rate 400 --operation knee,verdict \
		--slo-ttft 10ms
	small=("${usual[@]}")
	expect "exit code of knees on emulated GPUs" "$rc" 0
	holds "$FB_TMP/err" 'does not meet'
	expect "rows of knees on emulated GPUs" "$(rows ',(ok|few),')" 5
	unset FB_FAKE_GPU_WORKS
	verdict serve_fake_gpu
else
	echo "SKIP serve_fake_gpu: built without CUDA"
fi
exit "$bad"
