/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With FB_FAKE_GPU_WORKS in the environment the GPU that does nothing (cudart.c) does something:
 * streams are queues of copies, events, stream memory operations, and the kernels of the movers
 * (cudart_kernel.c). Queues go on, in random order, whenever the host asks how far they are. Ranks
 * share the memory of each other's GPUs. Kernels that fill and check data are in cudart_data.c.
 *
 * Its value can be a mistake: "blind" waits for nothing, "dropped" leaves a chunk out, "early"
 * gives notices before the bytes, "unstored" and "unloaded" do not wait for bulk copies, "unwaited"
 * has what follows an early producer not wait for it, "undone" tells the host at once that events
 * are over. What movers and programs are tested with has to find each.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cudart.h"
#include "tests/fake/queue.h"

enum { STREAMS = 32, LANES = 16 };

enum kind { COPY, WAIT_VALUE, WRITE_VALUE, RECORD, WAIT_EVENT, KERNEL, FRESH, GRAPH, CALL };

struct operation {
	struct operation *next;
	enum kind kind;
	struct fake_box box;            /* COPY */
	uint32_t *word, value;          /* WAIT_VALUE, WRITE_VALUE */
	struct event *event;            /* RECORD, WAIT_EVENT */
	uint64_t number;                /* of the record that it is, or waits for */
	void *kernel;                   /* KERNEL; owned */
	struct fake_fresh fresh;        /* FRESH */
	struct graph *graph;            /* GRAPH: of this launch alone */
	fake_call_fn *call;             /* CALL */
	void *arg;
	bool over;                      /* before its turn */
};

struct list {
	struct operation *head, *tail;
};

/*
 * A capture, or a launch of it: a lane for each stream, which waits for others by events of the
 * graph's own.
 */
struct graph {
	struct list lane[LANES];
	int lanes;
	uint64_t number; /* of the capture */
	bool *over; /* [events + 1], of a launch: which of them have happened */
	size_t events;
};

struct stream {
	struct list list;
	struct graph *capture; /* that it is part of; NULL: none */
	int lane;
};

struct event {
	uint64_t recorded, complete;
	uint64_t capture, number; /* of its last record, if that was captured: in which, as which */
	int pending;              /* operations in queues that need it */
	bool destroyed;           /* by the host, which need not wait for them */
};

static struct stream *streams[STREAMS];
static struct graph *launched; /* whose lanes go on */

static struct operation *append(struct list *l, const struct operation *what)
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
	return o;
}

static void drop_head(struct list *l);

void fake_graph_free(void *graph)
{
	struct graph *g = graph;

	for (int i = 0; i < LANES; i++)
		while (g->lane[i].head)
			drop_head(&g->lane[i]);
	free(g->over);
	free(g);
}

static void drop_head(struct list *l)
{
	struct operation *o = l->head;

	l->head = o->next;
	if (o->graph)
		fake_graph_free(o->graph);
	if (o->event && --o->event->pending == 0 && o->event->destroyed)
		free(o->event);
	fake_kernel_free(o->kernel);
	free(o);
}

/* --- going on --------------------------------------------------------------------------------- */

static bool advance(struct operation *o);

static void go_on(struct list *l)
{
	while (l->head && advance(l->head))
		drop_head(l);
}

/* Whether all lanes are over. */
static bool run_graph(struct graph *g)
{
	bool over = true;

	launched = g;
	for (int i = 0; i < g->lanes; i++)
		go_on(&g->lane[i]);
	for (int i = 0; i < g->lanes; i++)
		over &= !g->lane[i].head;
	launched = NULL;
	return over;
}

/* An early producer that nobody waits for: all that follows goes on first, up to the consumer. */
static bool is_overtaken(struct operation *o)
{
	struct operation *n = o->next;

	if (o->kind != FRESH || !o->fresh.early || !fake_is_wrong("unwaited") || o->fresh.overtaken)
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
		fake_box_copy(&o->box);
		return true;
	case WAIT_VALUE:
		return fake_is_wrong("blind") ||
		       (int32_t)(__atomic_load_n(o->word, __ATOMIC_ACQUIRE) - o->value) >= 0;
	case WRITE_VALUE:
		__atomic_store_n(o->word, o->value, __ATOMIC_RELEASE);
		return true;
	case RECORD:
		if (launched)
			launched->over[o->number] = true;
		else if (o->event->complete < o->number) /* streams may pass each other */
			o->event->complete = o->number;
		return true;
	case WAIT_EVENT:
		return launched ? launched->over[o->number] : o->event->complete >= o->number;
	case GRAPH:
		return run_graph(o->graph);
	case CALL:
		return o->call(o->arg);
	case KERNEL:
		return fake_kernel_run(o->kernel);
	case FRESH:
		fake_fresh_run(&o->fresh);
		return true;
	}
	abort();
}

