/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks over all ranks or over a whole list: that all ranks describe the same region, and that
 * pieces do not overlap; see mover.h.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/mover.h"

/* --- regions ---------------------------------------------------------------------------------- */

void fb_region_record_of(const struct fb_mover *mover, const struct fb_segment *segment,
			 struct fb_region_record *record)
{
	*record = (struct fb_region_record){
		.magic = FB_REGION_MAGIC, .version = FB_MOVER_VERSION,
		.bytes = sizeof(*record), .device = mover->ops->device,
		.part_bytes = segment->part_bytes};
	snprintf(record->mover, sizeof(record->mover), "%s", mover->ops->name);
}

const char *fb_region_record_unlike(const struct fb_region_record *own, const void *other,
				    size_t bytes)
{
	struct fb_region_record r = {.magic = 0};

	memcpy(&r, other, bytes < sizeof(r) ? bytes : sizeof(r));
	if (r.magic != own->magic)
		return "its description is not one of a region";
	if (r.version != own->version)
		return "it is of another version of the movers' interface";
	if (bytes != sizeof(r) || r.bytes != own->bytes)
		return "its description is truncated";
	if (memcmp(r.mover, own->mover, sizeof(r.mover)) != 0)
		return "it is of another mover";
	if (r.device != own->device)
		return "it is memory of another kind";
	if (r.part_bytes != own->part_bytes)
		return "its part has another size";
	return NULL;
}

int fb_mover_add(struct fb_mover *mover, const struct fb_segment *segment,
		 struct fb_region **region)
{
	const struct fb_group *g = mover->group;
	struct fb_region_record *all = calloc((size_t)g->nranks, sizeof(*all)), own;
	int err = fb_group_agree(g, all ? FB_OK : FB_ENOMEM);

	if (!err && all) {
		fb_region_record_of(mover, segment, &own);
		MPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, g->comm);
		/* Compares with the first rank's, so that all ranks report the same difference. */
		for (int r = 1; r < g->nranks && !err; r++) {
			const char *why = fb_region_record_unlike(&all[0], &all[r], sizeof(own));

			if (why)
				err = fb_error(FB_EINPUT, "mover %s: a region of rank %d cannot be "
					       "reached: %s", mover->ops->name, r, why);
		}
	}
	free(all);
	if (!err)
		err = mover->ops->add(mover, segment, region);
	mover->regions += !err;
	return err;
}

void fb_mover_remove(struct fb_region *region)
{
	region->mover->regions--;
	region->mover->ops->remove(region);
}

unsigned fb_mover_close(struct fb_mover *mover)
{
	unsigned left = mover->regions;

	if (left && !mover->group->rank)
		fb_error_print("mover %s is closed with %u stale registrations of memory",
			       mover->ops->name, left);
	mover->ops->close(mover);
	return left;
}

/* --- targets ---------------------------------------------------------------------------------- */

struct span {
	uint64_t begin, bytes;
};

static int by_begin(const void *a, const void *b)
{
	uint64_t x = ((const struct span *)a)->begin, y = ((const struct span *)b)->begin;

	return (x > y) - (x < y);
}

/* Lists the spans that the transfer writes, sorted by place; returns how many. */
static uint64_t list_targets(const struct fb_transfer *t, struct span *span)
{
	struct fb_walk walk = {.transfer = t};
	uint64_t n = 0, local, remote, bytes;

	while ((bytes = fb_walk_next(&walk, UINT64_MAX, &local, &remote)))
		span[n++] = (struct span){t->verb == FB_MOVE_PUT ? remote : local, bytes};
	qsort(span, n, sizeof(*span), by_begin);
	return n;
}

static int find_overlap(const struct fb_transfer *t, const struct span *span, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
		if (span[i].begin - span[i - 1].begin < span[i - 1].bytes)
			return fb_error(FB_EINPUT, "a %s with rank %d writes %llu bytes at %llu "
					"and %llu bytes at %llu: its targets overlap",
					fb_move_verbs[t->verb], t->peer,
					(unsigned long long)span[i - 1].bytes,
					(unsigned long long)span[i - 1].begin,
					(unsigned long long)span[i].bytes,
					(unsigned long long)span[i].begin);
	return FB_OK;
}

int fb_transfer_check_targets(const struct fb_transfer *t)
{
	struct fb_transfer list = *t;
	uint64_t step = t->verb == FB_MOVE_PUT ? t->remote_step : t->local_step, n;
	uint64_t repeats = t->repeats ? t->repeats : 1;
	struct span *span;
	int err;

	if (t->verb == FB_MOVE_SEND || !t->pieces)
		return FB_OK;
	span = calloc(t->pieces * repeats, sizeof(*span));
	if (!span)
		return fb_error(FB_ENOMEM, "out of memory for %llu pieces",
				(unsigned long long)(t->pieces * repeats));
	list.repeats = 1;
	n = list_targets(&list, span);
	err = find_overlap(t, span, n);
	/* Repeats that begin behind the whole list cannot overlap it. */
	if (!err && n && span[n - 1].begin + span[n - 1].bytes - span[0].begin > step)
		err = find_overlap(t, span, list_targets(t, span));
	free(span);
	return err;
}

int fb_move_prepare_checked(struct fb_mover *mover, const struct fb_transfer *transfers, uint32_t n,
			    const char *form, struct fb_move **move)
{
	int err = FB_OK;

	for (uint32_t i = 0; i < n && !err; i++)
		err = fb_transfer_check_targets(&transfers[i]);
	return err ? err : fb_move_prepare(mover, transfers, n, form, move);
}
