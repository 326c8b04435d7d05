/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of connecting every rank with every other, until each has received a message from each,
 * and of disconnecting again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/transport/rdma.h"
#include "common/transport/tcp.h"
#include "p2p/cost/cost.h"

enum { SLOTS = 8, SLOT_BYTES = 64 << 10, MESSAGE = 8 };

static bool can_connect(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	if (context->world->nranks > 1)
		return true;
	snprintf(reason, FB_REASON_CHARS, "a connection needs two ranks");
	return false;
}

static bool can_share(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	if (!can_connect(context, reason))
		return false;
	if (context->world->nnodes == 1)
		return true;
	snprintf(reason, FB_REASON_CHARS, "shm does not reach the other node");
	return false;
}

/* Sends the first message of every sending port; there is always a slot for it. */
static void say_hello(const struct fb_group *world, struct fb_port *const *ports, int n)
{
	for (int i = 0; i < n; i += 2) {
		void *slot = ports[i]->ops->acquire(ports[i], MESSAGE);

		memset(slot, world->rank & 0xff, MESSAGE);
		ports[i]->ops->commit(ports[i], MESSAGE);
	}
}

/* Takes the messages that have arrived and sets their ports to NULL; *left counts the others. */
static int receive_hello(struct fb_port **ports, int n, int *left)
{
	for (int i = 1; i < n; i += 2) {
		const unsigned char *slot = NULL;

		if (ports[i])
			slot = ports[i]->ops->peek(ports[i], MESSAGE);
		if (!slot)
			continue;
		if (*slot != (ports[i]->peer & 0xff))
			return fb_error(FB_EDATA, "rank %d answers for rank %d", *slot,
					ports[i]->peer);
		ports[i]->ops->release(ports[i]);
		ports[i] = NULL;
		(*left)--;
	}
	return FB_OK;
}

/* ports: a sending and a receiving one for each peer; the receiving ones become NULL. */
static int exchange(struct fb_cost_context *context, struct fb_transport *transport,
		    struct fb_port **ports, int n)
{
	struct fb_spin spin = {.yields = context->world->oversubscribed};
	int err = FB_OK, left = n / 2;

	say_hello(context->world, ports, n);
	while (left && !err) {
		int before = left;

		err = receive_hello(ports, n, &left);
		if (!err && transport->ops->progress)
			err = transport->ops->progress(transport);
		if (left == before && !err && fb_spin_again(&spin))
			err = fb_alive(context->session, "waiting for the first messages");
	}
	return err;
}

/* Opens the transport, connects all ranks, and closes it again. */
static int connect_by(struct fb_cost_context *context, const struct fb_transport_ops *ops,
		      int (*open)(struct fb_cost_context *, struct fb_transport **))
{
	const struct fb_group *world = context->world;
	int n = 2 * (world->nranks - 1), err, at = 0;
	struct fb_link_request *requests = calloc((size_t)n + 1, sizeof(*requests));
	struct fb_port **ports = calloc((size_t)n + 1, sizeof(*ports));
	struct fb_port **waiting = calloc((size_t)n + 1, sizeof(*waiting));
	struct fb_transport *transport = NULL;

	err = fb_group_agree(world, requests && ports && waiting ? FB_OK : FB_ENOMEM);
	for (int peer = 0; peer < world->nranks && !err && requests; peer++)
		for (int receives = 0; receives < 2 && peer != world->rank; receives++)
			requests[at++] = (struct fb_link_request){
				.peer = peer, .sends = !receives, .slots = SLOTS,
				.slot_bytes = SLOT_BYTES, .protocol = "simple"};
	if (!err)
		err = open ? open(context, &transport) : ops->open(&transport, world);
	if (!err)
		err = ops->connect(transport, requests, n, ports);
	if (!err && waiting && ports) {
		memcpy(waiting, ports, (size_t)n * sizeof(*waiting));
		err = exchange(context, transport, waiting, n);
		/* No rank disconnects while others wait for its message. */
		MPI_Barrier(world->comm);
		ops->disconnect(transport, ports, n);
	}
	if (transport)
		ops->close(transport);
	free(waiting);
	free(ports);
	free(requests);
	return err;
}

static int connect_shm(struct fb_cost_context *context)
{
	return connect_by(context, &fb_transport_shm, NULL);
}

/* With the options of the command line. */
static int open_tcp(struct fb_cost_context *context, struct fb_transport **transport)
{
	return fb_tcp_open(transport, context->world, &context->settings->tcp);
}

static int connect_tcp(struct fb_cost_context *context)
{
	return connect_by(context, &fb_transport_tcp, open_tcp);
}

static int open_rdma(struct fb_cost_context *context, struct fb_transport **transport)
{
	char why[FB_REASON_CHARS];

	return fb_rdma_open(transport, context->world, &context->settings->rdma, why,
			    sizeof(why));
}

static int connect_rdma(struct fb_cost_context *context)
{
	return connect_by(context, &fb_transport_rdma, open_rdma);
}

static bool can_connect_rdma(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	return fb_cost_can_rdma(context, reason) && can_connect(context, reason);
}

/* A new communicator, and a message to and from everybody in it. */
static int make_communicator(struct fb_cost_context *context)
{
	MPI_Comm comm;
	int n = context->world->nranks, err;
	unsigned char *bytes = malloc(2 * (size_t)n);

	if (!bytes)
		return FB_ENOMEM;
	memset(bytes, context->world->rank & 0xff, (size_t)n);
	err = MPI_Comm_dup(context->world->comm, &comm);
	if (err == MPI_SUCCESS)
		err = MPI_Alltoall(bytes, 1, MPI_BYTE, bytes + n, 1, MPI_BYTE, comm);
	for (int i = 0; i < n && err == MPI_SUCCESS; i++)
		if (bytes[n + i] != (i & 0xff))
			err = MPI_ERR_OTHER;
	if (err == MPI_SUCCESS)
		err = MPI_Comm_free(&comm);
	free(bytes);
	return err == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

const struct fb_cost fb_connection_costs[] = {
	{.engine = "host", .operation = "connect_shm", .transport = "shm", .can = can_share,
	 .act = connect_shm},
	{.engine = "host", .operation = "connect_tcp", .transport = "tcp", .can = can_connect,
	 .act = connect_tcp},
	{.engine = "host", .operation = "connect_rdma", .transport = "rdma",
	 .can = can_connect_rdma, .act = connect_rdma},
	{.engine = "rdma", .operation = "queue_pairs", .transport = "rdma",
	 .can = can_connect_rdma, .begin = FB_COST_RDMA(fb_cost_begin_queues),
	 .end = FB_COST_RDMA(fb_cost_end_rdma), .act = FB_COST_RDMA(fb_cost_connect_queues)},
	{.engine = "mpi", .operation = "communicator", .transport = "library",
	 .act = make_communicator},
	{.operation = NULL},
};
