/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and connecting queue pairs; see rdma_queue.h. */
#include "common/transport/rdma_queue.h"

#if FB_HAVE_VERBS

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/error.h"
#include "common/transport/rdma_error.h"

enum {
	PSN_MASK = 0xffffff,
	HOPS = 64,
	MIN_RNR_TIMER = 12, /* 0.64 ms */
};

int fb_rdma_completions_open(struct fb_rdma_completions *completions,
			     const struct fb_rdma_rail *rail,
			     const struct fb_rdma_settings *settings, uint32_t entries)
{
	uint32_t most = rail->device.max_cqe > 0 ? (uint32_t)rail->device.max_cqe : entries;
	struct fb_rdma_completions c = {.rail = rail, .watch = fb_rdma_watch_begin(settings)};
	char hint[160];

	c.entries = entries < most ? entries : most;
	c.room = c.entries;
	if (fb_rdma_sleeps(settings)) {
		c.channel = rail->verbs->create_comp_channel(rail->context);
		if (!c.channel)
			return fb_error(FB_ESYS, "rdma: %s gives no channel for events: %s",
					rail->name, strerror(errno));
	}
	c.cq = rail->verbs->create_cq(rail->context, (int)c.entries, NULL, c.channel, 0);
	if (!c.cq) {
		fb_rdma_limit_hint(errno, hint, sizeof(hint));
		fb_error(FB_ESYS, "rdma: %s gives no completion queue of %u entries: %s%s",
			 rail->name, c.entries, strerror(errno), hint);
		if (c.channel)
			rail->verbs->destroy_comp_channel(c.channel);
		return FB_ESYS;
	}
	*completions = c;
	return FB_OK;
}

void fb_rdma_completions_close(struct fb_rdma_completions *completions)
{
	if (completions->cq)
		completions->rail->verbs->destroy_cq(completions->cq);
	if (completions->channel)
		completions->rail->verbs->destroy_comp_channel(completions->channel);
	free(completions->queues);
	memset(completions, 0, sizeof(*completions));
}

/* Finds a free index among the rail's queues. */
static int find_index(struct fb_rdma_completions *c, struct fb_rdma_queue *queue)
{
	struct fb_rdma_queue **more;
	uint32_t i = 0, room;

	while (i < c->nqueues && c->queues[i])
		i++;
	if (i == c->max_queues) {
		room = c->max_queues ? 2 * c->max_queues : 16;
		more = realloc(c->queues, room * sizeof(*more));
		if (!more)
			return fb_error(FB_ENOMEM, "rdma: out of memory for %u queues", room);
		c->queues = more;
		c->max_queues = room;
	}
	if (i == c->nqueues)
		c->nqueues++;
	c->queues[i] = queue;
	queue->index = i;
	return FB_OK;
}

/*
 * A queue pair with the extended interface (ibv_qp_ex), by which requests can be built before they
 * are posted. NULL where the caller does not want it, or library or device do not have it.
 */
static struct ibv_qp *create_builder(struct fb_rdma_queue *queue,
				     struct ibv_qp_init_attr *attr)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	struct verbs_context *more = verbs_get_ctx_op(rail->context, create_qp_ex);
	struct ibv_qp_init_attr_ex extended = {
		.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .cap = attr->cap,
		.qp_type = attr->qp_type, .pd = rail->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ,
	};
	struct ibv_qp *qp;

	if (rail->device.atomic_cap != IBV_ATOMIC_NONE)
		extended.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

	queue->builder = NULL;
	if (!queue->completions->builds || !more || !rail->verbs->qp_to_qp_ex)
		return NULL;
	qp = more->create_qp_ex(rail->context, &extended);
	if (!qp)
		return NULL;
	attr->cap = extended.cap; /* what was granted */
	queue->builder = rail->verbs->qp_to_qp_ex(qp);
	return qp;
}

