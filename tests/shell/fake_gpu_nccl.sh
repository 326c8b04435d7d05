#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# The calls that engine nccl makes to NCCL, with a library that only writes down how it is called
# (tests/fake/libfake_nccl.c) and a runtime without a GPU.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
. tests/shell/lib_nccl.sh

# The library says 5 us and 1 us for 1000 elements. It refuses calls on a communicator on which one
# was simulated, as NCCL would run that one as well.
runs all_reduce --nccl-model --registration none,registered,window --bytes 8,4M \
	--launch stream,graph
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 12
expect "model of 8 bytes" "$(values model_us ',(none|registered),.*,8,2,')" '5.0020 '
expect "model of 4 MiB" "$(values model_us ',(none|registered),.*,4194304,2,')" '1053.5760 '
expect "model of windows" "$(values model_us ',window,')" ' '
runs all_reduce --bytes 8
expect "model that nobody asked for" "$(values model_us ',(ok|few),')" ' '
runs all_to_all --nccl-force grouped --nccl-model --bytes 8
expect "model of sends" "$(values model_us ',(ok|few),')" ' '
library=$FB_BUILD/tests/libfake_nccl_2_18.so
runs all_reduce --nccl-model --bytes 8
expect "model of 2.18" "$(values model_us ',(ok|few),')" ' '
verdict fake_gpu_nccl_model

# Its first communicator of all ranks writes what it found beside the results, later ones do not;
# and the recorded environment does not say so. The library waits for ranks that do not take part.
library=$FB_BUILD/tests/libfake_nccl.so
mkdir "$FB_TMP/meet"
FB_FAKE_NCCL_MEET=$FB_TMP/meet runs all_reduce --bytes 8 --registration none,registered \
	--csv "$FB_TMP/dump"
