/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs to peers: made when the first link to a peer is, and kept until the end, because
 * links come and go with every case that is measured. Addresses are exchanged through MPI, or the
 * connection manager finds them.
 */
#include "common/transport/rdma_internal.h"

#if FB_HAVE_VERBS

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/rdma_cm.h"

enum { TAG = 0x7264 };

static size_t queues_each(const struct fb_rdma *rdma)
{
	return (size_t)rdma->nrails * (size_t)rdma->settings->qps;
}

void fb_rdma_part(struct fb_rdma *rdma, int peer)
{
	struct fb_rdma_queue *queues = rdma->peers[peer];

	for (size_t i = 0; queues && i < queues_each(rdma); i++) {
		rdma->nqueues -= queues[i].completions != NULL;
		fb_rdma_queue_close(&queues[i]);
	}
	free(queues);
	rdma->peers[peer] = NULL;
}

/* Makes the queues to a peer and notes their addresses. */
static int make(struct fb_rdma *rdma, int peer, struct fb_rdma_address *own)
{
	size_t n = queues_each(rdma);
	struct fb_rdma_queue *queues = calloc(n, sizeof(*queues));
	int err = FB_OK;

	if (!queues)
		return fb_error(FB_ENOMEM, "rdma: out of memory for queues to rank %d", peer);
	rdma->peers[peer] = queues;
	for (size_t i = 0; i < n && !err; i++) {
		struct fb_rdma_completions *c = &rdma->completions[i / rdma->settings->qps];

		err = fb_rdma_queue_open(c, rdma->settings, rdma->imm ? FB_RDMA_IMM_DEPTH : 0,
					 &queues[i]);
		if (err)
			break;
		rdma->nqueues++;
		queues[i].peer = peer;
		queues[i].host = rdma->hosts[peer];
		fb_rdma_queue_address(&queues[i], &own[i]);
	}
	return err;
}

/* The peers of the ports to which there are no queues yet. Returns how many. */
static int new_peers(const struct fb_rdma *rdma, const struct fb_rdma_port *ports, int n,
		     int *peers)
{
	int count = 0;

	for (int i = 0; i < n; i++) {
		int peer = ports[i].port.peer, k = 0;

		while (k < count && peers[k] != peer)
			k++;
		if (k == count && !rdma->peers[peer])
			peers[count++] = peer;
	}
	return count;
}

/* Exchanges addresses with all peers at once; both ends of a pair know that they connect. */
static int swap(const struct fb_rdma *rdma, const int *peers, int n,
		struct fb_rdma_address *own, struct fb_rdma_address *remote)
{
	MPI_Request *requests = calloc(2 * (size_t)n + 1, sizeof(*requests));
	/* MPICH's MPI_STATUSES_IGNORE upsets gcc. */
	MPI_Status *statuses = calloc(2 * (size_t)n + 1, sizeof(*statuses));
	size_t each = queues_each(rdma);
	int bytes = (int)(each * sizeof(*own));
	int err = requests && statuses ? FB_OK : FB_ENOMEM;

	err = fb_group_agree(rdma->transport.world, err);
	if (err || !requests || !statuses)
		goto free_requests;
	for (int i = 0; i < n; i++) {
		MPI_Irecv(remote + each * (size_t)i, bytes, MPI_BYTE, peers[i], TAG,
			  rdma->transport.world->comm, &requests[2 * i]);
		MPI_Isend(own + each * (size_t)i, bytes, MPI_BYTE, peers[i], TAG,
			  rdma->transport.world->comm, &requests[2 * i + 1]);
	}
	MPI_Waitall(2 * n, requests, statuses);
free_requests:
	free(statuses);
	free(requests);
	return err;
}

static int connect_by_mpi(struct fb_rdma *rdma, const int *peers, int n,
			  struct fb_rdma_address *own, struct fb_rdma_address *remote)
{
	size_t each = queues_each(rdma);
	int err = swap(rdma, peers, n, own, remote);

	for (int i = 0; i < n && !err; i++)
		for (size_t k = 0; k < each && !err; k++)
			err = fb_rdma_queue_connect(&rdma->peers[peers[i]][k], rdma->settings,
						    &own[each * (size_t)i + k],
						    &remote[each * (size_t)i + k]);
	return err;
}

static int connect_by_cm(struct fb_rdma *rdma, const int *peers, int n)
{
	struct fb_rdma_queue **queues = calloc((size_t)n + 1, sizeof(struct fb_rdma_queue *));
	const struct fb_rdma_exchange exchange = {
		.world = rdma->transport.world, .settings = rdma->settings, .rails = rdma->rails,
		.nrails = rdma->nrails, .peers = peers, .queues = queues, .n = n};
	int err = fb_group_agree(exchange.world, queues ? FB_OK : FB_ENOMEM);

	for (int i = 0; queues && i < n; i++)
		queues[i] = rdma->peers[peers[i]];
	if (!err)
		err = fb_rdma_cm_connect(rdma->cm, &exchange);
	free(queues);
	return err;
}

int fb_rdma_connect_queues(struct fb_rdma *rdma, const struct fb_rdma_port *ports, int n)
{
	const struct fb_group *world = rdma->transport.world;
	int *peers = calloc((size_t)n + 1, sizeof(*peers)), count, err = FB_OK;
	struct fb_rdma_address *own = NULL, *remote = NULL;
	size_t each = queues_each(rdma);

	count = peers ? new_peers(rdma, ports, n, peers) : 0;
	own = calloc((size_t)count * each + 1, sizeof(*own));
	remote = calloc((size_t)count * each + 1, sizeof(*remote));
	if (!peers || !own || !remote)
		err = fb_error(FB_ENOMEM, "rdma: out of memory for %d peers", count);
	for (int i = 0; peers && own && i < count && !err; i++)
		err = make(rdma, peers[i], own + each * (size_t)i);
	err = fb_group_agree(world, err);
	if (!err && peers && own && remote)
		err = rdma->cm ? connect_by_cm(rdma, peers, count)
			       : connect_by_mpi(rdma, peers, count, own, remote);
	for (int i = 0; peers && err && i < count; i++)
		fb_rdma_part(rdma, peers[i]);
	free(remote);
	free(own);
	free(peers);
	return err;
}

#endif
