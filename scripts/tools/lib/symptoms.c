/* SPDX-License-Identifier: BSD-3-Clause */
/* Signs, causes and remedies; see symptoms.h. Flags first, in the order of the layers. */
#include "scripts/tools/lib/symptoms.h"

#include <string.h>

const struct fb_symptom fb_symptoms[] = {
	{"retransmits", "more than 1 of 1000 packets was sent again",
	 "loss: a bad cable or optic, a full switch buffer (incast), RoCE without PFC or ECN",
	 "column `counters` names the host; `incast`, `scripts/doctor`",
	 "replace the cable or port; set PFC and ECN the same on all hops; fewer senders at once"},
	{"link-errors", "an interface or RDMA port counted errors",
	 "bad cable, optic or port; wrong rate or MTU on one side",
	 "column `counters`; `scripts/slurm/slow-node`", "replace the part; same MTU on all hops"},
	{"stray-traffic", "under 0.9 of the bytes took the devices in `path`",
	 "wrong route or interface; GPUs without peer access; two interfaces in one subnet",
	 "columns `path` and `traffic`; `scripts/doctor`",
	 "name the device (`--tcp-interface`, `--rdma-device`, `NCCL_SOCKET_IFNAME`, "
	 "`NCCL_IB_HCA`); one subnet for each interface"},
	{"rail-imbalance", "a port carried less than 0.7 of what another one did",
	 "a slow or down port; fewer connections than ports; unlike PCIe paths",
	 "column `traffic`; `all_pairs`, one port at a time",
	 "repair the port; more connections (`--rdma-qps`, `NCCL_IB_QPS_PER_CONNECTION`)"},
	{"idle-port", "an active RDMA port carried nothing, though a rank is there for each",
	 "`NCCL_IB_HCA` or `--rdma-device` names too few; two GPUs next to one port",
	 "columns `path` and `traffic`; fact `nccl.devices` in `environment.csv`",
	 "name all ports; nothing where the port is for storage alone"},
	{"tcp-though-rdma", "TCP between nodes that have active RDMA ports",
	 "the library found no RDMA plugin or device; a left-over variable",
	 "`environment.csv`; `scripts/doctor`",
	 "unset `NCCL_IB_DISABLE`; make the devices visible in the container"},
	{"nixl-on-tcp", "NIXL's payload went over TCP sockets",
	 "UCX found no RDMA or shared-memory transport", "column `path`; `ucx_info -d`",
	 "set `UCX_TLS` to what the nodes have; install UCX with verbs"},
	{"nccl-warning", "NCCL printed a warning", "a plugin or device was refused",
	 "column `path`", "run again with `NCCL_DEBUG=INFO`, and mend what it names"},
	{"gpu-shared", "several ranks used one GPU", "fewer GPUs visible than ranks on the node",
	 "`nvidia-smi`, `CUDA_VISIBLE_DEVICES`", "one rank for each GPU; times here are no result"},
	{"skew", "ranks began more than 10% of the time apart",
	 "more ranks than processors; others use the machine; no binding",
	 "`skew_us`; `host.load_average` in `environment.csv`",
	 "an idle machine, a processor for each rank, ranks bound to it"},
	{"drift", "repetitions became slower or faster while they ran",
	 "clocks that change with heat or load; other jobs", "`--raw`, `scripts/plot distribution`",
	 "fix the clocks; a longer warm-up; the machine alone"},
	{"dropped", "the first third of the repetitions was left out", "a cold start",
	 "`first_us`", "nothing: the row is good"},
	{"few", "fewer repetitions than `--min-samples`", "`--max-time` was reached first",
	 "column `reason`", "a longer `--max-time`"},
	{"timer", "reading the clock costs more than 5% of the time", "a very short operation",
	 "`selftest.*` in `environment.csv`", "`--cadence streaming` times batches of calls"},
	{"single-check", "only a single call was checked at the end",
	 "in place with cadence `streaming`", "`--verify`",
	 "`--cadence isolated` checks each call"},
	{"rounded", "another number of bytes moved than was asked for",
	 "a size that blocks or elements do not divide", "column `algbw_GBps` has the real number",
	 "sizes that are multiples of ranks times the element"},
	{"processor-bound", "multiprocessors idle for half of a step that hides communication",
	 "the processor launches kernels too slowly, or prepares data in between",
	 "columns `sm_busy`, `cpu_s` and `launches`",
	 "one graph for the step (`graph`), larger kernels, data prepared ahead"},
	{"crowded", "a node has more threads at work than processors",
	 "computing and communicating threads wait for each other",
	 "`cpu.count` in `environment.csv`", "fewer ranks on the node; shares here say little"},
	{"unsteady", "the interval is too wide for a share of hidden time",
	 "noise is as large as the communication", "`exposed_low_us`, `exposed_high_us`",
	 "a longer `--max-time`; an idle machine; more launches"},
	{"exposed-zero", "no exposed communication was seen", "it is hidden, or below the noise",
	 "`exposed_low_us`, `exposed_high_us`", "nothing"},
	{"exposed-negative", "the step took less time than its computing alone",
	 "chance, or clocks that changed", "`sm_MHz`", "fix the clocks; more repetitions"},
	{"overlap-loses", "the step takes longer than both parts one after the other",
	 "communication takes multiprocessors or memory from computing",
	 "`compute_slowdown`; `contention`", "fewer `--channels`, or engine `copy`"},
	{"background-longer", "background traffic takes longer than the step",
	 "the traffic is the larger part", "`background_us`, `base_us`", "less of it"},
	{"cost-zero", "no cost was seen", "there is none, or it is below the noise",
	 "`cost_low_us`, `cost_high_us`", "nothing"},
	{NULL, "`efficiency` below 0.5 from 64 KiB on, in all algorithms",
	 "a link slower than it should be: PCIe lanes, NUMA, one rail of several, low clocks",
	 "`scripts/doctor`; `host_device`, `bandwidth`", "what the doctor names"},
	{NULL, "one row of `all_pairs` slow, or SLOW or LATE in `summary`",
	 "one slow node, GPU or link", "`scripts/slurm/slow-node`; `--raw-ranks`",
	 "drain the node; a collective is as slow as its slowest rank"},
	{NULL, "`p99_us` above twice `median_us`", "interrupts, other jobs, congestion, loss",
	 "`scripts/plot distribution`; columns `counters`, `outliers`",
	 "cores for the job alone; see `retransmits`"},
	{NULL, "small sizes slow, large ones good",
	 "no busy polling, power saving, far NUMA node, TCP where RDMA could be",
	 "`latency`; `cpu.governor` in `environment.csv`",
	 "governor performance; bind ranks beside their adapter"},
	{NULL, "large sizes slow, small ones good", "bandwidth: one rail, small MTU, host staging",
	 "`bandwidth`; columns `path`, `traffic`", "more rails or channels; GPUDirect; larger MTU"},
	{NULL, "`throttle` above 0", "heat or power limit of a GPU", "`sm_MHz`; `nvidia-smi -q`",
	 "cooling; equal power limits on all nodes"},
	{NULL, "`exposed_us` is a large part of the step",
	 "small buckets, a late tail, a slow link, or contention",
	 "`summary --axis bucket`; `tail_us`, `compute_slowdown`",
	 "larger buckets, prefetch, engine `copy`"},
	{NULL, "REROUTED in `compare`", "a library, plugin or variable changed its choice",
	 "WHAT CHANGED, below it; `summary --asked`", "restore what changed; `compare --strict`"},
};

const size_t fb_symptoms_count = sizeof(fb_symptoms) / sizeof(fb_symptoms[0]);

bool fb_has_flag(const char *flags, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = flags; *at; at += *at == ';') {
		size_t n = strcspn(at, ";");

		if (n == length && !strncmp(at, name, n))
			return true;
		at += n;
	}
	return false;
}
