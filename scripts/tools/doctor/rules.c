/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node that communicates well has, as data. Each rule names a fact (common/system's
 * environment files make them), what it should be, and what it costs where it is not.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/text.h"

enum want {
	CONTAINS, /* the text */
	NEVER,	  /* is the text; an empty one: is there at all */
	LEAST,	  /* a number, the last one in the value; "unlimited" is more than any */
	ZERO,	  /* the last number in the value is none */
	WHOLE,	  /* "N of M": N is M */
	HALF,	  /* the same: N is half of M or more */
	SPAN,	  /* "N M": from one to the other there are so many */
};

struct rule {
	const char *key; /* fnmatch(3) */
	enum want want;
	const char *text;
	double number;
	enum fb_level level; /* where it is not so */
	const char *check, *advice;
};

static const struct rule rules[] = {
	{"infiniband.*.state", CONTAINS, "ACTIVE", 0, FB_LEVEL_BAD, "RDMA port is active",
	 "a port that is down carries nothing, and a library falls back to TCP without a word: "
	 "look at ibstat, the cable and the subnet manager"},
	{"infiniband.*.pci_lanes", WHOLE, "", 0, FB_LEVEL_BAD, "RDMA device has all PCIe lanes",
	 "fewer lanes cap the rate below the port's: reseat the card, or another slot"},
	{"gpu.*.pci_lanes", WHOLE, "", 0, FB_LEVEL_DOUBT, "GPU has all PCIe lanes",
	 "copies to and from the host are slower by the same share"},
	{"gpu.*.ecc_errors", ZERO, "", 0, FB_LEVEL_DOUBT, "GPU memory had no uncorrected error",
	 "work on such a page ends, and more may come: nvidia-smi -q -d ECC,ROW_REMAPPER, dcgmi "
	 "diag"},
	{"gpu.*.remapped_rows", NEVER, "waiting for a reset", 0, FB_LEVEL_BAD,
	 "no repair of GPU memory waits", "bad rows are in use until the GPU is reset: nvidia-smi "
	 "--gpu-reset, or a reboot"},
	{"gpu.*.remapped_rows", NEVER, "failed", 0, FB_LEVEL_BAD, "GPU memory could be repaired",
	 "there are no rows left to replace bad ones: the GPU is to be exchanged"},
	{"device.infiniband", CONTAINS, "there", 0, FB_LEVEL_BAD, "/dev/infiniband is there",
	 "RDMA devices that programs cannot open: give the container the device (docker run "
	 "--device=/dev/infiniband, a Kubernetes RDMA device plugin)"},
	{"infiniband.*.device_file", CONTAINS, "opens", 0, FB_LEVEL_BAD,
	 "RDMA device may be opened",
	 "verbs fail, and a library falls back to TCP: give the container the device, or the user "
	 "its group"},
	{"infiniband.*.interrupts_near", HALF, "", 0, FB_LEVEL_DOUBT,
	 "interrupts go to the device's NUMA node",
	 "completions that a thread waits for cross the sockets: set_irq_affinity_bynode.sh, or "
	 "irqbalance with a hint"},
	{"network.*.interrupts_near", HALF, "", 0, FB_LEVEL_DOUBT,
	 "interrupts go to the device's NUMA node",
	 "the kernel's part of TCP runs on the far socket: set_irq_affinity_bynode.sh, or "
	 "irqbalance with a hint"},
	{"network.port_range", SPAN, "", 10000, FB_LEVEL_DOUBT, "range of ephemeral ports",
	 "bootstrap and sockets take ports for each pair of ranks, and can run out of them: "
	 "sysctl net.ipv4.ip_local_port_range"},
	{"memory.lock_limit_bytes", LEAST, "", 1 << 26, FB_LEVEL_DOUBT,
	 "memory that may be locked",
	 "registration for RDMA and pinned memory fail beyond it: ulimit -l unlimited, also in "
	 "Slurm's and the container's limits"},
	{"memory.dev_shm_bytes", LEAST, "", 1 << 29, FB_LEVEL_DOUBT, "/dev/shm is large enough",
	 "MPI and NCCL share memory through it: docker run --shm-size, or a larger mount"},
	{"limit.open_files", LEAST, "", 1024, FB_LEVEL_DOUBT, "files that may be open",
	 "a socket or mapping for each peer: ulimit -n"},
	{"numa.balancing", NEVER, "1", 0, FB_LEVEL_DOUBT, "NUMA balancing is off",
	 "the kernel unmaps pages to see who uses them, in the middle of measurements: sysctl "
	 "kernel.numa_balancing=0"},
	{"cpu.governor", CONTAINS, "performance", 0, FB_LEVEL_DOUBT, "processors keep their clock",
	 "small messages pay for the ramp: cpupower frequency-set -g performance"},
	{"clock.source", NEVER, "hpet", 0, FB_LEVEL_DOUBT, "clock is read fast",
	 "reading it takes a microsecond"},
	{"variable.NCCL_P2P_DISABLE", NEVER, "1", 0, FB_LEVEL_BAD,
	 "NCCL_P2P_DISABLE is not left on",
	 "GPUs of a node then exchange data through host memory: unset it"},
	{"variable.NCCL_SHM_DISABLE", NEVER, "1", 0, FB_LEVEL_BAD,
	 "NCCL_SHM_DISABLE is not left on",
	 "ranks of a node that cannot reach each other's GPU use sockets: unset it"},
	{"variable.NCCL_IB_DISABLE", NEVER, "1", 0, FB_LEVEL_BAD, "NCCL_IB_DISABLE is not left on",
	 "all traffic between nodes goes over TCP: unset it"},
	{"variable.NCCL_NET_GDR_LEVEL", NEVER, "0", 0, FB_LEVEL_DOUBT, "GPUDirect RDMA is allowed",
	 "network data pass through host memory: unset it, or PIX to SYS"},
	{"variable.NCCL_NET_GDR_LEVEL", NEVER, "LOC", 0, FB_LEVEL_DOUBT,
	 "GPUDirect RDMA is allowed",
	 "network data pass through host memory: unset it, or PIX to SYS"},
	{"variable.NCCL_IGNORE_CPU_AFFINITY", NEVER, "1", 0, FB_LEVEL_DOUBT,
	 "NCCL keeps the ranks' affinity",
	 "its threads leave the processors that the launcher gave the rank, and can meet those of "
	 "other ranks on few"},
	{"nccl.topology_file", CONTAINS, " bytes", 0, FB_LEVEL_BAD, "NCCL_TOPO_FILE can be read",
	 "NCCL only warns, and takes what the virtual machine shows of PCIe: name a file that is "
	 "there on each node, in the container too"},
	{"variable.NCCL_ALGO", NEVER, "", 0, FB_LEVEL_DOUBT, "no algorithm is left forced",
	 "what was right for one size or version is forced on all: unset it"},
	{"variable.NCCL_PROTO", NEVER, "", 0, FB_LEVEL_DOUBT, "no protocol is left forced",
	 "what was right for one size or version is forced on all: unset it"},
	{"variable.NCCL_DEBUG", NEVER, "TRACE", 0, FB_LEVEL_DOUBT, "NCCL does not log each call",
	 "lines for each call cost time in each call: WARN is enough"},
	{"variable.CUDA_LAUNCH_BLOCKING", NEVER, "1", 0, FB_LEVEL_BAD, "launches do not block",
	 "nothing overlaps: unset it"},
	{"variable.CUDA_DEVICE_MAX_CONNECTIONS", NEVER, "1", 0, FB_LEVEL_DOUBT,
	 "streams have hardware queues of their own",
	 "one queue puts communication behind computing; some tensor parallel codes want that"},
};

