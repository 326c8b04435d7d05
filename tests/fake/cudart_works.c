/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With FB_FAKE_GPU_WORKS in the environment the GPU that does nothing (cudart.c) does something:
 * streams are queues of copies, events, stream memory operations, and the kernels of the movers
 * (common/mover/gpu/move.h), which run by the emulator (tests/cuda/emulator.h). Queues go on, in
 * random order, whenever the host asks how far they are. Ranks share the memory of each other's
 * GPUs. Kernels that fill and check data are in cudart_data.c.
 *
 * Its value can be a mistake: "blind" waits for nothing, "dropped" leaves a chunk out, "early"
 * gives notices before the bytes, "unstored" and "unloaded" do not wait for bulk copies, "unwaited"
 * has what follows an early producer not wait for it. What movers and programs are tested with has
 * to find each.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sched.h>

#include "tests/cuda/emulator.h"
#include "tests/cuda/emulator_tma.h"
/* On top of the emulator. */
#include "common/mover/gpu/move.h"
#include "tests/cuda/scheduler.h"
#include "tests/fake/cudart.h"
#include "tests/fake/queue.h"

/* Launches are carried out by fewer threads than they ask for, which kernels must not notice. */
enum { STREAMS = 32, BLOCKS = 3, THREADS = 32, STEPS = 512 };

_Static_assert((int)THREADS <= (int)EMU_MOST_THREADS && (int)BLOCKS <= (int)EMU_MOST_BLOCKS,
	       "more than the emulator has");

enum kind { COPY, WAIT_VALUE, WRITE_VALUE, RECORD, WAIT_EVENT, KERNEL, FRESH, CALL };

struct operation {
	struct operation *next;
	enum kind kind;
	struct fake_box box;            /* COPY */
	uint32_t *word, value;          /* WAIT_VALUE, WRITE_VALUE */
	struct event *event;            /* RECORD, WAIT_EVENT */
	uint64_t number;                /* of the record that it is, or waits for */
	struct fb_move_launch kernel;   /* KERNEL */
	struct fake_fresh fresh;             /* FRESH */
	fake_call_fn *call;             /* CALL */
	void *arg;
	bool odd, bulk;
	bool over;                      /* before its turn */
	int place;                      /* while it runs, in the emulator, from 1 */
	struct emu_launch launch;
};

struct list {
	struct operation *head, *tail;
};

struct stream {
	struct list list;
	bool capturing;
	struct list captured;
};

struct event {
	uint64_t recorded, complete;
};

static struct stream *streams[STREAMS];

bool fake_works(void)
{
	static int works = -1;

	if (works < 0)
		works = getenv("FB_FAKE_GPU_WORKS") != NULL;
	return works;
}

static bool is_wrong(const char *how)
{
	const char *works = getenv("FB_FAKE_GPU_WORKS");

	return works && !strcmp(works, how);
}

static void append(struct list *l, const struct operation *what)
{
	struct operation *o = malloc(sizeof(*o));

	if (!o)
		abort();
	*o = *what;
	o->next = NULL;
	if (l->head)
		l->tail->next = o;
	else
		l->head = o;
	l->tail = o;
}

static void clear(struct list *l)
{
	while (l->head) {
		struct operation *o = l->head;

		l->head = o->next;
		free(o);
	}
}

/* --- going on --------------------------------------------------------------------------------- */

/* Counters of every way, by one thread of the launch. */
static void post_early(const struct fb_move_launch *l)
{
	for (uint32_t i = 0; is_wrong("early") && i < l->ways * l->counters; i++)
		if (l->way[i / l->counters].post && !fb_block() && !fb_thread())
			fb_post(l->way[i / l->counters].post + 8 * (uint64_t)(i % l->counters),
				l->way[i / l->counters].post_value);
}

static void run_move(const void *args, unsigned char *shared)
{
	const struct operation *o = args;

	post_early(&o->kernel);
	if (o->bulk)
		fb_move_run_bulk(&o->kernel, shared, EMU_POOL);
	else
		fb_move_run(&o->kernel, o->odd);
}

