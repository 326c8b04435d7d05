/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects the rdma engine's ranks: they exchange addresses of queue pairs and of memory through
 * MPI or the connection manager. See rdma.h.
 */
#include "p2p/engine/rdma.h"

#if FB_HAVE_VERBS

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum {
	TAG = 0x7677,
	SHALLOW = 16, /* entries of the smallest queue */
	COMPLETIONS = 16384, /* of the largest completion queue */
};

/* Tells all ranks where [base, base + bytes) of this one, host or GPU memory, is. Collective. */
static int exchange_memory(struct fb_raw_engine *e, void *base, size_t bytes, bool device,
			   struct fb_raw_reach *reach)
{
	const struct fb_rdma_region *region;
	struct fb_raw_reach own = {.base = (uintptr_t)base};
	int err = device ? fb_raw_gpu_register(e, base, bytes, &region)
			 : fb_rdma_register(&e->cache, base, bytes, &region);

	err = fb_group_agree(e->world, err);
	if (err)
		return err;
	for (int r = 0; r < e->nrails; r++)
		own.rkey[r] = region->mr[r]->rkey;
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, reach, sizeof(own), MPI_BYTE, e->world->comm);
	return FB_OK;
}

int fb_raw_open_cells(struct fb_raw_engine *e)
{
	size_t nranks = (size_t)e->world->nranks, bytes = nranks * sizeof(*e->cells);
	int err = FB_OK;

	e->hosts = calloc(nranks, sizeof(*e->hosts));
	e->links = calloc(nranks, sizeof(*e->links));
	e->far_cells = calloc(nranks, sizeof(*e->far_cells));
	/* Whole pages, so that nothing else is registered with these bytes. */
	bytes = (bytes + 4095) / 4096 * 4096;
	e->cells = aligned_alloc(4096, bytes);
	if (!e->hosts || !e->links || !e->far_cells || !e->cells)
		err = fb_error(FB_ENOMEM, "rdma: out of memory for %zu ranks", nranks);
	err = fb_group_agree(e->world, err);
	if (err || !e->cells)
		return err;
	memset(e->cells, 0, bytes);
	memcpy(e->hosts[e->world->rank], e->world->host, sizeof(*e->hosts));
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, e->hosts, (int)sizeof(*e->hosts),
		      MPI_BYTE, e->world->comm);
	err = exchange_memory(e, e->cells, bytes, false, e->far_cells);
	/* Each rank's own line in the others' cells. */
	for (size_t r = 0; r < nranks && !err; r++)
		e->far_cells[r].base += (size_t)e->world->rank * sizeof(*e->cells);
	return err;
}

static size_t queues_each(const struct fb_raw_engine *e)
{
	return (size_t)e->nrails * (size_t)e->settings->qps;
}

int fb_raw_open_completions(struct fb_raw_engine *e)
{
	uint32_t entries = e->depth.completions ? e->depth.completions : SHALLOW;
	int err = FB_OK;

	for (int r = 0; r < e->opened && !err; r++) {
		err = fb_rdma_completions_open(&e->completions[r], &e->rails[r], e->settings,
					       entries);
		e->completions[r].own_receives = true;
		e->completions[r].builds = true;
	}
	return err;
}

/* The least power of two of entries that is enough, and at least `least`, at most `most`. */
static uint32_t entries_for(uint32_t wanted, uint32_t least, uint32_t most)
{
	uint32_t n = SHALLOW;

	while (n < wanted && n < most)
		n *= 2;
	n = n < most ? n : most;
	return n > least ? n : least;
}

/*
 * Makes queues as deep as a job needs, and no deeper. Device and processor pass all entries of a
 * ring before they use one again, so the ring of a job with a single message under way should fit
 * into their caches. A READ of 8 bytes took 2 % longer with 16384 completions and 512 requests
 * (soft-RoCE). *deepened: all queues were closed and have to be connected again; their structures
 * stay where they are. Queues that the connection manager connects are made once, as deep as
 * possible. Collective; the same on all ranks.
 */
