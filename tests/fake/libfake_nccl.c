/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with NCCL's interface that only writes down how it was called, so that the engine's
 * side of it can be tested without a GPU. With FAKE_OLD it is version 2.18.5 and lacks what came
 * later, with FAKE_NEW it is 2.31.2 (libfake_nccl_2_31.c), with FAKE_NEWEST 2.32.3. Parameters are
 * as in NCCL's manual, declared once more and not shared, so that a mistake does not repeat itself.
 */
#include "tests/fake/nccl.h"
#include "tests/fake/nccl_ranks.h"
#include "tests/fake/nccl_tuner.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char internal[128]; } unique_id;
typedef struct { int nranks, rank, simulated, windows, number; } *comm_t;

typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, cga_cluster_size, min_ctas, max_ctas;
	const char *net_name;
	int split_share, traffic_class;
	const char *comm_name;
	int collnet_enable, cta_policy, shrink_share, nvls_ctas;
	int later[10]; /* nChannelsPerNetPeer to hostCftMode */
	int nvls_host_mode;
} config_t;

#if defined(FAKE_OLD)
enum { VERSION = 21805 };
#elif defined(FAKE_NEWEST)
enum { VERSION = 23203 };
#elif defined(FAKE_NEW)
enum { VERSION = 23102 };
#else
enum { VERSION = 22809 };
#endif

typedef struct {
	size_t size;
	unsigned magic, version;
	float us;
} estimate_t;

static struct fake_calls calls;
static comm_t last;    /* of the last call */
static int group_from; /* calls when the outermost group began */

struct fake_calls *fake_calls(void);
struct fake_calls *fake_calls(void)
{
	return &calls;
}

static int note_one(const char *name, comm_t comm, const void *in, void *out, size_t count,
		    int type, int op, int other, void *stream)
{
	struct fake_call *c = &calls.call[calls.count];

	if (calls.fail_with)
		return calls.fail_with;
	/* NCCL would run the simulated call as well. */
	if (comm->simulated)
		return 3;
	if (fake_is_freed(in, out, comm->rank, comm->nranks))
		return 1;
	last = comm;
	fake_tell(name, comm->rank, comm->nranks, calls.depth);
	fake_tuner_ask(name, count, calls.cta_policy == 2 ? 0 : comm->windows);
	fake_profile(comm->number, name, count, other, comm->nranks,
		     calls.windows > 0 && calls.cta_policy == 2);
	if (calls.count == FAKE_MOST_CALLS)
		return 0; /* programs go on for longer than a test looks */
	calls.count++;
	*c = (struct fake_call){.rank = comm->rank, .in = in, .out = out, .count = count,
				.type = type, .op = op, .other = other, .stream = stream,
				.group = calls.depth};
	snprintf(c->name, sizeof(c->name), "%s", name);
	return fake_name(comm->number, comm->rank, name, other, calls.depth);
}

/* Threads of a process with several GPUs call at once. */
static int note(const char *name, comm_t comm, const void *in, void *out, size_t count, int type,
		int op, int other, void *stream)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int code;

	pthread_mutex_lock(&lock);
	code = note_one(name, comm, in, out, count, type, op, other, stream);
	pthread_mutex_unlock(&lock);
	return code;
}

#define API(name, ...)                                                                             \
	int nccl##name(__VA_ARGS__);                                                               \
	int nccl##name(__VA_ARGS__)

API(GetVersion, int *version)
{
	*version = VERSION;
	return 0;
}

const char *ncclGetErrorString(int code);
const char *ncclGetErrorString(int code)
{
	return code == 5 ? "invalid usage" : code == 6 ? "remote process exited" : "some error";
}

const char *ncclGetLastError(comm_t comm);
const char *ncclGetLastError(comm_t comm)
{
	(void)comm;
	return "the last error\nand more";
}

API(GetUniqueId, unique_id *id)
{
	memset(id, 7, sizeof(*id));
	return 0;
}

