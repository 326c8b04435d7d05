/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the highest rate of single links; see links.h. */
#include <fnmatch.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/run/carrier.h"
#include "scripts/tools/lib/links.h"

enum { KEY_CHARS = 128 };

/*
 * By model, the more special names first: GB/s in each direction of all NVLinks (with an NVSwitch
 * or a bridge), and of PCIe with 16 lanes. From the data sheets, which count both directions.
 */
static const struct {
	const char *name;
	double nvlink, pcie;
} models[] = {
	{"B300", 900, 126}, {"B200", 900, 63}, {"GH200", 450, 63}, {"H200", 450, 63},
	{"H100 NVL", 300, 63}, {"H100 PCIe", 300, 63}, {"H100", 450, 63}, {"H800", 200, 63},
	{"H20", 450, 63}, {"A100", 300, 31.5}, {"A800", 200, 31.5}, {"A30", 100, 31.5},
	{"V100", 150, 15.75}, {"L40", 0, 31.5}, {"L4", 0, 31.5}, {"A40", 56, 31.5},
	{"A10", 0, 31.5}, {"T4", 0, 15.75},
};

static const char nvlink_advice[] =
	"links that are down (nvidia-smi nvlink --status), clocks held down (column throttle), "
	"another job on the GPU, or too few channels or bytes in flight for the whole rate";
static const char c2c_advice[] =
	"links that are not active (gpu.*.c2c_links), memory of another processor than the GPU's "
	"own (--bind), or memory that is not pinned";
static const char pcie_advice[] =
	"fewer lanes or a lower generation than the card's (gpu.*.pci_lanes, pci_speed), a "
	"process on a far NUMA node (--bind), memory that is not pinned, or ACS and IOMMU in the "
	"way of peers";
static const char rdma_advice[] =
	"a NIC in a slot with fewer lanes than its port needs, a NIC far from GPU or processor "
	"(fabricbench topology), a small MTU, congestion or errors (columns counters and flags), "
	"or too few messages in flight (--window)";
static const char tcp_advice[] =
	"one connection seldom carries more than 10 to 40 Gbit/s: more sockets (--tcp-sockets), "
	"MTU 9000, interrupts and process on the NIC's NUMA node; or another interface than meant";

/* The fact that matches, of that host or of any (NULL). */
static const char *find(const struct fb_node_facts *facts, const char *host, const char *pattern)
{
	for (size_t i = 0; i < facts->env.count; i++)
		if (!fnmatch(pattern, facts->env.fact[i].key, 0) &&
		    (!host || !*facts->env.fact[i].host || !strcmp(facts->env.fact[i].host, host)))
			return facts->env.fact[i].value;
	return NULL;
}

static const char *gpu_fact(const struct fb_node_facts *facts, const char *host, const char *gpu,
			    const char *what)
{
	char pattern[KEY_CHARS];

	snprintf(pattern, sizeof(pattern), "gpu.%.40s.%.40s", gpu, what);
	return find(facts, host, pattern);
}

/* Rates by the model of the GPU, 0 where it is not in the table. */
static double of_model(const struct fb_node_facts *facts, const char *host, const char *gpu,
		       bool nvlink)
{
	char pattern[KEY_CHARS];
	const char *model;

	snprintf(pattern, sizeof(pattern), "nvidia.gpu.%.40s", gpu);
	model = find(facts, host, pattern);
	model = model ? model : find(facts, host, "gpu.model");
	for (size_t i = 0; model && i < sizeof(models) / sizeof(models[0]); i++)
		if (strstr(model, models[i].name))
			return nvlink ? models[i].nvlink : models[i].pcie;
	return 0;
}

static double known(double rate)
{
	return rate > 0 ? rate : (double)NAN;
}

/* The rate by the facts "9 of 10" (links that are up) and rate of one; all 10 links count. */
static double of_links(const char *links, const char *speed)
{
	unsigned up, all;

	if (!links || !speed || sscanf(links, "%u of %u", &up, &all) != 2)
		return (double)NAN;
	return known(all * strtod(speed, NULL) / 1000);
}

double fb_link_nvlink(const struct fb_node_facts *facts, const char *host, const char *gpu)
{
	const char *links = gpu_fact(facts, host, gpu, "nvlinks");
	double rate = of_links(links, gpu_fact(facts, host, gpu, "nvlink_MBps"));

	if (rate > 0)
		return rate;
	if (links && !strtod(links, NULL))
		return (double)NAN;
	return known(of_model(facts, host, gpu, true));
}

/*
 * The same of those to the peer that has the fewest: NVSwitches and a bridge give all to each peer,
 * while links that go straight to several peers are shared out.
 */
static double nvlink_to_peer(const struct fb_node_facts *facts, const char *host, const char *gpu)
{
	const char *links = gpu_fact(facts, host, gpu, "nvlinks");
	const char *to = gpu_fact(facts, host, gpu, "nvlinks_to");
	double whole = fb_link_nvlink(facts, host, gpu);
	unsigned up, all, count, least;

	if (!links || sscanf(links, "%u of %u", &up, &all) != 2)
		return whole;
	least = up;
	for (; to; to = strstr(to, ", ") ? strstr(to, ", ") + 2 : NULL)
		if (sscanf(to, "%*s %u", &count) == 1 && count < least)
			least = count;
	/* Links that are down take nothing from the bound, as far as the counts show. */
	return least < up ? whole * least / all : whole;
}

/* GB/s of a lane by "16.0 GT/s PCIe", without line code and, from 64 GT/s on, flit overhead. */
static double lane_rate(double speed)
{
	double share = speed <= 5 ? 0.8 : speed < 64 ? 128.0 / 130 : 242.0 / 256;

	return speed * share / 8;
}

