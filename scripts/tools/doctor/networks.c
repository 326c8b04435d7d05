/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that subnets tell interfaces apart, and that NCCL uses the right ones; see doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"

enum { KEY_CHARS = 128, NAME_CHARS = 40 };

/* "eth0" of "network.eth0.subnets". */
static void name_of(const struct fb_env_fact *fact, char name[NAME_CHARS])
{
	const char *start = fact->key + strlen("network.");

	snprintf(name, NAME_CHARS, "%.*s", (int)(strrchr(fact->key, '.') - start), start);
}

static const char *of(const struct fb_node_facts *facts, const char *host, const char *name,
		      const char *what)
{
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "network.%s.%s", name, what);
	return fb_node_fact(facts, host, key);
}

static bool is_up(const struct fb_node_facts *facts, const char *host, const char *name)
{
	const char *state = of(facts, host, name, "state");

	return state && !strcmp(state, "up");
}

/* The first word of `some` that is one of `others`; its length, or 0. */
static size_t common_word(const char *some, const char *others, const char **word)
{
	size_t n, m;

	for (; *some; some += n + strspn(some + n, " ")) {
		n = strcspn(some, " ");
		for (const char *other = others; *other; other += m + strspn(other + m, " ")) {
			m = strcspn(other, " ");
			if (n == m && !strncmp(some, other, n)) {
				*word = some;
				return n;
			}
		}
	}
	return 0;
}

static void judge_subnets(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			  struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "each interface has a subnet of its own", "one interface in each",
		"what was meant for one leaves by the other, and replies come from the wrong "
		"address: a subnet for each, or routes by source and arp_ignore=1"};
	char name[NAME_CHARS], other[NAME_CHARS];
	const struct fb_env_fact *f = fact;
	const char *word = "";
	size_t length = 0;

	name_of(fact, name);
	if (!is_up(facts, fact->host, name))
		return;
	while (!length && (f = fb_next_fact(facts, f, fact->host, "network.*.subnets"))) {
		name_of(f, other);
		if (is_up(facts, fact->host, other))
			length = common_word(fact->value, f->value, &word);
	}
	if (length)
		fb_findings_judge(findings, &check, fact->host, false, "%s and %s are in %.*s",
				  name, other, (int)length, word);
	else
		fb_findings_judge(findings, &check, fact->host, true, "%s: %.80s", name,
				  fact->value);
}

/* Whether an RDMA port of the host has its address from this interface. */
static bool is_of_port(const struct fb_node_facts *facts, const char *host, const char *name)
{
	const struct fb_env_fact *f = NULL;
	const char *word;

	while ((f = fb_next_fact(facts, f, host, "infiniband.*.interfaces")))
		if (common_word(name, f->value, &word))
			return true;
	return false;
}

/* A link between a node and its switch alone has two addresses: routing is meant there. */
static bool is_routed(const char *subnets)
{
	const char *slash = strchr(subnets, '/');

	return slash && !strchr(subnets, ':') && strtol(slash + 1, NULL, 10) >= 30;
}

static void judge_same_subnet(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			      struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "RoCE interfaces of one name share a subnet", "one for all nodes",
		"packets between them need a router: where none is meant, an address or a cable is "
		"wrong"};
	const struct fb_env_fact *end = facts->env.fact + facts->env.count;
	char name[NAME_CHARS];

	if (!fb_fact_opens_key(facts, fact))
		return;
	name_of(fact, name);
	if (!is_of_port(facts, fact->host, name) || is_routed(fact->value))
		return;
	for (const struct fb_env_fact *f = fact; f < end && !strcmp(f->key, fact->key); f++)
		if (strcmp(f->value, fact->value)) {
			fb_findings_judge(findings, &check, "", false,
					  "%s: %.24s is in %.40s, %.24s in %.40s", name, fact->host,
					  fact->value, f->host, f->value);
			return;
		}
	fb_findings_judge(findings, &check, "", true, "%s: %.60s", name, fact->value);
}

