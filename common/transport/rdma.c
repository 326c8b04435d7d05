/* SPDX-License-Identifier: BSD-3-Clause */
/* The rdma transport: what it offers to all ranks together. How it works inside is in rdma.h. */
#include "common/transport/rdma_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/rdma_cm.h"

#if FB_HAVE_VERBS

enum {
	COMPLETIONS = 16384,
	WHY = 400,
	LOOKS = 1 << 14, /* calls of progress() between two looks at the ports */
};

static void rdma_close(struct fb_transport *transport)
{
	struct fb_rdma *rdma = (struct fb_rdma *)transport;

	/* disconnect() has ended all traffic; after a failure it has not, and peers see errors. */
	fb_rdma_drop_groups(rdma);
	for (int r = 0; rdma->peers && r < transport->world->nranks; r++)
		fb_rdma_part(rdma, r);
	fb_rdma_cm_close(rdma->cm);
	for (int i = 0; i < FB_RDMA_EXPOSED; i++)
		free(rdma->exposed[i].reach);
	if (rdma->cache.rails)
		fb_rdma_cache_close(&rdma->cache);
	for (int r = 0; r < rdma->opened; r++)
		fb_rdma_completions_close(&rdma->completions[r]);
	fb_rdma_rails_close(rdma->rails, rdma->opened);
	fb_verbs_close(&rdma->verbs);
	free(rdma->ports);
	free(rdma->due);
	free(rdma->peers);
	free(rdma->hosts);
	free(rdma);
}

/* Immediate data: counts a message of the port and rail that it names. */
static bool arrived(void *arg, uint32_t imm)
{
	struct fb_rdma *rdma = arg;
	uint32_t index = imm & ((1u << FB_RDMA_IMM_BITS) - 1), rail = imm >> FB_RDMA_IMM_BITS;
	struct fb_rdma_port *port = index < rdma->nports ? rdma->ports[index] : NULL;

	if (imm == FB_RDMA_WAKE)
		return true; /* cells have been written */
	if (!port || rail >= (uint32_t)rdma->nrails)
		return false;
	port->arrived[rail]++;
	return true;
}

static int open_rails(struct fb_rdma *rdma, char *why, size_t n)
{
	/* Completions for all peers, because the receives of all queues may complete at once. */
	uint32_t receives = rdma->imm ? FB_RDMA_IMM_DEPTH * (uint32_t)rdma->settings->qps *
						(uint32_t)rdma->transport.world->nranks
				      : 0;
	int err = fb_verbs_open(&rdma->verbs, why, n);

	if (!err)
		err = fb_rdma_cm_open(&rdma->cm, rdma->settings, why, n);
	if (!err)
		err = fb_rdma_rails_open(&rdma->verbs, rdma->settings, rdma->rails, &rdma->opened,
					 why, n);
	for (int r = 0; r < rdma->opened && !err; r++) {
		err = fb_rdma_completions_open(&rdma->completions[r], &rdma->rails[r],
					       rdma->settings, COMPLETIONS + receives);
		rdma->completions[r].arrived = arrived;
		rdma->completions[r].arg = rdma;
	}
	return err;
}

/* Facts that all ranks must know: the hosts' names, and how many rails all ranks have. */
static int introduce(struct fb_rdma *rdma)
{
	const struct fb_group *world = rdma->transport.world;
	size_t nranks = (size_t)world->nranks;
	int err;

	rdma->hosts = calloc(nranks, sizeof(*rdma->hosts));
	rdma->peers = calloc(nranks, sizeof(*rdma->peers));
	err = rdma->hosts && rdma->peers ? FB_OK
					 : fb_error(FB_ENOMEM, "rdma: out of memory for %zu ranks",
						    nranks);
	err = fb_group_agree(world, err);
	if (err || !rdma->hosts)
		return err;
	snprintf(rdma->hosts[world->rank], sizeof(*rdma->hosts), "%s", world->host);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rdma->hosts, (int)sizeof(*rdma->hosts),
		      MPI_BYTE, world->comm);
	rdma->nrails = rdma->opened;
	MPI_Allreduce(MPI_IN_PLACE, &rdma->nrails, 1, MPI_INT, MPI_MIN, world->comm);
	return FB_OK;
}

