/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters around a case; see counters.h. */
#include "common/run/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/*
 * Calls are judged if they move at least the first number plus the second for each rank. Counters
 * cannot tell smaller calls from barriers.
 */
enum { JUDGED_BYTES = 64 << 10, JUDGED_BYTES_RANK = 4 << 10 };

/* Devices that carried less than this part of what the first one did are left out. */
static const double least_share = 0.01;

enum { STRAY = 1, UNEVEN = 2, AGAIN = 4, WRONG = 8, IDLE = 16 };

/* One host's value of a counter; on rank 0 the sum of all hosts, and the host with most. */
struct entry {
	char name[FB_AUDIT_EVENT], host[64];
	double count, most;
	int is_event;
};

struct entries {
	struct entry *item;
	size_t count, room;
};

void fb_counters_open(struct fb_counters *counters, const struct fb_group *world)
{
	int local;

	*counters = (struct fb_counters){.world = world};
	MPI_Comm_rank(world->node_comm, &local);
	counters->reads = local == 0;
}

void fb_counters_begin(struct fb_counters *counters)
{
	if (counters->reads)
		fb_audit_read(&counters->before, "");
	if (counters->gpu)
		counters->read_gpu(counters->gpu, &counters->gpu_before);
}

void fb_counters_end(struct fb_counters *counters)
{
	if (counters->reads)
		fb_audit_read(&counters->after, "");
	if (counters->gpu)
		counters->read_gpu(counters->gpu, &counters->gpu_after);
}

bool fb_counters_enough(const struct fb_group *world, double call)
{
	return call >= JUDGED_BYTES + (double)JUDGED_BYTES_RANK * world->nranks;
}

int fb_carrier_gather(const struct fb_group *world, bool known, const char *devices,
		      struct fb_carrier *carrier)
{
	enum { CHARS = 1 + FB_CARRIER_CHARS };
	char own[CHARS] = {(char)known}, *all;
	int n;

	snprintf(own + 1, FB_CARRIER_CHARS, "%s", known ? devices : "");
	MPI_Comm_size(world->node_comm, &n);
	all = malloc((size_t)n * CHARS);
	*carrier = (struct fb_carrier){.known = all != NULL};
	if (fb_group_agree(world, all ? FB_OK : FB_ENOMEM) || !all) {
		free(all);
		return fb_error(FB_ENOMEM, "out of memory for the paths of %d ranks", n);
	}
	MPI_Allgather(own, CHARS, MPI_CHAR, all, CHARS, MPI_CHAR, world->node_comm);
	for (int i = 0; i < n && carrier->known; i++)
		carrier->known = all[i * CHARS] &&
				 fb_carrier_merge(carrier->devices, all + i * CHARS + 1);
	free(all);
	return FB_OK;
}

/* Adds to the entry of that name, or a new one; nothing where there is no room. */
static void add(struct entries *all, const struct entry *entry)
{
	struct entry *known = all->item;

	while (known < all->item + all->count && strcmp(known->name, entry->name))
		known++;
	if (known == all->item + all->count) {
		if (all->count == all->room)
			return;
		*known = *entry;
		known->most = entry->count;
		all->count++;
		return;
	}
	known->count += entry->count;
	if (entry->count <= known->most)
		return;
	known->most = entry->count;
	memcpy(known->host, entry->host, sizeof(known->host));
}

static void note(const struct fb_counters *c, struct entries *all, const char *name, double count,
		 int is_event)
{
	struct entry entry = {.count = count, .is_event = is_event};

	if (count <= 0)
		return;
	snprintf(entry.name, sizeof(entry.name), "%.63s", name);
	snprintf(entry.host, sizeof(entry.host), "%.63s", c->world->host);
	add(all, &entry);
}

/* The growth of the counters of this rank's host and GPU. */
static void collect(const struct fb_counters *c, struct entries *all)
{
	static const char *const links[] = {[FB_GPU_NVLINK] = "NVLink", [FB_GPU_PCIE] = "PCIe"};

	for (int i = 0; c->reads && i < c->after.count; i++)
		note(c, all, c->after.device[i].name,
		     (double)fb_audit_bytes(&c->before, &c->after.device[i]), 0);
	for (int i = 0; c->reads && i < c->after.events; i++)
		note(c, all, c->after.event[i].name,
		     (double)fb_audit_events(&c->before, &c->after.event[i]), 1);
	for (int kind = 0; c->gpu && kind < FB_GPU_LINKS; kind++)
		note(c, all, links[kind],
		     fb_gpu_links_share(&c->gpu_before, &c->gpu_after, kind, 1), 0);
}

