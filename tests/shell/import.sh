#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# import: other benchmarks' output in, result files out. Inputs in tests/golden/import/ are of the
# real formats (those of OSU and IMB were printed by them); expected/ holds what becomes of them.
# JSON is skipped where import was built without jansson.

set -u
export LC_ALL=C
. tests/shell/lib.sh
golden=$PWD/tests/golden/import
import=$FB_BUILD/bin/import
csvcheck=$FB_BUILD/bin/csvcheck
query=$FB_BUILD/bin/query
with_json=yes
"$import" --help | grep -q 'no libjansson' && with_json=no

# Inputs with a time of change of their own: it becomes the column utc.
mkdir "$FB_TMP/in"
cp "$golden"/*.txt "$golden"/*.json "$FB_TMP/in"
touch -d 2026-01-02T03:04:05Z "$FB_TMP/in"/*
cd "$FB_TMP/in" || exit 1

# value ROWS COLUMN CONDITION...: the column of those rows.
value() {
	"$query" "$1" --csv --columns "$2" "${@:3}" | tail -n +2
}

for input in *.txt *.json; do
	[ "$with_json" = no ] && [ "${input##*.}" = json ] && continue
	options=(--ranks 4)
	[ "$input" = nccl-2.9.txt ] && options+=(--operation all_reduce)
	out=$FB_TMP/out/$input
	"$import" --csv "$out" --run golden "${options[@]}" "$input" >/dev/null 2>"$FB_TMP/err"
	expect "exit code for $input" $? 0
	expect "stderr for $input" "$(cat "$FB_TMP/err")" ''
	"$csvcheck" "$out"/*.csv >"$FB_TMP/check" || fail "$input: $(head -n 3 "$FB_TMP/check")"
	(cd "$out" && tail -n +1 ./*.csv ./nothing 2>/dev/null) >"$FB_TMP/got"
	expected=$golden/expected/$input.txt
	[ "${FB_GOLDEN-}" = update ] && cp "$FB_TMP/got" "$expected"
	diff -u "$expected" "$FB_TMP/got" || fail "$input: not as expected"
done
verdict import_golden

# Answers computed by hand from the inputs.
out=$FB_TMP/out
expect "8 MiB out of place" "$(value "$out/nccl-2.19.txt" median_us,samples,status,iterations \
	bytes=8M in_place=no)" 66.2200,1,few,20
expect "its bus bandwidth" "$(value "$out/nccl-2.19.txt" busbw_GBps bytes=8M in_place=no)" 221.686
expect "wrong elements" "$(value "$out/nccl-2.19.txt" status,errors,bytes errors\>0)" wrong,3,2048
expect "ranks and nodes" "$(value "$out/nccl-2.19.txt" ranks,nodes bytes=8 in_place=no)" 8,2
expect "program of old text" "$(value "$out/nccl-2.13.txt" program,cadence,datatype bytes=1M \
	in_place=yes)" all_gather_perf,isolated,f32
expect "OSU counts a rank's block" "$(value "$out/osu_allgather-full.txt" \
	memory,median_us,rank_min_us,rank_max_us bytes=4K)" device,8.4600,7.3600,9.9000
expect "OSU's wrong data" "$(value "$out/osu_allgather-full.txt" status bytes=256K)" wrong
# Both tools give all ranks equal blocks, which our rows of such collectives call skew=0. The
# alltoallv_perf of rccl-tests has blocks of its own sizes, which have no such name.
for title in Allgatherv All-to-Allv Reduce_scatter Allgather; do
	sed "s/MPI-CUDA Allgather /MPI $title /" osu_allgather-full.txt >equal.txt
	"$import" --csv "$FB_TMP/equal-$title" --ranks 4 equal.txt >/dev/null
	value "$FB_TMP/equal-$title" operation,variant samples=1 bytes=64K:1M
done | sort -u | tr '\n' ' ' >"$FB_TMP/got"
expect "equal blocks" "$(cat "$FB_TMP/got")" \
	'all_gather, all_gather_v,skew=0 all_to_all_v,skew=0 reduce_scatter_v,skew=0 '
expect "equal blocks of IMB" "$(value "$out/imb.txt" variant operation=reduce_scatter_v bytes=8)" \
	skew=0
sed 's/all_reduce_perf/alltoallv_perf/' nccl-2.19.txt >unequal.txt
"$import" --csv "$FB_TMP/unequal" unequal.txt >/dev/null
expect "unequal blocks" "$(value "$FB_TMP/unequal" operation,variant bytes=8M in_place=no)" \
	all_to_all_v,
# 90.4 GB/s both ways: 64 KiB in 2 * 65536 / 90.4e9 s.
expect "two directions" "$(value "$out/ib_send_bw-bidirectional.txt" \
	median_us,algbw_GBps,busbw_GBps)" 1.4499,90.4,45.2
expect "a median of perftest" "$(value "$out/ib_read_lat.txt" \
	status,samples,median_us,min_us,p99_us,reported_p99_us bytes=2)" \
	ok,997,1.6200,1.5700,,1.7800
expect "its p99 of enough samples" "$(value "$out/ib_write_lat.txt" p99_us program=ib_write_lat)" \
	0.9700
expect "a mean is no median" "$(value "$out/ib_write_lat.txt" variant program=ib_send_lat)" \
	'connection=RC;qps=1;time=mean'
expect "a matrix" "$(value "$out/nvbandwidth.txt" algbw_GBps,busbw_GBps,bytes row=1 column=0 \
	matrix=Total)" 776.1,,536870912
expect "a failed case" "$(value "$out/nvbandwidth.txt" reason status=fault)" 'no such device'
verdict import_known

if [ "$with_json" = yes ]; then
	expect "samples" "$(value "$out/nccl.json" samples,status variant=timing* bytes=1M \
		in_place=no)" 19,ok
	for file in ib_write_bw ib_write_bw-mib; do
		expect "$file: the unit" "$(value "$out/$file.json" algbw_GBps)" 46.9
	done
	# The same figures as text and as JSON have the same keys.
	columns=operation,bytes,variant,algbw_GBps
	value "$out/nvbandwidth.txt" $columns bytes\>0 >"$FB_TMP/a"
	value "$out/nvbandwidth.json" $columns bytes\>0 status=few >"$FB_TMP/b"
	cut -d, -f1-3 "$FB_TMP/a" | cmp -s - <(cut -d, -f1-3 "$FB_TMP/b") ||
		fail "text and JSON of nvbandwidth have different keys"
	expect "rows of both" "$(wc -l <"$FB_TMP/a")" 8
	verdict import_json
else
	"$import" --csv "$FB_TMP/no" nccl.json >"$FB_TMP/got" 2>"$FB_TMP/err"
	expect "exit code without jansson" $? 3
	holds "$FB_TMP/err" libjansson-dev
	echo "SKIP import_json: built without jansson"
fi

# A file a launch, behind those that are there; never the same file twice.
both=$FB_TMP/both
"$import" --csv "$both" osu_latency.txt >/dev/null
sed 's/0.14$/0.24/' osu_latency.txt >second.txt
"$import" --csv "$both" second.txt >/dev/null
expect "launches" "$(value "$both" launch_index bytes=2 | tr '\n' ' ')" '0 1 '
grep -c 'program.osu_latency.[01].import.hash' "$both/environment.csv" >"$FB_TMP/got"
expect "facts of both launches" "$(cat "$FB_TMP/got")" 2
"$import" --csv "$both" second.txt >/dev/null 2>"$FB_TMP/err"
expect "exit code for a file that was imported" $? 3
holds "$FB_TMP/err" 'once more it would count'
"$import" --csv "$both" --launch-index 1 nccl-2.13.txt osu_latency.txt >/dev/null 2>"$FB_TMP/err"
expect "exit code for a launch that is there" $? 3
[ -e "$both/all_gather_perf.csv" ] && fail "a refused import has written a file"
# Cycles of nccl-tests (-N) are samples of one launch.
rows=$(grep -E '^ +[0-9]+ +[0-9]+ ' nccl-2.19.txt)
awk -v rows="$rows" '/Out of bounds/ { for (i = 0; i < 4; i++) print rows } { print }' \
	nccl-2.19.txt >cycles.txt
"$import" --csv "$FB_TMP/cycles" cycles.txt >/dev/null
expect "cycles" "$(value "$FB_TMP/cycles" samples,status,median_us,min_us bytes=8M in_place=no)" \
	5,ok,66.2200,66.2200
verdict import_launches

# Runs of unlike configuration are never launches of one case: what the log says is in the key.
# run_of RANKS GPUS: one run's text, without a command.
run_of() {
	printf '# nThread 1 nGpus %s minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 ' "$2"
	printf 'iters: 20 agg iters: 1 validation: 1 graph: 0\n# Using devices\n'
	for ((r = 0; r < $1; r++)); do
		echo "#  Rank  $r Group  0 Pid 7 on n1 device  $r [0x07] NVIDIA H100"
	done
	printf '#  size count type redop root  time algbw busbw #wrong  time algbw busbw #wrong\n'
	printf ' 8 2 float sum -1 10.0 0.0 0.0 0 11.0 0.0 0.0 0\n'
	printf ' 16 4 float sum -1 12.0 0.0 0.0 0 13.0 0.0 0.0 0\n# Out of bounds values : 0 OK\n'
}
# variants FILE [OPTION...]: launch and variant of the rows of 8 bytes, out of place.
variants() {
	rm -rf "$FB_TMP/config"
	"$import" --csv "$FB_TMP/config" "${@:2}" "$1" >/dev/null || fail "import of $1"
	value "$FB_TMP/config" launch_index,variant bytes=8 in_place=no | tr '\n' ' '
}
{
	echo '+ mpirun -np 4 -x NCCL_ALGO=Ring -x NCCL_PROTO ./all_reduce_perf -b 8 -R 1'
	run_of 4 1
	echo '+ srun --export=ALL,NCCL_ALGO=Tree,NCCL_IB_HCA=m0,m1,NCCL_PROTO=LL ./all_reduce_perf'
	run_of 4 1
	echo '$ NCCL_PROTO="LL128" ./all_reduce_perf -g 4 --local_register=2'
	run_of 4 4
	echo 'export NCCL_ALGO=Ring NCCL_DEBUG=INFO LD_LIBRARY_PATH=/x'
	echo '+ ./all_reduce_perf -b 8 -g 4 -a 3'
	run_of 4 4
	echo 'unset NCCL_ALGO'
	echo '=== NCCL_NTHREADS=64 ==='
	run_of 4 1 | sed '7i n1:7:7 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 8.'
	echo '+ mpiexec -genv NCCL_ALGO PAT all_reduce_perf'
	run_of 4 1
} >configured.txt
expect "keys of a log" "$(variants configured.txt)" "0,NCCL_ALGO=Ring \
1,\"NCCL_ALGO=Tree;NCCL_IB_HCA=m0,m1;NCCL_PROTO=LL\" 2,NCCL_PROTO=LL128;gpus=4 \
3,NCCL_ALGO=Ring;average=3;gpus=4 4,NCCL_MIN_NCHANNELS=8;NCCL_NTHREADS=64 5,NCCL_ALGO=PAT "
expect "registration" "$(value "$FB_TMP/config" registration bytes=8 in_place=no | tr '\n' ' ')" \
	'registered - symmetric - - - '
expect "keys of the user" "$(variants configured.txt --tag 'site=a;NCCL_BUFFSIZE=1' |
	cut -d' ' -f1)" '0,NCCL_ALGO=Ring;NCCL_BUFFSIZE=1;site=a'
{
	echo '+ mpirun -x UCX_TLS=rc --mca coll hcoll osu_latency' && cat osu_latency.txt
} >ucx.txt
"$import" --csv "$FB_TMP/ucx" ucx.txt >/dev/null
expect "keys of OSU" "$(value "$FB_TMP/ucx" variant bytes=2)" 'OMPI_MCA_coll=hcoll;UCX_TLS=rc'
if [ "$with_json" = yes ]; then
	sed 's/"HOME=/"NCCL_ALGO=Ring","HOME=/' nccl.json >ring.json
	"$import" --csv "$FB_TMP/ring" ring.json >/dev/null
	expect "keys of JSON" "$(value "$FB_TMP/ring" variant bytes=1M samples=1 in_place=no)" \
		NCCL_ALGO=Ring
fi
# Without their headers rows are read all the same, where it is known what ran.
{
	echo 'mpirun -n 4 all_reduce_perf -b 8' && run_of 4 1
	echo 'NCCL_ALGO=Tree all_gather_perf -g 8' && run_of 8 8
} | grep -v '^#' >bare.txt
expect "rows without headers" "$(variants bare.txt)" '0,NCCL_ALGO=Tree;gpus=8 0, '
expect "their ranks" "$(value "$FB_TMP/config" ranks,program,iterations bytes=8 in_place=yes |
	tr '\n' ' ')" '8,all_gather_perf, 4,all_reduce_perf, '
grep -hE '^ +[0-9]' nccl-2.9.txt >bare-old.txt
grep -hE '^ +[0-9]' nccl-per-iteration.txt >bare-iterations.txt
for file in bare-old:11.5000 bare-iterations:22.4200; do
	"$import" --csv "$FB_TMP/${file%%:*}" --ranks 8 --operation all_reduce \
		"${file%%:*}.txt" >/dev/null
	expect "${file%%:*}" "$(value "$FB_TMP/${file%%:*}" median_us bytes=8 in_place=no)" \
		"${file##*:}"
done
expect "times of -I" "$(value "$FB_TMP/bare-iterations" reported_min_us bytes=8 \
	in_place=no)" 21.3000
verdict import_configuration

# Counters of GPUs and switches become facts of the launches that ran at their time.
side=$FB_TMP/side
touch -d 2026-01-02T03:05:00Z second.txt
"$import" --csv "$side" osu_latency.txt second.txt >/dev/null
cat >gpus.txt <<-'END'
	2026-01-02T03:04:02Z #Entity   SMACT   NVLTX
	2026-01-02T03:04:02Z ID
	2026-01-02T03:04:02Z GPU 0     0.900   7
	2026-01-02T03:04:05Z GPU 0     0.500   100
	2026-01-02T03:04:05Z GPU 1     N/A     100
	2026-01-02T03:04:06Z GPU 0     0.700   160
END
cat >switch.csv <<-'END'
	time,source,counter,value
	2026-01-02T03:04:59Z,leaf1/swp3,xmit_wait,1000
	2026-01-02T03:05:00.250Z,leaf1/swp3,xmit_wait,1200
	1767323101,leaf1/swp3,xmit_wait,1500
END
"$import" --csv "$side" gpus.txt switch.csv >"$FB_TMP/got" 2>&1
expect "exit code of telemetry" $? 0
rows=$(wc -l <"$side/osu_latency.csv")
holds "$side/environment.csv" \
	'osu_latency.0.telemetry.GPU0.SMACT,"mean 0.6, 0.5 to 0.7, grew by 0.2, 2 readings"$'
holds "$side/environment.csv" \
	'osu_latency.0.telemetry.GPU0.NVLTX,"mean 130, 100 to 160, grew by 60, 2 readings"$'
holds "$side/environment.csv" \
	'osu_latency.1.telemetry.leaf1/swp3.xmit_wait,"mean 1350, 1200 to 1500,'
expect "counters of a GPU" "$(grep -c 'telemetry.GPU1' "$side/environment.csv")" 1
# Rows that took three seconds reach back to the first reading; a second time replaces the first.
echo 'run,,,program.osu_latency.0.rows_s,3.000' >>"$side/environment.csv"
"$import" --csv "$side" gpus.txt >/dev/null
holds "$side/environment.csv" \
	'osu_latency.0.telemetry.GPU0.SMACT,"mean 0.7, 0.5 to 0.9, .*3 readings'
expect "facts of a counter" "$(grep -c 'GPU0.SMACT' "$side/environment.csv")" 1
expect "rows" "$(wc -l <"$side/osu_latency.csv")" "$rows"
"$csvcheck" "$side"/*.csv >"$FB_TMP/check" || fail "$(head -n 3 "$FB_TMP/check")"
for wrong in 's/^2026-01-02/2027-01-02/:no reading is of a time' \
	's/Z GPU 0/Z GPU/:wrong.txt.*a value for' \
	's/^[^ ]* //:a time before each line' 's/0.500/fast/:expected numbers, or N/A'; do
	sed "${wrong%%:*}" gpus.txt >wrong.txt
	"$import" --csv "$side" wrong.txt >"$FB_TMP/got" 2>"$FB_TMP/err"
	expect "exit code of ${wrong%%:*}" $? 3
	holds "$FB_TMP/err" "${wrong#*:}"
done
verdict import_telemetry

# refuses PATTERN ARGUMENT...: one line on stderr, exit code 3, nothing on stdout, no folder.
refuses() {
	local pattern=$1

	shift
	"$import" --csv "$FB_TMP/refused" "$@" >"$FB_TMP/got" 2>"$FB_TMP/err"
	expect "exit code of $*" $? 3
	expect "stdout of $*" "$(cat "$FB_TMP/got")" ''
	expect "lines on stderr of $*" "$(wc -l <"$FB_TMP/err")" 1
	holds "$FB_TMP/err" "$pattern"
	[ -e "$FB_TMP/refused" ] && fail "$*: a folder was made"
}

sed '18s/22.32/22.3x/' nccl-2.19.txt >number.txt
sed '19s/ 22.38 .*//' nccl-2.19.txt >short.txt
sed 's/^ 64 .*/ 64      5000/' ib_write_bw.txt >perftest.txt
printf 'nothing of interest\n' >other.txt
printf 'a\0b\n' >nul.txt
: >empty.txt
head -n 4 osu_bw.txt >header.txt
sed 's/^0: //; /srun/d' nccl-2.13.txt >nameless.txt
printf '{"nccl_version": 22907,\n"results": [\n' >open.json
refuses 'number.txt:18: .*no number' number.txt
refuses 'short.txt:19: the row is cut short' short.txt
refuses 'perftest.txt:[0-9]+: the row is cut short' perftest.txt
refuses 'other.txt: in no format' other.txt
refuses 'nul.txt:1: .*NUL' nul.txt
refuses 'empty.txt: is empty' empty.txt
refuses 'header.txt:4: ends without a single result' header.txt
refuses 'give --ranks' osu_allreduce-5.6.txt
refuses 'give --operation' nameless.txt
refuses '--operation.*all_reduce_perf' --operation bogus nccl-2.9.txt
refuses '--format.*nccl-text, nccl-json' --format bogus osu_bw.txt
refuses 'ends without' --format imb osu_bw.txt
refuses 'No such file' missing.txt
refuses '5 nodes for 4 ranks' --ranks 4 --nodes 5 osu_allreduce-5.6.txt
refuses 'the command line has this very file' osu_bw.txt osu_bw.txt
refuses 'second.txt|No such' osu_bw.txt missing.txt
run_of 4 1 >one.txt
sed 's/.*/&\n&/' one.txt >mixed.txt
sed '/^#.*size/,$s/.*/&\n&/' one.txt >mixed-tables.txt
cat one.txt one.txt | grep -v '^#' >twice.txt
refuses 'mixed.txt:6: lines of several runs are mixed' --operation all_reduce mixed.txt
refuses 'mixed-tables.txt:8: lines of several runs' --operation all_reduce mixed-tables.txt
refuses 'twice.txt:4: the same case as in line 2' --operation all_reduce --ranks 4 twice.txt
refuses 'one.txt:.*give --operation' one.txt
refuses '--tag.*KEY=VALUE' --tag bogus nccl-2.19.txt
refuses 'configured.txt:.*NCCL_ALGO' --tag NCCL_ALGO=Tree configured.txt
[ "$with_json" = yes ] && refuses 'open.json:3: not JSON' open.json
"$import" osu_bw.txt 2>"$FB_TMP/err"
expect "exit code without --csv" $? 3
holds "$FB_TMP/err" 'no --csv DIR'
verdict import_bad_input

# A row that its writer did not finish is left out, as in files of ours.
head -c -20 ib_read_lat.txt | head -n -1 | head -c -10 >torn.txt
"$import" --csv "$FB_TMP/torn" torn.txt >/dev/null 2>"$FB_TMP/err"
expect "exit code for a torn file" $? 0
holds "$FB_TMP/err" 'no end and is left out'
expect "rows of a torn file" "$(value "$FB_TMP/torn" bytes | tr '\n' ' ')" '2 4 '
verdict import_torn
exit "$bad"
