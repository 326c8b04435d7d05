/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The column `path` of the point-to-point programs; see program.h.
 *
 * The harness reads counters before and after each case: the first rank of a host reads those of
 * the host (counters.h). That rank also knows which interfaces the ranks of its host should use,
 * and compares the two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/system/gpu_links.h"
#include "common/run/path.h"
#include "common/run/carrier.h"
#include "p2p/program.h"

/* What the rank that reads a host's counters reports. */
struct report {
	char host[64], carried[FB_PATH_CHARS / 4];
	int uneven; /* one of several rails carried much less; see FB_COUNTERS_EVEN */
};

/* "NVLink 12.00, PCIe 12.00", and room for more. */
enum { LINKS_CHARS = 48 };

int fb_p2p_hosts(struct fb_p2p_state *state)
{
	const struct fb_group *world = state->world;
	int first = world->rank, err;

	state->reader_of = calloc((size_t)world->nranks, sizeof(*state->reader_of));
	err = fb_group_agree(world, state->reader_of ? FB_OK : FB_ENOMEM);
	if (err)
		return fb_error(err, "out of memory for %d ranks", world->nranks);
	MPI_Bcast(&first, 1, MPI_INT, 0, world->node_comm);
	MPI_Allgather(&first, 1, MPI_INT, state->reader_of, 1, MPI_INT, world->comm);
	return FB_OK;
}

static double call_bytes(const struct fb_job *job)
{
	return (double)job->bytes * job->window * job->nflows * (job->rounds > 1 ? job->rounds : 1);
}

/* How many flows have an end on the host that `reader` reads for. */
static int flows_of(const struct fb_p2p_state *state, const struct fb_job *job, int reader)
{
	int n = 0;

	for (int f = 0; f < job->nflows; f++)
		n += state->reader_of[job->flows[f].src] == reader ||
		     state->reader_of[job->flows[f].dst] == reader;
	return n;
}

/* Whether the rank's messages go to, or come from, several others. */
static bool has_peers(const struct fb_job *job, int rank)
{
	int peer = -1;

	for (int f = 0; f < job->nflows; f++) {
		const struct fb_flow *flow = &job->flows[f];
		int other = flow->src == rank ? flow->dst : flow->src;

		if (flow->src != rank && flow->dst != rank)
			continue;
		if (peer >= 0 && peer != other)
			return true;
		peer = other;
	}
	return false;
}

/* Whether the job's messages stay within hosts. */
static bool within_hosts(const struct fb_p2p_state *state, const struct fb_job *job)
{
	bool near = true;

	for (int f = 0; f < job->nflows; f++)
		near &= state->reader_of[job->flows[f].src] == state->reader_of[job->flows[f].dst];
	return near;
}

/* Collective: a host's reader learns by what devices its ranks should send. 0 or FB_ENOMEM. */
static int expect(struct fb_p2p_path *path, const struct fb_p2p_state *state,
		  const struct fb_job *job, const char *of_engine)
{
	const struct fb_group *world = state->world;
	char devices[FB_CARRIER_CHARS] = "";
	bool takes_part = false, known = true;

	for (int f = 0; f < job->nflows; f++)
		takes_part |= job->flows[f].src == world->rank || job->flows[f].dst == world->rank;
	if (path->device)
		known = within_hosts(state, job); /* then nothing leaves by the network */
	else if (takes_part)
		known = fb_carrier_devices(of_engine, devices);
	/* The transport names one peer's interface. */
	if (*devices && !strchr(devices, ':') && has_peers(job, world->rank))
		known = false;
	return fb_carrier_gather(world, known, devices, &path->expected);
}

int fb_p2p_path_open(struct fb_p2p_path *path, const struct fb_p2p_state *state,
		     const struct fb_case *c, const struct fb_job *job, const char *of_engine)
{
	const struct fb_group *world = state->world;
	int err = fb_p2p_where(state, c, job, path->where);

	if (err)
		return err;
	/* Rank 0 writes the row, and may have no part in the job. */
	snprintf(path->carrier, sizeof(path->carrier), "%s", of_engine);
	MPI_Bcast(path->carrier, sizeof(path->carrier), MPI_CHAR,
		  job->verb == FB_GET ? job->flows[0].dst : job->flows[0].src, world->comm);
	MPI_Bcast(path->where, sizeof(path->where), MPI_CHAR, job->flows[0].src, world->comm);
	path->device = fb_p2p_engines[fb_p2p_engine_index(c->engine)]->device;
	path->on_gpu = path->device || fb_memory_on_gpu(c);
	path->reads = state->reader_of[world->rank] == world->rank &&
		      flows_of(state, job, world->rank) > 0;
	return expect(path, state, job, of_engine);
}

