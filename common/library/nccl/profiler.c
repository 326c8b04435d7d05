/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiler plugin of NCCL. The programs contain it for their own calls (watch.h), and any other
 * job can use it as libfabricbench-nccl.so:
 *
 *	NCCL_PROFILER_PLUGIN=/path/libfabricbench-nccl.so FB_NCCL_PROFILE=folder mpirun ...
 *
 * Each rank of each communicator writes folder/nccl-HASH-RANK-PID.csv, a line for each collective,
 * send, receive and copy-engine collective: what ran it, and when the host's part of it began and
 * ended; and the same as a Chrome trace. FB_NCCL_PROFILE_EVENTS=LIST asks for other events, as
 * "collective,proxy_op,proxy_step", or all. FB_NCCL_PROFILE_CHANNELS=1 asks for channels beside
 * the usual ones: each channel of a kernel has a line and a track of its own, timed by the GPU.
 */
#include "common/library/nccl/profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/library/nccl/profiler_record.h"

/* Defined here, so that programs with watch.c are linked with the tables that NCCL looks for. */
const struct fb_nccl_watcher *fb_nccl_watcher;

enum {
	USUAL = FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P | FB_NCCL_EVENT_CE_COLL,
	SINCE_4 = FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P | FB_NCCL_EVENT_GROUP |
		  FB_NCCL_EVENT_PROXY_OP | FB_NCCL_EVENT_PROXY_STEP | FB_NCCL_EVENT_PROXY_CONTROL |
		  FB_NCCL_EVENT_KERNEL_CHANNEL,
	SINCE_5 = SINCE_4 | FB_NCCL_EVENT_GROUP_API | FB_NCCL_EVENT_COLL_API |
		  FB_NCCL_EVENT_P2P_API | FB_NCCL_EVENT_LAUNCH,
	COPIES_PARTS = FB_NCCL_EVENT_CE_SYNC | FB_NCCL_EVENT_CE_BATCH,
	SINCE_6 = SINCE_5 | FB_NCCL_EVENT_CE_COLL | COPIES_PARTS,
};

static const struct {
	const char *name;
	int mask;
} names[] = {
	{"group", FB_NCCL_EVENT_GROUP}, {"collective", FB_NCCL_EVENT_COLL},
	{"p2p", FB_NCCL_EVENT_P2P}, {"proxy_op", FB_NCCL_EVENT_PROXY_OP},
	{"proxy_step", FB_NCCL_EVENT_PROXY_STEP}, {"proxy_control", FB_NCCL_EVENT_PROXY_CONTROL},
	{"channel", FB_NCCL_EVENT_KERNEL_CHANNEL},
	{"api", FB_NCCL_EVENT_GROUP_API | FB_NCCL_EVENT_COLL_API | FB_NCCL_EVENT_P2P_API},
	{"launch", FB_NCCL_EVENT_LAUNCH}, {"copy_engine", FB_NCCL_EVENT_CE_COLL},
	{"copy_parts", COPIES_PARTS},
	{"all", SINCE_6},
};

/* The mask of the events that the two variables name; -1: a name is unknown (printed). */
static int asked(void)
{
	const char *list = getenv("FB_NCCL_PROFILE_EVENTS"), *channels;
	int mask = list ? 0 : USUAL;
	size_t n;

	for (; list && *list; list += n + (list[n] == ',')) {
		int more = 0;

		n = strcspn(list, ",");
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == n && !strncmp(names[i].name, list, n))
				more = names[i].mask;
		if (!more) {
			fprintf(stderr, "fabricbench: FB_NCCL_PROFILE_EVENTS: '%.*s': expected "
				"all, or a list of", (int)n, list);
			for (size_t i = 0; strcmp(names[i].name, "all"); i++)
				fprintf(stderr, "%s %s", i ? "," : "", names[i].name);
			fprintf(stderr, "\n");
			return -1;
		}
		mask |= more;
	}
	channels = getenv("FB_NCCL_PROFILE_CHANNELS");
	if (channels && *channels && *channels != '0')
		mask |= FB_NCCL_EVENT_KERNEL_CHANNEL;
	/* Lines of steps, parts and channels name the event that they belong to. */
	if (mask & FB_NCCL_EVENT_PROXY_STEP)
		mask |= FB_NCCL_EVENT_PROXY_OP;
	if (mask & COPIES_PARTS)
		mask |= FB_NCCL_EVENT_CE_COLL;
	if (mask & (FB_NCCL_EVENT_PROXY_OP | FB_NCCL_EVENT_KERNEL_CHANNEL))
		mask |= FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P;
	return mask;
}