/* Facts that all nodes of a job should have alike. */
static const char *const alike[] = {
	"os.kernel", "nvidia.driver", "gpu.model", "cpu.model", "cpu.count", "cpu.governor",
	"cpu.smt", "mpi.library", "library.*.version", "infiniband.*.firmware",
	"infiniband.*.rate", "infiniband.*.link_layer", "infiniband.*.gids", "network.*.mtu",
	"module.*", "variable.NCCL_*", "variable.UCX_*", "build.revision",
	"memory.lock_limit_bytes", "network.port_range", "infiniband.*.subnet_prefix",
	"infiniband.*.sm_lid", "infiniband.*.pkey", "infiniband.*.traffic_class",
	"infiniband.*.function", "network.*.pfc", "network.*.ecn_*", "device.*", "daemon.*",
	"library.*.build_id", "container.image", "gpu.*.vbios", "gpu.*.firmware",
	"gpu.*.ecc", "cuda.*", "nccl.topology_file",
};

static double last_number(const char *text)
{
	const char *at = text + strlen(text);

	if (!strcmp(text, "unlimited"))
		return (double)INFINITY;
	while (at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return strtod(at, NULL);
}

static bool is_so(const struct rule *r, const char *value)
{
	unsigned now = 0, most = 0;

	switch (r->want) {
	case CONTAINS:
		return strstr(value, r->text);
	case NEVER:
		return *r->text && strcmp(value, r->text) != 0;
	case LEAST:
		return last_number(value) >= r->number;
	case ZERO:
		return !(last_number(value) > 0);
	case SPAN:
		return last_number(value) - strtod(value, NULL) >= r->number;
	case HALF:
		return sscanf(value, "%u of %u", &now, &most) != 2 || 2 * now >= most;
	default:
		/* A virtual function has no lanes of its own. */
		return sscanf(value, "%u of %u", &now, &most) != 2 || !now || now >= most;
	}
}

static void say_wanted(const struct rule *r, char text[FB_FINDING_CHARS])
{
	switch (r->want) {
	case CONTAINS:
		snprintf(text, FB_FINDING_CHARS, "%s", r->text);
		break;
	case NEVER:
		snprintf(text, FB_FINDING_CHARS, *r->text ? "not %s" : "unset", r->text);
		break;
	case LEAST:
	case SPAN:
		snprintf(text, FB_FINDING_CHARS, "%.0f or more", r->number);
		break;
	case ZERO:
		snprintf(text, FB_FINDING_CHARS, "none");
		break;
	default:
		snprintf(text, FB_FINDING_CHARS, r->want == HALF ? "half of them" : "all of them");
	}
}

static void judge(const struct rule *r, const struct fb_env_fact *fact,
		  struct fb_findings *findings)
{
	struct fb_finding f = {.level = is_so(r, fact->value) ? FB_LEVEL_GOOD : r->level,
			       .check = r->check, .host = fact->host, .advice = r->advice};

	snprintf(f.found, sizeof(f.found), "%.60s: %.60s%s", fact->key, fact->value,
		 !strcmp(fact->scope, FB_SCOPE_NCCL_FILE) ? " (from a file of NCCL's)" : "");
	say_wanted(r, f.wanted);
	fb_findings_add(findings, &f);
}

static void judge_load(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		       struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "node is idle",
		"one more than a tenth of the processors, or less",
		"what else runs shares processors, memory and links: end it before measuring"};
	const char *count = fb_node_fact(facts, fact->host, "cpu.count");
	double processors = count ? strtod(count, NULL) : 0, load = strtod(fact->value, NULL);

	if (processors >= 1)
		fb_findings_judge(findings, &check, fact->host, load <= processors / 10 + 1,
				  "load %.2f of %.0f processors", load, processors);
}

