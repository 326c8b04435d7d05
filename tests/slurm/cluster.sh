#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 120
#
# The private cluster itself: nodes are different hosts, and nothing of it outlives the process that
# it was made for, even where that is killed and its folder removed.

set -u
name=slurm/cluster
. tests/slurm/lib.sh
start_cluster 3

expect "names of the nodes" "$(on srun -N 3 hostname | sort | tr '\n' ' ')" "h0 h1 h2 "
expect "networks of the nodes" "$(on srun -N 3 readlink /proc/self/ns/net | sort -u | wc -l)" 3
expect "a second cluster in the same folder" "$($cluster up 1 2>&1)" \
	"cluster: $FB_CLUSTER has been used: take an empty folder"
expect "nodes after that" "$(on sinfo -h -o %D)" 3
verdict slurm/cluster

# daemons FOLDER: how many run with that configuration.
daemons() {
	pgrep -fc -- "-f $1/slurm.conf"
}

none_left() {
	[ "$(daemons "$1")" -eq 0 ]
}

other=$FB_TMP/other
mkdir "$other"
FB_CLUSTER=$other bash -c "$cluster up 2 \$\$; kill -9 \$\$" 2>"$FB_TMP/why"
[ "$(daemons "$other")" -ge 3 ] || fail "no second cluster: $(cat "$FB_TMP/why")"
rm -rf "$other"
until_true 60 none_left "$other" || fail "$(daemons "$other") daemons are left"
expect "the other cluster's nodes" "$(on sinfo -h -o %D)" 3
$cluster down
until_true 60 none_left "$FB_CLUSTER" || fail "$(daemons "$FB_CLUSTER") daemons are left"
verdict slurm/cluster-gone
exit $bad