/* Returns 0, or 2 (ncclSystemError): NCCL then goes on without the plugin. */
static int open_profile(void **context, int *mask, int known, uint64_t hash, int rank)
{
	struct fb_nccl_profile *profile = NULL;
	int events = fb_nccl_watcher ? known : asked(), err;

	*context = NULL;
	*mask = 0;
	if (events < 0)
		return 2;
	events &= known;
	err = fb_nccl_profile_open(&profile, hash, rank, events, (events & ~USUAL) != 0);
	if (err)
		return err;
	*context = profile;
	if (fb_nccl_watcher)
		fb_nccl_watcher->opened(mask, known);
	else
		*mask = events;
	return 0;
}

static int init_1(void **context, int *mask)
{
	return open_profile(context, mask, FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P, 0, -1);
}

#define UNUSED (void)name, (void)nodes, (void)ranks, (void)log

static int init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes,
		  int ranks, int rank, void (*log)(void))
{
	UNUSED;
	return open_profile(context, mask, SINCE_4, hash, rank);
}

static int init_5(void **context, uint64_t hash, int *mask, const char *name, int nodes,
		  int ranks, int rank, void (*log)(void))
{
	UNUSED;
	return open_profile(context, mask, SINCE_5, hash, rank);
}

static int init_6(void **context, uint64_t hash, int *mask, const char *name, int nodes,
		  int ranks, int rank, void (*log)(void))
{
	UNUSED;
	return open_profile(context, mask, SINCE_6, hash, rank);
}

/* Begins an event of the rank that NCCL names; rank -1 stands for the communicator's rank. */
#define RECORD(rank_, peer_, ...)                                                                  \
	fb_nccl_record_begin(context, handle, &(struct fb_nccl_record){                            \
		.rank = (rank_), .peer = (peer_), .channel = -1, .step = -1,                       \
		.parent = number_of(e->parent), __VA_ARGS__})

static uint64_t number_of(const struct fb_nccl_record *parent)
{
	return parent ? parent->number : 0;
}

/* The line of a channel has the members of its call, which may be NULL, and its own. */
static int begin_channel(void *context, void **handle, const struct fb_nccl_record *call, int rank,
			 int channel, uint64_t start)
{
	struct fb_nccl_record e =
		call ? *call : (struct fb_nccl_record){.func = "unknown", .rank = rank, .peer = -1};

	e.kind = "channel";
	e.leaf = true;
	e.parent = number_of(call);
	e.step = -1;
	e.channel = channel;
	e.gpu_start = start;
	return fb_nccl_record_begin(context, handle, &e);
}

/* An operation of the proxy. */
static int begin_proxy(void *context, void **handle, const struct fb_nccl_record *call, int rank,
		       const struct fb_nccl_proxy *proxy)
{
	return fb_nccl_record_begin(context, handle, &(struct fb_nccl_record){
		.kind = proxy->sends ? "proxy send" : "proxy receive", .leaf = true,
		.func = call ? call->func : "unknown", .datatype = call ? call->datatype : NULL,
		.algorithm = call ? call->algorithm : NULL,
		.protocol = call ? call->protocol : NULL,
		.count = call ? call->count : 0, .rank = rank, .peer = proxy->peer,
		.channel = proxy->channel, .step = -1, .steps = proxy->steps,
		.bytes = (uint64_t)proxy->chunk_bytes, .parent = call ? call->number : 0});
}

/* A step of such an operation, which lasts longer than its steps. */
static int begin_step(void *context, void **handle, const struct fb_nccl_record *op, int rank,
		      int step)
{
	struct fb_nccl_record e =
		op ? *op : (struct fb_nccl_record){.func = "unknown", .rank = rank, .peer = -1,
						   .channel = -1};

	e.kind = "proxy step";
	e.leaf = true;
	e.step = step;
	e.steps = 0;
	e.bytes = 0;
	e.parent = number_of(op);
	return fb_nccl_record_begin(context, handle, &e);
}

