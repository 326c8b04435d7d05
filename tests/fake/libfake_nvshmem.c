/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with NVSHMEM's host interface, for ranks of one host whose GPUs are fake
 * (cudart_works.c): heaps are parts of a file in shared memory, and what is put on a stream is done
 * when the stream comes to it. With FAKE_OLD it is version 2.11.0. Structures and numbers are as in
 * NVSHMEM's headers, declared once more and not shared with the suite, so that a mistake there does
 * not repeat itself here.
 *
 * It is strict: a call that NVSHMEM does not allow, and a signal behind puts without a quiet, end
 * the process. FB_FAKE_NVSHMEM can be a mistake: "early" sends signals before the bytes, "dropped"
 * leaves a put's last byte out, "alone" has collectives take the rank's own input for all, "broken"
 * does not start. FB_FAKE_NVSHMEM_REMOTE: a file that is loaded as its transport between hosts.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/mover/nvshmem/kernels.h"
#include "tests/fake/queue.h"

enum { HEAP = 128 << 20, HEAD = 4096, MOST_RANKS = 16, PATIENCE_S = 60 };
enum { BY_UNIQUE_ID = 8, SIGNAL_SET = 9, GREATER_EQUAL = 5, ALIGNMENT = 512, INITIALISED = 2 };
enum { LATE = 2000 };

typedef struct {
	int version;
	char internal[124];
} unique_id;

typedef struct {
	int version;
	void *mpi_comm;
	struct {
		int version;
		struct {
			int version;
			unique_id *id;
			int rank, ranks;
		} id;
		char content[96];
	} args;
} init_attr_t;

/* The head of the file. */
struct meeting {
	uint32_t arrived, rounds;
	uint32_t stage[MOST_RANKS]; /* how many stages of collectives a rank has come to */
};

static struct {
	char *memory; /* the file; NULL: not started */
	int rank, ranks;
	size_t used;
	int blocks, loose; /* loose: puts since the last quiet */
} job;

/* Something on a stream. It is kept, since a graph may do it again. */
struct work {
	enum { MOVE, SIGNAL, WAIT, COLLECTIVE } what;
	char *to;
	const char *from;
	size_t bytes;
	uint64_t *word, value;
	int late; /* how often it is asked before it is done */
	/* How a collective combines blocks of `bytes`. */
	void (*combine)(void *to, const void *from, size_t bytes);
	enum { ALL_REDUCE, REDUCE_SCATTER, GATHER_ALL, BROADCAST, ALL_TO_ALL, BARRIER } kind;
	int root, stage;
	uint32_t meets;
	char *made; /* what `to` becomes */
	struct work *next;
};

static struct work *works;

#define API(type, name, ...)                                                                       \
	type name(__VA_ARGS__);                                                                    \
	type name(__VA_ARGS__)

static _Noreturn void refuse(const char *what)
{
	fprintf(stderr, "fake NVSHMEM: %s\n", what);
	exit(9);
}

static bool is_wrong(const char *how)
{
	const char *wrong = getenv("FB_FAKE_NVSHMEM");

	return wrong && !strcmp(wrong, how);
}

static char *heap_of(int pe)
{
	return job.memory + HEAD + (size_t)pe * HEAP;
}

/* What lies at the same place of another heap; NULL: it is not in the own one. */
static char *symmetric(const void *memory, int pe)
{
	const char *own = job.memory ? heap_of(job.rank) : NULL, *at = memory;

	if (!own || at < own || at >= own + HEAP || pe < 0 || pe >= job.ranks)
		return NULL;
	return heap_of(pe) + (at - own);
}

static void barrier(void)
{
	struct meeting *m = (struct meeting *)(void *)job.memory;
	uint32_t round = __atomic_load_n(&m->rounds, __ATOMIC_ACQUIRE);
	time_t until = time(NULL) + PATIENCE_S;

	if (__atomic_add_fetch(&m->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)job.ranks) {
		m->arrived = 0;
		__atomic_store_n(&m->rounds, round + 1, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&m->rounds, __ATOMIC_ACQUIRE) == round) {
		if (time(NULL) > until)
			refuse("not all ranks made the same collective call");
		sched_yield();
	}
}

/* --- starting --------------------------------------------------------------------------------- */

API(void, nvshmemx_vendor_get_version_info, int *major, int *minor, int *patch)
{
#ifdef FAKE_OLD
	*major = 2;
	*minor = 11;
	*patch = 0;
#else
	*major = 3;
	*minor = 4;
	*patch = 5;
#endif
}

API(int, nvshmemx_get_uniqueid, unique_id *id)
{
	int fd;

	if (id->version != (1 << 16) + 128)
		return 7;
	snprintf(id->internal, sizeof(id->internal), "/dev/shm/fake_nvshmem_%d", (int)getpid());
	fd = open(id->internal, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, HEAD + (off_t)MOST_RANKS * HEAP))
		return 7;
	close(fd);
	return 0;
}

API(int, nvshmemx_set_attr_uniqueid_args, int rank, int ranks, const unique_id *id,
    init_attr_t *attr)
{
	union {
		const unique_id *read;
		unique_id *kept;
	} given = {.read = id};

	attr->args.id.id = given.kept;
	attr->args.id.rank = rank;
	attr->args.id.ranks = ranks;
	return 0;
}