static int deepen(struct fb_raw_engine *e, const struct fb_raw_depth *need, bool *deepened)
{
	uint32_t wanted[3] = {need->send, need->receive, need->completions};
	struct fb_raw_depth next;

	MPI_Allreduce(MPI_IN_PLACE, wanted, 3, MPI_UINT32_T, MPI_MAX, e->world->comm);
	for (int i = 0; e->cm && i < 3; i++)
		wanted[i] = UINT32_MAX;
	next = (struct fb_raw_depth){
		.send = entries_for(wanted[0], e->depth.send, e->deepest),
		.receive = entries_for(wanted[1], e->depth.receive, e->deepest),
		.completions = entries_for(wanted[2], e->depth.completions, COMPLETIONS),
	};
	*deepened = next.send > e->depth.send || next.receive > e->depth.receive ||
		    next.completions > e->depth.completions;
	if (!*deepened)
		return FB_OK;
	e->depth = next;
	e->chosen.depth = next.send;
	for (int r = 0; r < e->world->nranks; r++)
		for (size_t i = 0; e->links[r].queues && i < queues_each(e); i++)
			fb_rdma_queue_close(&e->links[r].queues[i]);
	for (int r = 0; r < e->opened; r++)
		fb_rdma_completions_close(&e->completions[r]);
	return fb_raw_open_completions(e);
}

static void close_link(struct fb_raw_engine *e, struct fb_raw_link *link)
{
	for (size_t i = 0; link->queues && i < queues_each(e); i++)
		fb_rdma_queue_close(&link->queues[i]);
	free(link->queues);
	link->queues = NULL;
}

void fb_raw_close_links(struct fb_raw_engine *e)
{
	for (int r = 0; e->links && r < e->world->nranks; r++)
		close_link(e, &e->links[r]);
}

/* Creates the queues to a peer, at the place that lanes point to, and notes their addresses. */
static int make_link(struct fb_raw_engine *e, int peer, struct fb_rdma_address *own)
{
	size_t n = queues_each(e);
	struct fb_rdma_queue *queues = e->links[peer].queues;
	int err = FB_OK;

	if (!queues)
		queues = calloc(n, sizeof(*queues));
	if (!queues)
		return fb_error(FB_ENOMEM, "rdma: out of memory for queues to rank %d", peer);
	e->links[peer].queues = queues;
	for (size_t i = 0; i < n && !err; i++) {
		err = fb_rdma_queue_open(&e->completions[i / e->settings->qps], e->settings,
					 e->depth.receive, &queues[i]);
		if (err)
			break;
		queues[i].peer = peer;
		queues[i].host = e->hosts[peer];
		fb_rdma_queue_address(&queues[i], &own[i]);
	}
	return err || e->qps == e->settings->qps ? err : fb_raw_post_bells(e, peer, FB_RAW_BELLS);
}

/* Exchanges addresses with all peers at the same time; both ends of a pair call it. */
static int swap(const struct fb_raw_engine *e, const int *peers, int n,
		struct fb_rdma_address *own, struct fb_rdma_address *remote)
{
	MPI_Request *requests = calloc(2 * (size_t)n + 1, sizeof(*requests));
	/* MPICH's MPI_STATUSES_IGNORE upsets gcc. */
	MPI_Status *statuses = calloc(2 * (size_t)n + 1, sizeof(*statuses));
	size_t each = queues_each(e);
	int bytes = (int)(each * sizeof(*own));
	int err = fb_group_agree(e->world, requests && statuses ? FB_OK : FB_ENOMEM);

	if (err || !requests || !statuses)
		goto free_requests;
	for (int i = 0; i < n; i++) {
		MPI_Irecv(remote + each * (size_t)i, bytes, MPI_BYTE, peers[i], TAG,
			  e->world->comm, &requests[2 * i]);
		MPI_Isend(own + each * (size_t)i, bytes, MPI_BYTE, peers[i], TAG, e->world->comm,
			  &requests[2 * i + 1]);
	}
	MPI_Waitall(2 * n, requests, statuses);
free_requests:
	free(statuses);
	free(requests);
	return err;
}

