/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover store_gpu: between GPU memory and a file of each rank, through pinned host memory. Movers
 * copy and store work one after the other on slots of that memory: while one slot's bytes go to the
 * disk, the GPU fills the next one. As with mover store (store.h) the `remote` places are places
 * in the file, and the forms are those of mover store.
 *
 * A move is cut into chunks of at most a slot. Chunks get their slots when the move is prepared,
 * one after the other, because each chunk's moves of copy and of store are made then. The copy is a
 * GET in both directions, because a GET is done when its bytes are in place, while a PUT would need
 * a notice. Chunks begin in order, so a slot that is not free yet delays all later chunks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"
#include "common/mover/gpu.h"
#include "common/mover/store.h"

enum { SLOTS = FB_STORE_DEPTH, SLOT = FB_STORE_REQUEST, STAGES = 2 };

struct chunk {
	struct fb_move *stage[STAGES]; /* PUT: copy, then write; GET: read, then copy */
	int at;                        /* the stage that is under way */
	struct gpu_move *move;
};

struct gpu_move {
	struct fb_move move;
	struct chunk *chunk;    /* [chunks] */
	struct fb_piece *piece; /* of all chunks' moves */
	uint64_t chunks, begun, ended, first_slot;
	bool listed;
	struct gpu_move *next; /* under way, in the order of posting */
};

struct gpu_store {
	struct fb_mover mover;
	struct fb_mover *copy, *store;
	struct fb_segment slots;
	struct fb_region *copied, *stored; /* the slots as regions of copy and of store */
	struct chunk *slot[SLOTS];         /* the chunk in it; NULL: it is free */
	struct gpu_move *first, *last;
	uint64_t next_slot; /* of the next move that is prepared, modulo SLOTS */
	uint64_t arrived[FB_NOTICES + 1];
	int err; /* of a chunk that failed (printed) */
};

struct gpu_region {
	struct fb_region region;
	struct fb_region *gpu, *file;
};

struct fb_mover *fb_store_below(struct fb_mover *mover)
{
	if (mover->ops == &fb_mover_store_gpu)
		return ((struct gpu_store *)mover)->store;
	return mover->ops == &fb_mover_store ? mover : NULL;
}

static void close_mover(struct fb_mover *mover)
{
	struct gpu_store *g = (struct gpu_store *)mover;

	MPI_Barrier(mover->group->comm);
	if (g->store && g->stored)
		g->store->ops->remove(g->stored);
	if (g->copied)
		fb_region_remove(g->copied);
	fb_segment_close(&g->slots);
	if (g->store)
		g->store->ops->close(g->store);
	if (g->copy)
		g->copy->ops->close(g->copy);
	fb_mover_free(mover);
}

static int open_slots(struct gpu_store *g, char why[FB_REASON_CHARS])
{
	const struct fb_gpu *gpu = &((const struct fb_gpu_mover *)g->copy)->gpu;
	int err = FB_OK;

	if (!fb_gpu_segment_can(gpu, FB_GPU_PINNED, why, FB_REASON_CHARS))
		return FB_EUNSUPPORTED;
	err = fb_gpu_segment_open(&g->slots, gpu, FB_GPU_PINNED, (size_t)SLOTS * SLOT);
	if (!err)
		err = fb_region_add(g->copy, &g->slots, &g->copied);
	return err ? err : fb_store_add_memory(g->store, &g->slots, &g->stored);
}

static int open_mover(struct fb_mover **mover, const struct fb_session *session,
		      const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, &fb_mover_store_gpu, sizeof(struct gpu_store), session,
			       group);
	struct gpu_store *g;

	if (err)
		return err;
	g = (struct gpu_store *)*mover;
	err = fb_mover_open(&g->copy, &fb_mover_copy, session, group, why);
	if (err)
		g->copy = NULL;
	else
		err = fb_mover_open(&g->store, &fb_mover_store, session, group, why);
	if (err)
		g->store = NULL;
	else
		err = open_slots(g, why);
	if (err)
		close_mover(*mover);
	return err;
}

/* --- regions ---------------------------------------------------------------------------------- */

static void remove_region(struct fb_region *region)
{
	struct gpu_region *r = (struct gpu_region *)region;
	const struct gpu_store *g = (const struct gpu_store *)region->mover;

	if (r->gpu)
		g->copy->ops->remove(r->gpu);
	if (r->file)
		g->store->ops->remove(r->file);
	free(r);
}