/* Whether NCCL_SOCKET_IFNAME takes an interface: "eth,ib" begin so, "=eth0" is it, "^" is not. */
static bool takes(const char *list, const char *name)
{
	bool wanted = *list != '^', exact;
	size_t n;

	list += !wanted;
	exact = *list == '=';
	list += exact;
	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n && !strncmp(list, name, n) && (!exact || strlen(name) == n))
			return wanted;
	}
	return !wanted;
}

/* Whether NCCL's data between nodes go over sockets. */
static bool over_sockets(const struct fb_node_facts *facts, const char *host)
{
	const struct fb_env_fact *state = NULL;
	const char *net = fb_node_fact(facts, host, "variable.NCCL_NET");
	const char *off = fb_node_fact(facts, host, "variable.NCCL_IB_DISABLE");

	if ((off && !strcmp(off, "1")) || (net && !strcmp(net, "Socket")))
		return true;
	while ((state = fb_next_fact(facts, state, host, "infiniband.*.state")))
		if (strstr(state->value, "ACTIVE"))
			return false;
	return true;
}

static void judge_socket_interface(const struct fb_node_facts *facts,
				   const struct fb_env_fact *fact, struct fb_findings *findings)
{
	static const struct fb_check none = {
		FB_LEVEL_BAD, "NCCL_SOCKET_IFNAME names an interface", "one that is up",
		"NCCL finds no interface to start with, and fails: look at ip -br address"};
	static const struct fb_check slow = {
		FB_LEVEL_DOUBT, "NCCL's sockets take the fastest interface", "the fastest one",
		"all data between nodes pass it, as no RDMA port is used: name the fabric's "
		"interface in NCCL_SOCKET_IFNAME, not that of the management"};
	const struct fb_env_fact *f = NULL;
	double most = 0, taken = 0;
	bool found = false, any = false;
	char name[NAME_CHARS];

	while ((f = fb_next_fact(facts, f, fact->host, "network.*.state"))) {
		const char *speed;
		double Mbps;

		name_of(f, name);
		if (strcmp(f->value, "up"))
			continue;
		speed = of(facts, fact->host, name, "speed_Mbps");
		Mbps = speed ? strtod(speed, NULL) : 0;
		any = true;
		most = Mbps > most ? Mbps : most;
		if (!takes(fact->value, name))
			continue;
		found = true;
		taken = Mbps > taken ? Mbps : taken;
	}
	if (!any)
		return;
	fb_findings_judge(findings, &none, fact->host, found, "NCCL_SOCKET_IFNAME=%.60s",
			  fact->value);
	if (found && taken > 0 && over_sockets(facts, fact->host))
		fb_findings_judge(findings, &slow, fact->host, taken >= most,
				  "NCCL_SOCKET_IFNAME=%.60s: %.0f Mbit/s, the fastest has %.0f",
				  fact->value, taken, most);
}

/* RoCE needs an MTU of 4200 for packets of 4096 bytes. IPoIB's is what InfiniBand has. */
static void judge_mtu(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		      struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "fast interface has large packets", "4200 or more, usually 9000",
		"TCP takes a processor's time for each packet, and RoCE's packets shrink to 1024 "
		"bytes: ip link set NAME mtu 9000, alike on all nodes and switches"};
	const char *speed;
	char name[NAME_CHARS];

	name_of(fact, name);
	speed = of(facts, fact->host, name, "speed_Mbps");
	if (is_up(facts, fact->host, name) && speed && strtod(speed, NULL) >= 25000 &&
	    strncmp(name, "ib", 2) != 0)
		fb_findings_judge(findings, &check, fact->host, strtod(fact->value, NULL) >= 4200,
				  "%s: MTU %.20s at %.20s Mbit/s", name, fact->value, speed);
}

const struct fb_judge fb_judges_of_networks[] = {
	{"network.*.mtu", judge_mtu},
	{"network.*.subnets", judge_subnets},
	{"network.*.subnets", judge_same_subnet},
	{"variable.NCCL_SOCKET_IFNAME", judge_socket_interface},
	{NULL, NULL},
};
