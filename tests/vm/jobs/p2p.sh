#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: the point-to-point programs with engine rdma, each verb, verified; with
# every option that changes how messages are dealt; and what registrations and connections cost.
#
#	p2p.sh BUILD
. tests/vm/lib.sh
build=$1
export MPI=openmpi
vm_network || exit
log=/tmp/log runs=0 bin=bin good=',(ok|few),'
quick=(--quiet --min-samples 3 --max-samples 6 --max-time 0.1s --timeout 120s --rdma-timeout 17)

# check NAME ROWS PATTERN RANKS PROGRAM OPTION...: so many rows match, all of them good, none else.
# Without FB_FULL only the checks that `usual` names: one of each program and of each way to memory.
# Programs are those in `bin`; rows are good that match `good`.
usual='rails|wait|registration|manager|mover-2|loops|gpu-(memory|watched)'
check() {
	local name=$1 rows=$2 pattern=$3 ranks=$4 program=$5 csv=/tmp/p2p-$((++runs)) got rc
	local start=$SECONDS

	vm_wanted "$name" "$usual" || return 0
	vm_run 240 "$ranks" "$build/$bin/$program" --csv $csv --run t "${quick[@]}" "${@:6}" \
		>$log 2>&1
	rc=$?
	got=$(tail -n +2 "$csv/$program.csv" | grep -E "$good" | grep -cE -- "$pattern")
	if [ $rc -eq 0 ] && [ "$got" -ne "$rows" ]; then
		cut -d, -f6-9,19,22-24 "$csv/$program.csv" >>$log
		echo "$got rows are good and match '$pattern', not $rows" >>$log
		rc=1
	fi
	verdict "vm/p2p-$name" $rc $log
	echo "  $((SECONDS - start)) s"
}

raw=(--engine rdma --algorithm all)
# send, write and write_imm there and back; write, read; and two atomics, which have one size.
check latency 12 ',rdma,(send|put|get),[a-z_]+,rdma,.*rdma rxe0:1 RoCE v2, IPv4 10.9.0.1' \
	2 latency "${raw[@]}" --bytes 8,100001
# The same asleep, but for the WRITE that is polled for; with streams, both rails, and put and get
# by the mover. Rows that poll have no key.
sleeping=(--rdma-wait "poll,event,hybrid" --rdma-spin 5)
check wait 19 ';rdma_spin=5;rdma_timeout=17;(rdma_wait=(event|hybrid);)?src=0' 2 latency \
	"${raw[@]}" --bytes 8 "${sleeping[@]}"
check wait-streams 20 ';rdma_wait=event;.*rdma rxe0:1.*\+rxe1:1' 2 bandwidth "${raw[@]}" \
	--bytes 64,70000 --window 5 --rdma-device rxe0:1,rxe1:1 --rdma-stripe 1000 --rdma-qps 2 \
	--rdma-depth 16 --rdma-wait event
check wait-mover 12 ',mover-rdma,(put|get),.*;rdma_wait=(event|hybrid);' 2 latency \
	--engine mover-rdma --algorithm put,get --bytes 100001 --rdma-wait event,hybrid
# Messages of less than a stripe go by one rail.
check mover-by-rails 12 \
	',mover-rdma,(put|get),.*(,100,.*rdma rxe1:1 [^+]*$|,100001,.*rdma rxe0:1.*\+rxe1:1)' \
	2 latency --engine mover-rdma --algorithm put,get --bytes 100,100001 --rdma-device auto:all
check wait-handoff 2 ',rdma,(put|get),.*;rdma_wait=event;' 2 handoff --engine rdma \
	--algorithm all --tokens 37 --rdma-wait event
check wait-collective 2 ',ring,(simple|direct),rdma,.*rdma_wait=event,' 3 all_reduce \
	--engine host --algorithm ring --protocol simple,direct --transport rdma --bytes 70000 \
	--rdma-device auto:2 --rdma-wait event
# Two patterns with send, write_imm, write and read, and the atomics; small messages by turns of
# the queues, large ones cut, few requests at once.
check rails 20 'rdma rxe0:1.*\+rxe1:1' 2 bandwidth "${raw[@]}" --bytes 64,70000 --window 5 \
	--rdma-device rxe0:1,rxe1:1 --rdma-stripe 1000 --rdma-qps 2 --rdma-depth 16