/* Creates the queue pair, by tries with less inline data: a device refuses instead of cutting. */
static int create(struct fb_rdma_queue *queue, const struct fb_rdma_settings *s)
{
	struct fb_rdma_completions *c = queue->completions;
	const struct fb_rdma_rail *rail = c->rail;
	uint32_t most = (uint32_t)rail->device.max_qp_wr;
	uint32_t inline_bytes = (uint32_t)s->inline_bytes, sges = (uint32_t)s->sges;
	struct ibv_qp_init_attr attr;
	char hint[160];

	for (;; inline_bytes /= 2) {
		attr = (struct ibv_qp_init_attr){
			.send_cq = c->cq, .recv_cq = c->cq, .qp_type = IBV_QPT_RC,
			.cap = {.max_send_wr = s->depth < most ? (uint32_t)s->depth : most,
				.max_recv_wr = queue->recv_depth ? queue->recv_depth : 1,
				.max_send_sge = sges, .max_recv_sge = sges,
				.max_inline_data = inline_bytes},
		};
		queue->qp = create_builder(queue, &attr);
		if (!queue->qp)
			queue->qp = rail->verbs->create_qp(rail->pd, &attr);
		if (queue->qp || (errno != EINVAL && errno != ENOMEM) || inline_bytes < 16)
			break;
	}
	if (!queue->qp) {
		fb_rdma_limit_hint(errno, hint, sizeof(hint));
		return fb_error(FB_ESYS, "rdma: %s gives no further queue pair, after %u: %s%s "
				"(fewer: --rdma-qps, --channels; smaller: --rdma-depth)",
				rail->name, c->nqueues - 1, strerror(errno), hint);
	}
	queue->depth = attr.cap.max_send_wr < s->depth ? attr.cap.max_send_wr : (uint32_t)s->depth;
	queue->max_inline = attr.cap.max_inline_data < s->inline_bytes ? attr.cap.max_inline_data
								      : (uint32_t)s->inline_bytes;
	if (queue->max_inline < sizeof(uint64_t))
		return fb_error(FB_ESYS, "rdma: %s carries no 8 bytes inline", rail->name);
	/* At most half a queue is unsignalled in a row, so that such requests never fill it. */
	queue->signal = (uint32_t)s->signal < queue->depth / 2 ? (uint32_t)s->signal
							       : queue->depth / 2;
	queue->batch = (uint32_t)s->batch;
	queue->sges = sges;
	return FB_OK;
}

/*
 * The state INIT needs some partition, before the peer's are known: the first one where this port
 * is a member at all. The next state sets the one that both ends have.
 */
