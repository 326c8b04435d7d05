#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine: all tests of RDMA on one host, one after the other, so that one boot
# does for them. Faults come last: they leave addresses and rules behind.
#
#	rdma.sh BUILD
for job in engine p2p loss faults; do
	start=$SECONDS
	bash "tests/vm/jobs/$job.sh" "$1" || echo "FAIL vm/$job: ended with $?"
	echo "  $job: $((SECONDS - start)) s"
done
exit 0
