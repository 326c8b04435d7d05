/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes all connections at once, driven by the connection manager's events. For each queue pair:
 *
 *	lower    address resolved -> route resolved -> request sent -> accepted: RTS, established
 *	higher   request received: RTS, accept sent -> established
 *
 * The higher rank's queue pair can receive before it accepts, so the lower rank may send at once.
 */
#include "common/transport/rdma_cm_internal.h"

#include "common/base/error.h"

#if FB_HAVE_RDMACM

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	STEP_MS = 4000, /* finding an address or a route */
	ALL_S = 60,     /* connecting with all peers */
	LOOK_MS = 100,
	HELLO = 0x66626d63,
};

/* The data that each end sends about itself, with the request or the answer. Plain bytes. */
struct hello {
	uint32_t magic, rank, queue, mtu;
};

/*
 * Moves the queue pair from INIT to RTR to RTS, over the path and in the partition that the manager
 * has found. `mtu`: the peer's, in bytes.
 */
static int raise_queue(const struct fb_rdma_cm *cm, struct rdma_cm_id *id,
		       struct fb_rdma_queue *queue, const struct fb_rdma_settings *s, uint32_t mtu)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	struct ibv_qp_attr first = {.qp_state = IBV_QPS_INIT};
	int unused, unknown = cm->c.init_qp_attr(id, &first, &unused) ? errno : 0;

	mtu = (uint32_t)rail->mtu < mtu ? (uint32_t)rail->mtu : mtu;
	for (enum ibv_qp_state state = IBV_QPS_RTR; state <= IBV_QPS_RTS; state++) {
		struct ibv_qp_attr attr = {.qp_state = state};
		int mask = 0, error = unknown;

		if (!error && cm->c.init_qp_attr(id, &attr, &mask))
			error = errno;

		if (!error && state == IBV_QPS_RTR && rail->ethernet &&
		    attr.ah_attr.grh.sgid_index != rail->gid_index)
			return fb_error(FB_EINPUT, "rdma: %s:%d: the connection manager takes "
					"address %d, not %d: use --rdma-gid-index %d", rail->name,
					rail->number, attr.ah_attr.grh.sgid_index, rail->gid_index,
					attr.ah_attr.grh.sgid_index);
		for (attr.path_mtu = IBV_MTU_256;
		     attr.path_mtu < IBV_MTU_4096 && (128u << attr.path_mtu) < mtu;)
			attr.path_mtu++;
		fb_rdma_queue_tune(queue, s, &attr);
		if (state == IBV_QPS_RTR)
			fb_rdma_queue_set_pkey(queue, first.pkey_index, &attr, &mask);
		if (!error)
			error = rail->verbs->modify_qp(queue->qp, &attr, mask);
		if (error)
			return fb_error(FB_ESYS, "rdma: %s:%d: the queue pair to rank %d cannot be "
					"connected: %s", rail->name, rail->number, queue->peer,
					strerror(error));
	}
	return FB_OK;
}

/* An exchange under way. */
struct session {
	struct fb_rdma_cm *cm;
	const struct fb_rdma_exchange *m;
	int left;
};

static size_t queues_each(const struct fb_rdma_exchange *m)
{
	return (size_t)m->nrails * (size_t)m->settings->qps;
}

/* Parameters of a request or an answer, whose `hello` has to stay. */
static struct rdma_conn_param param_of(const struct session *s, const struct fb_rdma_queue *queue,
				       const struct hello *hello)
{
	const struct ibv_device_attr *d = &queue->completions->rail->device;
	int reads = s->m->settings->reads;

	return (struct rdma_conn_param){
		.private_data = hello, .private_data_len = sizeof(*hello),
		.responder_resources =
			(uint8_t)(reads < d->max_qp_rd_atom ? reads : d->max_qp_rd_atom),
		.initiator_depth =
			(uint8_t)(reads < d->max_qp_init_rd_atom ? reads : d->max_qp_init_rd_atom),
		.retry_count = (uint8_t)s->m->settings->retry,
		.rnr_retry_count = (uint8_t)s->m->settings->rnr_retry,
		.qp_num = queue->qp->qp_num,
	};
}

static struct hello hello_of(const struct session *s, const struct fb_rdma_queue *queue, size_t k)
{
	return (struct hello){.magic = HELLO, .rank = (uint32_t)s->m->world->rank,
			      .queue = (uint32_t)k,
			      .mtu = (uint32_t)queue->completions->rail->mtu};
}

/* The exchange's index of the peer, or -1. */
static int find_peer(const struct fb_rdma_exchange *m, uint32_t rank)
{
	for (int i = 0; i < m->n; i++)
		if (m->peers[i] == (int)rank)
			return i;
	return -1;
}

static int call(struct session *s, struct rdma_cm_id *id)
{
	struct fb_rdma_queue *queue = id->context;
	int i = find_peer(s->m, (uint32_t)queue->peer);
	struct hello hello = hello_of(s, queue, (size_t)(queue - s->m->queues[i]));
	struct rdma_conn_param param = param_of(s, queue, &hello);

	return s->cm->c.connect(id, &param) ? errno : 0;
}

