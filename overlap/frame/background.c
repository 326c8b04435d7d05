/* SPDX-License-Identifier: BSD-3-Clause */
/* Other traffic beside a step: its engine, and what --background-force makes it use; frame.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"
#include "overlap/options.h"

int fb_step_background_axis(const struct fb_schedule_program *program)
{
	for (int a = 0; a < FB_SCHEDULE_AXES && program->axes[a].key; a++)
		if (program->axes[a].offset == offsetof(struct fb_overlap_settings, background))
			return a;
	return FB_NONE;
}

uint64_t fb_step_background(const struct fb_step_instance *i)
{
	int axis = fb_step_background_axis(i->state->program);

	return axis == FB_NONE ? 0 : i->build.value[axis];
}

/* ALGORITHM or ALGORITHM:PROTOCOL, of engines with plans. Algorithms may have colons themselves. */
static bool parse_planned(struct fb_step_forced *forced, enum fb_collective collective,
			  const char *text)
{
	static const char *const protocols[] = {"ll", "ll128", "direct", "simple", "tma"};
	const char *stages;
	char *colon;

	snprintf(forced->text, sizeof(forced->text), "%s", text);
	forced->algorithm = forced->text;
	forced->protocol = "auto";
	colon = strrchr(forced->text, ':');
	for (size_t p = 0; colon && p < sizeof(protocols) / sizeof(protocols[0]); p++)
		if (!strcmp(colon + 1, protocols[p]))
			forced->protocol = protocols[p];
	if (strcmp(forced->protocol, "auto"))
		*colon = '\0';
	return fb_algorithm_of_text(collective, forced->algorithm, &stages) != NULL;
}

int fb_step_open_background(struct fb_step_state *s)
{
	struct fb_step_forced *forced = &s->forced;
	const char *text = s->own->background_force;
	struct fb_nccl_algo_proto choices[FB_NCCL_MOST_ALGO_PROTOS];
	enum fb_collective collective = s->own->background_operation == FB_BACKGROUND_ALL_REDUCE
						? FB_ALL_REDUCE : FB_ALL_GATHER;

	if (!text)
		return FB_OK;
	forced->of_nccl = fb_nccl_algo_proto_list(text, choices, NULL) == 1;
	if (forced->of_nccl)
		forced->nccl = choices[0];
	forced->planned = parse_planned(forced, collective, text);
	if (forced->of_nccl || forced->planned)
		return FB_OK;
	return fb_option_reject(s->session->world->rank ? NULL : stderr, "background-force", text,
				"an algorithm of --background-operation, or one of NCCL's as "
				"--nccl-force has them; behind a colon its protocol");
}

bool fb_step_background_can(const struct fb_step_state *s, const char *engine, char *reason)
{
	const struct fb_engine_ops *ops = fb_engine_find(engine);

	if (!s->own->background_force ||
	    (!strcmp(engine, "nccl") ? s->forced.of_nccl : ops->planned && s->forced.planned))
		return true;
	snprintf(reason, FB_REASON_CHARS, "engine %s has no %s for --background-force", engine,
		 s->own->background_force);
	return false;
}

void fb_step_background_case(const struct fb_step_state *s, const char *engine,
			     struct fb_case *key)
{
	const struct fb_engine_ops *ops = fb_engine_find(engine);

	/* The row's --nccl-force and the like do not apply to another engine. */
	if (strcmp(engine, key->engine)) {
		key->engine = engine;
		fb_engine_options_apply(&s->collective->engine_options, false, key);
		if (ops->planned) {
			key->algorithm = key->protocol = "auto";
			key->transport = ops->device ? "p2p"
					 : fb_group_one_host(s->session->world) ? "shm"
					 : "shm+tcp";
		}
	}
	if (!s->own->background_force)
		return;
	key->algorithm = ops->planned ? s->forced.algorithm : s->forced.nccl.algorithm;
	key->protocol = ops->planned ? s->forced.protocol : s->forced.nccl.protocol;
}

void fb_step_background_path(const struct fb_step_instance *i, char path[FB_PATH_CHARS])
{
	double extra[FB_STEP_COLUMNS];
	struct fb_traits traits = {.extra = extra};
	size_t used = strlen(path);

	for (int t = 0; t < i->dag.ntasks; t++) {
		if (!i->calls[t] || !i->dag.lanes[i->dag.tasks[t].lane].background)
			continue;
		fb_call_describe(i->calls[t], &traits);
		snprintf(path + used, FB_PATH_CHARS - used, "; beside %s", traits.path);
	}
}
