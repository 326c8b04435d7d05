/* SPDX-License-Identifier: BSD-3-Clause */
/* What all movers share: checking transfers, waiting, and the usual regions; see mover.h. */
#include "common/mover/mover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/cuda/gpu_segment.h"

const char *const fb_move_verbs[] = {
	[FB_MOVE_PUT] = "put", [FB_MOVE_GET] = "get", [FB_MOVE_SEND] = "send",
	[FB_MOVE_RECV] = "recv", [FB_MOVE_VERBS] = NULL,
};

int fb_mover_form(const struct fb_mover_ops *ops, const char *form)
{
	if (!form)
		return 0;
	for (int i = 0; ops->forms && ops->forms[i]; i++)
		if (!strcmp(ops->forms[i], form))
			return i;
	return -1;
}

uint64_t fb_transfer_bytes(const struct fb_transfer *transfer)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < transfer->pieces; i++)
		bytes += transfer->piece[i].bytes;
	return bytes * (transfer->repeats ? transfer->repeats : 1);
}

uint64_t fb_runs_next(struct fb_runs *r, uint64_t *local, uint64_t *remote)
{
	uint64_t bytes;

	if (r->walk.transfer->apart)
		return fb_walk_next(&r->walk, UINT64_MAX, local, remote);
	if (!r->bytes)
		r->bytes = fb_walk_next(&r->walk, UINT64_MAX, &r->local, &r->remote);
	*local = r->local;
	*remote = r->remote;
	bytes = r->bytes;
	while ((r->bytes = fb_walk_next(&r->walk, UINT64_MAX, &r->local, &r->remote)) &&
	       r->local == *local + bytes && r->remote == *remote + bytes)
		bytes += r->bytes;
	return bytes;
}

