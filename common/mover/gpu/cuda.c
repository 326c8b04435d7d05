/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover cuda: a launch carries out all transfers of a move, PUT by stores into the peers' memory
 * and GET by loads from it. A team of threads, sized by the pieces' length, moves each piece;
 * prepare() puts the lists on the GPU. A notice has a counter for each block, and waiting for the
 * notice is waiting for all of them. The kernels' code is in move.h. Form tma moves pieces of a
 * kilobyte or more by bulk copies, unless an address of the launch is not aligned to 16 bytes.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/mover/gpu/device.h"

enum { TMA = 1 }; /* in ops->forms */

struct cuda_move {
	struct fb_gpu_move move;
	struct fb_gpu_launches launches;
	const char *form;
};

const char *fb_cuda_form(const struct fb_move *move)
{
	return ((const struct cuda_move *)move)->form;
}

void fb_cuda_release(struct fb_move *move)
{
	struct cuda_move *c = (struct cuda_move *)move;

	fb_gpu_launches_close(&c->launches, (struct fb_gpu_mover *)move->mover);
	fb_gpu_move_free(move);
}

int fb_cuda_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		    struct fb_move **move)
{
	bool tma = fb_mover_form(mover->ops, form) == TMA;
	struct cuda_move *c;
	int err;

	if (tma && !((struct fb_gpu_mover *)mover)->has_tma)
		return FB_EUNSUPPORTED;
	err = fb_gpu_move_new(mover, given, sizeof(struct cuda_move), move);
	if (err)
		return err;
	c = (struct cuda_move *)*move;
	c->form = "kernels";
	err = fb_gpu_launches_open(&c->launches, (struct fb_gpu_mover *)mover, (*move)->transfer,
				   (*move)->transfers, FB_MOVE_ACROSS, NULL);
	if (!err && tma)
		c->form = fb_gpu_launches_bulk(&c->launches) == c->launches.count
				  ? "kernels, tma"
				  : "kernels, tma where aligned";
	if (err)
		fb_cuda_release(*move);
	return err;
}

int fb_cuda_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait, int n,
		    struct fb_move *move, void *stream)
{
	const struct cuda_move *c = (const struct cuda_move *)move;

	return fb_gpu_launches_enqueue(c ? &c->launches : NULL, (struct fb_gpu_mover *)mover, wait,
				       n, stream);
}

int fb_cuda_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;
	int err = fb_gpu_look(m, from, notice, m->counters * sizeof(*m->seen));

	*count = UINT64_MAX;
	for (uint32_t b = 0; b < m->counters && !err; b++)
		*count = m->seen[b] < *count ? m->seen[b] : *count;
	return err;
}