static int make(comm_t *comm, int nranks, unique_id id, int rank)
{
	const char *algorithm = getenv("NCCL_ALGO"), *protocol = getenv("NCCL_PROTO");

	if (id.internal[0] != 7 || id.internal[127] != 7)
		return 4;
	if (fake_is_full(calls.made))
		return 1;
	fake_make(nranks, rank);
	*comm = fake_tuner_load(nranks) ? NULL : malloc(sizeof(**comm));
	if (!*comm)
		return 2;
	**comm = (__typeof__(**comm)){nranks, rank, 0, 0, calls.made};
	fake_works[calls.made % FAKE_COUNTED] = (struct fake_works){.waits = 0};
	calls.made++;
	snprintf(calls.algorithm, sizeof(calls.algorithm), "%s", algorithm ? algorithm : "");
	snprintf(calls.protocol, sizeof(calls.protocol), "%s", protocol ? protocol : "");
	return 0;
}

API(CommInitRank, comm_t *comm, int nranks, unique_id id, int rank)
{
	return make(comm, nranks, id, rank);
}

API(CommInitRankConfig, comm_t *comm, int nranks, unique_id id, int rank, config_t *config)
{
	char told[96];

	if (config->magic != 0xcafebeef || config->version < 21400)
		return 4;
	if (config->min_ctas > config->max_ctas) /* as NCCL, also where the most is not set */
		return 4;
	calls.blocking = config->blocking;
	calls.min_ctas = config->min_ctas;
	calls.max_ctas = config->max_ctas;
	calls.cta_policy = config->cta_policy;
	calls.cluster = config->cga_cluster_size;
	/* As NCCL, it takes what lies within the size that the caller knew. */
	calls.nvls_host_mode = config->size == sizeof(*config) && VERSION >= 23203
		? config->nvls_host_mode : -2147483647 - 1;
	if (calls.nvls_host_mode == 0x7fffffff)
		fake_tell("no-multicast", rank, nranks, -1);
	snprintf(told, sizeof(told), "ctas=%d..%d,policy=%d,cluster=%d", config->min_ctas,
		 config->max_ctas, config->cta_policy, config->cga_cluster_size);
	if (config->cga_cluster_size >= 0)
		fake_tell(told, rank, nranks, -1);
	for (size_t i = 0; config->size == sizeof(*config) && i < 10; i++)
		if (config->later[i] != -2147483647 - 1)
			return 4;
	return make(comm, nranks, id, rank);
}

/* This process's devices, of which it has as many as are asked for. */
API(CommInitAll, comm_t *comms, int devices, const int *device)
{
	unique_id id;
	int code = 0;

	(void)device;
	memset(&id, 7, sizeof(id));
	for (int i = 0; i < devices && !code; i++)
		code = make(&comms[i], devices, id, i);
	return code;
}

API(CommFinalize, comm_t comm)
{
	(void)comm;
	calls.finalized++;
	return 0;
}

/* Nobody is asked who else has the colour, so all ranks have. */
API(CommSplit, comm_t comm, int colour, int key, comm_t *made, config_t *config)
{
	unique_id id;

	(void)config, (void)key;
	memset(&id, 7, sizeof(id));
	*made = NULL;
	return colour < 0 ? 0 : make(made, comm->nranks, id, comm->rank);
}

API(CommDestroy, comm_t comm)
{
	fake_barrier("destroy", comm->nranks, comm->rank);
	fake_profile_destroy(comm->number);
	calls.destroyed++;
	free(comm);
	return 0;
}

API(CommAbort, comm_t comm)
{
	calls.aborted++;
	free(comm);
	return 0;
}

API(CommGetAsyncError, comm_t comm, int *code)
{
	fake_tell("poll", comm->rank, comm->nranks, -2);
	*code = calls.asynchronous;
	return 0;
}

API(GroupStart, void)
{
	if (calls.depth++ == 0)
		group_from = calls.count;
	return 0;
}

API(GroupEnd, void)
{
	return --calls.depth ? 0 : fake_connect();
}

API(AllReduce, const void *in, void *out, size_t count, int type, int op, comm_t comm, void *stream)
{
	return note("AllReduce", comm, in, out, count, type, op, -1, stream);
}

API(AllGather, const void *in, void *out, size_t count, int type, comm_t comm, void *stream)
{
	return note("AllGather", comm, in, out, count, type, -1, -1, stream);
}

API(ReduceScatter, const void *in, void *out, size_t count, int type, int op, comm_t comm,
    void *stream)
{
	return note("ReduceScatter", comm, in, out, count, type, op, -1, stream);
}