for file in topology:system graph:graphs; do
	expect "NCCL's ${file%:*}" \
		"$(grep -c "<${file#*:} version" "$FB_TMP/dump/nccl-${file%:*}.xml")" 1
done
grep -q "NCCL_TOPO_DUMP_FILE[=,]" "$FB_TMP/dump/environment.csv" && fail "it is in the facts"
"$FB_BUILD/bin/topology" --nccl "$FB_TMP/dump/nccl-topology.xml" >"$FB_TMP/out" 2>&1
holds "$FB_TMP/out" '^NUMA node 0'
rm -r "$FB_TMP/dump"
mine=$FB_TMP/mine.xml
NCCL_TOPO_DUMP_FILE=$mine runs all_reduce --bytes 8 --csv "$FB_TMP/dump"
[ -s "$mine" ] || fail "the user's own file is not written"
[ ! -e "$FB_TMP/dump/nccl-graph.xml" ] || fail "written although the user has asked for others"
verdict fake_gpu_nccl_dump

# The call itself says what it is to use; the log of this library then says the same.
library=$FB_BUILD/tests/libfake_nccl_2_31.so
forced='--nccl-force library,ring:ll,tree'
# shellcheck disable=SC2086 # two words
runs all_reduce $forced --nccl-force-by call --channels 3 --bytes 64 --launch stream,graph
expect "rows" "$(grep -cE ',channels=3;nccl_force_by=call,(ok|few),' "$FB_TMP/out")" 6
holds "$FB_TMP/out" ',ring,ll,.*NCCL 2.31.2 ncclAllReduce forced by call: ring ll clusters of 4'
holds "$FB_TMP/out" ',tree,library,.* ncclAllReduce forced by call: tree simple clusters of 4'
expect "channels" "$(values channels ',nccl,(ring|tree),')" '3 '
# shellcheck disable=SC2086
runs all_reduce $forced --nccl-force-by communicator --bytes 64
holds "$FB_TMP/out" ',nccl,ring,ll,.*,skipped,NCCL ran ring:ll128 where ring:ll was forced'
runs all_to_all --nccl-force library,grouped --nccl-force-by call --bytes 64
holds "$FB_TMP/out" ',grouped,.*,skipped,.*sends and receives take no configuration of a call'
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 1
runs all_reduce --nccl-force symk:agxll_r,symk:st --nccl-force-by call --bytes 64 \
	--registration none,window
holds "$FB_TMP/out" ',nccl,symk,agxll_r,.*,window,.*: symmetric AllReduce_AGxLL_R'
holds "$FB_TMP/out" ',nccl,symk,st,.*,window,.*,skipped,NCCL has no symmetric kernel st for this'
expect "without windows" "$(grep -c 'symk needs --nccl-force-by call or auto' "$FB_TMP/out")" 2
# auto: each call where that is possible, a communicator where not, and plain calls where nothing
# is asked for. The log of the older library says ring:ll128 whatever is forced.
# shellcheck disable=SC2086
FB_FAKE_NCCL_LOG=$FB_TMP/auto runs all_reduce $forced --nccl-force-by auto --bytes 64
expect "rows" "$(grep -cE ',nccl_force_by=auto,(ok|few),' "$FB_TMP/out")" 3
expect "one communicator of two ranks" "$(cat "$FB_TMP"/auto.* | grep -c '^make')" 2
runs all_to_all --nccl-force library,grouped --nccl-force-by auto --nccl-max-ctas 2 --bytes 64
expect "rows of sends" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 2
library=$FB_BUILD/tests/libfake_nccl.so
# shellcheck disable=SC2086
runs all_reduce $forced --nccl-force-by auto --bytes 64
holds "$FB_TMP/out" ',nccl,ring,ll,.*,skipped,NCCL ran ring:ll128 where ring:ll was forced'
runs all_reduce --nccl-force symk:agxll_r --nccl-force-by auto --bytes 64 --registration window
holds "$FB_TMP/out" ',skipped,NCCL 2.28.9 has no configurations of calls \(2.31 has\)'
runs all_reduce --nccl-force-by call --bytes 64
holds "$FB_TMP/out" ',skipped,NCCL 2.28.9 has no configurations of calls \(2.31 has\)'
verdict fake_gpu_nccl_by_call

# The tuner plugin, which the program loads and drives: one communicator for all that is forced.
# This library's log then says what the plugin chose; without a plugin it says ring:ll128.
export FB_NCCL_PLUGIN=$FB_BUILD/libfabricbench-nccl.so
cells=(--nccl-force "library,ring:ll,tree" --bytes 64)
FB_FAKE_NCCL_LOG=$FB_TMP/plugin runs all_reduce "${cells[@]}" --nccl-force-by plugin \
	--launch stream,graph
expect "rows" "$(grep -cE ',nccl_force_by=plugin,(ok|few),' "$FB_TMP/out")" 6
expect "one communicator of two ranks" "$(cat "$FB_TMP"/plugin.* | grep -c '^make')" 2
holds "$FB_TMP/out" ',nccl,ring,ll,.*NCCL 2.28.9 ncclAllReduce forced by plugin: ring ll via '
holds "$FB_TMP/out" ',nccl,tree,library,.*ncclAllReduce forced by plugin: tree simple via '
holds "$FB_TMP/out" ',nccl,library,library,.*ncclAllReduce: tree simple via '
runs all_reduce "${cells[@]}" --nccl-force-by auto
expect "rows" "$(grep -cE ',nccl_force_by=auto,(ok|few),' "$FB_TMP/out")" 3
expect "by the plugin" "$(grep -c 'forced by plugin' "$FB_TMP/out")" 2
# NCCL asks no tuner where it takes a kernel of windows.
runs all_reduce --nccl-force ring:ll --nccl-force-by plugin --bytes 64 --registration window
holds "$FB_TMP/out" ',skipped,NCCL ran symmetric:AllReduce_ST where ring:ll was forced'
runs all_reduce --nccl-force nvls,ring:ll --nccl-force-by plugin --bytes 64 --multicast allow
holds "$FB_TMP/out" ',nccl,nvls,.*,skipped,NCCL ran tree:simple where nvls:library was forced'
# Where another plugin or the environment has the word, auto takes communicators.
for taken in NCCL_NET_PLUGIN NCCL_PROTO; do
	FB_FAKE_NCCL_LOG=$FB_TMP/$taken
	export FB_FAKE_NCCL_LOG
	export "$taken=none"
	runs all_reduce "${cells[@]}" --nccl-force-by auto
	expect "communicators with $taken" "$(cat "$FB_TMP/$taken".* | grep -c '^make')" 6
	unset "$taken" FB_FAKE_NCCL_LOG
done
# A cell that the plugin cannot force is tried with a communicator, and the shared one is kept.
FB_FAKE_NCCL_LOG=$FB_TMP/fallback runs all_reduce --bytes 64 --multicast allow \
	--nccl-force nvls,ring:ll --nccl-force-by auto
holds "$FB_TMP/out" ',nccl,nvls,.*,skipped,NCCL ran tree:simple where nvls:library was forced'
holds "$FB_TMP/out" ',nccl,ring,ll,.*,(ok|few),.*forced by plugin: ring ll '
expect "communicators" "$(cat "$FB_TMP"/fallback.* | grep -c '^make')" 4
export NCCL_DEBUG=WARN NCCL_DEBUG_FILE=$FB_TMP/silent
runs all_reduce --nccl-force nvls --nccl-force-by auto --bytes 64 --multicast allow
holds "$FB_TMP/out" ',nccl,nvls,.*,(ok|few),.*forced by communicator: untold'
runs all_reduce --nccl-force nvls --nccl-force-by plugin --bytes 64 --multicast allow
holds "$FB_TMP/out" ',skipped,"?NCCL did not ask the tuner plugin, or has no nvls here'
unset NCCL_DEBUG NCCL_DEBUG_FILE
# NCCL adds the lines of files to its environment.
printf '# a comment\nNCCL_PROTO=LL\n' >"$FB_TMP/nccl.conf"
NCCL_CONF_FILE=$FB_TMP/nccl.conf runs all_reduce "${cells[@]}" --nccl-force-by plugin
expect "refused for a file" "$(grep -c ',skipped,the tuner plugin is not used: NCCL_PROTO is set' \
	"$FB_TMP/out")" 2
NCCL_TUNER_PLUGIN=none runs all_reduce "${cells[@]}" --nccl-force-by plugin
expect "refused" "$(grep -c ',skipped,the tuner plugin is not used: NCCL_TUNER_PLUGIN is set' \
	"$FB_TMP/out")" 2
library=$FB_BUILD/tests/libfake_nccl_2_18.so
runs all_reduce --nccl-force ring:ll --nccl-force-by plugin --bytes 64
holds "$FB_TMP/out" ',skipped,NCCL 2.18.5 is too old for the tuner plugin \(2.24\)'
library=$FB_BUILD/tests/libfake_nccl.so
FB_NCCL_PLUGIN=$FB_TMP/none.so runs all_reduce "${cells[@]}" --nccl-force-by plugin
expect "no file" "$(grep -c ',skipped,.*none.so not found' "$FB_TMP/out")" 2
unset FB_NCCL_PLUGIN
verdict fake_gpu_nccl_by_plugin

# Kernels of windows follow neither NCCL_ALGO nor NCCL_PROTO, whoever has set them.
runs all_reduce --nccl-force library,ring:ll128 --bytes 64 --registration none,window
holds "$FB_TMP/out" ',ring,ll128,.*,none,.*,(ok|few),.*forced by communicator: ring ll128'
holds "$FB_TMP/out" ',ring,ll128,.*,skipped,NCCL ran symmetric:AllReduce_ST where ring:ll128 was'
expect "flags" "$(grep -c nccl-env-ignored "$FB_TMP/out")" 0
NCCL_DEBUG=WARN NCCL_DEBUG_FILE=$FB_TMP/own runs all_reduce --nccl-force ring --bytes 64 \
	--registration none,window
expect "rows" "$(grep -cE ',none,.*,(ok|few),.*: untold' "$FB_TMP/out")" 1
holds "$FB_TMP/out" ',window,.*,skipped,"?NCCL does not say what ran, and kernels of windows ign'
NCCL_ALGO=ring runs all_reduce --bytes 64 --registration none,window
holds "$FB_TMP/out" ',window,.*: symmetric AllReduce_ST .*[,;]nccl-env-ignored[,;]'
expect "flags" "$(grep -c nccl-env-ignored "$FB_TMP/out")" 1
NCCL_PROTO=allgather:LL runs all_reduce --bytes 64 --registration window
expect "flags" "$(grep -c nccl-env-ignored "$FB_TMP/out")" 0
verdict fake_gpu_nccl_windows

# How NCCL says that it was set up stands among the facts, and its path on each rank.
FB_NCCL_PLUGIN=$FB_BUILD/libfabricbench-nccl.so runs all_reduce --bytes 64 --nccl-gpu-time \
	--nccl-force ring:ll --nccl-force-by plugin --csv "$FB_TMP/facts"
for fact in 'nccl.bootstrap,lo:127.0.0.1<0>' 'nccl.ring,0 1' 'nccl.tree,1/-1/-1->0->-1' \
	'nccl.settings,NCCL_NVLS_ENABLE=0' \
	"nccl.defaults,of NCCL 2.28.9's source: .*;NCCL_IB_TIMEOUT=20;.*"; do
	expect "$fact" "$(grep -cE ",program\.all_reduce\..*\.$fact\$" \
		"$FB_TMP/facts/environment.csv")" 1
done
grep -E 'nccl\.settings.*_PLUGIN' "$FB_TMP/facts/environment.csv" && fail "own plugins are facts"
NCCL_PROFILER_PLUGIN=none NCCL_TUNER_PLUGIN=none runs all_reduce --bytes 64 --csv "$FB_TMP/theirs"
expect "the user's plugins" "$(grep -cE 'nccl\.settings,.*TUNER_.*=none;.*PROFILER_.*=none' \
	"$FB_TMP/theirs/environment.csv")" 1
expect "paths" "$(grep -cE 'rank.nccl,P2P/CUMEM/read$' "$FB_TMP/facts/environment.csv")" 1
verdict fake_gpu_nccl_facts

# Limits of CTAs, their policy and clusters are axes: what each communicator was told.
library=$FB_BUILD/tests/libfake_nccl_2_31.so
FB_FAKE_NCCL_LOG=$FB_TMP/ctas runs all_reduce --bytes 64 --nccl-min-ctas 0,4 \
	--nccl-max-ctas 2:8:4 --nccl-cta-policy auto,efficiency --nccl-cluster 2
expect "limits" "$(cat "$FB_TMP"/ctas.* | awk '/^ctas/ { print $1 }' | sort -u | grep -v '=-' |
	tr '\n' ' ')" 'ctas=4..8,policy=1,cluster=2 '
