/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls; see calls.h. Counts are elements, as NCCL has them, never bytes. */
#include "collectives/engine/nccl/calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/library/nccl/defaults.h"

int fb_nccl_call_open(struct fb_nccl_call *call, const struct fb_nccl *nccl,
		      const struct fb_operation *op, int rank, int nranks, bool grouped)
{
	size_t n = (size_t)nranks + 1;
	uint64_t *first = calloc(2 * n, sizeof(*first));

	if (!first)
		return fb_error(FB_ENOMEM, "out of memory for the blocks of %d ranks", nranks);
	for (int b = 0; b <= nranks; b++) {
		first[b] = fb_buffers_first(op, false, rank, b);
		first[n + (size_t)b] = fb_buffers_first(op, true, rank, b);
	}
	*call = (struct fb_nccl_call){
		.nccl = nccl, .op = op, .rank = rank, .nranks = nranks, .grouped = grouped,
		.first_in = first, .first_out = first + n,
	};
	return FB_OK;
}

void fb_nccl_call_close(struct fb_nccl_call *call)
{
	free(call->first_in);
	*call = (struct fb_nccl_call){.nccl = NULL};
}

/* Arguments of NCCL's functions. */
#define IN(c) fb_operation_in((c)->op, (c)->rank)
#define OUT(c) fb_operation_out((c)->op, (c)->rank)
#define COUNT(c) ((size_t)(c)->op->count)
#define TYPE(c) fb_nccl_type((c)->op->datatype)
#define OP(c) fb_nccl_op((c)->op->redop)

/* Calls ncclNAME, or ncclNAMEConfig if the call is configured. */
#define CALL(c, name, ...)                                                                         \
	((c)->configured ? (c)->nccl->name##Config(__VA_ARGS__, stream, &(c)->config)              \
			 : (c)->nccl->name(__VA_ARGS__, stream))

static int all_reduce(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, AllReduce, IN(c), OUT(c), COUNT(c), TYPE(c), OP(c), c->comm);
}

static int all_gather(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, AllGather, IN(c), OUT(c), COUNT(c), TYPE(c), c->comm);
}

static int reduce_scatter(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, ReduceScatter, IN(c), OUT(c), COUNT(c), TYPE(c), OP(c), c->comm);
}

static int broadcast(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, Broadcast, IN(c), OUT(c), COUNT(c), TYPE(c), c->op->root, c->comm);
}

static int reduce(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, Reduce, IN(c), OUT(c), COUNT(c), TYPE(c), OP(c), c->op->root, c->comm);
}

static int all_to_all(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, AlltoAll, IN(c), OUT(c), COUNT(c), TYPE(c), c->comm);
}

static int gather(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, Gather, IN(c), OUT(c), COUNT(c), TYPE(c), c->op->root, c->comm);
}

static int scatter(const struct fb_nccl_call *c, void *stream)
{
	return CALL(c, Scatter, IN(c), OUT(c), COUNT(c), TYPE(c), c->op->root, c->comm);
}

/* Sends a block of the input to the peer. */
static int send_block(const struct fb_nccl_call *c, int peer, int block, void *stream)
{
	size_t first = (size_t)c->first_in[block];
	size_t count = (size_t)c->first_in[block + 1] - first;
	const char *from = IN(c);

	return c->nccl->Send(from + first * fb_datatype_size(c->op->datatype), count, TYPE(c),
			     peer, c->comm, stream);
}

static int receive_block(const struct fb_nccl_call *c, int peer, int block, void *stream)
{
	size_t first = (size_t)c->first_out[block];
	size_t count = (size_t)c->first_out[block + 1] - first;
	char *to = OUT(c);

	return c->nccl->Recv(to + first * fb_datatype_size(c->op->datatype), count, TYPE(c),
			     peer, c->comm, stream);
}

/* Blocks of the operation that this rank sends to a peer and gets from it: -1 for none. */
static void blocks_with(const struct fb_nccl_call *c, int peer, int *sent, int *received)
{
	int n = c->nranks, root = c->op->root;

	*sent = *received = -1;
	switch (c->op->collective) {
	case FB_ALL_TO_ALL:
	case FB_ALL_TO_ALL_V:
		*sent = *received = peer;
		break;
	case FB_GATHER:
		*sent = peer == root ? 0 : -1;
		*received = c->rank == root ? peer : -1;
		break;
	case FB_SCATTER:
		*sent = c->rank == root ? peer : -1;
		*received = peer == root ? 0 : -1;
		break;
	case FB_SEND_RECV:
		*sent = peer == (c->rank + 1) % n ? 0 : -1;
		*received = peer == (c->rank + n - 1) % n ? 0 : -1;
		break;
	default:
		break;
	}
}