static void copy(const struct fake_box *b)
{
	for (size_t z = 0; z < b->depth; z++)
		for (size_t y = 0; y < b->height; y++)
			memcpy(b->to + z * b->to_slice + y * b->to_pitch,
			       b->from + z * b->from_slice + y * b->from_pitch, b->width);
}

static bool places[EMU_MOST_RANKS]; /* that are taken */

/* A kernel goes on with the others, as ranks of the emulator do, as soon as there is a place. */
static bool run_kernel(struct operation *o)
{
	struct emu_rank *r = &emu.ranks[o->place - (o->place > 0)];
	int place = 0;

	if (o->place) {
		places[o->place - 1] = r->next < r->launches;
		return r->next == r->launches;
	}
	while (place < EMU_MOST_RANKS && places[place])
		place++;
	if (place == EMU_MOST_RANKS)
		return false;
	places[place] = true;
	r = &emu.ranks[place];
	o->place = place + 1;
	o->launch.kernel = run_move;
	o->launch.args = o;
	emu.blind = is_wrong("blind") * (unsigned)EMU_BLIND_COUNTERS +
		    is_wrong("unstored") * (unsigned)EMU_BLIND_ENDS +
		    is_wrong("unloaded") * (unsigned)EMU_BLIND_LOADS;
	if (is_wrong("dropped") && o->kernel.way[0].chunks)
		o->kernel.way[0].chunks--;
	emu.nranks = EMU_MOST_RANKS;
	*r = (struct emu_rank){.stream = &o->launch, .launches = 1};
	emu_start(place);
	return false;
}

static bool advance(struct operation *o);

/* An early producer that nobody waits for: all that follows goes on first, up to the consumer. */
static bool is_overtaken(struct operation *o)
{
	struct operation *n = o->next;

	if (o->kind != FRESH || !o->fresh.early || !is_wrong("unwaited") || o->fresh.overtaken)
		return false;
	while (n && n->kind != FRESH && n->kind != KERNEL && advance(n)) {
		n->over = true;
		n = n->next;
	}
	o->fresh.overtaken = n && n->kind == FRESH;
	return true;
}

/* Whether the first operation of a queue is over. */
static bool advance(struct operation *o)
{
	if (o->over)
		return true;
	if (is_overtaken(o))
		return false;
	switch (o->kind) {
	case COPY:
		copy(&o->box);
		return true;
	case WAIT_VALUE:
		return is_wrong("blind") ||
		       (int32_t)(__atomic_load_n(o->word, __ATOMIC_ACQUIRE) - o->value) >= 0;
	case WRITE_VALUE:
		__atomic_store_n(o->word, o->value, __ATOMIC_RELEASE);
		return true;
	case RECORD:
		o->event->complete = o->number;
		return true;
	case WAIT_EVENT:
		return o->event->complete >= o->number;
	case KERNEL:
		return run_kernel(o);
	case FRESH:
		fake_fresh_run(&o->fresh);
		return true;
	case CALL:
		return o->call(o->arg);
	}
	abort();
}

void fake_go_on(void)
{
	int first = (int)(emu_random() % STREAMS);

	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = streams[(first + i) % STREAMS];
		struct list *l = s ? &s->list : NULL;

		while (l && l->head && advance(l->head)) {
			struct operation *o = l->head;

			l->head = o->next;
			free(o);
		}
	}
	for (int i = 0; i < STEPS && emu_busy(); i++)
		emu_step(emu_pick());
}

/* --- what the runtime asks for ---------------------------------------------------------------- */

static cudaError_t enqueue(cudaStream_t stream, const struct operation *what)
{
	struct stream *s = (struct stream *)(void *)stream;

	if (!s) /* the default stream: at once */
		return what->kind == COPY ? (copy(&what->box), cudaSuccess) : cudaErrorNotSupported;
	append(s->capturing ? &s->captured : &s->list, what);
	return cudaSuccess;
}

void *fake_stream_open(void)
{
	struct stream *s = calloc(1, sizeof(*s));
	int at = 0;

	while (at < STREAMS && streams[at])
		at++;
	/* Without work to do, streams are as many as there may be. */
	if (at < STREAMS)
		streams[at] = s;
	else if (fake_works())
		abort();
	return s;
}