/* A part of a copy-engine collective, which lasts longer than its parts. */
static int begin_copies(void *context, void **handle, const struct fb_nccl_record *call, int rank,
			const char *kind, int copies, uint64_t bytes)
{
	struct fb_nccl_record e =
		call ? *call : (struct fb_nccl_record){.func = "unknown", .rank = rank, .peer = -1,
						       .channel = -1};

	e.kind = kind;
	e.leaf = true;
	e.parent = number_of(call);
	e.step = -1;
	e.batches = 0;
	e.steps = copies;
	e.bytes = bytes;
	return fb_nccl_record_begin(context, handle, &e);
}

/*
 * Whether the event belongs to this process. With PXN this process sends another rank's messages,
 * and NCCL passes that rank's context, which is a pointer of the other process. Steps of such an
 * operation have no parent, as the operation got no handle.
 */
#define OWN_2(e) true
#define OWN_3(e) true
#define OWN_4(e)                                                                                   \
	(((e)->type != FB_NCCL_EVENT_PROXY_OP || (e)->proxy.pid == getpid()) &&                    \
	 ((e)->type != FB_NCCL_EVENT_PROXY_STEP || (e)->parent))
#define OWN_6(e) OWN_4(e)
#define OWN_7(e) OWN_4(e)

/* The members have the same names in all versions, but not the same offsets. */
#define START(version)                                                                             \
	static int start_##version(void *context, void **handle, void *event)                      \
	{                                                                                          \
		const struct fb_nccl_event_##version *e = event;                                   \
                                                                                                   \
		*handle = NULL;                                                                    \
		if (!OWN_##version(e) || !fb_nccl_profile_wants(context, (int)e->type))            \
			return 0;                                                                  \
		if (e->type == FB_NCCL_EVENT_COLL)                                                 \
			return RECORD(e->rank, -1,                                                 \
				.kind = "collective", .func = e->coll.func,                        \
				.datatype = e->coll.datatype, .count = e->coll.count,              \
				.algorithm = e->coll.algorithm, .protocol = e->coll.protocol,      \
				.channels = e->coll.channels, COLL_MORE_##version);                \
		if (e->type == FB_NCCL_EVENT_P2P)                                                  \
			return RECORD(e->rank, e->p2p.peer,                                        \
				.kind = "p2p", .func = e->p2p.func,                                \
				.datatype = e->p2p.datatype, .count = e->p2p.count,                \
				.channels = P2P_CHANNELS_##version, .tag = TAG_##version(p2p));    \
		CHANNEL_##version                                                                  \
		return OTHER_##version;                                                            \
	}
#define CHANNEL_2
#define CHANNEL_3
#define CHANNEL_4                                                                                  \
	if (e->type == FB_NCCL_EVENT_KERNEL_CHANNEL)                                               \
		return begin_channel(context, handle, e->parent, e->rank, e->channel.id,           \
				     e->channel.start);                                            \
	if (e->type == FB_NCCL_EVENT_PROXY_OP)                                                     \
		return begin_proxy(context, handle, e->parent, e->rank, &e->proxy);                \
	if (e->type == FB_NCCL_EVENT_PROXY_STEP)                                                   \
		return begin_step(context, handle, e->parent, e->rank, e->step.step);              \
	if (e->type == FB_NCCL_EVENT_PROXY_CONTROL)                                                \
		return RECORD(-1, -1, .kind = "proxy control", .leaf = true);                      \
	if (e->type == FB_NCCL_EVENT_GROUP)                                                        \
		return RECORD(-1, -1, .kind = "group");
#define CHANNEL_6                                                                                  \
	CHANNEL_4                                                                                  \
	if (e->type == FB_NCCL_EVENT_GROUP_API)                                                    \
		return RECORD(-1, -1, .kind = "group call");                                       \
	if (e->type == FB_NCCL_EVENT_COLL_API)                                                     \
		return RECORD(-1, -1, .kind = "collective call", .func = e->coll_api.func,         \
			      .datatype = e->coll_api.datatype, .count = e->coll_api.count);       \
	if (e->type == FB_NCCL_EVENT_P2P_API)                                                      \
		return RECORD(-1, -1, .kind = "p2p call", .func = e->p2p_api.func,                 \
			      .datatype = e->p2p_api.datatype, .count = e->p2p_api.count);         \
	if (e->type == FB_NCCL_EVENT_LAUNCH)                                                       \
		return RECORD(-1, -1, .kind = "launch", .leaf = true);
#define CHANNEL_7 CHANNEL_6
#define P2P_CHANNELS_2 0
#define P2P_CHANNELS_3 0
#define P2P_CHANNELS_4 e->p2p.channels
#define P2P_CHANNELS_6 e->p2p.channels
#define P2P_CHANNELS_7 e->p2p.channels
#define COLL_MORE_2 .tag = 0
#define COLL_MORE_3 .tag = 0
#define COLL_MORE_4 .tag = 0
#define COLL_MORE_6 .tag = 0
#define COLL_MORE_7 .tag = e->coll.tag, .kernel = e->coll.kernel
#define TAG_2(what) 0
#define TAG_3(what) 0
#define TAG_4(what) 0
#define TAG_6(what) 0
#define TAG_7(what) e->what.tag
#define OTHER_2 0
#define OTHER_3 0
#define OTHER_4 0
#define COPIES(version)                                                                            \
	e->type == FB_NCCL_EVENT_CE_SYNC ?                                                         \
		begin_copies(context, handle, e->parent, e->rank,                                  \
			     e->ce_wait.complete ? "copy complete" : "copy ready", 0, 0)           \
	: e->type == FB_NCCL_EVENT_CE_BATCH ?                                                      \
		begin_copies(context, handle, e->parent, e->rank, "copy batch",                    \
			     e->ce_batch.copies, e->ce_batch.bytes)                                \
	: e->type != FB_NCCL_EVENT_CE_COLL ? 0 : RECORD(e->rank, -1,                               \
		.kind = "copy engine", .func = e->ce.func, .datatype = e->ce.datatype,             \
		.count = e->ce.count, .algorithm = "copyengine", .batches = e->ce.batches,         \
		.tag = TAG_##version(ce))
#define OTHER_6 COPIES(6)
#define OTHER_7 COPIES(7)

START(2)
START(3)
START(4)
START(6)
START(7)

/* Version 1 has numbers where later ones have these names. */
static const char *const functions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
					"AllReduce", "SendRecv", "Send", "Recv"};
static const char *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN",
					 "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};
static const char *const datatypes[] = {"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32",
					"ncclInt64", "ncclUint64", "ncclFloat16", "ncclFloat32",
					"ncclFloat64", "ncclBfloat16"};

#define NAME(names, number)                                                                        \
	((number) < sizeof(names) / sizeof((names)[0]) ? (names)[number] : "unknown")

static int start_1(void *context, void **handle, void *event)
{
	const struct fb_nccl_event_1 *e = event;

	*handle = NULL;
	if (e->type == FB_NCCL_EVENT_COLL)
		return RECORD(e->rank, -1,
			.kind = "collective", .func = NAME(functions, e->coll.func),
			.datatype = NAME(datatypes, e->coll.datatype), .count = e->coll.count,
			.algorithm = NAME(algorithms, e->coll.algorithm),
			.protocol = NAME(protocols, e->coll.protocol),
			.channels = e->coll.channels);
	if (e->type == FB_NCCL_EVENT_P2P)
		return RECORD(e->rank, e->p2p.peer,
			.kind = "p2p", .func = NAME(functions, e->p2p.func),
			.datatype = NAME(datatypes, e->p2p.datatype), .count = e->p2p.count);
	return 0;
}

static int finalize(void *context)
{
	return fb_nccl_profile_close(context);
}

#define PROFILER(version, init_, start_)                                                           \
	extern const struct fb_nccl_profiler ncclProfiler_v##version;                              \
	const struct fb_nccl_profiler ncclProfiler_v##version = {                                  \
		.name = "fabricbench", .init = (void (*)(void))(init_), .start = (start_),         \
		.stop = fb_nccl_record_end, .state = fb_nccl_record_state, .finalize = finalize}

PROFILER(1, init_1, start_1);
PROFILER(2, init_1, start_2);
PROFILER(3, init_1, start_3);
PROFILER(4, init_4, start_4);
PROFILER(5, init_5, start_6);
PROFILER(6, init_6, start_6);
PROFILER(7, init_6, start_7);
