/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends of a queue pair agree on an InfiniBand partition, whatever their ports' tables of keys
 * hold, and are refused where they have none in common. What options ask of a queue pair (retries,
 * timeout, READs, service level) reaches the device. The verbs are made up here.
 */
#include "common/transport/rdma_queue.h"

#include "tests/unit/check.h"

#if FB_HAVE_VERBS

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "common/base/error.h"

enum { LINES = 4 };

/* A device of its own for each end, and what its queue pair was told. */
struct end {
	struct ibv_context context; /* first: what the library hands over is cast */
	uint16_t keys[LINES];
	struct ibv_qp qp;
	struct ibv_pd pd;
	struct ibv_cq cq;
	int index; /* of the partition, now */
	struct ibv_qp_attr receive, send; /* of the last steps to RTR and to RTS */
	bool ready;
};

static struct end *opened; /* by the next call of open_device() */

static struct ibv_device **get_device_list(int *n)
{
	static struct ibv_device device, *list[] = {&device, NULL};

	(void)n;
	return list;
}

static void free_device_list(struct ibv_device **list)
{
	(void)list;
}

static const char *get_device_name(struct ibv_device *device)
{
	(void)device;
	return "made_up_0";
}

static struct ibv_context *open_device(struct ibv_device *device)
{
	(void)device;
	return &opened->context;
}

static int close_device(struct ibv_context *context)
{
	(void)context;
	return 0;
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){.max_qp_wr = 1024, .max_cqe = 1024, .max_sge = 4,
					 .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16,
					 .phys_port_cnt = 1};
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr)
{
	(void)context;
	(void)number;
	*attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE, .active_mtu = IBV_MTU_4096,
				       .link_layer = IBV_LINK_LAYER_INFINIBAND, .lid = 7,
				       .pkey_tbl_len = LINES, .max_msg_sz = 1u << 30,
				       .active_width = 2, .active_speed = 32};
	return 0;
}

static int query_pkey(struct ibv_context *context, uint8_t number, int index, uint16_t *key)
{
	(void)number;
	*key = htons(((struct end *)context)->keys[index]);
	return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
	struct end *end = (struct end *)context;

	end->pd.context = context;
	return &end->pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

static struct ibv_cq *create_cq(struct ibv_context *context, int entries, void *arg,
				struct ibv_comp_channel *channel, int vector)
{
	(void)entries;
	(void)arg;
	(void)channel;
	(void)vector;
	return &((struct end *)context)->cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct end *end = (struct end *)pd->context;

	(void)attr;
	end->qp.context = pd->context;
	return &end->qp;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct end *end = (struct end *)qp->context;

	if (mask & IBV_QP_PKEY_INDEX)
		end->index = attr->pkey_index;
	end->ready |= attr->qp_state == IBV_QPS_RTS;
	if (attr->qp_state == IBV_QPS_RTR)
		end->receive = *attr;
	if (attr->qp_state == IBV_QPS_RTS)
		end->send = *attr;
	/* A real device refuses a line that is empty, and so does this one. */
	return end->keys[end->index] & FB_RDMA_PARTITION ? 0 : EINVAL;
}

static int destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	return 0;
}

static const struct fb_verbs verbs = {
	.get_device_list = get_device_list, .free_device_list = free_device_list,
	.get_device_name = get_device_name, .open_device = open_device,
	.close_device = close_device, .query_device = query_device, .query_port = query_port,
	.query_pkey = query_pkey, .alloc_pd = alloc_pd, .dealloc_pd = dealloc_pd,
	.create_cq = create_cq, .destroy_cq = destroy_cq, .create_qp = create_qp,
	.modify_qp = modify_qp, .destroy_qp = destroy_qp,
};

/* Connects the ends as two ranks do, each by what the other has told. Returns end 0's error. */
static int connect_ends(const uint16_t keys[2][LINES], const struct fb_rdma_settings *settings,
			struct end end[2])
{
	struct fb_rdma_rail rail[2][FB_RDMA_RAILS];
	struct fb_rdma_completions completions[2];
	static struct fb_rdma_queue queue[2];
	struct fb_rdma_address address[2];
	int err[2] = {0, 0}, n;
	char why[256] = "";

	memset(end, 0, 2 * sizeof(*end));
	for (int i = 0; i < 2; i++) {
		opened = &end[i];
		memcpy(end[i].keys, keys[i], sizeof(end[i].keys));
		CHECK_INT(fb_rdma_rails_open(&verbs, settings, rail[i], &n, why, sizeof(why)), 0);
		CHECK_INT(fb_rdma_completions_open(&completions[i], rail[i], settings, 64), 0);
		CHECK_INT(fb_rdma_queue_open(&completions[i], settings, 0, &queue[i]), 0);
		fb_rdma_queue_address(&queue[i], &address[i]);
	}
	for (int i = 0; i < 2; i++)
		err[i] = fb_rdma_queue_connect(&queue[i], settings, &address[i], &address[1 - i]);
	CHECK_INT(err[0], err[1]);
	for (int i = 0; i < 2; i++) {
		CHECK(end[i].ready == !err[i]);
		fb_rdma_queue_close(&queue[i]);
		fb_rdma_completions_close(&completions[i]);
		fb_rdma_rails_close(rail[i], 1);
	}
	return err[0];
}