static int most_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* "lo=2097152;eth0=30000". On several nodes events name the worst: "Tcp.RetransSegs=9 (node3 8)" */
static void write_text(const struct fb_counters *c, const struct entries *all, int is_event,
		       char *text, size_t n)
{
	size_t used = 0;
	double most = 0;

	text[0] = '\0';
	for (size_t i = 0; i < all->count; i++) {
		const struct entry *e = &all->item[i];
		char field[sizeof(*e) + 64], host[sizeof(e->host) + 32] = "";

		if (e->is_event != is_event || (!is_event && e->count < most * least_share))
			continue;
		most = most > 0 ? most : e->count;
		if (is_event && c->world->nnodes > 1)
			snprintf(host, sizeof(host), " (%s %.0f)", e->host, e->most);
		snprintf(field, sizeof(field), "%s%s=%.0f%s", used ? ";" : "", e->name, e->count,
			 host);
		if (used + strlen(field) >= n)
			return;
		used += (size_t)snprintf(text + used, n - used, "%s", field);
	}
}

/*
 * TCP sends a segment again now and then although none was lost, even on lo, to probe the end of
 * its queue. So one packet in a thousand sets no flag.
 */
static int flags_of(const struct entries *all)
{
	enum { PACKET_BYTES = 1500, PACKETS = 1000 };
	double again = 0, bytes = 0;
	int flags = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct entry *e = &all->item[i];
		enum fb_audit_sort sort = fb_audit_sort(e->name);

		bytes += e->is_event ? 0 : e->count;
		again += e->is_event && sort == FB_AUDIT_RETRANSMIT ? e->count : 0;
		flags |= e->is_event && sort == FB_AUDIT_ERROR ? WRONG : 0;
	}
	return again * PACKETS * PACKET_BYTES > bytes && again > 1 ? flags | AGAIN : flags;
}

/* Collective: rank 0 gets all ranks' entries, makes the texts and returns the flags; others 0. */
static int gather(struct fb_counters *c, bool uses, struct entries *own)
{
	struct entries all = {0};
	int *begin = NULL, flags = 0;
	char *bytes = NULL;
	struct entry *item;

	if (fb_group_gather(c->world, own->item, own->count * sizeof(*item), &bytes, &begin) ||
	    !begin)
		return 0;
	item = (struct entry *)(void *)bytes;
	all.room = (size_t)begin[c->world->nranks] / sizeof(*item);
	all.item = calloc(all.room + 1, sizeof(*item));
	for (size_t i = 0; i < all.room && all.item; i++)
		add(&all, &item[i]);
	if (all.count)
		qsort(all.item, all.count, sizeof(*item), most_first);
	flags = uses ? flags_of(&all) : 0;
	write_text(c, &all, 0, c->traffic, sizeof(c->traffic));
	write_text(c, &all, 1, c->events, sizeof(c->events));
	free(all.item);
	free(begin);
	free(bytes);
	return flags;
}

/* Whether ports were idle although this host has a rank for each port. */
static bool leaves_ports(const struct fb_counters *c, const char *devices, double moved)
{
	char text[FB_CARRIER_CHARS];
	int idle = fb_audit_idle(&c->before, &c->after, devices, moved, text, sizeof(text));
	int ranks, ports = idle;

	for (const char *at = devices; *at; at += strcspn(at, " "), at += *at == ' ')
		ports++;
	MPI_Comm_size(c->world->node_comm, &ranks);
	return idle > 0 && ports <= ranks;
}

/* Collective: whether the bytes took the paths that ranks say, and evenly. */
static int judge(const struct fb_counters *c, double moved, const char *path)
{
	char devices[FB_CARRIER_CHARS];
	bool known = fb_carrier_devices(path, devices);
	struct fb_carrier carrier;
	int flags = 0;

	/* The path of transport tcp names the interface to one peer only. */
	if (*devices && !strchr(devices, ':') && c->world->nranks > 2)
		known = false;
	if (fb_carrier_gather(c->world, known, devices, &carrier))
		return 0;
	if (c->reads && carrier.known) {
		if (fb_audit_stray(&c->before, &c->after, moved, carrier.devices) > 0)
			flags |= STRAY;
		if (fb_audit_balance(&c->before, &c->after, carrier.devices, moved) <
		    FB_COUNTERS_EVEN)
			flags |= UNEVEN;
		if (leaves_ports(c, carrier.devices, moved))
			flags |= IDLE;
	}
	if (c->gpu && strstr(path, "NVLink") &&
	    fb_gpu_links_stray(&c->gpu_before, &c->gpu_after, moved))
		flags |= STRAY;
	return flags;
}

void fb_counters_judge(struct fb_counters *c, bool uses, double call, double moved,
		       struct fb_traits *traits)
{
	static const char *const names[] = {"stray-traffic", "rail-imbalance", "retransmits",
					    "link-errors", "idle-port"};
	struct entry item[256];
	struct entries own = {.item = item, .room = sizeof(item) / sizeof(item[0])};
	int flags;

	collect(c, &own);
	flags = gather(c, uses, &own);
	if (!traits->judged && fb_counters_enough(c->world, call))
		flags |= judge(c, moved, traits->path);
	MPI_Reduce(c->world->rank ? &flags : MPI_IN_PLACE, &flags, 1, MPI_INT, MPI_BOR, 0,
		   c->world->comm);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && c->world->rank == 0; i++)
		if (flags & 1 << i)
			fb_traits_flag(traits, names[i]);
}