void fb_transfer_copy(const struct fb_transfer *t, int rank)
{
	char *local = t->pieces ? fb_transfer_local(t, rank) : NULL;
	char *remote = t->pieces ? fb_segment_part(t->remote->segment, rank) : NULL;
	struct fb_walk walk = {.transfer = t};
	uint64_t a, b, bytes;

	while (local && remote && (bytes = fb_walk_next(&walk, UINT64_MAX, &a, &b)))
		if (t->verb == FB_MOVE_PUT)
			memcpy(remote + b, local + a, bytes);
		else
			memcpy(local + a, remote + b, bytes);
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool two_sided(const struct fb_transfer *t)
{
	return t->verb == FB_MOVE_SEND || t->verb == FB_MOVE_RECV;
}

/* Whether the piece lies within the region's parts in all repeats. */
static int check_bounds(const struct fb_transfer *t, uint64_t i, const struct fb_region *region,
			const char *side, uint64_t at, uint64_t step, uint64_t base)
{
	uint64_t most = region->segment->part_bytes, bytes = t->piece[i].bytes, last = 0;
	uint64_t more = t->repeats > 1 ? t->repeats - 1 : 0;
	bool over = __builtin_mul_overflow(more, step, &last) ||
		    __builtin_add_overflow(last, at, &last) ||
		    __builtin_add_overflow(last, base, &last) ||
		    __builtin_add_overflow(last, bytes, &last);

	if (!over && last <= most)
		return FB_OK;
	return fb_error(FB_EINPUT, "piece %llu of a %s with rank %d: %llu bytes at %llu of the %s "
			"region, which has %llu", (unsigned long long)i, fb_move_verbs[t->verb],
			t->peer, (unsigned long long)bytes, (unsigned long long)at, side,
			(unsigned long long)most);
}

static int check(const struct fb_mover *mover, const struct fb_transfer *t)
{
	const char *verb = t->verb < FB_MOVE_VERBS ? fb_move_verbs[t->verb] : "transfer";
	int err = FB_OK;

	if (t->verb >= FB_MOVE_VERBS || !(mover->ops->verbs >> t->verb & 1))
		return fb_error(FB_EINPUT, "mover %s has no %s", mover->ops->name, verb);
	if (t->peer < 0 || t->peer >= mover->group->nranks ||
	    (two_sided(t) && t->peer == mover->group->rank))
		return fb_error(FB_EINPUT, "a %s with rank %d of %d", verb, t->peer,
				mover->group->nranks);
	if (t->notice < 0 || t->notice > FB_NOTICES || (two_sided(t) && t->notice))
		return fb_error(FB_EINPUT, "a %s with notice %d", verb, t->notice);
	if (t->pieces && (!t->local || t->local->mover != mover ||
			  (!two_sided(t) && (!t->remote || t->remote->mover != mover))))
		return fb_error(FB_EINPUT, "a %s with a region that mover %s does not know", verb,
				mover->ops->name);
	for (uint64_t i = 0; i < t->pieces && !err; i++) {
		err = check_bounds(t, i, t->local, "local", t->piece[i].local, t->local_step,
				   t->local_at);
		if (!err && !two_sided(t))
			err = check_bounds(t, i, t->remote, "remote", t->piece[i].remote,
					   t->remote_step, t->remote_at);
	}
	return err;
}

int fb_move_prepare(struct fb_mover *mover, const struct fb_transfer *transfers, uint32_t n,
		    const char *form, struct fb_move **move)
{
	const struct fb_move given = {mover, transfers, n};
	char ignored[FB_REASON_CHARS];
	int err = FB_OK;

	*move = NULL;
	if (fb_mover_form(mover->ops, form) < 0)
		return fb_error(FB_EINPUT, "mover %s has no form %s", mover->ops->name, form);
	for (uint32_t i = 0; i < n && !err; i++)
		err = check(mover, &transfers[i]);
	if (!err && mover->ops->can && !mover->ops->can(mover, form, ignored))
		err = FB_EUNSUPPORTED;
	if (!err)
		err = mover->ops->prepare(mover, &given, form, move);
	/* ops->prepare has freed what it made before it failed. */
	if (err)
		*move = NULL;
	return err;
}

/* --- waiting ---------------------------------------------------------------------------------- */

enum { FIRST_LOOK_UP = 32 };

/*
 * The pause of fb_mover_again(); *idle: time to tell the watchdog. The first time is soon after the
 * spinning: later pauses may take a time slice each, and the watchdog might end the job earlier.
 */
static int again(struct fb_mover *mover, struct fb_spin *spin, bool *idle)
{
	if (mover->wait != FB_RDMA_WAIT_POLL)
		return mover->ops->rest(mover, idle);
	*idle = fb_spin_again(spin) ||
		spin->looks == (spin->yields ? FB_SPIN_CROWDED : FB_SPIN_ALONE) + FIRST_LOOK_UP;
	return FB_OK;
}

static int say(struct fb_mover *mover, const char *doing)
{
	mover->said = *doing != '\0';
	return fb_alive(mover->session, doing);
}

int fb_mover_waited(struct fb_mover *mover, int err)
{
	if (!err && mover->said)
		(void)say(mover, "");
	return err;
}

int fb_mover_again(struct fb_mover *mover, struct fb_spin *spin, const char *doing)
{
	bool idle = false;
	int err = again(mover, spin, &idle);

	return err || !idle ? err : say(mover, doing);
}

int fb_mover_again_for(struct fb_mover *mover, struct fb_spin *spin, const struct fb_wait *wait,
		       uint64_t have)
{
	bool idle = false;
	int err = again(mover, spin, &idle);
	char doing[96];

	if (err || !idle)
		return err;
	snprintf(doing, sizeof(doing), "waiting for notice %d of rank %d: %llu of %llu came",
		 wait->notice, wait->from, (unsigned long long)have,
		 (unsigned long long)wait->count);
	return say(mover, doing);
}

int fb_mover_barrier(struct fb_mover *mover, void (*progress)(struct fb_mover *mover),
		     const char *doing)
{
	struct fb_spin spin = {.yields = mover->group->oversubscribed};
	MPI_Request request;
	int done = 0, err = FB_OK;

	MPI_Ibarrier(mover->group->comm, &request);
	while (!done && !err) {
		progress(mover);
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (!done)
			err = fb_mover_again(mover, &spin, doing);
	}
	return fb_mover_waited(mover, err);
}

int fb_move_wait(struct fb_move *move)
{
	struct fb_mover *mover = move->mover;
	struct fb_spin spin = {.yields = mover->group->oversubscribed};
	bool done = false;
	int err;

	while (!(err = mover->ops->test(move, &done)) && !done)
		if ((err = fb_mover_again(mover, &spin, "waiting for a transfer")))
			break;
	return fb_mover_waited(mover, err);
}

int fb_mover_await(struct fb_mover *mover, int from, int notice, uint64_t count)
{
	struct fb_spin spin = {.yields = mover->group->oversubscribed};
	const struct fb_wait wait = {from, notice, count};
	uint64_t have = 0;
	int err;

	while (!(err = mover->ops->arrived(mover, from, notice, &have)) && have < count)
		if ((err = fb_mover_again_for(mover, &spin, &wait, have)))
			break;
	return fb_mover_waited(mover, err);
}

/* --- what movers have in common --------------------------------------------------------------- */

int fb_mover_open(struct fb_mover **mover, const struct fb_mover_ops *ops,
		  const struct fb_session *session, const struct fb_group *group,
		  char why[FB_REASON_CHARS])
{
	if (ops->one_host && !fb_group_one_host(group)) {
		snprintf(why, FB_REASON_CHARS, "ranks on several hosts");
		return FB_EUNSUPPORTED;
	}
	return ops->open(mover, session, group, why);
}

int fb_mover_segment(struct fb_segment *segment, const struct fb_mover_ops *ops,
		     const struct fb_session *session, const struct fb_gpu *gpu,
		     const struct fb_group *group, size_t part_bytes)
{
	const char *list = session->settings ? session->settings->memory : NULL;
	enum fb_memory_kind kind = fb_memory_asked(list, gpu != NULL);

	if (ops && ops->segment)
		return ops->segment(segment, session, group, part_bytes);
	return gpu ? fb_gpu_segment_open(segment, gpu,
					 (enum fb_gpu_memory)(kind - FB_MEMORY_DEVICE), part_bytes)
		   : fb_segment_open(segment, group, part_bytes, fb_memory_kinds[kind].pages);
}

/* No explicit huge pages: they may be missing, and rows have no way to be skipped for that here. */
const char *const fb_mover_memories[] = {"host", "hugepage", "device", "vmm", "pinned", NULL};

const char *fb_mover_memory(const struct fb_mover_ops *ops, const struct fb_settings *settings,
			    bool device)
{
	bool own = ops && ops->segment;

	return fb_memory_kinds[fb_memory_asked(own ? NULL : settings->memory, device)].name;
}

int fb_mover_new(struct fb_mover **mover, const struct fb_mover_ops *ops, size_t bytes,
		 const struct fb_session *session, const struct fb_group *group)
{
	struct fb_mover *m = calloc(1, bytes);
	int err;

	if (m)
		m->counts = calloc((size_t)group->nranks, sizeof(*m->counts));
	err = fb_group_agree(group, m && m->counts ? FB_OK : FB_ENOMEM);
	if (err || !m) {
		if (m)
			free(m->counts);
		free(m);
		return fb_error(err, "mover %s: out of memory", ops->name);
	}
	m->ops = ops;
	m->session = session;
	m->group = group;
	*mover = m;
	return FB_OK;
}

void fb_mover_free(struct fb_mover *mover)
{
	free(mover->counts);
	free(mover);
}

int fb_region_new(struct fb_mover *mover, const struct fb_segment *segment, size_t bytes,
		  int (*open)(struct fb_region *region), struct fb_region **region)
{
	struct fb_region *r = calloc(1, bytes);
	int err = r ? FB_OK : fb_error(FB_ENOMEM, "mover %s: out of memory", mover->ops->name);

	/* All ranks have a region or none has, because ops->remove may be collective. */
	err = fb_group_agree(mover->group, err);
	if (err || !r) {
		free(r);
		return err;
	}
	*r = (struct fb_region){mover, segment};
	err = fb_group_agree(mover->group, open ? open(r) : FB_OK);
	if (!err)
		*region = r;
	else
		mover->ops->remove(r);
	return err;
}

int fb_region_add(struct fb_mover *mover, const struct fb_segment *segment,
		  struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct fb_region), NULL, region);
}

void fb_region_remove(struct fb_region *region)
{
	free(region);
}

int fb_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		struct fb_move **move)
{
	/* The list is behind the mover's structure in the same memory. */
	size_t list = (bytes + 15) / 16 * 16, n = given->transfers;
	char *memory = calloc(1, list + n * sizeof(struct fb_transfer));
	struct fb_move *m = (struct fb_move *)(void *)memory;

	if (!memory)
		return fb_error(FB_ENOMEM, "mover %s: out of memory", mover->ops->name);
	if (n)
		memcpy(memory + list, given->transfer, n * sizeof(struct fb_transfer));
	*m = (struct fb_move){mover, (const struct fb_transfer *)(void *)(memory + list),
			      given->transfers};
	*move = m;
	return FB_OK;
}

void fb_move_free(struct fb_move *move)
{
	free(move);
}