/* A connection request of a lower rank: accepts it. */
static int answer(struct session *s, struct rdma_cm_id *id, const struct hello *hello)
{
	int i = hello->magic == HELLO ? find_peer(s->m, hello->rank) : -1;
	int err = fb_rdma_cm_keep(s->cm, id);
	struct fb_rdma_queue *queue;
	struct rdma_conn_param param;
	struct hello own;

	if (err)
		return err;
	if (i < 0 || hello->queue >= queues_each(s->m))
		return fb_error(FB_EPEER, "rdma: a stranger called through the connection manager");
	queue = &s->m->queues[i][hello->queue];
	id->context = queue;
	err = raise_queue(s->cm, id, queue, s->m->settings, hello->mtu);
	own = hello_of(s, queue, hello->queue);
	param = param_of(s, queue, &own);
	if (!err && s->cm->c.accept(id, &param))
		err = fb_error(FB_ESYS, "rdma: rank %d cannot be answered: %s", queue->peer,
			       strerror(errno));
	return err;
}

/* The higher rank has accepted. */
static int finish(struct session *s, struct rdma_cm_id *id, const struct hello *hello)
{
	struct fb_rdma_queue *queue = id->context;
	int err;

	if (hello->magic != HELLO || hello->rank != (uint32_t)queue->peer)
		return fb_error(FB_EPEER, "rdma: not rank %d but a stranger has answered",
				queue->peer);
	err = raise_queue(s->cm, id, queue, s->m->settings, hello->mtu);
	if (!err && s->cm->c.establish(id))
		err = fb_error(FB_ESYS, "rdma: the connection to rank %d cannot be used: %s",
			       queue->peer, strerror(errno));
	s->left--;
	return err;
}


/* The data that an event's sender gave about itself; zeroes if it gave none. */
static struct hello hello_in(const struct rdma_cm_event *event)
{
	struct hello hello = {0};

	if (event->param.conn.private_data && event->param.conn.private_data_len >= sizeof(hello))
		memcpy(&hello, event->param.conn.private_data, sizeof(hello));
	return hello;
}

static int complain(const struct session *s, const struct rdma_cm_event *event)
{
	const struct fb_rdma_queue *queue = event->id->context;

	return fb_error(FB_EPEER, "rdma: rank %d cannot be reached through the connection manager: "
			"%s (status %d): is there a route between the ports' IP addresses, and "
			"nothing that filters?", queue ? queue->peer : -1,
			s->cm->c.event_str(event->event), event->status);
}

static int handle(struct session *s, const struct rdma_cm_event *event)
{
	const struct hello hello = hello_in(event);
	int error = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		error = s->cm->c.resolve_route(event->id, STEP_MS) ? errno : 0;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		error = call(s, event->id);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return answer(s, event->id, &hello);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return finish(s, event->id, &hello);
	case RDMA_CM_EVENT_ESTABLISHED:
		s->left--;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return complain(s, event);
	default: /* belongs to a connection that was given up */
		break;
	}
	if (!error)
		return FB_OK;
	return fb_error(FB_ESYS, "rdma: the connection manager does not go on: %s",
			strerror(error));
}

/* Begins to connect one queue to its peer. */
static int begin(struct session *s, struct fb_rdma_queue *queue, int rail)
{
	union fb_rdma_ip from, to = s->cm->all[(size_t)queue->peer * FB_RDMA_RAILS + (size_t)rail];
	struct rdma_cm_id *id = NULL;
	int err;

	if (s->cm->c.create_id(s->cm->channel, &id, queue, RDMA_PS_TCP))
		return fb_error(FB_ESYS, "rdma: no connection for rank %d: %s", queue->peer,
				strerror(errno));
	err = fb_rdma_cm_keep(s->cm, id);
	if (!err)
		err = fb_rdma_rail_ip(&s->m->rails[rail], &from);
	if (err)
		return err;
	if (s->cm->c.resolve_addr(id, &from.any, &to.any, STEP_MS))
		return fb_error(FB_ESYS, "rdma: rank %d has an address that %s:%d cannot reach: "
				"%s", queue->peer, s->m->rails[rail].name,
				s->m->rails[rail].number, strerror(errno));
	return FB_OK;
}

static int run(struct session *s)
{
	time_t end = time(NULL) + ALL_S;
	int err = FB_OK;

	while (s->left > 0 && !err) {
		struct pollfd fd = {.fd = s->cm->channel->fd, .events = POLLIN};
		struct rdma_cm_event *event = NULL;

		if (time(NULL) > end)
			return fb_error(FB_EPEER, "rdma: %d queue pairs were not connected through "
					"the connection manager within %d s", s->left, ALL_S);
		if (poll(&fd, 1, LOOK_MS) < 1)
			continue;
		if (s->cm->c.get_cm_event(s->cm->channel, &event))
			return fb_error(FB_ESYS, "rdma: the connection manager gives no event: %s",
					strerror(errno));
		err = handle(s, event);
		s->cm->c.ack_cm_event(event);
	}
	return err;
}

int fb_rdma_cm_connect(struct fb_rdma_cm *cm, const struct fb_rdma_exchange *exchange)
{
	size_t each = queues_each(exchange);
	struct session s = {.cm = cm, .m = exchange, .left = exchange->n * (int)each};
	int err = fb_rdma_cm_listen(cm, exchange);

	for (int i = 0; i < exchange->n && !err; i++)
		for (size_t k = 0; k < each && !err && exchange->peers[i] > exchange->world->rank;
		     k++)
			err = begin(&s, &exchange->queues[i][k],
				    (int)(k / exchange->settings->qps));
	return err ? err : run(&s);
}

#elif FB_HAVE_VERBS

int fb_rdma_cm_connect(struct fb_rdma_cm *cm, const struct fb_rdma_exchange *exchange)
{
	(void)cm;
	(void)exchange;
	return FB_EUNSUPPORTED;
}

#endif
