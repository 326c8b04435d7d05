/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the versions of libraries and driver, and that the intended ones load; see doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/text.h"

/* NCCL's own limit of sockets between two ranks. */
static void judge_sockets(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			  struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "threads x sockets is within NCCL's limit", "64 or less",
		"NCCL takes fewer than were asked for: lower NCCL_SOCKET_NTHREADS or "
		"NCCL_NSOCKS_PERTHREAD"};
	const char *each = fb_node_fact(facts, fact->host, "variable.NCCL_NSOCKS_PERTHREAD");
	double product = strtod(fact->value, NULL) * (each ? strtod(each, NULL) : 1);

	fb_findings_judge(findings, &check, fact->host, product <= 64, "%.0f", product);
}

/* A node with RDMA devices and GPUs should let the first reach the second's memory. */
static void judge_peer_memory(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			      struct fb_findings *findings)
{
	static const char *const modules[] = {"module.nvidia_peermem", "module.nv_peer_mem"};
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "RDMA devices reach GPU memory", "one of them",
		"network data pass through host memory: modprobe nvidia_peermem, or the "
		"open kernel modules, which export GPU memory by dma-buf"};
	const char *driver = fb_node_fact(facts, fact->host, "nvidia.driver"), *by = NULL;

	if (!driver)
		return;
	if (strstr(driver, "Open Kernel Module"))
		by = "open kernel modules";
	for (size_t i = 0; i < FB_COUNT_OF(modules); i++)
		if (fb_node_fact(facts, fact->host, modules[i]))
			by = modules[i];
	fb_findings_judge(findings, &check, fact->host, by, "%s",
			  by ? by : "neither nvidia_peermem nor an open driver");
}

/* A program and what it loads may each bring an NCCL. The first has "libnccl", others a number. */
static void judge_one_nccl(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			   struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "one NCCL is loaded", "one file",
		"a framework's NCCL and the system's: which of them runs depends on who loads it "
		"first. Set LD_LIBRARY_PATH, or LD_PRELOAD, to one of them"};
	const char *other = fb_node_fact(facts, fact->host, "library.libnccl.2.path");
	bool one = !other || !strcmp(other, fact->value);

	fb_findings_judge(findings, &check, fact->host, one, "%.76s%s%.76s", fact->value,
			  one ? "" : " and ", one ? "" : other);
}

static void judge_sharp(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "reduction in the network has what it needs",
		"libnccl-net (NCCL's SHARP plugin) and libsharp",
		"NCCL_COLLNET_ENABLE=1 alone changes nothing: install nccl-rdma-sharp-plugins, "
		"have sharp_am run beside the subnet manager, use InfiniBand"};
	bool plugin = fb_next_fact(facts, NULL, fact->host, "library.libnccl-net*.path");
	bool sharp = fb_next_fact(facts, NULL, fact->host, "library.libsharp*.path");
	bool am = fb_next_fact(facts, NULL, fact->host, "daemon.sharp*");

	if (!strcmp(fact->value, "1"))
		fb_findings_judge(findings, &check, fact->host, plugin && sharp,
				  "%s, %s, %s on this node", plugin ? "plugin" : "no plugin",
				  sharp ? "libsharp" : "no libsharp",
				  am ? "a daemon of SHARP" : "no daemon of SHARP");
}

/* A container does not see the host's processes. */
static void judge_fabric_manager(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
				 struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "fabric manager runs", "nv-fabricmanager",
		"without it CUDA does not start on GPUs behind NVSwitches, or their links stay "
		"down: systemctl start nvidia-fabricmanager, of the driver's version"};
	bool runs = fb_node_fact(facts, fact->host, "daemon.nv-fabricmanager");

	if (fb_fact_has(facts, fact->host, "container.engine", "none"))
		fb_findings_judge(findings, &check, fact->host, runs, "NVSwitches, and %s",
				  runs ? "their manager" : "no process of that name");
}

/* Within one major version an older driver works, but lacks what newer calls ask for. */
static void judge_cuda(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		       struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "driver is as new as the CUDA runtime", "the runtime's or newer",
		"newer functions are missing or emulated, and device code may be compiled anew at "
		"each start: a newer driver, or cuda-compat in the container"};
	const char *driver = fb_node_fact(facts, fact->host, "cuda.driver_version");
	int have = 0, have_minor = 0, built = 0, built_minor = 0;

	if (!driver || sscanf(driver, "%d.%d", &have, &have_minor) != 2 ||
	    sscanf(fact->value, "%d.%d", &built, &built_minor) != 2)
		return;
	fb_findings_judge(findings, &check, fact->host,
			  have > built || (have == built && have_minor >= built_minor),
			  "driver for CUDA %.10s, runtime %.10s", driver, fact->value);
}

/* Adapters that can read GPU memory past the processor, and whether NCCL may use that. */
static void judge_direct(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			 struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "NCCL may use the adapters' direct path to GPU memory",
		"NCCL_IB_DATA_DIRECT=1, which is NCCL's default (2.27)",
		"without it network data pass through the processor's link (C2C); some machines "
		"were set so because of a fault, which this version may not have: measure both"};
	const char *set = fb_node_fact(facts, fact->host, "variable.NCCL_IB_DATA_DIRECT");

	fb_findings_judge(findings, &check, fact->host, !set || strcmp(set, "0") != 0,
			  "%.80s, variable %s", fact->value, set ? set : "not set");
}

const struct fb_judge fb_judges_of_libraries[] = {
	{"variable.NCCL_SOCKET_NTHREADS", judge_sockets},
	{"device.infiniband", judge_peer_memory},
	{"library.libnccl.path", judge_one_nccl},
	{"variable.NCCL_COLLNET_ENABLE", judge_sharp},
	{"device.nvswitch", judge_fabric_manager},
	{"cuda.runtime_version", judge_cuda},
	{"device.data_direct", judge_direct},
	{NULL, NULL},
};