# Both devices are as fast and as near: all of them, without a name; or the first.
near=(latency --engine rdma --protocol send --bytes 70000 --rdma-stripe 1000 --rdma-device)
check near-rails 1 'rdma rxe0:1 [^+]*\+rxe1:1' 2 "${near[@]}" auto:all
check near-first 1 'rdma rxe0:1 [^+]*$' 2 "${near[@]}" auto:1
check near-collective 2 ',"rdma rxe0:1 [^+]*\+rxe1:1' 3 all_reduce --engine host \
	--algorithm ring --protocol simple,direct --transport rdma --bytes 70000 \
	--rdma-device auto:2
check near-costs 1 ',register,.*;?rdma_rails=2;rdma_timeout=17,.*\+rxe1:1' 2 \
	registration --engine rdma --bytes 5000 --rdma-device auto:2
# Between nodes auto is RDMA, as both ranks have an active port; TCP is flagged.
nodes=(all_reduce --engine host --algorithm ring --protocol simple --bytes 4K --nodes-as 2)
check auto 1 ',host,ring,simple,rdma,.*rdma rxe0:1' 2 "${nodes[@]}"
check auto-mixed 1 ',host,ring,simple,shm\+rdma,' 4 "${nodes[@]}"
check tcp-though-rdma 1 ',host,ring,simple,tcp,.*[,;]tcp-though-rdma' 2 "${nodes[@]}" \
	--transport tcp
check steady 1 ',rdma,send,send,rdma,' 2 steady --engine rdma --bytes 64K
check incast 4 ',fan_(in|out),.*,degree=2;' 3 incast --engine rdma --bytes 30000 \
	--algorithm send,get --protocol send,read
# The load needs deeper queues than the probes, which exist and get new queues.
check load 6 ';load=[01];' 4 loaded_latency --engine rdma --bytes 8 --probes 5 --load-bytes 20000
check load-class 3 ';load=1;.*;load_traffic_class=32;rdma_timeout=17;rdma_traffic_class=104' 4 \
	loaded_latency --engine rdma --bytes 8 --probes 5 --load-bytes 20000 \
	--rdma-traffic-class 104 --load-traffic-class 32
# Huge pages of both kinds, with the bus free to reorder.
echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled
echo 32 >/proc/sys/vm/nr_hugepages
check huge-pages 20 ',huge(page|tlb),.*rdma_relaxed_ordering=1' 2 latency "${raw[@]}" \
	--memory hugepage,hugetlb --bytes 8,100001 --rdma-notify imm --rdma-relaxed-ordering
echo 0 >/proc/sys/vm/nr_hugepages
# What changes a cost is a key; in huge pages, too, where the kernel has some to give.
echo 16 >/proc/sys/vm/nr_hugepages
check registration 8 ',(register|look_up),.*;rdma_relaxed_ordering=1;rdma_timeout=17,.*\+rxe1:1' 2 \
	registration --engine rdma --bytes 5000,1M --memory host,hugetlb \
	--rdma-device rxe0:1,rxe1:1 --rdma-notify imm --rdma-relaxed-ordering
echo 0 >/proc/sys/vm/nr_hugepages
# The cache registers a memory once, and finds it every time after.
csv=/tmp/p2p-$runs/registration.csv
[ "$(grep -cE ',look_up,.*,[1-9][0-9]*,1,[0-9.]+,$' "$csv")" -eq 4 ] &&
	[ "$(grep -cE ',register,.*,0,[1-9][0-9]*,[0-9.]+,[0-9.]+$' "$csv")" -eq 4 ] &&
	[ "$(grep -cE ',hugetlb,.*\(2M pages\)' "$csv")" -eq 4 ]
verdict vm/p2p-registration-cache $? "$csv"
check connection 2 ',(connect_rdma|queue_pairs),.*,rdma_qps=2;rdma_timeout=17,' 2 connection \
	--engine host,rdma --rdma-qps 2
