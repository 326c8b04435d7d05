#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: tests/netns/links between soft-RoCE devices whose cable loses packets.
# What arrives is right, rows say that packets were sent again, and a connection that may send no
# packet again ends with a row `fault`, behind which the rest is measured. Nothing depends on time:
# of a thousand packets with 1 % lost some are missing, and with 7 retries soft-RoCE never gives up.
#
#	loss.sh BUILD
. tests/vm/lib.sh
[ "$1" = build/openmpi ] || exit 0 # whose programs links measures
log=/tmp/log rows=/tmp/loss
vm_network || exit
few=(--min-samples 40 --max-samples 40 --max-time 60s --timeout 120s)
kv=(--layers 1 --kv-heads 8 --head-dim 128 --tokens 1K --page-run 1 --min-samples 2 --max-samples 2
	--max-time 0.1s --timeout 120s)
tests/netns/links --rdma --loss 1% --mtu 4200 $rows \
	-- handoff --engine rdma --algorithm put --block-tokens 512 --rdma-retry 0 "${kv[@]}" \
	-- latency --engine rdma --algorithm send --protocol write --bytes 64K --rdma-reads 2 \
	--rdma-retry 7 --rdma-rnr-retry 6 --rdma-timeout 13 "${few[@]}" >$log 2>&1
rc=$?
# What the other jobs expect.
for i in 0 1; do
	tc qdisc del dev v$i root
	ip link set v$i mtu 9000
done

# expect PROGRAM PATTERN: one row matches.
expect() {
	[ "$(grep -cE -- "$2" "$rows/$1.csv")" -eq 1 ] || {
		cat "$rows/$1.csv" >>$log
		echo "not one row of $1 matches '$2'" >>$log
		rc=1
	}
}
[ $rc -ne 5 ] || rc=0 # that of the first program
expect handoff ',rdma,put,.*;loss=1%;.*;rdma_retry=0;.*,fault,.*did not answer'
options='rdma_reads=2;rdma_retry=7;rdma_rnr_retry=6;rdma_timeout=13'
events='rxe[01]:1\.(rcvd_seq|completer_retry)_err'
expect latency ";loss=1%;.*;$options;.*,(ok|few),.*retransmits.*$events"
verdict vm/loss $rc $log
exit 0
