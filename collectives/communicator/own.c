/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators of this project's engines. Such a communicator is an engine opened on a group, with
 * one prepared all_reduce, which connects links and allocates slots.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/communicator/life.h"
#include "common/base/error.h"

struct one {
	struct fb_collectives collectives;
	struct fb_call *call; /* NULL: there is none */
};

static int begin(struct fb_life_context *c)
{
	c->own = calloc((size_t)c->count * (size_t)c->parts, sizeof(struct one));
	return c->own ? FB_OK : fb_error(FB_ENOMEM, "out of memory for %d engines", c->count);
}

static int destroy(struct fb_life_context *c)
{
	struct one *one = c->own;

	for (int i = 0; i < c->count * c->parts; i++) {
		fb_call_release(one[i].call);
		fb_collectives_close(&one[i].collectives);
		one[i].call = NULL;
	}
	return FB_OK;
}

static void end(struct fb_life_context *c)
{
	if (c->own)
		(void)destroy(c);
	free(c->own);
}

static int create(struct fb_life_context *c)
{
	struct one *own = c->own;
	int err = FB_OK;

	for (int k = 0; k < c->count; k++)
		for (int p = 0; p < c->parts && !err; p++) {
			struct one *one = &own[fb_life_index(c, k, p)];
			const struct fb_life_part *part = &c->part[p];

			err = fb_collectives_open(&one->collectives, c->session, &part->group,
						  c->key->engine);
			if (!err)
				err = fb_call_prepare(&one->collectives, c->key, &part->op,
						      &one->call);
		}
	return err;
}

static int begin_reused(struct fb_life_context *c)
{
	int err = begin(c);

	return err ? err : create(c);
}

static int call(struct fb_life_context *c)
{
	struct one *one = c->own;
	int n = c->count * c->parts, err = FB_OK;

	for (int i = 0; i < n && !err; i++) {
		err = fb_call_start(one[i].call);
		if (!err)
			err = fb_call_wait(one[i].call);
	}
	if (!err && !*c->path) {
		double ignored[FB_COLLECTIVE_COLUMNS];
		struct fb_traits traits = {.extra = ignored};

		fb_call_describe(one[0].call, &traits);
		snprintf(c->path, sizeof(c->path), "%s", traits.path);
	}
	return err;
}

const struct fb_life fb_lives_own[] = {
	{.operation = "open", .grid = true, .anew = true, .begin = begin, .end = end,
	 .create = create, .call = call, .destroy = destroy,
	 .help = "an engine opened, all_reduce prepared"},
	{.operation = "reuse", .grid = true, .begin = begin_reused, .end = end, .call = call,
	 .help = "opened once: only the call"},
	{.operation = NULL},
};
