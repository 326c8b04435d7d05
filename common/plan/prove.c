/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the plans of all ranks of an algorithm, and checks them. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/plan/check.h"

static bool always(int rank, int peer, const void *arg)
{
	(void)rank;
	(void)peer;
	(void)arg;
	return true;
}

static bool same_node(int rank, int peer, const void *arg)
{
	const struct fb_topology *topology = arg;

	return !topology || topology->node_of[rank] == topology->node_of[peer];
}

int fb_build_all(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
		 enum fb_direct_links direct, int slots, struct fb_plan **plans)
{
	struct fb_build_options options = {.slots = slots, .arg = shape->topology};
	int err = FB_OK;

	if (direct != FB_NO_DIRECT_LINKS)
		options.direct_with = direct == FB_ALL_DIRECT_LINKS ? always : same_node;
	for (int r = 0; r < shape->nranks; r++)
		plans[r] = NULL;
	for (int r = 0; r < shape->nranks && !err; r++)
		err = fb_plan_build(algorithm, shape, r, &options, &plans[r]);
	for (int r = 0; r < shape->nranks && err; r++) {
		fb_plan_free(plans[r]);
		plans[r] = NULL;
	}
	return err;
}

int fb_check(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
	     enum fb_direct_links direct, const struct fb_check_options *options,
	     struct fb_check_report *report)
{
	struct fb_plan **plans = calloc((size_t)shape->nranks, sizeof(*plans));
	int err;

	*report = (struct fb_check_report){.why = "the plan could not be built"};
	if (!plans)
		return FB_ENOMEM;
	err = fb_build_all(algorithm, shape, direct, options->slots, plans);
	if (!err)
		err = fb_plans_check(plans, shape->nranks, options, report);
	for (int r = 0; r < shape->nranks; r++)
		fb_plan_free(plans[r]);
	free(plans);
	return err;
}