# The mover's conformance test: all verbs and forms, by one device and by two rails.
for ranks in 2 3; do
	if vm_wanted mover-$ranks "$usual"; then
		vm_run 240 $ranks "$build/tests/test_mover" rdma >$log 2>&1
		verdict vm/mover-$ranks $? $log
	fi
	vm_wanted mover-rails-$ranks "$usual" || continue
	FB_TEST_DEVICE=rxe0:1,rxe1:1 vm_run 480 $ranks "$build/tests/test_mover" rdma >$log 2>&1
	verdict vm/mover-rails-$ranks $? $log
done
if vm_wanted mover-tcp "$usual"; then
	FB_MOVER_SEED=2 vm_run 240 2 "$build/tests/test_mover" tcp >$log 2>&1
	verdict vm/mover-tcp $? $log
fi
# UCX's queue pairs meet by UD. Version 1.13 gets nothing that soft-RoCE receives by UD at an IPv4
# address, and aborts after 30 s, so that the link-local address is named.
if vm_wanted mover-ucx "$usual"; then
	UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES=rxe0:1 UCX_IB_GID_INDEX=0 \
		vm_run 240 2 "$build/tests/test_mover" ucx >$log 2>&1
	rc=$?
	why=$(sed -n 's/^  mover ucx is absent: //p' $log)
	if [ -n "$why" ]; then
		echo "SKIP vm/mover-ucx: $why"
	else
		verdict vm/mover-ucx $rc $log
	fi
fi
# A WRITE with a wrong key is refused by the device of the target, and its source gets an error.
if vm_wanted mover-wrong-key "$usual"; then
	vm_run 240 2 "$build/tests/test_mover" wrong-target >$log 2>&1
	verdict vm/mover-wrong-key $? $log
fi
if vm_wanted mover-ucx-wrong-key "$usual"; then
	UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES=rxe0:1 UCX_IB_GID_INDEX=0 \
		vm_run 240 2 "$build/tests/test_mover" wrong-target-ucx >$log 2>&1
	verdict vm/mover-ucx-wrong-key $? $log
fi
# A KV cache by WRITEs from one rank to two, each run to its place, packed, and layer by layer.
check kv_reshard 6 ',handover,rdma,.*,rdma,host,.*rdma rxe0:1 RoCE v2' 3 kv_reshard --engine rdma \
	--layout hnd,nhd --decode-tp 2 --tokens 100 --layers 3
# Messages gathered and scattered; with the connection manager where it was built in.
check pieces 12 'rdma_sges=3' 2 latency "${raw[@]}" --bytes 2,100001 --rdma-sges 3
if grep -q 'built without librdmacm' "$build/bin/latency"; then
	echo "SKIP vm/p2p-manager: built without librdmacm headers"
else
	check manager 12 'rdma_connect=cm;.*\+rxe1:1' 2 bandwidth "${raw[@]}" --bytes 70000 \
		--rdma-connect cm --rdma-device rxe0:1,rxe1:1 --rdma-qps 2
