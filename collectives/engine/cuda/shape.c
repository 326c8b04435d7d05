/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels, threads, slices, slots, and where the links' memory is; see build.h. The figures were
 * measured on two and four H200 with NVLink; a tuning table replaces them.
 */
#include <stdlib.h>

#include "collectives/engine/cuda/build.h"
#include "common/base/error.h"

enum {
	BULK_SLOT = 512 << 10,    /* a counter costs about a microsecond: far less than this */
	DIRECT_SLICE = 512 << 10, /* a forwarded piece */
	LEAST_SLICE = 64 << 10,
	LL_SLOT = 64 << 10,
	STRIPE = 16 << 10,
	DEEP_SLOTS = 8,
	LEAST_STRIPES = 4,        /* of each channel and unit, so that channels have equal shares */
	STAGES = 4,               /* pieces that forwarding plans are cut into, if large enough */
	ROW_STAGES = 16,          /* the same where more than one rank forwards */
	ROW_SLOT = 128 << 10,
	FEW_CHANNELS = 8,
	MOST_SLICES = 4096,
	MOST_SLOT = 64 << 20,
	BULK_THREADS = 512,
	LL_THREADS = 512,
	LL128_THREADS = 640,
	LEAST_THREADS = 64,
	LEAST_LINE_THREADS = 256, /* so many warps that records can go side by side */
};

/*
 * Whether no rank finishes before all have begun. All_gather_v may have empty blocks among others:
 * a rank passes them on without having waited for them, as nothing orders pieces without bytes.
 */
static bool depends_on_all(const struct fb_geometry *g)
{
	return !fb_collective_info(g->collective)->has_root && g->collective != FB_SEND_RECV &&
	       !(g->collective == FB_ALL_GATHER_V && g->counts && g->counts->empty);
}

/*
 * Bytes are worth a block more in this measure: the first blocks soon, to have more accesses
 * under way, the last ones only where they hide what waiting and posting cost.
 */
static uint64_t bulk_channels(uint64_t bytes)
{
	static const struct {
		uint64_t each, most;
	} steps[] = {{16 << 10, 32}, {32 << 10, 64}, {64 << 10, UINT64_MAX}};
	uint64_t n = 1;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint64_t here = (bytes + steps[i].each - 1) / steps[i].each;

		here = here < steps[i].most ? here : steps[i].most;
		n = here > n ? here : n;
	}
	return n;
}

int fb_gpu_choose_channels(const struct fb_gpu_tuning *tuning, enum fb_gpu_protocol protocol,
			   int multiple, uint64_t bytes, int most)
{
	/* Data of one pass of a block's threads in the line protocols. */
	uint64_t each = protocol == FB_GPU_LL128 ? LL128_THREADS / 8 * 120 : LL_THREADS * 8;
	uint64_t n = (bytes + each - 1) / each, limit = (uint64_t)most / (uint64_t)multiple;

	limit *= (uint64_t)multiple;

	if (tuning->channels)
		n = (uint64_t)tuning->channels;
	else if (protocol == FB_GPU_SIMPLE)
		n = bulk_channels(bytes);
	n = (n + (uint64_t)multiple - 1) / (uint64_t)multiple * (uint64_t)multiple;
	if (!tuning->channels && n > limit)
		n = limit;
	return n < (uint64_t)multiple ? multiple : (int)n;
}

int fb_gpu_choose_threads(const struct fb_gpu_tuning *tuning, enum fb_gpu_protocol protocol,
			  uint64_t channel_bytes)
{
	uint64_t most = protocol == FB_GPU_SIMPLE ? BULK_THREADS
			: protocol == FB_GPU_LL128 ? LL128_THREADS
						   : LL_THREADS;
	/* Bytes of one access of a thread. */
	uint64_t each = protocol == FB_GPU_SIMPLE ? 16 : protocol == FB_GPU_LL128 ? 15 : 8;
	uint64_t least = protocol == FB_GPU_SIMPLE ? LEAST_THREADS : LEAST_LINE_THREADS;
	uint64_t n = (channel_bytes / each + 31) / 32 * 32;

	if (tuning->threads)
		return tuning->threads;
	return (int)(n < least ? least : n > most ? most : n);
}

void fb_gpu_plan_facts(struct fb_plan *const *plans, int nchannels, struct fb_gpu_facts *facts)
{
	for (int i = 0; i < nchannels; i++) {
		const struct fb_plan *p = plans[i];

		facts->units = p->max_units > facts->units ? p->max_units : facts->units;
		facts->pipelined |= p->pipelined;
		facts->relays |= p->relays;
		facts->scratch = p->scratch_blocks > facts->scratch ? p->scratch_blocks
								    : facts->scratch;
		facts->lanes = (uint64_t)p->nlanes > facts->lanes ? (uint64_t)p->nlanes
								  : facts->lanes;
		for (int k = 0; k < p->n_in_links; k++)
			facts->messages = p->in_links[k].messages > facts->messages
						  ? p->in_links[k].messages
						  : facts->messages;
	}
}

