/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of the movers (common/mover/gpu/move.h) and of engine multimem
 * (collectives/engine/multimem/multimem.h) on a GPU that works, by the emulator.
 */
#include <unistd.h>

#include "tests/cuda/emulator.h"
#include "tests/cuda/emulator_tma.h"
#include "tests/cuda/emulator_multimem.h"
/* On top of the emulator. */
#include "collectives/engine/multimem/multimem.h"
#include "common/mover/gpu/move.h"
#include "tests/cuda/scheduler.h"
#include "tests/fake/cudart.h"

/* Launches are carried out by fewer threads than they ask for, which kernels must not notice. */
enum { BLOCKS = 3, THREADS = 32, STEPS = 512 };

_Static_assert((int)THREADS <= (int)EMU_MOST_THREADS && (int)BLOCKS <= (int)EMU_MOST_BLOCKS,
	       "more than the emulator has");

struct kernel {
	struct fb_move_launch arguments;
	struct fb_multimem_launch multimem;
	enum fb_multimem_kind kind; /* FB_MULTIMEM_KINDS: a mover's kernel */
	bool odd, bulk;
	int place; /* while it runs, in the emulator, from 1 */
	struct emu_launch launch;
};

bool fake_is_wrong(const char *how)
{
	const char *works = getenv("FB_FAKE_GPU_WORKS");

	return works && !strcmp(works, how);
}

unsigned fake_random(void)
{
	return (unsigned)emu_random();
}

void *fake_at(uint64_t address)
{
	return emu_at(address);
}

/* FB_MULTIMEM_KINDS: the name is of another kernel. */
static enum fb_multimem_kind kind_of(const char *name)
{
	static const char *const names[FB_MULTIMEM_KINDS] = {
		"multimem_move", "multimem_f32_sum", "multimem_f16_sum", "multimem_f16_min",
		"multimem_f16_max", "multimem_bf16_sum", "multimem_bf16_min", "multimem_bf16_max"};
	int kind = 0;

	while (kind < FB_MULTIMEM_KINDS && !strstr(name, names[kind]))
		kind++;
	return (enum fb_multimem_kind)kind;
}

static int emu_replicas(uint64_t address, char *replica[EMU_MOST_RANKS])
{
	return fake_multicast_replicas(address, replica);
}

void *fake_kernel_of(const char *name, void **args, unsigned blocks, unsigned threads)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		abort();
	k->odd = strstr(name, "any") != NULL;
	k->bulk = strstr(name, "bulk") != NULL;
	k->kind = kind_of(name);
	if (k->kind == FB_MULTIMEM_KINDS)
		memcpy(&k->arguments, args[0], sizeof(k->arguments));
	else
		memcpy(&k->multimem, args[0], sizeof(k->multimem));
	k->launch.blocks = blocks < BLOCKS ? blocks : BLOCKS;
	k->launch.threads = threads < THREADS ? threads : THREADS;
	return k;
}

void *fake_kernel_copy(const void *kernel)
{
	struct kernel *k = kernel ? malloc(sizeof(*k)) : NULL;

	if (kernel && !k)
		abort();
	return k ? memcpy(k, kernel, sizeof(*k)) : NULL;
}

void fake_kernel_free(void *kernel)
{
	free(kernel);
}

/*
 * Counters of every way, by one thread of the launch. It then waits for so long that the reader
 * goes on before the bytes are there, also on a busy machine.
 */
static void post_early(const struct fb_move_launch *l)
{
	enum { WAIT_US = 20000 };

	for (uint32_t i = 0; fake_is_wrong("early") && i < l->ways * l->counters; i++)
		if (l->way[i / l->counters].post && !fb_block() && !fb_thread())
			fb_post(l->way[i / l->counters].post + 8 * (uint64_t)(i % l->counters),
				l->way[i / l->counters].post_value);
	if (fake_is_wrong("early") && !fb_block() && !fb_thread())
		usleep(WAIT_US);
}

static void run_move(const void *args, unsigned char *shared)
{
	const struct kernel *o = args;

	post_early(&o->arguments);
	if (o->kind != FB_MULTIMEM_KINDS)
		fb_multimem_run(&o->multimem, o->kind);
	else if (o->bulk)
		fb_move_run_bulk(&o->arguments, shared, EMU_POOL);
	else
		fb_move_run(&o->arguments, o->odd);
}

static bool places[EMU_MOST_RANKS]; /* that are taken */

/* It goes on with the others, as ranks of the emulator do, as soon as there is a place. */
bool fake_kernel_run(void *kernel)
{
	struct kernel *o = kernel;
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
	emu.blind = fake_is_wrong("blind") * (unsigned)EMU_BLIND_COUNTERS +
		    fake_is_wrong("unstored") * (unsigned)EMU_BLIND_ENDS +
		    fake_is_wrong("unloaded") * (unsigned)EMU_BLIND_LOADS;
	if (fake_is_wrong("dropped") && o->arguments.way[0].chunks)
		o->arguments.way[0].chunks--;
	emu.nranks = EMU_MOST_RANKS;
	*r = (struct emu_rank){.stream = &o->launch, .launches = 1};
	emu_start(place);
	return false;
}

void fake_kernels_go_on(void)
{
	for (int i = 0; i < STEPS && emu_busy(); i++)
		emu_step(emu_pick());
}