expect "communicators" "$(cat "$FB_TMP"/ctas.* | grep -c '^ctas')" 12
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 6
key='nccl_cluster=2;nccl_cta_policy=efficiency;nccl_max_ctas=8;nccl_min_ctas=4'
expect "keys" "$(grep -cE ",$key,(ok|few)," "$FB_TMP/out")" 1
expect "none" "$(grep -cE ',skipped,fewest CTAs .4. are more than most' "$FB_TMP/out")" 2
FB_FAKE_NCCL_LOG=$FB_TMP/least runs all_reduce --bytes 64 --nccl-min-ctas 16 --nccl-cluster 2
holds <(cat "$FB_TMP"/least.*) '^ctas=16..64,policy=-.*,cluster=2 '
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 1
runs all_reduce --bytes 64 --nccl-force ring:ll --nccl-force-by call --nccl-max-ctas 6 \
	--nccl-cluster 0,8
expect "channels" "$(values channels ',nccl,ring,')" '6 '
holds "$FB_TMP/out" ': ring ll clusters of 8'
runs all_gather --bytes 64 --registration window-copy --nccl-cta-policy zero
holds "$FB_TMP/out" ',skipped,window-copy already uses CTA policy zero'
library=$FB_BUILD/tests/libfake_nccl_2_18.so
runs all_reduce --bytes 64 --nccl-cta-policy efficiency
holds "$FB_TMP/out" ',skipped,NCCL 2.18.5 has no CTA policies \(2.27 has\)'
verdict fake_gpu_nccl_ctas

