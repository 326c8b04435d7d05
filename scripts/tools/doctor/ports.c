/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks RDMA devices and their ports; see doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"

enum { KEY_CHARS = 128, NAME_CHARS = 48 };

/* Another fact of the fact's object, which is mlx5_0's port1 for "infiniband.mlx5_0.port1.rate". */
static const char *beside(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			  const char *name)
{
	const char *dot = strrchr(fact->key, '.');
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "%.*s.%s", (int)(dot - fact->key), fact->key, name);
	return fb_node_fact(facts, fact->host, key);
}

static bool has(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		const char *name, const char *text)
{
	const char *value = beside(facts, fact, name);

	return value && strstr(value, text);
}

/* The same of the device that has the port: "infiniband.mlx5_0". */
static const char *of_device(const struct fb_node_facts *facts, const char *host,
			     const struct fb_env_fact *fact, const char *name)
{
	const char *device = fact->key + strlen("infiniband.");
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "infiniband.%.*s.%s", (int)strcspn(device, "."), device, name);
	return fb_node_fact(facts, host, key);
}

/* RoCE without a GID of version 2 is not routed. */
static void judge_gids(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		       struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "RoCE port has a GID of version 2", "1 or more",
		"in a container the host's GIDs may not be visible: check "
		"/sys/class/infiniband/*/ports/*/gids and the network namespace mode "
		"(rdma system show)"};
	static const struct fb_check virtual = {
		FB_LEVEL_BAD, "virtual function has a GID", "1 or more",
		"a virtual function whose interface is not in the pod's network namespace, or has "
		"no address, cannot address anybody: give the pod the interface (Multus) with "
		"the RDMA CNI"};
	const char *function, *spaces;
	int second = 0, others = 0;

	if (sscanf(fact->value, "RoCE v2 %d, others %d", &second, &others) < 1)
		return;
	if (has(facts, fact, "link_layer", "Ethernet"))
		fb_findings_judge(findings, &check, fact->host, second, "%.70s: %.80s", fact->key,
				  fact->value);
	function = of_device(facts, fact->host, fact, "function");
	spaces = fb_node_fact(facts, fact->host, "device.infiniband_namespaces");
	if (function && !strcmp(function, "virtual"))
		fb_findings_judge(findings, &virtual, fact->host, second + others,
				  "%.70s: %.30s; network namespaces are %.10s", fact->key,
				  fact->value, spaces ? spaces : "not known");
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The highest rate of the node's active ports of one device type and link layer, in Gbit/s. */
static double fastest(const struct fb_node_facts *facts, const char *host,
		      const struct fb_env_fact *like)
{
	const struct fb_env_fact *f = NULL;
	double most = 0;

	while ((f = fb_next_fact(facts, f, host, "infiniband.*.rate"))) {
		double rate = strtod(f->value, NULL);

		if (rate > most && has(facts, f, "state", "ACTIVE") &&
		    same(beside(facts, f, "link_layer"), beside(facts, like, "link_layer")) &&
		    same(of_device(facts, host, f, "type"), of_device(facts, host, like, "type")))
			most = rate;
	}
	return most;
}

static void judge_rate(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		       struct fb_findings *findings)
{
	static const struct fb_check as_others = {
		FB_LEVEL_DOUBT, "RDMA port is as fast as the node's others",
		"the rate of the fastest",
		"it negotiated less than its neighbours of the same type: cable, transceiver, the "
		"switch's port, a split port"};
	static const struct fb_check expected = {
		FB_LEVEL_BAD, "RDMA port has the expected rate", "the value of --expect-rate",
		"it negotiated less: cable, transceiver, the switch's port, a split port, or a "
		"device of another type"};
	double rate = strtod(fact->value, NULL), most;

	if (!has(facts, fact, "state", "ACTIVE"))
		return;
	most = fastest(facts, fact->host, fact);
	fb_findings_judge(findings, &as_others, fact->host, rate >= most,
			  "%.70s: %.30s, fastest %.0f", fact->key, fact->value, most);
	if (facts->least_Gbps > 0)
		fb_findings_judge(findings, &expected, fact->host, rate >= facts->least_Gbps,
				  "%.70s: %.40s, expected %.0f", fact->key, fact->value,
				  facts->least_Gbps);
}