static int add_region(struct fb_mover *mover, const struct fb_segment *segment,
		      struct fb_region **region)
{
	const struct gpu_store *g = (const struct gpu_store *)mover;
	struct fb_region *made = NULL;
	int err = fb_region_new(mover, segment, sizeof(struct gpu_region), NULL, &made);
	struct gpu_region *r = (struct gpu_region *)made;

	if (err || !r)
		return err;
	err = g->copy->ops->add(g->copy, segment, &r->gpu);
	/* The file is as large as the GPU's part, but mover store never accesses that memory. */
	if (!err)
		err = g->store->ops->add(g->store, segment, &r->file);
	if (err)
		remove_region(made);
	else
		*region = made;
	return err;
}

/* --- preparing -------------------------------------------------------------------------------- */

static void release(struct fb_move *move)
{
	struct gpu_move *m = (struct gpu_move *)move;

	for (uint64_t k = 0; k < m->chunks && m->chunk; k++)
		for (int s = 0; s < STAGES; s++)
			if (m->chunk[k].stage[s])
				m->chunk[k].stage[s]->mover->ops->release(m->chunk[k].stage[s]);
	free(m->chunk);
	free(m->piece);
	fb_move_free(move);
}

/* Prepares the two moves of a chunk whose `n` pieces have been listed. */
static int make_chunk(struct gpu_move *m, const struct fb_transfer *t, const char *form,
		      const struct fb_piece *copied, const struct fb_piece *stored, uint64_t n)
{
	const struct gpu_store *g = (const struct gpu_store *)m->move.mover;
	const struct gpu_region *memory = (const struct gpu_region *)t->local;
	const struct gpu_region *file = (const struct gpu_region *)t->remote;
	bool out = t->verb == FB_MOVE_PUT;
	const struct fb_transfer copy = {
		.verb = FB_MOVE_GET, .peer = t->peer, .piece = copied, .pieces = n,
		.local = out ? g->copied : memory->gpu, .remote = out ? memory->gpu : g->copied};
	const struct fb_transfer store = {.verb = t->verb, .peer = t->peer, .local = g->stored,
					  .remote = file->file, .piece = stored, .pieces = n};
	struct chunk *c = &m->chunk[m->chunks++];
	struct fb_move *move;
	int err = fb_move_prepare(g->copy, &copy, 1, NULL, &move);

	c->move = m;
	if (err)
		return err;
	c->stage[out ? 0 : 1] = move;
	err = fb_move_prepare(g->store, &store, 1, form, &move);
	if (!err)
		c->stage[out ? 1 : 0] = move;
	return err;
}

/* Cuts the transfer into chunks, beginning with a new slot. Advances *copied and *stored. */
static int cut(struct gpu_move *m, const struct fb_transfer *t, const char *form,
	       struct fb_piece **copied, struct fb_piece **stored)
{
	struct fb_walk walk = {.transfer = t};
	uint64_t used = 0, n = 0, a, b, bytes;
	int err = FB_OK;

	do {
		uint64_t at = (m->first_slot + m->chunks) % SLOTS * SLOT + used;

		bytes = fb_walk_next(&walk, SLOT - used, &a, &b);
		if (bytes) {
			(*copied)[n] = t->verb == FB_MOVE_PUT ? (struct fb_piece){at, a, bytes}
							      : (struct fb_piece){a, at, bytes};
			(*stored)[n++] = (struct fb_piece){at, b, bytes};
			used += bytes;
		}
		if (n && (!bytes || used == SLOT)) {
			err = make_chunk(m, t, form, *copied, *stored, n);
			*copied += n;
			*stored += n;
			used = n = 0;
		}
	} while (bytes && !err);
	return err;
}

static int prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		   struct fb_move **move)
{
	int err = fb_store_check_peers(mover, given);
	uint64_t chunks = 0, pieces = 0;
	struct fb_piece *copied, *stored;
	struct gpu_move *m;

	if (!err)
		err = fb_move_new(mover, given, sizeof(*m), move);
	if (err)
		return err;
	m = (struct gpu_move *)*move;
	for (uint32_t i = 0; i < given->transfers; i++) {
		const struct fb_transfer *t = &given->transfer[i];
		uint64_t slots = (fb_transfer_bytes(t) + SLOT - 1) / SLOT;

		/* A piece that continues in the next slot counts once more. */
		chunks += slots;
		pieces += t->pieces * (t->repeats ? t->repeats : 1) + slots;
	}
	m->first_slot = ((struct gpu_store *)mover)->next_slot;
	((struct gpu_store *)mover)->next_slot += chunks;
	m->chunk = calloc(chunks + 1, sizeof(*m->chunk));
	copied = m->piece = calloc(2 * pieces + 1, sizeof(*m->piece));
	stored = copied ? copied + pieces : NULL;
	if (!m->chunk || !copied)
		err = fb_error(FB_ENOMEM, "mover store_gpu: out of memory");
	for (uint32_t i = 0; i < given->transfers && !err; i++)
		err = cut(m, &m->move.transfer[i], form, &copied, &stored);
	if (err)
		release(*move);
	return err;
}