/* Reports, once for each key, a fact that should be the same on all nodes but is not. */
static void judge_alike(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "nodes are alike", "the same on all nodes",
		"a collective is as fast as its slowest member, and versions that differ fail in "
		"strange ways"};
	const struct fb_env_fact *end = facts->env.fact + facts->env.count;
	char text[FB_FINDING_CHARS] = "";
	size_t hosts = 0;
	bool listed = false, differ = false;

	for (size_t i = 0; i < FB_COUNT_OF(alike); i++)
		listed |= !fnmatch(alike[i], fact->key, 0);
	if (!listed || !fb_fact_opens_key(facts, fact))
		return;
	for (const struct fb_env_fact *f = fact; f < end && !strcmp(f->key, fact->key); f++) {
		if (!*f->host || !fb_fact_opens_host(facts, f))
			continue;
		hosts++;
		differ |= strcmp(f->value, fact->value) != 0;
		fb_append(text, sizeof(text), " %.24s %.40s;", f->host, f->value);
	}
	/* A fact that only one node has, as an interface with a random name, is no difference. */
	if (hosts > 1 && (differ || fact->rank < 0))
		fb_findings_judge(findings, &check, "", false, "%.60s:%s", fact->key, text);
}

/* Ranks of a host that have the same value are judged by the first of them. */
static bool was_judged(const struct fb_node_facts *facts, const struct fb_env_fact *fact)
{
	for (const struct fb_env_fact *f = fact; !fb_fact_opens_host(facts, f);)
		if (!strcmp((--f)->value, fact->value))
			return true;
	return false;
}

static const struct fb_judge judges_of_nodes[] = {
	{"host.load_average", judge_load},
	{"*", judge_alike},
	{NULL, NULL},
};

static const struct fb_judge *const judges[] = {fb_judges_of_ports, fb_judges_of_networks,
						fb_judges_of_ranks, fb_judges_of_libraries,
						judges_of_nodes, fb_judges_of_fabric};

void fb_doctor_rules(const struct fb_node_facts *facts, struct fb_findings *findings)
{
	for (size_t i = 0; i < facts->env.count; i++) {
		const struct fb_env_fact *fact = &facts->env.fact[i];

		if (was_judged(facts, fact))
			continue;
		for (size_t r = 0; r < FB_COUNT_OF(rules); r++)
			if (!fnmatch(rules[r].key, fact->key, 0))
				judge(&rules[r], fact, findings);
		for (size_t j = 0; j < FB_COUNT_OF(judges); j++)
			for (const struct fb_judge *rule = judges[j]; rule->key; rule++)
				if (!fnmatch(rule->key, fact->key, 0))
					rule->judge(facts, fact, findings);
	}
}