/* How two devices are joined. */
enum distance { ONE_SWITCH, ONE_NODE, APART, UNKNOWN };

static const char *const distances[] = {"behind one PCIe switch", "on its NUMA node",
					"on another NUMA node"};

/* How many leading parts, each with its '/', two paths share. */
static int shared_parts(const char *a, const char *b)
{
	int parts = 0;

	for (; *a && *a == *b; a++, b++)
		parts += *a == '/';
	return parts;
}

static enum distance between(const struct fb_node_facts *facts, const struct fb_env_fact *gpu,
			     const struct fb_env_fact *adapter)
{
	const char *x = beside(facts, gpu, "numa_node");
	const char *y = of_device(facts, gpu->host, adapter, "numa_node");

	/* The first part is the root complex, the second a port of it; a switch is behind. */
	if (shared_parts(gpu->value, adapter->value) >= 2)
		return ONE_SWITCH;
	if (!x || !y || *x == '-' || *y == '-')
		return UNKNOWN;
	return strcmp(x, y) ? APART : ONE_NODE;
}

static bool is_active(const struct fb_node_facts *facts, const char *host,
		      const struct fb_env_fact *adapter)
{
	const struct fb_env_fact *state = NULL;
	char pattern[KEY_CHARS];

	snprintf(pattern, sizeof(pattern), "%.*s.port*.state",
		 (int)(strrchr(adapter->key, '.') - adapter->key), adapter->key);
	while ((state = fb_next_fact(facts, state, host, pattern)))
		if (strstr(state->value, "ACTIVE"))
			return true;
	return false;
}

/* "mlx5_0" of a fact's key, for %.*s. */
#define DEVICE(fact)                                                                               \
	(int)strcspn((fact)->key + strlen("infiniband."), "."), (fact)->key + strlen("infiniband.")

/* A GPU should have an active adapter as near as any that is there. */
static void judge_locality(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			   struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "GPU has an active adapter near it",
		"its nearest adapter is active and on its NUMA node",
		"GPUDirect RDMA crosses the sockets: bring up the near port, or check "
		"NCCL_IB_HCA and, in a virtual machine, NCCL_TOPO_FILE"};
	enum distance nearest = UNKNOWN, active = UNKNOWN, d;
	const struct fb_env_fact *f = NULL, *by = NULL, *near = NULL;

	while ((f = fb_next_fact(facts, f, fact->host, "infiniband.*.pci_path"))) {
		d = between(facts, fact, f);
		if (d < nearest) {
			nearest = d;
			near = f;
		}
		if (d < active && is_active(facts, fact->host, f)) {
			active = d;
			by = f;
		}
	}
	/* A missing active port is a finding of another rule. */
	if (by)
		fb_findings_judge(findings, &check, fact->host,
				  active == nearest && active != APART,
				  "%.*s: nearest %.*s, %s; active %.*s, %s",
				  (int)(strrchr(fact->key, '.') - fact->key), fact->key,
				  DEVICE(near), distances[nearest], DEVICE(by),
				  distances[active]);
}

/* Where mlx5's driver comes from. Nothing is wrong with either: it is what one looks for first. */
static void judge_origin(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			 struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_GOOD, "origin of the RDMA driver", "", ""};

	(void)facts;
	fb_findings_judge(findings, &check, fact->host, true, "mlx5_core is of %.80s", fact->value);
}

