/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a plan, and its text form for people (--check-plan and debugging). */
#include "common/plan/plan.h"

#include <stdlib.h>

void fb_plan_free(struct fb_plan *plan)
{
	if (!plan)
		return;
	for (int l = 0; l < FB_MAX_LANES; l++)
		free(plan->lanes[l].steps);
	free(plan->ends);
	free(plan->deps);
	free(plan->in_links);
	free(plan->out_links);
	free(plan);
}

static void print_end(const struct fb_plan *plan, const struct fb_end *e, bool source, FILE *out)
{
	static const char *const buffers[] = {"in", "out", "scratch"};
	static const char *const kinds[] = {
		[FB_LOCAL] = "", [FB_LINK] = "link", [FB_PULL] = "pull",
		[FB_ARRIVE] = "arrive", [FB_PUSH] = "push", [FB_EXPOSE] = "expose",
	};
	const struct fb_link *links = source ? plan->in_links : plan->out_links;

	if (e->kind != FB_LOCAL)
		fprintf(out, " %s:%d", kinds[e->kind], links[e->link].peer);
	if (e->kind != FB_LINK)
		fprintf(out, " %s[%u]", buffers[e->buffer], e->index);
}

static void print_step(const struct fb_plan *plan, const struct fb_step *s, FILE *out)
{
	const struct fb_end *e = plan->ends + s->first_end;

	if (s->kind == FB_CREDIT) {
		fprintf(out, "credit %d", plan->in_links[s->link].peer);
	} else if (s->kind == FB_DRAIN) {
		fprintf(out, "drain %d upto %u", plan->out_links[s->link].peer, s->upto);
	} else {
		fprintf(out, "x%u", s->count);
		for (int i = 0; i < s->nsrc; i++)
			print_end(plan, e++, true, out);
		fprintf(out, s->flags & FB_FINISH ? " =>" : " ->");
		for (int i = 0; i < s->ndst; i++)
			print_end(plan, e++, false, out);
	}
	for (int i = 0; i < s->ndep; i++)
		fprintf(out, " after %u.%u", plan->deps[s->first_dep + (uint32_t)i].lane,
			plan->deps[s->first_dep + (uint32_t)i].step);
	fprintf(out, "\n");
}

void fb_plan_print(const struct fb_plan *plan, FILE *out)
{
	fprintf(out, "rank %d of %d: split %u, scratch %u blocks, %d lanes\n", plan->rank,
		plan->shape.nranks, plan->split, plan->scratch_blocks, plan->nlanes);
	for (int l = 0; l < plan->nlanes; l++)
		for (uint32_t i = 0; i < plan->lanes[l].nsteps; i++) {
			fprintf(out, "  %d.%-4u ", l, i);
			print_step(plan, &plan->lanes[l].steps[i], out);
		}
}