/*
 * All sends and receives in one group, which NCCL makes one launch: the order of peers does not
 * matter. Blocks that both sides know to be empty are left out, and in place the root's own block.
 */
static int group(const struct fb_nccl_call *c, void *stream)
{
	int code = c->nccl->GroupStart(), end;

	for (int i = 0; i < c->nranks && !code; i++) {
		int peer = (c->rank + i) % c->nranks, sent, received;

		blocks_with(c, peer, &sent, &received);
		if (c->op->in_place && peer == c->rank)
			continue;
		if (sent >= 0 && c->first_in[sent + 1] > c->first_in[sent])
			code = send_block(c, peer, sent, stream);
		if (!code && received >= 0 && c->first_out[received + 1] > c->first_out[received])
			code = receive_block(c, peer, received, stream);
	}
	end = c->nccl->GroupEnd();
	return code ? code : end;
}

/*
 * Unequal blocks: a broadcast of each that is not empty, or a reduction, in one group. NCCL may
 * fuse broadcasts (2.29).
 */
static int each_block(const struct fb_nccl_call *c, void *stream)
{
	bool reduces = c->op->collective == FB_REDUCE_SCATTER_V;
	const uint64_t *first = reduces ? c->first_in : c->first_out;
	size_t size = fb_datatype_size(c->op->datatype);
	int code = c->nccl->GroupStart(), end;
	char *in = IN(c), *out = OUT(c);

	for (int root = 0; root < c->nranks && !code; root++) {
		size_t at = (size_t)first[root] * size;
		size_t count = (size_t)(first[root + 1] - first[root]);

		if (count && reduces)
			code = CALL(c, Reduce, in + at, out, count, TYPE(c), OP(c), root, c->comm);
		else if (count)
			code = CALL(c, Broadcast, root == c->rank ? in : out + at, out + at, count,
				    TYPE(c), root, c->comm);
	}
	end = c->nccl->GroupEnd();
	return code ? code : end;
}

static const struct {
	const char *name;
	int (*call)(const struct fb_nccl_call *c, void *stream); /* NULL: grouped only */
} calls[FB_COLLECTIVES] = {
	[FB_ALL_REDUCE] = {"AllReduce", all_reduce},
	[FB_ALL_GATHER] = {"AllGather", all_gather},
	[FB_REDUCE_SCATTER] = {"ReduceScatter", reduce_scatter},
	[FB_BROADCAST] = {"Broadcast", broadcast},
	[FB_REDUCE] = {"Reduce", reduce},
	[FB_ALL_TO_ALL] = {"AlltoAll", all_to_all},
	[FB_ALL_GATHER_V] = {"Broadcast in a group", each_block},
	[FB_REDUCE_SCATTER_V] = {"Reduce in a group", each_block},
	[FB_GATHER] = {"Gather", gather},
	[FB_SCATTER] = {"Scatter", scatter},
};

/* Whether the call is made of sends and receives. */
static bool is_grouped(const struct fb_nccl *nccl, enum fb_collective collective, bool grouped)
{
	if (!calls[collective].call)
		return true;
	if (collective == FB_ALL_TO_ALL)
		return grouped || !nccl->AlltoAll;
	if (collective == FB_GATHER)
		return grouped || !nccl->Gather;
	return collective == FB_SCATTER && (grouped || !nccl->Scatter);
}

bool fb_nccl_call_can(const struct fb_nccl *nccl, const struct fb_operation *op, bool grouped,
		      char *reason, size_t n)
{
	const struct fb_collective_info *info = fb_collective_info(op->collective);
	bool exchanges = op->collective == FB_ALL_TO_ALL || op->collective == FB_ALL_TO_ALL_V ||
			 op->collective == FB_SEND_RECV;
	char version[FB_NCCL_NAME_CHARS];

	if (op->collective == FB_BARRIER)
		snprintf(reason, n, "NCCL has no barrier");
	else if (op->in_place && exchanges)
		snprintf(reason, n, "NCCL has no %s in place", info->name);
	else if (info->reduces && op->redop == FB_AVG && nccl->version < 21003)
		snprintf(reason, n, "NCCL %s has no avg", fb_nccl_version_text(nccl, version));
	else if (!fb_nccl_can_type(nccl, op->datatype, reason, n))
		return false;
	else
		return !is_grouped(nccl, op->collective, grouped) ||
		       fb_nccl_has(nccl, FB_NCCL_POINT_TO_POINT, reason, n);
	return false;
}