/* RoCE loses packets in a network without flow control or marks of congestion. */
static void judge_lossless(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			   struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "RoCE port has flow control or congestion marks",
		"PFC on a priority, or ECN on both sides",
		"a congested switch drops packets, and go-back-N repeats all behind them: "
		"mlnx_qos --pfc, ECN (DCQCN), and the traffic class that the switches expect "
		"(NCCL_IB_TC)"};
	const char *interfaces, *pfc, *sender, *receiver;
	char key[KEY_CHARS], name[NAME_CHARS];

	if (strcmp(fact->value, "Ethernet") || !has(facts, fact, "state", "ACTIVE"))
		return;
	interfaces = beside(facts, fact, "interfaces");
	if (!interfaces)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(interfaces, " "), interfaces);
	snprintf(key, sizeof(key), "network.%s.pfc", name);
	pfc = fb_node_fact(facts, fact->host, key);
	snprintf(key, sizeof(key), "network.%s.ecn_sender", name);
	sender = fb_node_fact(facts, fact->host, key);
	snprintf(key, sizeof(key), "network.%s.ecn_receiver", name);
	receiver = fb_node_fact(facts, fact->host, key);
	if (!pfc && !sender)
		return;
	fb_findings_judge(findings, &check, fact->host,
			  (pfc && strcmp(pfc, "none")) || (sender && strcmp(sender, "none") &&
							   receiver && strcmp(receiver, "none")),
			  "%.40s: priorities with PFC %.20s, with ECN %.20s to send, %.20s to "
			  "receive",
			  name, pfc ? pfc : "unknown", sender ? sender : "unknown",
			  receiver ? receiver : "unknown");
}

/* A container's own network namespace hides the interfaces of the host's devices, not these. */
static void judge_visible(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			  struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "interface of RoCE's GIDs is visible", "one of /sys/class/net",
		"the GIDs belong to another network namespace, and connections by them fail: "
		"hostNetwork, or an interface and its RDMA device moved into the container "
		"(rdma system set netns exclusive)"};
	const char *first = fact->value;
	char key[KEY_CHARS];
	bool visible = false;

	if (!has(facts, fact, "link_layer", "Ethernet") ||
	    !fb_next_fact(facts, NULL, fact->host, "network.*.mtu"))
		return;
	for (size_t n; *first; first += n + strspn(first + n, " ")) {
		n = strcspn(first, " ");
		snprintf(key, sizeof(key), "network.%.*s.mtu", (int)n, first);
		visible |= fb_node_fact(facts, fact->host, key) != NULL;
	}
	fb_findings_judge(findings, &check, fact->host, visible, "%.60s: %.60s", fact->key,
			  fact->value);
}

/* A pod gets RDMA devices only where its specification asks for them. */
static void judge_pod(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		      struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "pod with GPUs has an RDMA resource", "/dev/infiniband",
		"traffic to other nodes goes by TCP through the pod's network: ask for the "
		"device plugin's resource in the pod's limits (rdma/..., nvidia.com/...)"};
	const struct fb_env_fact *plugin =
		fb_next_fact(facts, NULL, fact->host, "variable.PCIDEVICE_*");
	bool device = fb_fact_has(facts, fact->host, "device.infiniband", "there");

	if (strcmp(fact->value, "kubernetes") || !fb_node_fact(facts, fact->host, "nvidia.driver"))
		return;
	fb_findings_judge(findings, &check, fact->host, device, "%s, %s",
			  device ? "RDMA devices" : "no RDMA device",
			  plugin ? plugin->key + strlen("variable.") : "no PCIDEVICE variable");
}

const struct fb_judge fb_judges_of_ports[] = {
	{"infiniband.*.gids", judge_gids},
	{"infiniband.*.rate", judge_rate},
	{"gpu.*.pci_path", judge_locality},
	{"module.mlx5_core.origin", judge_origin},
	{"infiniband.*.link_layer", judge_lossless},
	{"infiniband.*.interfaces", judge_visible},
	{"container.engine", judge_pod},
	{NULL, NULL},
};