API(Broadcast, const void *in, void *out, size_t count, int type, int root, comm_t comm,
    void *stream)
{
	return note("Broadcast", comm, in, out, count, type, -1, root, stream);
}

API(Reduce, const void *in, void *out, size_t count, int type, int op, int root, comm_t comm,
    void *stream)
{
	return note("Reduce", comm, in, out, count, type, op, root, stream);
}

API(Send, const void *from, size_t count, int type, int peer, comm_t comm, void *stream)
{
	return note("Send", comm, from, NULL, count, type, -1, peer, stream);
}

API(Recv, void *to, size_t count, int type, int peer, comm_t comm, void *stream)
{
	return note("Recv", comm, NULL, to, count, type, -1, peer, stream);
}

#ifndef FAKE_OLD
/* 5 us and 1 us for 1000 elements of the last collective; nothing for sends and receives. */
API(GroupSimulateEnd, estimate_t *estimate)
{
	if (estimate->size != sizeof(*estimate) || estimate->magic != 0x74685283 ||
	    estimate->us != -1)
		return 4;
	calls.depth--;
	for (int i = group_from; i < calls.count; i++)
		if (strcmp(calls.call[i].name, "Send") && strcmp(calls.call[i].name, "Recv"))
			estimate->us = 5 + (float)calls.call[i].count / 1000;
	if (calls.count > group_from)
		last->simulated = 1;
	calls.count = group_from;
	calls.simulated++;
	return 0;
}

API(CommInitRankScalable, comm_t *comm, int nranks, int rank, int nids, unique_id *ids,
    config_t *config)
{
	for (int i = 0; i < nids; i++)
		if (ids[i].internal[5] != 7)
			return 4;
	return config->magic == 0xcafebeef && nids >= 1 ? make(comm, nranks, ids[0], rank) : 4;
}

API(CommShrink, comm_t comm, int *excluded, int count, comm_t *made, config_t *config, int flags)
{
	unique_id id;

	(void)config;
	memset(&id, 7, sizeof(id));
	for (int i = 0; i < count; i++)
		if (excluded[i] == comm->rank || excluded[i] >= comm->nranks)
			return 4;
	return flags ? 4 : make(made, comm->nranks - count, id, comm->rank);
}

API(CommRevoke, comm_t comm, int flags)
{
	(void)comm;
	calls.revoked++;
	return flags ? 4 : 0;
}

API(MemAlloc, void **memory, size_t bytes)
{
	fake_tell("MemAlloc", 0, 0, 0);
	return !(*memory = fake_memory(bytes));
}

API(MemFree, void *memory)
{
	return fake_free_memory(memory);
}

API(CommRegister, comm_t comm, void *from, size_t bytes, void **handle)
{
	(void)comm, (void)bytes;
	calls.registered++;
	*handle = from;
	return 0;
}

API(CommDeregister, comm_t comm, void *handle)
{
	(void)comm, (void)handle;
	calls.registered--;
	return 0;
}

API(CommWindowRegister, comm_t comm, void *from, size_t bytes, void **window, int flags)
{
	char told[48];

	if (flags != 1 || (size_t)from % 4096)
		return 4;
	snprintf(told, sizeof(told), "window=%zu", bytes);
	fake_tell(told, comm->rank, comm->nranks, -1);
	fake_barrier("window", comm->nranks, comm->rank);
	calls.windows++;
	comm->windows++;
	*window = from;
	return 0;
}

API(CommWindowDeregister, comm_t comm, void *window)
{
	(void)window;
	calls.windows--;
	comm->windows--;
	return 0;
}

API(AlltoAll, const void *in, void *out, size_t count, int type, comm_t comm, void *stream)
{
	return note("AlltoAll", comm, in, out, count, type, -1, -1, stream);
}

API(Gather, const void *in, void *out, size_t count, int type, int root, comm_t comm, void *stream)
{
	return note("Gather", comm, in, out, count, type, -1, root, stream);
}

API(Scatter, const void *in, void *out, size_t count, int type, int root, comm_t comm, void *stream)
{
	return note("Scatter", comm, in, out, count, type, -1, root, stream);
}

void ncclResetDebugInit(void);
void ncclResetDebugInit(void)
{
	fake_log();
}
#endif