static uint32_t power_of_two(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/* Bytes that a message of `bytes` in up to `pieces` pieces takes in a slot. */
static uint64_t slot_room(enum fb_gpu_protocol protocol, uint64_t bytes, uint64_t pieces)
{
	uint64_t room = bytes + pieces * 16;

	if (protocol == FB_GPU_LL128)
		room = (bytes / 120 + pieces + 1) * 128;
	else if (protocol != FB_GPU_SIMPLE)
		room = (bytes / 8 + pieces + 1) * 16;
	return (room + FB_GPU_LINE - 1) / FB_GPU_LINE * FB_GPU_LINE;
}

/*
 * How the channels share blocks in stripes, if they can: in slots bytes are contiguous, and stripes
 * of unaligned blocks would each have a head and a tail.
 */
static void choose_stripe(const struct fb_gpu_tuning *tuning, const struct fb_gpu_facts *facts,
			  struct fb_gpu_shape *shape)
{
	struct fb_geometry *g = &shape->geometry;
	uint64_t block = g->count * g->element_bytes, stripe;
	uint64_t shares = (uint64_t)shape->nchannels * g->split * shape->slices * LEAST_STRIPES;

	if (!tuning->striped || facts->units || g->counts || block % 16)
		return;
	stripe = power_of_two(tuning->slot_bytes ? tuning->slot_bytes : STRIPE);
	while (stripe > FB_GPU_LEAST_STRIPE && stripe * shares > block)
		stripe /= 2;
	if (stripe < FB_GPU_LEAST_STRIPE || stripe * shares > block)
		return;
	g->stripe = (uint32_t)stripe;
	g->channels = (uint32_t)shape->nchannels;
	/* What was asked for: the number in the shape is rounded up to a power of two. */
	shape->deep = !tuning->slots || tuning->slots >= DEEP_SLOTS;
}

/*
 * Slices let a rank forward the first bytes while the last ones are still on their way to it. They
 * only cost time where ranks forward nothing but sums of what they read in peers' memory: the
 * threads of a block store one sum while others load the next, but before each slice all ranks
 * wait until all have stored the one before. With many channels the waits of one block hide behind
 * the bytes of the others. With few channels nothing hides them, and such plans are cut only if the
 * user gives the size of a slice.
 */
static bool cuts(const struct fb_gpu_facts *facts, int channels, uint32_t slot_bytes)
{
	return facts->units || facts->relays ||
	       (facts->pipelined && (slot_bytes || channels > FEW_CHANNELS));
}

void fb_gpu_choose_slices(const struct fb_gpu_tuning *tuning, const struct fb_gpu_facts *facts,
			  bool direct, struct fb_gpu_shape *shape)
{
	struct fb_geometry *g = &shape->geometry;
	uint32_t units = (uint32_t)facts->units, known = units ? units : 1;
	uint64_t channels = (uint64_t)shape->nchannels;
	size_t limit = shape->protocol == FB_GPU_SIMPLE ? BULK_SLOT : LL_SLOT, total, piece;
	uint32_t slot_bytes = tuning->striped ? 0 : tuning->slot_bytes;

	if (direct)
		limit = DIRECT_SLICE;
	shape->nlanes = (int)(facts->lanes ? facts->lanes : 1);
	shape->slots = power_of_two(tuning->slots ? tuning->slots : 8);
	shape->all_depend = depends_on_all(g);
	if (slot_bytes)
		limit = slot_bytes;
	g->parts = channels;
	total = fb_message_bound(g, known);
	if (facts->pipelined && !slot_bytes && shape->protocol == FB_GPU_SIMPLE) {
		bool row = shape->nranks > 2;

		piece = total / (row ? ROW_STAGES : STAGES);
		piece = piece < LEAST_SLICE ? LEAST_SLICE : piece;
		piece = row && piece > ROW_SLOT ? ROW_SLOT : piece;
		limit = piece < limit ? piece : limit;
	}
	shape->slices = 1;
	if (cuts(facts, shape->nchannels, slot_bytes))
		shape->slices = fb_slices_for(g, known, channels, limit);
	for (; shape->slices > MOST_SLICES && limit < MOST_SLOT; limit *= 2)
		shape->slices = fb_slices_for(g, known, channels, limit);
	g->parts = shape->slices * channels;
	shape->stride = units ? (uint32_t)slot_room(shape->protocol, fb_message_bound(g, units),
						    units / g->split + 2)
			      : 0;
	choose_stripe(tuning, facts, shape);
}

static uint64_t round_up(uint64_t n)
{
	return (n + FB_GPU_LINE - 1) / FB_GPU_LINE * FB_GPU_LINE;
}

/* What stands in for parts of peers, behind the own far part. */
static void lay_out_proxied(const struct fb_gpu_shape *shape, struct fb_plan *const *plans,
			 const uint8_t *via, struct fb_gpu_layout *layout)
{
	size_t places = (size_t)shape->nchannels * FB_MAX_LANES;
	uint64_t at = layout->slots;

	layout->proxied = layout->far_bytes;
	for (int c = 0; c < shape->nchannels; c++)
		for (int k = 0; k < plans[c]->n_out_links; k++) {
			const struct fb_link *l = &plans[c]->out_links[k];

			if (via[l->peer] != FB_GPU_PROXIED)
				continue;
			layout->proxied_slots[(size_t)l->peer * places + (size_t)c * FB_MAX_LANES +
					   l->lane] = at;
			at += round_up((uint64_t)fb_gpu_link_slots(shape, l) * shape->stride);
		}
	layout->far_bytes += at;
}

int fb_gpu_lay_out(const struct fb_gpu_shape *shape, struct fb_plan *const *plans,
		   const uint8_t *via, struct fb_gpu_layout *layout)
{
	uint64_t blocks = (uint64_t)shape->nchannels * (uint64_t)shape->nlanes * FB_GPU_LINE;
	size_t places = (size_t)shape->nchannels * FB_MAX_LANES;
	size_t n = (size_t)shape->nranks * places;
	uint64_t at[2];

	/* The fused kernels have blocks of their own; their epochs follow those of channels. */
	if (blocks < FB_GPU_MOST_FUSED_BLOCKS * FB_GPU_LINE)
		blocks = FB_GPU_MOST_FUSED_BLOCKS * FB_GPU_LINE;
	*layout = (struct fb_gpu_layout){.progress = blocks, .counters = 2 * blocks};
	layout->slots = layout->counters + n * FB_GPU_LINE;
	layout->in_slots = calloc(n, sizeof(*layout->in_slots));
	layout->out_slots = calloc(n, sizeof(*layout->out_slots));
	layout->proxied_slots = calloc(n, sizeof(*layout->proxied_slots));
	if (!layout->in_slots || !layout->out_slots || !layout->proxied_slots)
		return FB_ENOMEM;
	at[FB_GPU_NEAR] = at[FB_GPU_FAR] = layout->slots;
	for (int c = 0; c < shape->nchannels; c++)
		for (int k = 0; k < plans[c]->n_in_links; k++) {
			const struct fb_link *l = &plans[c]->in_links[k];
			size_t place = (size_t)l->peer * places + (size_t)c * FB_MAX_LANES +
				       l->lane;
			int far = via && via[l->peer] ? FB_GPU_FAR : FB_GPU_NEAR;

			if (l->mode != FB_LINK_FIFO)
				continue;
			layout->in_slots[place] = at[far];
			at[far] += round_up((uint64_t)fb_gpu_link_slots(shape, l) * shape->stride);
		}
	layout->bytes = at[FB_GPU_NEAR];
	layout->far_bytes = at[FB_GPU_FAR];
	if (via)
		lay_out_proxied(shape, plans, via, layout);
	return FB_OK;
}

uint64_t fb_gpu_counter_offset(const struct fb_gpu_shape *shape, const struct fb_gpu_layout *layout,
			       int channel, int lane, int peer, enum fb_gpu_counter_kind kind)
{
	uint64_t place = (uint64_t)channel * FB_MAX_LANES + (uint64_t)lane;

	return layout->counters +
	       (place * (uint64_t)shape->nranks + (uint64_t)peer) * FB_GPU_LINE + (uint64_t)kind;
}

void fb_gpu_layout_free(struct fb_gpu_layout *layout)
{
	free(layout->in_slots);
	free(layout->out_slots);
	free(layout->proxied_slots);
	*layout = (struct fb_gpu_layout){.bytes = 0};
}

bool fb_gpu_link_is_free(const struct fb_gpu_shape *shape, const struct fb_link *link)
{
	return shape->all_depend && 2 * link->messages * shape->slices <= shape->slots;
}

uint32_t fb_gpu_link_slots(const struct fb_gpu_shape *shape, const struct fb_link *link)
{
	uint64_t messages = link->messages * shape->slices;

	return fb_gpu_link_is_free(shape, link) ? power_of_two(2 * messages) : shape->slots;
}