# Steps take what collectives do: buffers of each registration, and traffic beside the step that is
# forced to use something else than the row. This library's log says ring:ll128 whatever is forced.
library=$FB_BUILD/tests/libfake_nccl.so
shape=(--bytes 64K --tokens 4 --hidden 64 --registration "none,registered,window")
FB_FAKE_NCCL_LOG=$FB_TMP/registered runs contention "${shape[@]}" --schedule spin --streams 0,1
expect "rows of contention" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 6
expect "communicators, of two ranks" "$(cat "$FB_TMP"/registered.* | grep -c '^make')" 6
expect "memory of what is registered" "$(values memory ',(registered|window),')" 'nccl '
FB_FAKE_NCCL_LOG=$FB_TMP/policy runs contention --bytes 64K --tokens 4 --hidden 64 --schedule spin \
	--streams 1 --nccl-cta-policy auto,efficiency
expect "communicators of policies" "$(cat "$FB_TMP"/policy.* | grep -c '^make')" 4
expect "rows of policies" "$(grep -cE ',[^,]*nccl_cta_policy=efficiency[^,]*,(ok|few),' \
	"$FB_TMP/out")" 1
runs ddp "${shape[@]}" --schedule overlap --bucket 8K
expect "rows of ddp" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 3
expect "memory of what is registered" "$(values memory ',(registered|window),')" 'nccl '
both=(--bytes 64K --tokens 4 --hidden 64 --schedule spin --streams 0 --collective reduce_scatter
	--background 64K --background-operation all_reduce)