/* The keys of the two ports, and the key that each end uses then. */
static const struct {
	uint16_t keys[2][LINES], used[2];
} agreed[] = {
	{{{0xffff}, {0xffff}}, {0xffff, 0xffff}},
	/* Each end's first full member is another partition. */
	{{{0xffff, 0x8001}, {0x7fff, 0x8001}}, {0x8001, 0x8001}},
	/* A limited member reaches a full one. */
	{{{0xffff, 0x8002}, {0x7fff, 0x8001}}, {0xffff, 0x7fff}},
	/* Empty lines in front, and the common partition on unlike lines. */
	{{{0, 0x7fff, 0x0001, 0x8003}, {0x8003, 0x8001}}, {0x8003, 0x8003}},
	/* Both orders of the same two partitions: the lower number. */
	{{{0x8005, 0x8004}, {0x8004, 0x8005}}, {0x8004, 0x8004}},
	/* One port has two keys of a partition. */
	{{{0x0001, 0x8001}, {0x0001}}, {0x8001, 0x0001}},
};

static const uint16_t refused[][2][LINES] = {
	{{0x7fff}, {0x7fff, 0x0001}}, /* two limited members */
	{{0x8001, 0x8002}, {0xffff, 0x8003}},
	{{0x8000, 0x8001}, {0x8000, 0x8002}}, /* 0 is no partition */
};

/* What both ends' devices are told. The made-up ones have 16 READs under way at most. */
static void check_options(void)
{
	static const uint16_t keys[2][LINES] = {{0xffff}, {0xffff}};
	struct fb_rdma_settings s = fb_rdma_defaults;
	struct end end[2];

	s.timeout = 9;
	s.retry = 2;
	s.rnr_retry = 5;
	s.service_level = 6;
	for (s.reads = 3; s.reads <= 30; s.reads += 27) {
		CHECK_INT(connect_ends(keys, &s, end), FB_OK);
		for (int i = 0; i < 2; i++) {
			CHECK_INT(end[i].send.timeout, 9);
			CHECK_INT(end[i].send.retry_cnt, 2);
			CHECK_INT(end[i].send.rnr_retry, 5);
			CHECK_INT(end[i].send.max_rd_atomic, s.reads < 16 ? s.reads : 16);
			CHECK_INT(end[i].receive.max_dest_rd_atomic, s.reads < 16 ? s.reads : 16);
			CHECK_INT(end[i].receive.ah_attr.sl, 6);
		}
	}
}

/* The same of queue pairs that the connection manager connects, for a step to RTS of its. */
static void check_tune(void)
{
	struct fb_rdma_rail rail = {.device = {.max_qp_rd_atom = 8, .max_qp_init_rd_atom = 4}};
	struct fb_rdma_completions completions = {.rail = &rail};
	struct fb_rdma_queue queue = {.completions = &completions};
	struct fb_rdma_settings s = fb_rdma_defaults;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .max_rd_atomic = 2,
				   .retry_cnt = 7, .ah_attr = {.sl = 1}};

	s.timeout = 9;
	s.retry = 2;
	s.rnr_retry = 5;
	s.service_level = 6;
	fb_rdma_queue_tune(&queue, &s, &attr);
	CHECK_INT(attr.timeout, 9);
	CHECK_INT(attr.retry_cnt, 2);
	CHECK_INT(attr.rnr_retry, 5);
	CHECK_INT(attr.ah_attr.sl, 6);
	CHECK_INT(attr.max_dest_rd_atomic, 8);
	CHECK_INT(attr.max_rd_atomic, 2); /* the peer answers no more */
	s.reads = 1;
	fb_rdma_queue_tune(&queue, &s, &attr);
	CHECK_INT(attr.max_dest_rd_atomic, 1);
	CHECK_INT(attr.max_rd_atomic, 1);
}

int main(void)
{
	struct end end[2];

	check_options();
	check_tune();
	for (size_t i = 0; i < sizeof(agreed) / sizeof(agreed[0]); i++)
		if (CHECK_INT(connect_ends(agreed[i].keys, &fb_rdma_defaults, end), FB_OK))
			for (int k = 0; k < 2; k++)
				CHECK_INT(end[k].keys[end[k].index], agreed[i].used[k]);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK_INT(connect_ends(refused[i], &fb_rdma_defaults, end), FB_EINPUT);
	return check_done("rdma partition");
}

#else

int main(void)
{
	printf("SKIP rdma partition: built without libibverbs headers\n");
	return 77;
}

#endif
