/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mover with a fault, as a plugin: shm, but in every second request of handoff the pieces of a
 * PUT without a notice of its own are copied only when the peer's leave for the next request has
 * come, a notice of number 2. So the notice behind such a PUT comes before its data.
 */
#include "common/base/error.h"
#include "tests/fake/mover_over_shm.h"

enum { HELD = 256, LEAVE = 2 };

static struct {
	struct fb_move *move;
	uint64_t leaves; /* that had come from the peer */
} held[HELD];
static int n;

static int early_post(struct fb_move *move)
{
	const struct fb_transfer *t = &move->transfer[0];
	uint64_t leaves = 0;
	int err = fb_mover_shm.arrived(move->mover, t->peer, LEAVE, &leaves);

	if (err || move->transfers != 1 || t->notice || !t->pieces || leaves % 2)
		return err ? err : fb_mover_shm.post(move);
	if (n == HELD)
		return fb_error(FB_EINPUT, "mover early: more than %d moves", HELD);
	held[n].move = move;
	held[n++].leaves = leaves;
	return FB_OK;
}

static int early_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	int err = fb_mover_shm.arrived(mover, from, notice, count);

	for (int k = 0; k < n && notice == LEAVE && !err;)
		if (held[k].move->transfer[0].peer == from && *count > held[k].leaves) {
			err = fb_mover_shm.post(held[k].move);
			held[k] = held[--n];
		} else {
			k++;
		}
	return err;
}

static void early_release(struct fb_move *move)
{
	for (int k = 0; k < n;)
		if (held[k].move == move)
			held[k] = held[--n];
		else
			k++;
	fb_mover_shm.release(move);
}

const struct fb_mover_ops *fb_mover_plugin(unsigned version)
{
	begin_over_shm("early", "shm that notifies before it moves");
	ops.post = early_post;
	ops.arrived = early_arrived;
	ops.release = early_release;
	return version == FB_MOVER_VERSION ? &ops : NULL;
}