runs contention "${both[@]}" --background-force ring:ll128
holds "$FB_TMP/out" ',(ok|few),.*beside .* ncclAllReduce forced by communicator: ring ll128'
runs contention "${both[@]}" --background-force tree --nccl-force ring:ll128
holds "$FB_TMP/out" ',ring,ll128,.*,skipped,NCCL ran ring:ll128 where tree:library was forced'
verdict fake_gpu_nccl_steps

# A rank asks for errors in each wait, or never; that is a key of the row.
FB_FAKE_NCCL_LOG=$FB_TMP/polls runs all_reduce --bytes 64 --nccl-poll each
[ "$(cat "$FB_TMP"/polls.* | grep -c '^poll')" -ge 4 ] || fail "no polls"
expect "rows" "$(grep -cE ',nccl_poll=each,(ok|few),' "$FB_TMP/out")" 1
rm "$FB_TMP"/polls.*
FB_FAKE_NCCL_LOG=$FB_TMP/polls runs all_reduce --bytes 64 --nccl-poll never
expect "polls" "$(cat "$FB_TMP"/polls.* | grep -c '^poll')" 0
runs all_reduce --bytes 64 --nccl-poll usual,never,each --launch stream,graph
expect "keys" "$(values variant ',(ok|few),')" ' nccl_poll=each nccl_poll=never '
expect "rows" "$(grep -cE ',(ok|few),' "$FB_TMP/out")" 6
verdict fake_gpu_nccl_poll

# Pretended nodes are hosts of NCCL's, each by a name of its own.
library=$FB_BUILD/tests/libfake_nccl.so
FB_FAKE_NCCL_LOG=$FB_TMP/hosts runs all_gather --nodes-as 2 --nccl-force library,pat --bytes 64
expect "hosts" "$(cat "$FB_TMP"/hosts.* | awk '/ -1$/ { print $1, $2 }' | sed 's/.*-node/node/' |
	sort -u | tr '\n' ' ')" 'node0 0/2 node1 1/2 '
holds "$FB_TMP/out" ',skipped,NCCL ran ring:ll128 where pat:library was forced'
FB_FAKE_NCCL_LOG=$FB_TMP/host runs all_gather --nccl-force library,pat --bytes 64
expect "no hosts" "$(cat "$FB_TMP"/host.* | grep -c node)" 0
expect "pat of one host" "$(grep -c 'NCCL ran ring:ll128 where pat' "$FB_TMP/out")" 0
verdict fake_gpu_nccl_hosts

# What cannot run here has its row, and the row its reason.
runs all_reduce --nccl-force all --bytes 64
for reason in "nvls,simple.*,skipped,multicast off" "nvlstree,simple.*,skipped,multicast off" \
	"collnetdirect,simple.*,skipped,\"?NCCL's collnetdirect needs several nodes" \
	"collnetchain,simple.*,skipped,\"?NCCL's collnetchain needs several nodes" \
	"pat,simple.*,skipped,\"?NCCL has no pat for all_reduce"; do
	holds "$FB_TMP/out" ",nccl,$reason"
done
runs all_gather --nccl-force all --bytes 64 --nodes-as 2
holds "$FB_TMP/out" ",collnetdirect,.*,skipped,.*needs a plugin and NCCL_COLLNET_ENABLE=1"
verdict fake_gpu_nccl_reasons

# From 2.32 on each communicator is told to do without multicast, where that is not allowed.
told 0 all_reduce
library=$FB_BUILD/tests/libfake_nccl_2_32.so
told 2 all_reduce
told 0 all_reduce --multicast allow
verdict fake_gpu_nccl_multicast

exit "$bad"