fi
# GPU memory that is the host's, by a runtime whose kernels do nothing (tests/fake/cudart.c): taken
# by address, as of the peer memory module; what is given for a dma-buf is refused.
if [ -x "$build/tests/fake_gpu/latency" ]; then
	bin=tests/fake_gpu
	export FB_FAKE_GPU_DIRECT=1
	check gpu-memory 10 ',device,.*, GPUDirect peermem' 2 latency "${raw[@]}" --memory device \
		--bytes 8,100001
	check gpu-windows 24 ',device,.*, GPUDirect peermem' 2 bandwidth "${raw[@]}" \
		--memory device --bytes 8 --window 5 --cadence all --rdma-inline 64
	check gpu-registration 8 ',(device|vmm),.*, GPUDirect peermem' 2 registration \
		--engine rdma --memory device,vmm --bytes 8K,3M
	good=',skipped,'
	check gpu-registration-no 2 'gpu_direct=no.*--gpu-direct no' 2 registration --engine rdma \
		--memory device --bytes 8K --gpu-direct no
	check gpu-watched 1 "a processor does not see what is written into a GPU's memory" 2 \
		latency "${raw[@]}" --protocol write --memory device --bytes 8
	check gpu-dma-buf 1 'gpu_direct=dma-buf.*does not register GPU memory by dma-buf: ' 2 \
		latency --engine rdma --protocol send --memory device --bytes 8 \
		--gpu-direct dma-buf
	check gpu-no 1 'gpu_direct=no.*--gpu-direct no' 2 latency --engine rdma --protocol send \
		--memory device --bytes 8 --gpu-direct no
	# The mover on such memory; the own rank is reached through the device, too.
	good=',(ok|few),'
	FB_FAKE_GPU_WORKS=right check gpu-handoff 12 \
		',rdma_gpu,(put|get),.*, GPUDirect peermem' 3 handoff \
		--engine rdma_gpu --algorithm all --operation reshard --grain all --decode 1,2 \
		--tokens 37
	for ranks in 1 2 3; do
		vm_wanted mover-gpu-$ranks "$usual" || continue
		FB_FAKE_GPU_WORKS=right FB_MOVER_MEMORY=device vm_run 240 $ranks \
			"$build/tests/fake_gpu/test_mover" rdma_gpu >$log 2>&1
		verdict vm/mover-gpu-$ranks $? $log
	done
	unset FB_FAKE_GPU_DIRECT
	check gpu-none 1 'no GPU has no GPUDirect RDMA' 2 latency --engine rdma --protocol send \
		--memory device --bytes 8
	bin=bin good=',(ok|few),'
else
	echo "SKIP vm/p2p-gpu-memory: built without CUDA"
fi
# What tests/vm/speed -l compares: both loops move what they should, and are timed. Its rows and its
# closing fact are those of latency, by whose name it is started.
ln -sf "$(realpath "$build/tests/rdma_loops")" /tmp/latency
for options in "--protocol write" "--algorithm get --protocol read,fetch_add"; do
	[[ $options == *get* ]] || vm_wanted loops-write "$usual" || continue
	# shellcheck disable=SC2086
	vm_run 120 2 /tmp/latency --csv /tmp/loops --run t --quiet \
		--max-time 0.2s --rdma-device rxe0 --bytes 8,5000 $options >/tmp/lines 2>$log
	rc=$?
	for verb in write read fetch_add; do
		[[ $options == *$verb* ]] || continue
		[ "$(grep -cE "^$verb 8 [0-9]+\.[0-9]+ [0-9]+\.[0-9]+$" /tmp/lines)" -gt 2 ] || {
			echo "too few times of $verb" >>$log
			rc=1
		}
	done
	grep -E ',(wrong|fault),' /tmp/loops/latency.csv >>$log && rc=1
	rm -rf /tmp/loops
	verdict "vm/p2p-loops ${options##* }" $rc $log
done
check ping-rails 12 'rdma_stripe=1' 2 latency "${raw[@]}" --bytes 8,70000 \
	--rdma-device rxe0:1,rxe1:1 --rdma-stripe 1 --rdma-batch 1 --rdma-signal 1 --rdma-inline 8
check bandwidth 20 ',(one|two)_way,rdma,' 2 bandwidth "${raw[@]}" --bytes 1,70000
check queues 4 'rdma_qps=3' 2 bandwidth --engine rdma --bytes 8 --rdma-qps 3 \
	--rdma-batch 2 --window 100 --cadence streaming
check many 8 ',pairs=[12];' 4 multi_pair "${raw[@]}" --bytes 5000 --protocol write,read
check pairs 9 ',dst=[012];' 3 all_pairs --engine rdma --bytes 8 --protocol send
# A program for each of both devices, and their rates as a table.
if vm_wanted gpu-nic "$usual"; then
	OMPI_MCA_mpi_yield_when_idle=1 scripts/gpu-nic --results /tmp/gpu-nic --options \
		"--bytes 64K --max-time 0.1s --min-samples 3 --max-samples 6 --rdma-timeout 17" \
		>$log 2>&1 && grep -qE '^rank +rxe0 +rxe1  fastest$' $log &&
		grep -qE '^0 +[0-9.]+ +[0-9.]+  rxe[01]$' $log
	verdict vm/p2p-gpu-nic $? $log
fi
exit 0
