/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of libfake_nvshmem.c, which includes this: halves and bfloat16 they lack. And
 * what stands for the kernels of libfabricbench-nvshmem.so.
 */
#ifndef FB_TESTS_FAKE_NVSHMEM_TOGETHER_H
#define FB_TESTS_FAKE_NVSHMEM_TOGETHER_H

/* The output, of what lies in all heaps; blocks of a rank stand in the order of ranks. */
static void make(const struct work *w)
{
	size_t own = (size_t)job.rank * w->bytes;

	for (int r = 0; r < job.ranks; r++) {
		const char *from = symmetric(w->from, is_wrong("alone") ? job.rank : r);
		size_t at = (size_t)r * w->bytes;

		if (!from) /* a barrier has no memory */
			continue;
		if (w->kind == ALL_REDUCE || w->kind == REDUCE_SCATTER) {
			from += w->kind == REDUCE_SCATTER ? own : 0;
			if (r == 0)
				memcpy(w->made, from, w->bytes);
			else
				w->combine(w->made, from, w->bytes);
		} else if (w->kind == GATHER_ALL) {
			memcpy(w->made + at, from, w->bytes);
		} else if (w->kind == ALL_TO_ALL) {
			memcpy(w->made + at, from + own, w->bytes);
		} else if (w->kind == BROADCAST && r == w->root) {
			memcpy(w->made, from, w->bytes);
		}
	}
}

static size_t made_bytes(const struct work *w)
{
	bool blocks = w->kind == GATHER_ALL || w->kind == ALL_TO_ALL;

	return w->kind == BARRIER ? 0 : w->bytes * (blocks ? (size_t)job.ranks : 1);
}

/* Whether all ranks have come to the stage of this collective. */
static bool all_are_there(const struct work *w)
{
	const struct meeting *m = (const struct meeting *)(void *)job.memory;
	bool there = true;

	for (int r = 0; r < job.ranks; r++)
		there &= __atomic_load_n(&m->stage[r], __ATOMIC_ACQUIRE) >= w->meets;
	return there;
}

static void arrive(struct work *w)
{
	struct meeting *m = (struct meeting *)(void *)job.memory;

	w->meets = __atomic_add_fetch(&m->stage[job.rank], 1, __ATOMIC_ACQ_REL);
	w->stage++;
}

/* Reads when all inputs are there, and writes when all have read. */
static bool go_on_together(struct work *w)
{
	if (w->stage == 0)
		arrive(w);
	if (!all_are_there(w))
		return false;
	if (w->stage == 1) {
		make(w);
		arrive(w);
		return false;
	}
	memcpy(w->to, w->made, made_bytes(w));
	w->stage = 0;
	return true;
}

static int together(const struct work *what, int team, void *stream)
{
	struct work w = *what;

	if (team != 0 || (w.kind != BARRIER && (!symmetric(w.to, 0) || !symmetric(w.from, 0))))
		refuse("a collective is of the world, in symmetric memory");
	if (w.to == w.from && w.kind != ALL_REDUCE && w.kind != BARRIER)
		refuse("this collective has no form in place");
	w.what = COLLECTIVE;
	w.made = malloc(made_bytes(&w) + 1);
	if (!w.made)
		abort();
	enqueue(&w, stream);
	return 0;
}

API(void, nvshmemx_barrier_all_on_stream, void *stream)
{
	together(&(struct work){.kind = BARRIER}, 0, stream);
}

#define REDUCTION(name, type, op, expression)                                                      \
	static void name##_##op(void *to, const void *from, size_t bytes)                          \
	{                                                                                          \
		type *a = to;                                                                      \
		const type *b = from;                                                              \
                                                                                                   \
		for (size_t i = 0; i < bytes / sizeof(type); i++)                                  \
			a[i] = (type)(expression);                                                 \
	}                                                                                          \
	API(int, nvshmemx_##name##_##op##_reduce_on_stream, int team, void *to, const void *from,  \
	    size_t count, void *stream)                                                            \
	{                                                                                          \
		return together(&(struct work){.kind = ALL_REDUCE, .to = to, .from = from,         \
					       .bytes = count * sizeof(type),                      \
					       .combine = name##_##op}, team, stream);             \
	}                                                                                          \
	API(int, nvshmemx_##name##_##op##_reducescatter_on_stream, int team, void *to,             \
	    const void *from, size_t count, void *stream)                                          \
	{                                                                                          \
		return together(&(struct work){.kind = REDUCE_SCATTER, .to = to, .from = from,     \
					       .bytes = count * sizeof(type),                      \
					       .combine = name##_##op}, team, stream);             \
	}

#define MOVEMENT(name, type, function, which)                                                      \
	API(int, nvshmemx_##name##_##function##_on_stream, int team, void *to, const void *from,   \
	    size_t count, void *stream)                                                            \
	{                                                                                          \
		return together(&(struct work){.kind = which, .to = to, .from = from,              \
					       .bytes = count * sizeof(type)}, team, stream);      \
	}

#define TYPE(name, type)                                                                           \
	REDUCTION(name, type, sum, a[i] + b[i])                                                    \
	REDUCTION(name, type, max, a[i] > b[i] ? a[i] : b[i])                                      \
	MOVEMENT(name, type, fcollect, GATHER_ALL)                                                 \
	MOVEMENT(name, type, alltoall, ALL_TO_ALL)                                                 \
	API(int, nvshmemx_##name##_broadcast_on_stream, int team, void *to, const void *from,      \
	    size_t count, int root, void *stream)                                                  \
	{                                                                                          \
		return together(&(struct work){.kind = BROADCAST, .to = to, .from = from,          \
					       .bytes = count * sizeof(type), .root = root}, team, \
				stream);                                                           \
	}

TYPE(uint8, uint8_t)
TYPE(uint32, uint32_t)
TYPE(float, float)
TYPE(double, double)

/* --- kernels of libfabricbench-nvshmem.so, which this library is in place of, too ------------- */

int fb_nvshmem_device_version(void)
{
	return 3004;
}

int fb_nvshmem_device_start(void *init_attr)
{
	const init_attr_t *attr = init_attr;

	return job.memory && attr->args.id.rank == job.rank ? 0 : 7;
}

static void move_chunk(const struct fb_nvshmem_launch *l, uint64_t from, uint64_t to,
		       uint64_t bytes, void *stream)
{
	char *target = (char *)(uintptr_t)to, *source = (char *)(uintptr_t)from;

	if (l->gets)
		move(target, symmetric(source, l->pe), bytes, 0, stream);
	else
		move(symmetric(target, l->pe), source, bytes - is_wrong("dropped"), 0, stream);
}

int fb_nvshmem_device_launch(const struct fb_nvshmem_launch *l, uint32_t blocks, void *stream)
{
	const struct fb_move_way *way = &l->way;
	const struct fb_move_chunk *chunk = (const void *)(uintptr_t)way->chunk;

	if (!blocks || l->bulk || *l->blocks_done)
		refuse("a launch without blocks, or with what this version lacks");
	for (uint32_t r = 0; r < way->repeats; r++) {
		uint64_t from = way->from + r * way->from_step, to = way->to + r * way->to_step;

		for (uint32_t i = 0; chunk && i < way->chunks; i++)
			move_chunk(l, from + chunk[i].from, to + chunk[i].to, chunk[i].bytes,
				   stream);
		if (!chunk && way->bytes)
			move_chunk(l, from, to, way->bytes, stream);
	}
	if (l->word)
		signal_peer(l->word, l->value, SIGNAL_SET, l->pe, stream);
	return 0;
}

#endif