API(int, nvshmemx_hostlib_init_attr, unsigned flags, init_attr_t *attr)
{
	const char *multicast = getenv("NVSHMEM_DISABLE_NVLS");
	const unique_id *id = attr->args.id.id;
	int fd = open(id->internal, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && is_wrong("broken") && attr->args.id.rank == 0)
		unlink(id->internal);
	if (flags != BY_UNIQUE_ID || fd < 0 || attr->version != (1 << 16) + 144 ||
	    attr->args.version != (1 << 16) + 128 || attr->args.id.version != (1 << 16) + 24 ||
	    is_wrong("broken") || !multicast || strcmp(multicast, "1") ||
	    attr->args.id.ranks > MOST_RANKS)
		return 7;
	if (getenv("FB_FAKE_NVSHMEM_REMOTE") &&
	    !dlopen(getenv("FB_FAKE_NVSHMEM_REMOTE"), RTLD_NOW | RTLD_LOCAL))
		refuse(dlerror());
	job.memory = mmap(NULL, HEAD + (size_t)MOST_RANKS * HEAP, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	close(fd);
	if (job.memory == MAP_FAILED)
		return 7;
	job.rank = attr->args.id.rank;
	job.ranks = attr->args.id.ranks;
	barrier();
	if (job.rank == 0)
		unlink(id->internal);
	return 0;
}

API(void, nvshmemx_hostlib_finalize, void)
{
	if (job.blocks)
		refuse("memory was not given back");
	barrier();
	munmap(job.memory, HEAD + (size_t)MOST_RANKS * HEAP);
	job.memory = NULL;
}

API(int, nvshmemx_init_status, void)
{
	return job.memory ? INITIALISED : 0;
}

API(int, nvshmem_my_pe, void)
{
	return job.rank;
}

API(int, nvshmem_n_pes, void)
{
	return job.ranks;
}

/* --- memory ----------------------------------------------------------------------------------- */

API(void *, nvshmem_malloc, size_t bytes)
{
	char *memory = heap_of(job.rank) + job.used;

	barrier();
	bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (bytes > HEAP - job.used)
		return NULL;
	job.used += bytes;
	job.blocks++;
	return memory;
}

/* Room is had again when all blocks are given back. */
API(void, nvshmem_free, void *memory)
{
	if (!symmetric(memory, job.rank) || job.blocks == 0)
		refuse("this is not the heap's");
	barrier();
	job.used = --job.blocks ? job.used : 0;
}

API(void *, nvshmem_ptr, const void *memory, int pe)
{
	/* Who goes through a network has no address of a peer's memory. */
	if (getenv("FB_FAKE_NVSHMEM_REMOTE") && pe != job.rank)
		return NULL;
	return symmetric(memory, pe);
}

/* --- on streams ------------------------------------------------------------------------------- */

static bool go_on_together(struct work *w);

static bool go_on(void *arg)
{
	struct work *w = arg;

	if (w->late && w->late--)
		return false;
	switch (w->what) {
	case MOVE:
		memcpy(w->to, w->from, w->bytes);
		return true;
	case SIGNAL:
		__atomic_store_n(w->word, w->value, __ATOMIC_RELEASE);
		return true;
	case WAIT:
		return __atomic_load_n(w->word, __ATOMIC_ACQUIRE) >= w->value;
	case COLLECTIVE:
		return go_on_together(w);
	}
	abort();
}

static void enqueue(const struct work *what, void *stream)
{
	struct work *w = malloc(sizeof(*w));

	if (!w)
		abort();
	*w = *what;
	w->next = works;
	works = w;
	if (!fb_fake_enqueue || fb_fake_enqueue(go_on, w, stream))
		refuse("this program has no fake GPU, or no stream");
}

static void move(void *to, const void *from, size_t bytes, int late, void *stream)
{
	if (!to || !from)
		refuse("the remote side is not symmetric");
	enqueue(&(struct work){.what = MOVE, .to = to, .from = from, .bytes = bytes, .late = late},
		stream);
}

static void signal_peer(const uint64_t *word, uint64_t value, int how, int pe, void *stream)
{
	uint64_t *there = (uint64_t *)(void *)symmetric(word, pe);

	if (how != SIGNAL_SET || !there)
		refuse("a signal is set, in symmetric memory");
	if (job.loose)
		refuse("a signal behind puts without a quiet");
	enqueue(&(struct work){.what = SIGNAL, .word = there, .value = value}, stream);
}

API(void, nvshmemx_putmem_on_stream, void *to, const void *from, size_t bytes, int pe,
    void *stream)
{
	move(symmetric(to, pe), from, bytes - is_wrong("dropped"), 0, stream);
	job.loose++;
}

API(void, nvshmemx_getmem_on_stream, void *to, const void *from, size_t bytes, int pe,
    void *stream)
{
	move(to, symmetric(from, pe), bytes, 0, stream);
}

API(void, nvshmemx_putmem_signal_on_stream, void *to, const void *from, size_t bytes,
    uint64_t *word, uint64_t value, int how, int pe, void *stream)
{
	bool early = is_wrong("early");

	if (early)
		signal_peer(word, value, how, pe, stream);
	move(symmetric(to, pe), from, bytes - is_wrong("dropped"), early ? LATE : 0, stream);
	if (!early)
		signal_peer(word, value, how, pe, stream);
}

API(void, nvshmemx_signal_op_on_stream, uint64_t *word, uint64_t value, int how, int pe,
    void *stream)
{
	signal_peer(word, value, how, pe, stream);
}

API(void, nvshmemx_signal_wait_until_on_stream, uint64_t *word, int compare, uint64_t value,
    void *stream)
{
	if (compare != GREATER_EQUAL || !symmetric(word, job.rank))
		refuse("one waits for a signal in symmetric memory to be at least a value");
	enqueue(&(struct work){.what = WAIT, .word = word, .value = value}, stream);
}

API(void, nvshmemx_quiet_on_stream, void *stream)
{
	(void)stream;
	job.loose = 0;
}

#include "tests/fake/nvshmem_together.h"