/* --- carrying out ----------------------------------------------------------------------------- */

/* If the slot's stage is done, posts the next one; after the last one frees the slot. */
static int go_on(struct chunk **slot)
{
	struct chunk *c = *slot;
	bool done = true;
	int err = FB_OK;

	while (!err && c->at < STAGES) {
		struct fb_move *move = c->stage[c->at];

		err = move->mover->ops->test(move, &done);
		if (err || !done)
			return err;
		if (++c->at < STAGES)
			err = c->stage[c->at]->mover->ops->post(c->stage[c->at]);
	}
	if (err)
		return err;
	c->move->ended++;
	*slot = NULL;
	return FB_OK;
}

/* Notices are given in the order of posting. */
static void end_moves(struct gpu_store *g)
{
	for (struct gpu_move *m = g->first; m && m->ended == m->chunks; m = g->first) {
		for (uint32_t i = 0; i < m->move.transfers; i++)
			g->arrived[m->move.transfer[i].notice]++;
		m->listed = false;
		g->first = m->next;
	}
}

/* Begins the next chunk, if there is one and its slot is free. */
static int begin_next(struct gpu_store *g, bool *begun)
{
	struct gpu_move *m = g->first;
	struct chunk *c, **slot;

	while (m && m->begun == m->chunks)
		m = m->next;
	slot = m ? &g->slot[(m->first_slot + m->begun) % SLOTS] : NULL;
	*begun = slot && !*slot;
	if (!*begun)
		return FB_OK;
	*slot = c = &m->chunk[m->begun++];
	c->at = 0;
	return c->stage[0]->mover->ops->post(c->stage[0]);
}

/*
 * Tests all slots whenever a chunk has begun: posting a file's stage may block until it is done,
 * and the GPU should go on copying meanwhile.
 */
static int progress(struct gpu_store *g)
{
	bool begun = true;

	while (begun && !g->err) {
		g->err = begin_next(g, &begun);
		for (int s = 0; s < SLOTS && !g->err; s++)
			if (g->slot[s])
				g->err = go_on(&g->slot[s]);
	}
	if (!g->err)
		end_moves(g);
	return g->err;
}

static int post(struct fb_move *move)
{
	struct gpu_store *g = (struct gpu_store *)move->mover;
	struct gpu_move *m = (struct gpu_move *)move;

	/* After an error the list is not used: a move in it may have been released. */
	if (g->err)
		return g->err;
	m->begun = m->ended = 0;
	m->next = NULL;
	m->listed = true;
	if (g->first)
		g->last->next = m;
	else
		g->first = m;
	g->last = m;
	return progress(g);
}

static int test(struct fb_move *move, bool *done)
{
	int err = progress((struct gpu_store *)move->mover);

	*done = !((const struct gpu_move *)move)->listed;
	return err;
}

static int arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct gpu_store *g = (struct gpu_store *)mover;
	int err = progress(g);

	*count = from == mover->group->rank ? g->arrived[notice] : 0;
	return err;
}

static void describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct gpu_store *g = (const struct gpu_store *)move->mover;
	const struct gpu_move *m = (const struct gpu_move *)move;
	char by[140] = "";

	if (m->chunks) {
		struct fb_move *const *stage = m->chunk[0].stage;

		g->store->ops->describe(stage[stage[1]->mover == g->store], traits);
		snprintf(by, sizeof(by), ", each by %.120s", traits->path);
	}
	snprintf(traits->path, sizeof(traits->path), "copy engine, %llu chunks through %d pinned "
		 "slots%s", (unsigned long long)m->chunks, (int)SLOTS, by);
}

const struct fb_mover_ops fb_mover_store_gpu = {
	.name = "store_gpu",
	.summary = "between GPU memory and a file of each rank, through pinned memory",
	.transport = "file",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	.device = true,
	.forms = fb_store_forms,
	.open = open_mover,
	.close = close_mover,
	.add = add_region,
	.remove = remove_region,
	.prepare = prepare,
	.release = release,
	.post = post,
	.test = test,
	.arrived = arrived,
	.describe = describe,
};