void fake_stream_close(void *stream)
{
	for (int i = 0; i < STREAMS; i++)
		if (streams[i] == stream)
			streams[i] = NULL;
	clear(&((struct stream *)stream)->list);
	free(stream);
}

bool fake_stream_idle(const void *stream)
{
	return !stream || !((const struct stream *)stream)->list.head;
}

void *fake_event_open(void)
{
	return calloc(1, sizeof(struct event));
}

bool fake_event_over(const void *event)
{
	const struct event *e = event;

	return e->complete == e->recorded;
}

cudaError_t fake_copy(const struct fake_box *box, cudaStream_t stream)
{
	return enqueue(stream, &(struct operation){.kind = COPY, .box = *box});
}

int fb_fake_enqueue(fake_call_fn *call, void *arg, void *stream)
{
	return enqueue(stream, &(struct operation){.kind = CALL, .call = call, .arg = arg});
}

cudaError_t fake_record(void *event, cudaStream_t stream)
{
	struct event *e = event;

	return enqueue(stream, &(struct operation){.kind = RECORD, .event = e,
						   .number = ++e->recorded});
}

cudaError_t fake_wait_event(void *event, cudaStream_t stream)
{
	struct event *e = event;

	return enqueue(stream, &(struct operation){.kind = WAIT_EVENT, .event = e,
						   .number = e->recorded});
}

void fake_operate(cudaStream_t stream, unsigned n, const CUstreamBatchMemOpParams *ops)
{
	for (unsigned i = 0; i < n; i++) {
		bool writes = ops[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32;
		struct operation o = {.kind = writes ? WRITE_VALUE : WAIT_VALUE};

		o.word = emu_at(writes ? ops[i].writeValue.address : ops[i].waitValue.address);
		o.value = writes ? ops[i].writeValue.value : ops[i].waitValue.value;
		enqueue(stream, &o);
	}
}

cudaError_t fake_launch(const char *name, void **args, unsigned blocks, unsigned threads,
			cudaStream_t stream)
{
	struct operation o = {.kind = KERNEL, .odd = strstr(name, "any") != NULL,
			      .bulk = strstr(name, "bulk") != NULL};

	fake_data(name, args);
	if (strstr(name, "fb_kv_locator")) {
		bool checks = strstr(name, "check") != NULL;

		fake_pages(args, checks ? *(struct fb_check_result **)args[5] : NULL,
			   checks ? *(unsigned **)args[6] : NULL);
	}
	if (strstr(name, "fb_kv_packing_kernel"))
		fake_packing(args);
	if (strstr(name, "fresh_"))
		return enqueue(stream, &(struct operation){.kind = FRESH,
							   .fresh = fake_fresh_of(name, args)});
	if (!strstr(name, "fb_move_"))
		return cudaSuccess;
	memcpy(&o.kernel, args[0], sizeof(o.kernel));
	o.launch.blocks = blocks < BLOCKS ? blocks : BLOCKS;
	o.launch.threads = threads < THREADS ? threads : THREADS;
	return enqueue(stream, &o);
}

/* --- graphs ----------------------------------------------------------------------------------- */

void fake_capture_begin(void *stream)
{
	((struct stream *)stream)->capturing = true;
}

void *fake_capture_end(void *stream)
{
	struct stream *s = stream;
	struct list *l = calloc(1, sizeof(*l));

	s->capturing = false;
	if (!l)
		abort();
	*l = s->captured;
	s->captured = (struct list){NULL, NULL};
	return l;
}

void *fake_graph_copy(const void *graph)
{
	const struct list *from = graph;
	struct list *l = calloc(1, sizeof(*l));

	if (!l)
		abort();
	for (const struct operation *o = from->head; o; o = o->next)
		append(l, o);
	return l;
}

void fake_graph_launch(const void *graph, cudaStream_t stream)
{
	for (const struct operation *o = ((const struct list *)graph)->head; o; o = o->next)
		enqueue(stream, o);
}

void fake_graph_free(void *graph)
{
	clear(graph);
	free(graph);
}
