/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiler plugin of NCCL for any job: libfabricbench-nccl.so, by
 *
 *	NCCL_PROFILER_PLUGIN=/path/libfabricbench-nccl.so FB_NCCL_PROFILE=folder mpirun ...
 *
 * Each rank of each communicator writes folder/nccl-HASH-RANK-PID.csv, a line for each collective,
 * send, receive and copy-engine collective: what ran it, and when the host's part of it began and
 * ended; and the same as a Chrome trace. With FB_NCCL_PROFILE_CHANNELS=1 each channel of a kernel
 * has a line and a track of its own, timed by the GPU. NCCL may call from several threads.
 */
#include "common/library/nccl/profiler.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct context {
	pthread_mutex_t lock;
	FILE *csv, *trace;
	int rank;
	bool first;
	/* [RECENT] calls, to which channels belong later; NULL: nobody asks for channels */
	struct event *recent;
	size_t calls;
};

enum { RECENT = 8192 }; /* more than launches that a stream can hold */

struct event {
	struct context *context;
	const char *kind, *func, *datatype, *algorithm, *protocol, *kernel;
	size_t count;
	uint64_t tag;
	int rank, channels, peer;
	unsigned batches;
	double start_us;
	bool of_channel; /* `channel` of the call's kernel; ns of the GPU's timer, 0: not known */
	int channel;
	uint64_t gpu_start, gpu_end;
	bool kept; /* among the recent ones */
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static FILE *create(const char *ending, uint64_t hash, int rank)
{
	const char *folder = getenv("FB_NCCL_PROFILE");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/nccl-%llx-%d-%d.%s", folder ? folder : ".",
		 (unsigned long long)hash, rank, (int)getpid(), ending);
	return fopen(path, "w");
}

/* 0, or 2, which is ncclSystemError: NCCL then goes on without the plugin. */
static int open_context(void **result, int *mask, uint64_t hash, int rank)
{
	struct context *c = calloc(1, sizeof(*c));

	*result = NULL;
	*mask = 0;
	if (!c)
		return 2;
	c->csv = create("csv", hash, rank);
	c->trace = create("json", hash, rank);
	if (!c->csv || !c->trace) {
		if (c->csv)
			fclose(c->csv);
		free(c);
		return 2;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->rank = rank;
	c->first = true;
	fputs("rank,kind,function,count,datatype,algorithm,protocol,channels,peer,batches,"
	      "start_us,end_us,channel,gpu_us,kernel,tag\n", c->csv);
	fputs("[", c->trace);
	*mask = FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P | FB_NCCL_EVENT_CE_COLL;
	*result = c;
	return 0;
}

static int init_1(void **context, int *mask)
{
	int err = open_context(context, mask, (uint64_t)now_us(), -1);

	*mask &= ~FB_NCCL_EVENT_CE_COLL;
	return err;
}

static int init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes,
		  int ranks, int rank, void (*log)(void))
{
	const char *channels = getenv("FB_NCCL_PROFILE_CHANNELS");
	int err = open_context(context, mask, hash, rank);
	struct context *c = *context;

	(void)name;
	(void)nodes;
	(void)ranks;
	(void)log;
	*mask &= ~FB_NCCL_EVENT_CE_COLL;
	if (c && channels && *channels && *channels != '0')
		c->recent = calloc(RECENT, sizeof(*c->recent));
	if (c && c->recent)
		*mask |= FB_NCCL_EVENT_KERNEL_CHANNEL;
	return err;
}

static int init_5(void **context, uint64_t hash, int *mask, const char *name, int nodes,
		  int ranks, int rank, void (*log)(void))
{
	return init_4(context, mask, name, hash, nodes, ranks, rank, log);
}

static int init_6(void **context, uint64_t hash, int *mask, const char *name, int nodes,
		  int ranks, int rank, void (*log)(void))
{
	int err = init_5(context, hash, mask, name, nodes, ranks, rank, log);

	if (!err)
		*mask |= FB_NCCL_EVENT_CE_COLL;
	return err;
}

/* Room for an event: its own, or for calls that channels will ask for, that of an old one. */
static struct event *room(struct context *c, bool of_channel)
{
	struct event *e;

	if (!c || !c->recent || of_channel)
		return calloc(1, sizeof(*e));
	pthread_mutex_lock(&c->lock);
	e = &c->recent[c->calls++ % RECENT];
	pthread_mutex_unlock(&c->lock);
	return e;
}

/* The texts are NCCL's, of static storage. Without memory the event is not written. */
static int begin(void *context, void **handle, const struct event *what)
{
	struct context *c = context;
	struct event *e = room(c, what->of_channel);

	*handle = e;
	if (!e)
		return 0;
	*e = *what;
	e->context = c;
	e->kept = c && c->recent && !what->of_channel;
	e->start_us = now_us();
	return 0;
}

/* What the call was, and the channel's own. `call` may be NULL. */
static int begin_channel(void *context, void **handle, const struct event *call, int rank,
			 int channel, uint64_t start)
{
	struct event e = call ? *call : (struct event){.func = "unknown", .rank = rank, .peer = -1};

	e.kind = "channel";
	e.of_channel = true;
	e.channel = channel;
	e.gpu_start = start;
	return begin(context, handle, &e);
}