/*
 * Collective: writes what the links of the first sender's GPU carried, as multiples of the bytes
 * that this GPU sends and receives. Returns whether they should have used NVLink and did not.
 */
static bool read_links(const struct fb_p2p_path *path, const struct fb_p2p_state *state,
		       const struct fb_job *job, double moved, char text[LINKS_CHARS])
{
	const struct fb_group *world = state->world;
	int src = job->flows[0].src, n = 0, stray = 0;
	const struct fb_counters *c = state->session->counters;

	text[0] = '\0';
	if (world->rank == src) {
		for (int f = 0; f < job->nflows; f++)
			n += job->flows[f].src == src || job->flows[f].dst == src;
		moved *= (double)n / job->nflows;
		fb_gpu_links_text(&c->gpu_before, &c->gpu_after, moved, text, LINKS_CHARS);
		stray = fb_counters_enough(world, call_bytes(job)) &&
			strstr(path->carrier, "NVLink") &&
			fb_gpu_links_stray(&c->gpu_before, &c->gpu_after, moved);
	}
	MPI_Bcast(text, LINKS_CHARS, MPI_CHAR, src, world->comm);
	MPI_Bcast(&stray, 1, MPI_INT, src, world->comm);
	return stray;
}

/* Local: reads this host's counters; returns the share of stray bytes, see fb_audit_stray. */
static double read_host(const struct fb_p2p_path *path, const struct fb_p2p_state *state,
			const struct fb_job *job, double moved, struct report *report)
{
	const struct fb_counters *c = state->session->counters;
	double part = moved * flows_of(state, job, state->world->rank) / job->nflows;

	(void)fb_audit_text(&c->before, &c->after, moved, report->carried, sizeof(report->carried));
	if (!path->expected.known || !fb_counters_enough(state->world, call_bytes(job)))
		return 0;
	report->uneven = fb_audit_balance(&c->before, &c->after, path->expected.devices, part) <
		  FB_COUNTERS_EVEN;
	return fb_audit_stray(&c->before, &c->after, part, path->expected.devices);
}

/*
 * Collective: adds to `known` what carried the bytes on the first sender's host, and on the host
 * with the most stray bytes, if that is another one. Returns whether any host has stray bytes.
 * *uneven: whether a host's rails carried unequal parts.
 */
static bool add_hosts(const struct fb_p2p_path *path, const struct fb_p2p_state *state,
		      const struct fb_job *job, double moved, char *known, size_t n, int *uneven)
{
	const struct fb_group *world = state->world;
	int first = state->reader_of[job->flows[0].src];
	struct report report = {.carried = ""}, other;
	struct {
		double share;
		int rank;
	} worst = {.share = 0, .rank = world->rank};
	char text[sizeof(report) + 4];

	snprintf(report.host, sizeof(report.host), "%s", world->host);
	if (path->reads)
		worst.share = read_host(path, state, job, moved, &report);
	MPI_Allreduce(&report.uneven, uneven, 1, MPI_INT, MPI_LOR, world->comm);
	MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, world->comm);
	other = report;
	MPI_Bcast(&report, sizeof(report), MPI_CHAR, first, world->comm);
	fb_carrier_add(known, n, report.carried);
	if (worst.share <= 0 || worst.rank == first)
		return worst.share > 0;
	MPI_Bcast(&other, sizeof(other), MPI_CHAR, worst.rank, world->comm);
	snprintf(text, sizeof(text), "%s: %s", other.host, other.carried);
	fb_carrier_add(known, n, text);
	return true;
}

void fb_p2p_path_describe(const struct fb_p2p_path *path, const struct fb_p2p_state *state,
			  const struct fb_job *job, double moved, bool alone,
			  struct fb_traits *traits)
{
	char links[LINKS_CHARS], known[FB_PATH_CHARS - 4] = "";
	bool stray = false;
	int uneven = 0;

	traits->judged = true;

	fb_carrier_add(known, sizeof(known), path->where);
	if (alone && path->on_gpu) {
		stray = read_links(path, state, job, moved, links);
		fb_carrier_add(known, sizeof(known), links);
	}
	if (alone)
		stray |= add_hosts(path, state, job, moved, known, sizeof(known), &uneven);
	if (stray)
		fb_traits_flag(traits, "stray-traffic");
	if (uneven)
		fb_traits_flag(traits, "rail-imbalance");
	fb_path_text(path->carrier, known, traits->path);
}