static int connect_by_cm(struct fb_raw_engine *e, const int *peers, int n)
{
	struct fb_rdma_queue **queues = calloc((size_t)n + 1, sizeof(struct fb_rdma_queue *));
	const struct fb_rdma_exchange exchange = {
		.world = e->world, .settings = e->settings, .rails = e->rails,
		.nrails = e->nrails, .peers = peers, .queues = queues, .n = n};
	int err = fb_group_agree(e->world, queues ? FB_OK : FB_ENOMEM);

	for (int i = 0; queues && i < n; i++)
		queues[i] = e->links[peers[i]].queues;
	if (!err)
		err = fb_rdma_cm_connect(e->cm, &exchange);
	free(queues);
	return err;
}

/* Returns the options, with the packet class of the job that the link was made for. */
static struct fb_rdma_settings settings_to(const struct fb_raw_engine *e, int peer)
{
	const struct fb_job_class *marks = e->links[peer].class_of_packets;
	struct fb_rdma_settings settings = *e->settings;

	if (marks && marks->service_level >= 0)
		settings.service_level = marks->service_level;
	if (marks && marks->traffic_class >= 0)
		settings.traffic_class = marks->traffic_class;
	return settings;
}

/* Collective. Opens and connects queue pairs to n peers that have none yet. */
static int connect(struct fb_raw_engine *e, const int *peers, int n)
{
	size_t each = queues_each(e), total = each * (size_t)n;
	struct fb_rdma_address *own = calloc(total + 1, sizeof(*own));
	struct fb_rdma_address *remote = calloc(total + 1, sizeof(*remote));
	int err = own && remote ? FB_OK : FB_ENOMEM;

	for (int i = 0; own && i < n && !err; i++)
		err = make_link(e, peers[i], own + each * (size_t)i);
	err = fb_group_agree(e->world, err);
	if (!err && e->cm)
		err = connect_by_cm(e, peers, n);
	else if (!err && own && remote)
		err = swap(e, peers, n, own, remote);
	for (size_t i = 0; own && remote && i < total && !err && !e->cm; i++) {
		const struct fb_rdma_settings settings = settings_to(e, peers[i / each]);

		err = fb_rdma_queue_connect(&e->links[peers[i / each]].queues[i % each],
					    &settings, &own[i], &remote[i]);
	}
	/* It is a barrier too: no rank sends before its peer can receive. */
	err = fb_group_agree(e->world, err);
	for (int i = 0; err && i < n; i++)
		close_link(e, &e->links[peers[i]]);
	free(remote);
	free(own);
	return err;
}

int fb_raw_connect(struct fb_raw_engine *e, const struct fb_job *job, const int *peers, int npeers,
		   const struct fb_raw_depth *need, struct fb_raw_reach *reach)
{
	const struct fb_segment *segment = job->segment;
	size_t nranks = (size_t)e->world->nranks;
	int *missing = calloc(nranks, sizeof(*missing)), n = 0;
	bool *asked = calloc(nranks, sizeof(*asked)), deepened = false;
	int err = fb_group_agree(e->world, missing && asked ? FB_OK : FB_ENOMEM);

	if (!err)
		err = exchange_memory(e, fb_segment_part(segment, e->world->rank),
				      segment->part_bytes, segment->ops->device, reach);
	if (!err)
		err = fb_group_agree(e->world, deepen(e, need, &deepened));
	for (int i = 0; i < npeers && !err && asked; i++)
		asked[peers[i]] = true;
	for (int r = 0; r < e->world->nranks && !err && asked && missing; r++) {
		if (!e->links[r].queues && asked[r])
			e->links[r].class_of_packets = job->class_of_packets;
		if (e->links[r].queues ? deepened : asked[r])
			missing[n++] = r;
	}
	if (!err)
		err = connect(e, missing, n);
	free(asked);
	free(missing);
	return err;
}

#endif
