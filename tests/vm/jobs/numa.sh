#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside a virtual machine of two NUMA nodes with a processor each: --numa puts threads and memory
# where it says, and explicit huge pages are what rows say.
#
#	numa.sh BUILD
. tests/vm/lib.sh
build=$1
export MPI=openmpi
hostname vm0
ip link set lo up
log=/tmp/log
short=(--quiet --engine host --min-samples 2 --max-samples 3 --max-time 0.1s)

# rows NAME RANKS PROGRAM OPTION...: into $log; a row must follow for each `has`.
rows() {
	local protocol=(--protocol simple)

	# What is not made of messages has no protocol.
	[[ $3 != registration && $3 != connection ]] || protocol=()
	name=$1 bad=0
	vm_run 200 "$2" "$build/bin/$3" "${short[@]}" "${protocol[@]}" "${@:4}" >$log 2>&1 || bad=$?
}

# has PATTERN: a row of $log matches.
has() {
	grep -qE -- "$1" $log && return
	echo "  no row matches $1"
	bad=1
}

done_() {
	verdict "vm/numa-$name" $bad $log
}

rows processors 2 latency --bytes 8 --numa 0:1
has ';numa=0:1;.*,skipped,1 processors there for 2 ranks that do not yield,'
done_
vm_one_processor

rows places 2 latency --bytes 8,64K --numa any,local,remote,all,7
# Nodes are shared out where the launcher left it open: a rank on each.
has ';numa=local;.*,(ok|few),.*\(threads on 0>1, pages on 0>1'
has ';numa=remote;.*,(ok|few),.*\(threads on 0>1, pages on 1>0'
for place in 0:0 0:1 1:0 1:1; do
	has ";numa=$place;.*,(ok|few),.*\\(threads on ${place%:*}, pages on ${place#*:}[,)]"
done
has ';numa=7:7;.*,skipped,no NUMA node 7 with processors,'
has 'dst=1;src=0;window=1,(ok|few),.*,shm,'
[ "$(grep -cE ',(ok|few),' $log)" -eq 14 ] || { echo "  not 14 rows" && bad=1; }
done_

# A collective has the buffers of each rank; a cost has its memory, or threads alone.
collective=(--algorithm ring --bytes "8,64K")
rows collective 2 all_reduce "${collective[@]}" --numa any,local,remote,all,7
has ',numa=local,(ok|few),.*"shm \(threads on 0>1, pages on 0>1\)"'
has ',numa=remote,(ok|few),.*"shm \(threads on 0>1, pages on 1>0\)"'
for place in 0:0 0:1 1:0 1:1; do
	has ",numa=$place,(ok|few),.*\"shm \(threads on ${place%:*}, pages on ${place#*:}\)"
done
has ',numa=7:7,skipped,no NUMA node 7 with processors,'
[ "$(grep -cE ',(ok|few),' $log)" -eq 14 ] || { echo "  not 14 rows" && bad=1; }
done_
rows collective-4 4 all_to_all --bytes 64K --numa local,1:0
has ',numa=local,(ok|few),.*"shm \(threads on 0\+1, pages on 0\+1\)"'
has ',numa=1:0,(ok|few),.*"shm \(threads on 1, pages on 0\)"'
done_

rows costs 2 registration --bytes 64K --numa remote,1:0
for operation in map lock share; do
	has ",$operation,.*,numa=remote,(ok|few),.*\(threads on 0>1, pages on 1>0\)"
	has ",$operation,.*,numa=1:0,(ok|few),.*\(threads on 1, pages on 0\)"
done
done_
rows connections 2 connection --numa 1,1:0,remote
has ',connect_shm,.*,numa=1:1,(ok|few),.*"?shm \(threads on 1\)'
has ',connect_shm,.*,numa=1:0,skipped,"there is no memory to place, only threads"'
has ',connect_tcp,.*,numa=remote,skipped,"there is no memory to place, only threads"'
done_

rows too-large 2 bandwidth --bytes 1G --numa 1
has ';numa=1:1;.*,skipped,"1G a rank is more than the memory for its buffers, '
done_

rows no-huge 2 latency --bytes 8 --memory hugetlb,hugetlb_1g
has ',hugetlb,.*,skipped,no huge page of 2M for each rank is free: '
has ',hugetlb_1g,.*,skipped,no huge page of 1G for each rank is free: '
done_

for node in 0 1; do
	echo 12 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled
rows huge 2 latency --bytes 64K --memory host,hugepage,hugetlb --numa any,1:0
has ',hugetlb,.*;numa=1:0;.*,(ok|few),.*\(threads on 1, pages on 0, 2M pages'
has ',hugetlb,.*,dst=1;src=0;window=1,(ok|few),.*,shm \(2M pages'
has ',hugepage,.*;numa=1:0;.*,(ok|few),.*\(threads on 1, pages on 0, (THP [0-9]+%|4K pages)'
has ',host,.*;numa=1:0;.*,(ok|few),.*\(threads on 1, pages on 0[,)]'
done_

rows huge-collective 2 all_reduce "${collective[@]}" --memory hugepage --numa 0:1
has ',hugepage,.*,numa=0:1,(ok|few),.*\(threads on 0, pages on 1\)'
done_

# 24 MiB of each node, which two ranks share: 12 MiB each, for two places.
rows huge-bound 2 bandwidth --bytes 1M,20M --memory hugetlb --numa 0
has ',1048576,.*;numa=0:0;.*,(ok|few),.*\(threads on 0, pages on 0, 2M pages'
has ',20971520,.*;numa=0:0;.*,skipped,"20M is more than the free huge pages of 2M, '
done_