static int to_init(struct fb_rdma_queue *queue)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = rail->number,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	int line = 0;

	while (line < FB_RDMA_PKEYS && !(rail->pkeys[line] & FB_RDMA_PARTITION))
		line++;
	queue->pkey_index = line % FB_RDMA_PKEYS;
	attr.pkey_index = (uint16_t)queue->pkey_index;
	return rail->verbs->modify_qp(queue->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				      IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int post_receives(struct fb_rdma_queue *queue)
{
	struct ibv_recv_wr wr = {.wr_id = UINT64_MAX}, *bad;
	struct fb_rdma_completions *c = queue->completions;
	int error = 0;

	if (c->room <= queue->recv_depth)
		return fb_error(FB_ESYS, "rdma: %s: no room for the completions of %u receives",
				c->rail->name, queue->recv_depth);
	for (uint32_t i = 0; i < queue->recv_depth && !error; i++)
		error = ibv_post_recv(queue->qp, &wr, &bad);
	if (error)
		return fb_error(FB_ESYS, "rdma: %s: receives cannot be posted: %s", c->rail->name,
				strerror(error));
	c->room -= queue->recv_depth;
	return FB_OK;
}

int fb_rdma_queue_open(struct fb_rdma_completions *completions,
		       const struct fb_rdma_settings *settings, uint32_t recv_depth,
		       struct fb_rdma_queue *queue)
{
	int err, error;

	memset(queue, 0, sizeof(*queue));
	queue->completions = completions;
	queue->peer = -1;
	queue->recv_depth = recv_depth;
	err = find_index(completions, queue);
	if (err) {
		queue->completions = NULL;
		return err;
	}
	err = create(queue, settings);
	if (err)
		goto close_queue;
	error = to_init(queue);
	if (error) {
		err = fb_error(FB_ESYS, "rdma: %s: a queue pair cannot be initialised: %s",
			       completions->rail->name, strerror(error));
		goto close_queue;
	}
	err = completions->own_receives ? FB_OK : post_receives(queue);
	if (completions->own_receives || err)
		queue->recv_depth = 0; /* no room was reserved for their completions */
	if (!err)
		return FB_OK;
close_queue:
	fb_rdma_queue_close(queue);
	return err;
}

void fb_rdma_queue_close(struct fb_rdma_queue *queue)
{
	if (!queue->completions)
		return;
	if (queue->qp) {
		queue->completions->rail->verbs->destroy_qp(queue->qp);
		queue->completions->room += queue->recv_depth;
	}
	queue->completions->queues[queue->index] = NULL;
	memset(queue, 0, sizeof(*queue));
}

void fb_rdma_queue_address(const struct fb_rdma_queue *queue, struct fb_rdma_address *address)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	uint32_t psn;

	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != (ssize_t)sizeof(psn))
		psn = queue->qp->qp_num * 2654435761u;
	*address = (struct fb_rdma_address){
		.qpn = queue->qp->qp_num, .psn = psn & PSN_MASK, .mtu = (uint32_t)rail->mtu,
		.reads = (uint32_t)rail->device.max_qp_rd_atom,
		.lid = rail->port.lid, .ethernet = rail->ethernet,
	};
	memcpy(address->gid, rail->gid, sizeof(address->gid));
	memcpy(address->pkeys, rail->pkeys, sizeof(address->pkeys));
}

void fb_rdma_queue_set_pkey(const struct fb_rdma_queue *queue, int index, struct ibv_qp_attr *attr,
			    int *mask)
{
	attr->pkey_index = (uint16_t)index;
	if (index != queue->pkey_index)
		*mask |= IBV_QP_PKEY_INDEX;
}

static int to_rtr(struct fb_rdma_queue *queue, const struct fb_rdma_settings *s, uint32_t mtu,
		  int pkey_index, const struct fb_rdma_address *peer)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	int reads = s->reads < rail->device.max_qp_rd_atom ? s->reads : rail->device.max_qp_rd_atom;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_256, .dest_qp_num = peer->qpn,
		.rq_psn = peer->psn, .max_dest_rd_atomic = (uint8_t)reads,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = {.port_num = rail->number, .dlid = peer->lid,
			    .sl = (uint8_t)s->service_level},
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	while (attr.path_mtu < IBV_MTU_4096 && (128u << attr.path_mtu) < mtu)
		attr.path_mtu++;
	/* Other subnets, and every address of Ethernet, need the global header. */
	if (rail->gid_index >= 0) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.sgid_index = (uint8_t)rail->gid_index;
		attr.ah_attr.grh.hop_limit = HOPS;
		attr.ah_attr.grh.traffic_class = (uint8_t)s->traffic_class;
		memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	}
	fb_rdma_queue_set_pkey(queue, pkey_index, &attr, &mask);
	return rail->verbs->modify_qp(queue->qp, &attr, mask);
}

/* READs are limited to what the peer's device answers at once: more would break its queue pair. */
static int to_rts(struct fb_rdma_queue *queue, const struct fb_rdma_settings *s, uint32_t psn,
		  int answered)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	int most = rail->device.max_qp_init_rd_atom < answered ? rail->device.max_qp_init_rd_atom
							       : answered;
	int reads = s->reads < most ? s->reads : most;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = psn, .timeout = (uint8_t)s->timeout,
		.retry_cnt = (uint8_t)s->retry, .rnr_retry = (uint8_t)s->rnr_retry,
		.max_rd_atomic = (uint8_t)reads,
	};

	return rail->verbs->modify_qp(queue->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				      IBV_QP_MAX_QP_RD_ATOMIC);
}

