/* SPDX-License-Identifier: BSD-3-Clause */
/* --check-plan for engines that execute plans: the same proof, the same text. */
#ifndef FB_COLLECTIVES_ENGINE_PLAN_PROOF_H
#define FB_COLLECTIVES_ENGINE_PLAN_PROOF_H

#include <stdio.h>

#include "common/plan/check.h"
#include "common/record/case.h"

/*
 * Local: builds the plans that the case has on all ranks for each of shape->nchannels channels
 * (shape->channel does not matter) and proves them with the given slots. A line per channel, and
 * what was disproved, go to `report`. FB_OK, FB_EPLAN or FB_ENOMEM.
 */
int fb_prove_plans(const struct fb_case *c, const struct fb_algorithm *algorithm,
		   const struct fb_shape *shape, enum fb_direct_links direct, int slots,
		   FILE *report);

#endif