int fb_rdma_open(struct fb_transport **transport, const struct fb_group *world,
		 const struct fb_rdma_settings *settings, char *why, size_t n)
{
	struct fb_rdma *rdma = calloc(1, sizeof(*rdma));
	char reason[WHY] = "";
	int err = FB_ENOMEM;

	if (rdma) {
		rdma->transport.ops = &fb_transport_rdma;
		rdma->transport.world = world;
		rdma->settings = settings;
		/* A rank that sleeps is woken by completions, not by writes to its memory. */
		rdma->imm = settings->notify == FB_RDMA_NOTIFY_IMM || fb_rdma_sleeps(settings);
		err = open_rails(rdma, reason, sizeof(reason));
	}
	err = fb_group_agree_why(world, err, reason, sizeof(reason));
	if (!err && rdma)
		err = introduce(rdma);
	if (err || !rdma) {
		if (err != FB_EUNSUPPORTED && reason[0] && world->rank == 0)
			fb_error(err, "%s", reason);
		snprintf(why, n, "%s", reason);
		if (rdma)
			rdma_close(&rdma->transport);
		return err;
	}
	fb_rdma_cache_open(&rdma->cache, rdma->rails, rdma->nrails, fb_rdma_access(settings));
	*transport = &rdma->transport;
	return FB_OK;
}

static bool rdma_speaks(const struct fb_transport *transport, const char *protocol)
{
	(void)transport;
	return !strcmp(protocol, "simple") || !strcmp(protocol, "ll") ||
	       !strcmp(protocol, "direct");
}

int fb_rdma_progress(struct fb_transport *transport)
{
	struct fb_rdma *rdma = (struct fb_rdma *)transport;

	if (rdma->err)
		return rdma->err;
	for (int r = 0; r < rdma->nrails; r++)
		fb_rdma_note(rdma, fb_rdma_poll(&rdma->completions[r]));
	if (++rdma->looks % LOOKS == 0)
		fb_rdma_note(rdma, fb_rdma_look_up(rdma->completions, rdma->nrails));
	if (rdma->ndue)
		fb_rdma_flush(rdma);
	return rdma->err;
}

static int rdma_rest(struct fb_transport *transport, bool *idle)
{
	struct fb_rdma *rdma = (struct fb_rdma *)transport;
	const struct fb_rdma_settings *s = rdma->settings;
	uint64_t spin_us = fb_rdma_wait_of(s) == FB_RDMA_WAIT_HYBRID ? s->spin_us : 0;

	fb_rdma_note(rdma, fb_rdma_rest(rdma->completions, rdma->nrails, spin_us, idle));
	if (*idle)
		fb_rdma_note(rdma, fb_rdma_look_up(rdma->completions, rdma->nrails));
	return rdma->err;
}

static void rdma_describe(const struct fb_transport *transport, int rank, char *text, size_t n)
{
	const struct fb_rdma *rdma = (const struct fb_rdma *)transport;

	fb_rdma_rails_text(rdma->rails,
			   rank == transport->world->rank ? 0 : (1u << rdma->nrails) - 1, text, n);
}

void fb_rdma_count(const struct fb_transport *transport, struct fb_rdma_counts *counts)
{
	const struct fb_rdma *rdma = (const struct fb_rdma *)transport;

	*counts = (struct fb_rdma_counts){
		.registered_bytes = rdma->cache.bytes, .hits = rdma->cache.hits,
		.misses = rdma->cache.misses, .register_us = rdma->cache.register_us,
		.deregister_us = rdma->cache.deregister_us, .queues = rdma->nqueues,
		.rails = rdma->nrails,
	};
}

#else

int fb_rdma_open(struct fb_transport **transport, const struct fb_group *world,
		 const struct fb_rdma_settings *settings, char *why, size_t n)
{
	(void)transport;
	(void)settings;
	snprintf(why, n, "built without libibverbs headers");
	return fb_group_agree_why(world, FB_EUNSUPPORTED, why, n);
}

void fb_rdma_count(const struct fb_transport *transport, struct fb_rdma_counts *counts)
{
	(void)transport;
	*counts = (struct fb_rdma_counts){.queues = 0};
}

#endif

static int rdma_open(struct fb_transport **transport, const struct fb_group *world)
{
	char why[512];
	int err = fb_rdma_open(transport, world, &fb_rdma_defaults, why, sizeof(why));

	if (err == FB_EUNSUPPORTED && world->rank == 0)
		fb_error(err, "rdma: %s", why);
	return err;
}

const struct fb_transport_ops fb_transport_rdma = {
	.open = rdma_open,
#if FB_HAVE_VERBS
	.direct = &fb_rdma_direct,
	.close = rdma_close,
	.speaks = rdma_speaks,
	.connect = fb_rdma_connect,
	.disconnect = fb_rdma_disconnect,
	.progress = fb_rdma_progress,
	.rest = rdma_rest,
	.describe = rdma_describe,
#endif
};