void fb_rdma_queue_tune(const struct fb_rdma_queue *queue, const struct fb_rdma_settings *s,
			struct ibv_qp_attr *attr)
{
	const struct ibv_device_attr *d = &queue->completions->rail->device;
	int in = s->reads < d->max_qp_rd_atom ? s->reads : d->max_qp_rd_atom;
	int out = s->reads < d->max_qp_init_rd_atom ? s->reads : d->max_qp_init_rd_atom;

	attr->max_dest_rd_atomic = (uint8_t)in;
	/* In the step to RTS max_rd_atomic is what the peer answers at once: no more than that. */
	if (attr->qp_state != IBV_QPS_RTS || out < attr->max_rd_atomic)
		attr->max_rd_atomic = (uint8_t)out;
	attr->min_rnr_timer = MIN_RNR_TIMER;
	attr->timeout = (uint8_t)s->timeout;
	attr->retry_cnt = (uint8_t)s->retry;
	attr->rnr_retry = (uint8_t)s->rnr_retry;
	if (s->service_level)
		attr->ah_attr.sl = (uint8_t)s->service_level;
	if (s->traffic_class)
		attr->ah_attr.grh.traffic_class = (uint8_t)s->traffic_class;
}

int fb_rdma_queue_connect(struct fb_rdma_queue *queue, const struct fb_rdma_settings *settings,
			  const struct fb_rdma_address *own, const struct fb_rdma_address *peer)
{
	const struct fb_rdma_rail *rail = queue->completions->rail;
	uint32_t mtu = own->mtu < peer->mtu ? own->mtu : peer->mtu;
	int pkey_index = fb_rdma_choose_pkey(own->pkeys, peer->pkeys), error;
	char gid[FB_RDMA_GID_TEXT], keys[2][64];

	if (own->ethernet != peer->ethernet)
		return fb_error(FB_EINPUT, "rdma: %s:%d is %s and rank %d's port is not: name "
				"ports of one fabric by --rdma-device", rail->name, rail->number,
				own->ethernet ? "Ethernet" : "InfiniBand", queue->peer);
	if (pkey_index < 0)
		return fb_error(FB_EINPUT, "rdma: %s:%d and rank %d's port have no common "
				"partition, so no packet would pass: the keys are %s here and %s "
				"there (the low 15 bits have to be the same, and bit 15, a full "
				"member, has to be set at one end)", rail->name, rail->number,
				queue->peer,
				fb_rdma_pkeys_text(own->pkeys, keys[0], sizeof(keys[0])),
				fb_rdma_pkeys_text(peer->pkeys, keys[1], sizeof(keys[1])));
	if (settings->mtu && own->mtu != peer->mtu)
		return fb_error(FB_EINPUT, "rdma: rank %d uses an MTU of %u, this rank %u: give "
				"all the same --rdma-mtu", queue->peer, peer->mtu, own->mtu);
	error = to_rtr(queue, settings, mtu, pkey_index, peer);
	if (error)
		return fb_error(FB_ESYS, "rdma: %s:%d cannot reach rank %d at %s: %s (is there a "
				"route to that address from this port?)", rail->name, rail->number,
				queue->peer, fb_rdma_gid_text(peer->gid, gid), strerror(error));
	error = to_rts(queue, settings, own->psn, (int)peer->reads);
	if (error)
		return fb_error(FB_ESYS, "rdma: %s:%d: the connection to rank %d cannot be used: "
				"%s", rail->name, rail->number, queue->peer, strerror(error));
	return FB_OK;
}

#endif