static double slot_rate(const char *lanes, const char *speed)
{
	unsigned now;

	if (!lanes || !speed || sscanf(lanes, "%u", &now) != 1)
		return (double)NAN;
	return known(now * lane_rate(strtod(speed, NULL)));
}

static double of_pcie(const struct fb_node_facts *facts, const char *host, const char *gpu)
{
	double slot = slot_rate(gpu_fact(facts, host, gpu, "pci_lanes"),
				gpu_fact(facts, host, gpu, "pci_speed"));

	return slot > 0 ? slot : known(of_model(facts, host, gpu, false));
}

static double of_c2c(const struct fb_node_facts *facts, const char *host, const char *gpu)
{
	return of_links(gpu_fact(facts, host, gpu, "c2c_links"),
			gpu_fact(facts, host, gpu, "c2c_link_MBps"));
}

double fb_link_host(const struct fb_node_facts *facts, const char *host, const char *gpu)
{
	double c2c = of_c2c(facts, host, gpu);

	return c2c > 0 ? c2c : of_pcie(facts, host, gpu);
}

double fb_link_port(const struct fb_node_facts *facts, const char *host, const char *port)
{
	char key[KEY_CHARS], device[KEY_CHARS / 2];
	const char *colon = strchr(port, ':'), *rate, *speed;
	double GBps, slot;

	snprintf(device, sizeof(device), "%.*s", (int)strcspn(port, ":"), port);
	snprintf(key, sizeof(key), "infiniband.%s.port%.8s.rate", device, colon ? colon + 1 : "1");
	rate = find(facts, host, key);
	if (!rate)
		return (double)NAN;
	/* "400 Gb/sec (4X NDR)"; slow generations count bits before their 8b/10b code. */
	GBps = strtod(rate, NULL) / 8;
	if (strstr(rate, "SDR") || strstr(rate, "DDR") || strstr(rate, "QDR"))
		GBps *= 0.8;
	snprintf(key, sizeof(key), "infiniband.%s.pci_speed", device);
	speed = find(facts, host, key);
	snprintf(key, sizeof(key), "infiniband.%s.pci_width", device);
	slot = slot_rate(find(facts, host, key), speed);
	return known(slot < GBps ? slot : GBps);
}

typedef double (*rate_fn)(const struct fb_node_facts *facts, const char *host, const char *gpu);

/* Returns the least rate of all GPUs, since the ranks of GPU programs have one each. */
static double least_of_gpus(const struct fb_node_facts *facts, rate_fn rate)
{
	double least = rate(facts, NULL, "*");
	char gpu[KEY_CHARS];

	for (size_t i = 0; i < facts->env.count; i++) {
		const char *end = strrchr(facts->env.fact[i].key, '.');
		double own;

		if (fnmatch("gpu.*:*.*", facts->env.fact[i].key, 0) || !end)
			continue;
		snprintf(gpu, sizeof(gpu), "%.*s", (int)(end - facts->env.fact[i].key - 4),
			 facts->env.fact[i].key + 4);
		own = rate(facts, *facts->env.fact[i].host ? facts->env.fact[i].host : NULL, gpu);
		if (!(own >= least))
			least = own > 0 ? own : least;
	}
	return least;
}

static double of_names(const struct fb_node_facts *facts, char *names, bool rdma)
{
	char key[KEY_CHARS], *rest = names;
	const char *speed;
	double sum = 0;

	for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		if (rdma) {
			sum += fb_link_port(facts, NULL, name);
			continue;
		}
		snprintf(key, sizeof(key), "network.%.60s.speed_Mbps", name);
		speed = find(facts, NULL, key);
		sum += speed ? known(strtod(speed, NULL) / 8000) : (double)NAN;
	}
	return known(sum);
}

void fb_link_of(const struct fb_node_facts *facts, const char *path, const char *transport,
		struct fb_link *link)
{
	char names[FB_CARRIER_CHARS] = "";
	bool rdma = strstr(path, "rdma ") || !strcmp(transport, "rdma");

	*link = (struct fb_link){.GBps = (double)NAN};
	if (strstr(path, "NVLink")) {
		snprintf(link->kind, sizeof(link->kind), "NVLink");
		link->GBps = least_of_gpus(facts, nvlink_to_peer);
		link->advice = nvlink_advice;
	} else if (strstr(path, ", PCIe")) {
		snprintf(link->kind, sizeof(link->kind), "PCIe");
		link->GBps = least_of_gpus(facts, of_pcie);
		link->advice = pcie_advice;
	} else if (strstr(path, "host to GPU link")) {
		bool c2c;

		link->GBps = least_of_gpus(facts, fb_link_host);
		/* Other hosts' GPUs may have PCIe alone, and then it is the least. */
		c2c = link->GBps >= least_of_gpus(facts, of_c2c);
		snprintf(link->kind, sizeof(link->kind), "host to GPU link%s", c2c ? ", C2C" : "");
		link->advice = c2c ? c2c_advice : pcie_advice;
	} else if (fb_carrier_devices(path, names) && *names && strcmp(names, "lo")) {
		snprintf(link->kind, sizeof(link->kind), "%s %.80s", rdma ? "rdma" : "tcp", names);
		link->GBps = of_names(facts, names, rdma);
		link->advice = rdma ? rdma_advice : tcp_advice;
	} else {
		snprintf(link->kind, sizeof(link->kind), "%.40s%s",
			 *transport && *transport != '-' ? transport : "memory",
			 strstr(path, "lo ") ? " lo" : "");
	}
}