void fake_go_on(void)
{
	int first = (int)(fake_random() % STREAMS);

	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = streams[(first + i) % STREAMS];

		if (s)
			go_on(&s->list);
	}
	fake_kernels_go_on();
}

/* --- what the runtime asks for ---------------------------------------------------------------- */

static cudaError_t enqueue(cudaStream_t stream, const struct operation *what)
{
	struct stream *s = (struct stream *)(void *)stream;
	struct operation *o;

	if (!s) /* the default stream: at once */
		return what->kind == COPY ? fake_box_copy(&what->box) : cudaErrorNotSupported;
	o = append(s->capture ? &s->capture->lane[s->lane] : &s->list, what);
	if (s->capture)
		o->event = NULL; /* events there are the graph's own */
	else if (o->event)
		o->event->pending++;
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
	while (((struct stream *)stream)->list.head)
		drop_head(&((struct stream *)stream)->list);
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

void fake_event_close(void *event)
{
	struct event *e = event;

	e->destroyed = true;
	if (!e->pending)
		free(e);
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
	const struct stream *s = (const struct stream *)(const void *)stream;
	struct graph *g = s ? s->capture : NULL;
	struct event *e = event;
	uint64_t number = g ? ++g->events : ++e->recorded;

	e->capture = g ? g->number : 0;
	if (g)
		e->number = number;
	return enqueue(stream, &(struct operation){.kind = RECORD, .event = e, .number = number});
}

/* The capture of that number, if it is under way. */
static struct graph *capture_of(uint64_t number)
{
	for (int i = 0; i < STREAMS && number; i++)
		if (streams[i] && streams[i]->capture && streams[i]->capture->number == number)
			return streams[i]->capture;
	return NULL;
}

/* A stream that waits for an event of a capture becomes a part of it. */
cudaError_t fake_wait_event(void *event, cudaStream_t stream)
{
	struct stream *s = (struct stream *)(void *)stream;
	struct event *e = event;
	struct graph *g = capture_of(e->capture);

	if (g && s->capture != g) {
		s->capture = g;
		s->lane = g->lanes++;
		if (s->lane == LANES)
			abort();
	}
	return enqueue(stream, &(struct operation){.kind = WAIT_EVENT, .event = e,
						   .number = g ? e->number : e->recorded});
}

void fake_operate(cudaStream_t stream, unsigned n, const CUstreamBatchMemOpParams *ops)
{
	for (unsigned i = 0; i < n; i++) {
		bool writes = ops[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32;
		struct operation o = {.kind = writes ? WRITE_VALUE : WAIT_VALUE};

		o.word = fake_at(writes ? ops[i].writeValue.address : ops[i].waitValue.address);
		o.value = writes ? ops[i].writeValue.value : ops[i].waitValue.value;
		enqueue(stream, &o);
	}
}

cudaError_t fake_launch(const char *name, void **args, unsigned blocks, unsigned threads,
			cudaStream_t stream)
{
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
	if (!strstr(name, "fb_move_") && !strstr(name, "fb_multimem_"))
		return cudaSuccess;
	return enqueue(stream, &(struct operation){
		.kind = KERNEL, .kernel = fake_kernel_of(name, args, blocks, threads)});
}

/* --- graphs ----------------------------------------------------------------------------------- */

void fake_capture_begin(void *stream)
{
	static uint64_t number;
	struct stream *s = stream;

	s->capture = calloc(1, sizeof(*s->capture));
	if (!s->capture)
		abort();
	s->lane = 0;
	s->capture->lanes = 1;
	s->capture->number = ++number;
}

void *fake_capture_end(void *stream)
{
	struct graph *g = ((struct stream *)stream)->capture;

	for (int i = 0; i < STREAMS; i++)
		if (streams[i] && streams[i]->capture == g)
			streams[i]->capture = NULL;
	return g;
}

void *fake_graph_copy(const void *graph)
{
	const struct graph *from = graph;
	struct graph *g = calloc(1, sizeof(*g));

	if (!g || !(g->over = calloc(from->events + 1, sizeof(*g->over))))
		abort();
	g->lanes = from->lanes;
	g->events = from->events;
	for (int i = 0; i < from->lanes; i++)
		for (const struct operation *o = from->lane[i].head; o; o = o->next)
			append(&g->lane[i], o)->kernel = fake_kernel_copy(o->kernel);
	return g;
}

void fake_graph_launch(const void *graph, cudaStream_t stream)
{
	if (!stream)
		abort();
	enqueue(stream, &(struct operation){.kind = GRAPH, .graph = fake_graph_copy(graph)});
}