bool fb_nccl_call_can_on(const struct fb_operation *op, int least_major, char *reason, size_t n)
{
	if (!fb_collective_info(op->collective)->reduces || least_major >= 9 ||
	    (op->datatype != FB_F8E4M3 && op->datatype != FB_F8E5M2))
		return true;
	snprintf(reason, n, "NCCL reduces %s on GPUs from 9.0 on only",
		 fb_datatype_name(op->datatype));
	return false;
}

bool fb_nccl_call_can_configure(const struct fb_nccl *nccl, const struct fb_operation *op,
				bool grouped, char *reason, size_t n)
{
	if (!fb_nccl_has(nccl, FB_NCCL_CALL_CONFIGS, reason, n))
		return false;
	if (!is_grouped(nccl, op->collective, grouped))
		return true;
	snprintf(reason, n, "NCCL's sends and receives take no configuration of a call");
	return false;
}

bool fb_nccl_call_may_copy(const struct fb_nccl_call *call, enum fb_nccl_registration how,
			   const char *settings)
{
	const char *policy = fb_nccl_setting(settings, "NCCL_CTA_POLICY");

	/* The variable goes before the option. Later versions than 2.28 take words, too. */
	return how == FB_NCCL_WINDOW_COPY || (how == FB_NCCL_WINDOW &&
	       (policy ? *policy != '0' && *policy != '1'
		       : call->op->ctas.policy == FB_NCCL_CTA_POLICY_ZERO + 1));
}

bool fb_nccl_call_sends(const struct fb_nccl_call *call, enum fb_nccl_registration how,
			const char *settings)
{
	enum fb_collective what = call->op->collective;

	if (is_grouped(call->nccl, what, call->grouped))
		return true;
	if (what != FB_ALL_TO_ALL && what != FB_GATHER && what != FB_SCATTER)
		return false;
	return how == FB_NCCL_NONE || how == FB_NCCL_REGISTERED ||
	       (call->nccl->version < 23100 && !fb_nccl_call_may_copy(call, how, settings));
}

bool fb_nccl_ctas_can(const struct fb_nccl *nccl, const struct fb_nccl_ctas *ctas, char *reason,
		      size_t n)
{
	if (ctas->max && ctas->min > ctas->max) {
		snprintf(reason, n, "fewest CTAs (%d) are more than most (%d)", ctas->min,
			 ctas->max);
		return false;
	}
	if ((ctas->min || ctas->max || ctas->cluster) &&
	    !fb_nccl_has(nccl, FB_NCCL_CTA_LIMITS, reason, n))
		return false;
	if (ctas->policy == FB_NCCL_CTA_POLICY_ZERO + 1)
		return fb_nccl_has(nccl, FB_NCCL_COPY_ENGINES, reason, n);
	return !ctas->policy || fb_nccl_has(nccl, FB_NCCL_CTA_POLICIES, reason, n);
}

void fb_nccl_call_configure(struct fb_nccl_call *call, const struct fb_nccl_algo_proto *choice,
			    int channels)
{
	const struct fb_nccl_ctas *ctas = &call->op->ctas;
	int both = channels ? channels : FB_NCCL_UNDEFINED_INT;

	fb_nccl_selection(choice, call->selection);
	call->configured = true;
	call->config = (struct fb_nccl_call_config){
		.size = sizeof(call->config), .magic = FB_NCCL_CONFIG_MAGIC,
		.version = FB_NCCL_CALL_CONFIG_VERSION, .min_ctas = ctas->min ? ctas->min : both,
		.max_ctas = ctas->max ? ctas->max : both,
		.nvls_ctas = FB_NCCL_UNDEFINED_INT,
		.cga_cluster_size = fb_nccl_cluster_number(ctas),
		.selection = *call->selection ? call->selection : NULL,
		.selection_forced = 1, .cta_policy = fb_nccl_policy_number(ctas),
	};
}

const char *fb_nccl_call_name(const struct fb_nccl *nccl, const struct fb_operation *op,
			      bool grouped)
{
	return is_grouped(nccl, op->collective, grouped) ? "Send and ncclRecv"
							 : calls[op->collective].name;
}

int fb_nccl_call_enqueue(const struct fb_nccl_call *c, void *stream)
{
	bool grouped = is_grouped(c->nccl, c->op->collective, c->grouped);
	int code = grouped ? group(c, stream) : calls[c->op->collective].call(c, stream);

	return fb_nccl_error(c->nccl, c->comm, code,
			     fb_nccl_call_name(c->nccl, c->op, c->grouped));
}