/* In all versions the members have the same names, not the same places. */
#define START(version)                                                                             \
	static int start_##version(void *context, void **handle, void *event)                      \
	{                                                                                          \
		const struct fb_nccl_event_##version *e = event;                                   \
                                                                                                   \
		*handle = NULL;                                                                    \
		if (e->type == FB_NCCL_EVENT_COLL)                                                 \
			return begin(context, handle, &(struct event){                             \
				.kind = "collective", .func = e->coll.func,                        \
				.datatype = e->coll.datatype, .count = e->coll.count,              \
				.algorithm = e->coll.algorithm, .protocol = e->coll.protocol,      \
				.channels = e->coll.channels, .rank = e->rank, .peer = -1,         \
				COLL_MORE_##version});                                             \
		if (e->type == FB_NCCL_EVENT_P2P)                                                  \
			return begin(context, handle, &(struct event){                             \
				.kind = "p2p", .func = e->p2p.func,                                \
				.datatype = e->p2p.datatype, .count = e->p2p.count,                \
				.channels = P2P_CHANNELS_##version, .rank = e->rank,               \
				.peer = e->p2p.peer, .tag = TAG_##version(p2p)});                  \
		CHANNEL_##version                                                                  \
		return OTHER_##version;                                                            \
	}
#define CHANNEL_2
#define CHANNEL_3
#define CHANNEL_4                                                                                  \
	if (e->type == FB_NCCL_EVENT_KERNEL_CHANNEL)                                               \
		return begin_channel(context, handle, e->parent, e->rank, e->channel.id,           \
				     e->channel.start);
#define CHANNEL_6 CHANNEL_4
#define CHANNEL_7 CHANNEL_4
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
	e->type != FB_NCCL_EVENT_CE_COLL ? 0 : begin(context, handle, &(struct event){             \
		.kind = "copy engine", .func = e->ce.func, .datatype = e->ce.datatype,             \
		.count = e->ce.count, .algorithm = "copyengine", .batches = e->ce.batches,         \
		.rank = e->rank, .peer = -1, .tag = TAG_##version(ce)})
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
		return begin(context, handle, &(struct event){
			.kind = "collective", .func = NAME(functions, e->coll.func),
			.datatype = NAME(datatypes, e->coll.datatype), .count = e->coll.count,
			.algorithm = NAME(algorithms, e->coll.algorithm),
			.protocol = NAME(protocols, e->coll.protocol),
			.channels = e->coll.channels, .rank = e->rank, .peer = -1});
	if (e->type == FB_NCCL_EVENT_P2P)
		return begin(context, handle, &(struct event){
			.kind = "p2p", .func = NAME(functions, e->p2p.func),
			.datatype = NAME(datatypes, e->p2p.datatype), .count = e->p2p.count,
			.rank = e->rank, .peer = e->p2p.peer});
	return 0;
}

static const char *text(const char *t)
{
	return t ? t : "";
}

static void write_event(struct context *c, const struct event *e, double end_us)
{
	double us = end_us - e->start_us;
	char track[32], channel[16] = "", gpu[32] = "";

	snprintf(track, sizeof(track), "%s", e->kind);
	if (e->of_channel) {
		snprintf(track, sizeof(track), "channel %d", e->channel);
		snprintf(channel, sizeof(channel), "%d", e->channel);
	}
	if (e->gpu_start && e->gpu_end > e->gpu_start) {
		us = 1e-3 * (double)(e->gpu_end - e->gpu_start);
		snprintf(gpu, sizeof(gpu), "%.3f", us);
	}
	fprintf(c->csv, "%d,%s,%s,%zu,%s,%s,%s,%d,%d,%u,%.3f,%.3f,%s,%s,%s,%llu\n", e->rank,
		e->kind, text(e->func), e->count, text(e->datatype), text(e->algorithm),
		text(e->protocol), e->channels, e->peer, e->batches, e->start_us, end_us, channel,
		gpu, text(e->kernel), (unsigned long long)e->tag);
	fprintf(c->trace, "%s\n{\"name\":\"%s %s %s\",\"ph\":\"X\",\"pid\":%d,\"tid\":\"%s\","
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"count\":%zu,\"channels\":%d}}",
		c->first ? "" : ",", text(e->func), text(e->algorithm), text(e->protocol),
		e->rank, track, e->start_us, us, e->count, e->channels);
	c->first = false;
}

static int stop(void *handle)
{
	struct event *e = handle;
	struct context *c = e ? e->context : NULL;
	double end_us = now_us();

	if (c) {
		pthread_mutex_lock(&c->lock);
		write_event(c, e, end_us);
		pthread_mutex_unlock(&c->lock);
	}
	if (e && !e->kept)
		free(e);
	return 0;
}

static int state(void *handle, int which, void *arguments)
{
	struct event *e = handle;

	if (e && e->of_channel && arguments && which == FB_NCCL_STATE_KERNEL_CHANNEL_STOP)
		memcpy(&e->gpu_end, arguments, sizeof(e->gpu_end));
	return 0;
}

static int finalize(void *context)
{
	struct context *c = context;

	if (!c)
		return 0;
	fputs("\n]\n", c->trace);
	fclose(c->trace);
	fclose(c->csv);
	pthread_mutex_destroy(&c->lock);
	free(c->recent);
	free(c);
	return 0;
}

#define PROFILER(version, init_, start_)                                                           \
	extern const struct fb_nccl_profiler ncclProfiler_v##version;                              \
	const struct fb_nccl_profiler ncclProfiler_v##version = {                                  \
		.name = "fabricbench", .init = (void (*)(void))(init_), .start = (start_),         \
		.stop = stop, .state = state, .finalize = finalize}

PROFILER(1, init_1, start_1);
PROFILER(2, init_1, start_2);
PROFILER(3, init_1, start_3);
PROFILER(4, init_4, start_4);
PROFILER(5, init_5, start_6);
PROFILER(6, init_6, start_6);
PROFILER(7, init_6, start_7);
