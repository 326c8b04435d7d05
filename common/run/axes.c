/* SPDX-License-Identifier: BSD-3-Clause */
/* Axes and their product; see axes.h. */
#include "common/base/error.h"
#include "common/run/axes.h"

#include <stdlib.h>
#include <string.h>

enum { ITEM_CHARS = 128 };

enum axis {
	ENGINE,
	ALGORITHM,
	PROTOCOL,
	TRANSPORT,
	MEMORY,
	LAUNCH,
	CADENCE,
	DATATYPE,
	REDOP,
	ROOT,
	IN_PLACE,
	BYTES,
	AXES,
};

static int add_value(struct fb_axis *axis, const char *value, int index)
{
	char **values = realloc(axis->value, (axis->count + 1) * sizeof(*values));
	int *indices;

	if (!values)
		return FB_ENOMEM;
	axis->value = values;
	indices = realloc(axis->index, (axis->count + 1) * sizeof(*indices));
	if (!indices)
		return FB_ENOMEM;
	axis->index = indices;
	axis->value[axis->count] = strdup(value);
	if (!axis->value[axis->count])
		return FB_ENOMEM;
	axis->index[axis->count++] = index;
	return FB_OK;
}

static int reject(const char *option, const char *value, const char *const *choices, FILE *errors)
{
	char accepted[1024] = "names separated by commas";

	if (choices)
		fb_option_join("all, or a list of: ", choices, accepted, sizeof(accepted));
	return fb_option_reject(errors, option, value, accepted);
}

static int find(const char *const *choices, const char *item)
{
	for (int i = 0; choices[i]; i++)
		if (!strcmp(choices[i], item))
			return i;
	return -1;
}

static int add_item(struct fb_axis *axis, const char *option, const char *item,
		    const char *const *choices, FILE *errors)
{
	int index = choices ? find(choices, item) : -1;

	if (choices && index < 0 && !strcmp(item, "all"))
		return fb_option_reject(errors, option, item, "all alone, or a list without it");
	if (choices && index < 0)
		return reject(option, item, choices, errors);
	for (size_t i = 0; i < axis->count; i++)
		if (!strcmp(axis->value[i], item))
			return fb_option_reject(errors, option, item, "every item once");
	return add_value(axis, item, index);
}

int fb_axis_open(struct fb_axis *axis, const char *option, const char *list,
		 const char *const *choices, FILE *errors)
{
	const char *cursor = list;
	struct fb_axis made = {0};
	char item[ITEM_CHARS];
	int more, err = FB_OK;

	if (choices && !strcmp(list, "all")) {
		for (int i = 0; !err && choices[i]; i++)
			if (strcmp(choices[i], "auto"))
				err = add_value(&made, choices[i], i);
		if (!err && made.count == 0)
			err = fb_option_reject(errors, option, list, "nothing: there is no choice");
		goto done;
	}
	while ((more = fb_option_next_item(&cursor, item, sizeof(item))) > 0) {
		err = add_item(&made, option, item, choices, errors);
		if (err)
			goto done;
	}
	if (more < 0 || made.count == 0)
		err = reject(option, list, choices, errors);
done:
	if (err == FB_ENOMEM)
		fb_error(err, "out of memory for the values of --%s", option);
	if (err) {
		fb_axis_close(&made);
		return err;
	}
	*axis = made;
	return FB_OK;
}

void fb_axis_close(struct fb_axis *axis)
{
	for (size_t i = 0; i < axis->count; i++)
		free(axis->value[i]);
	free(axis->value);
	free(axis->index);
	*axis = (struct fb_axis){0};
}

bool fb_product_next(size_t index[], const size_t count[], size_t n)
{
	for (size_t i = n; i-- > 0;) {
		if (++index[i] < count[i])
			return true;
		index[i] = 0;
	}
	return false;
}

/* The roots: a list of ranks, or all of them. */
static int open_roots(struct fb_axis *axis, const char *list, int nranks, FILE *errors)
{
	struct fb_axis made = {0};
	int err = FB_OK;

	if (!strcmp(list, "all")) {
		for (int r = 0; !err && r < nranks; r++) {
			char text[16];

			snprintf(text, sizeof(text), "%d", r);
			err = add_value(&made, text, r);
		}
		if (err)
			fb_error(err, "out of memory for %d roots", nranks);
	} else {
		err = fb_axis_open(&made, "root", list, NULL, errors);
	}
	for (size_t i = 0; !err && i < made.count; i++) {
		char accepted[48];

		made.index[i] = atoi(made.value[i]); /* digits only: settings.c */
		if (made.index[i] < nranks)
			continue;
		snprintf(accepted, sizeof(accepted), "ranks from 0 to %d", nranks - 1);
		err = fb_option_reject(errors, "root", made.value[i], accepted);
	}
	if (err) {
		fb_axis_close(&made);
		return err;
	}
	*axis = made;
	return FB_OK;
}

/* The sizes, as texts, so that all axes are alike; they are parsed back when used. */
static int open_bytes(struct fb_axis *axis, const char *list, FILE *errors)
{
	struct fb_sizes *sizes = malloc(sizeof(*sizes));
	char why[160];
	int err = sizes ? FB_OK : FB_ENOMEM;

	if (!err && fb_sizes_parse(list, sizes, why, sizeof(why)))
		err = fb_option_reject(errors, "bytes", list, why);
	for (size_t i = 0; !err && i < sizes->count; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%llu", (unsigned long long)sizes->value[i]);
		err = add_value(axis, text, (int)i);
	}
	if (err == FB_ENOMEM)
		fb_error(err, "out of memory for the sizes of --bytes");
	free(sizes);
	return err;
}

static const char *const no_choice[] = {"-", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

/* What --transport says; auto is the usual one, without RDMA where a program lacks it. */
static const char *usual_transport(const struct fb_settings *s,
				   const struct fb_axes_accepted *accepted,
				   const struct fb_group *world)
{
	const char *usual = fb_group_transport(world);

	if (strcmp(s->transport, "auto"))
		return s->transport;
	for (size_t i = 0; accepted->transports && accepted->transports[i]; i++)
		if (!strcmp(accepted->transports[i], usual))
			return usual;
	return strchr(usual, '+') ? "shm+tcp" : "tcp";
}

/* Axes that are plain names, in the order of enum axis. */
enum { NAMED = LAUNCH + 1 };

struct named {
	const char *option, *list;
	const char *const *accepted; /* NULL: the program has no such axis */
};

static void list_named(struct named named[NAMED], const struct fb_settings *s,
		       const struct fb_axes_accepted *c)
{
	named[ENGINE] =
		(struct named){"engine", c->engine_list ? c->engine_list : s->engine, c->engines};
	named[ALGORITHM] = (struct named){"algorithm", s->algorithm, c->algorithms};
	named[PROTOCOL] = (struct named){"protocol", s->protocol, c->protocols};
	named[TRANSPORT] = (struct named){"transport", s->transport, c->transports};
	named[MEMORY] = (struct named){"memory", s->memory, c->memories};
	named[LAUNCH] = (struct named){"launch", s->launch, c->launches};
}

static int open_names(struct fb_axis axes[AXES], const struct fb_settings *s,
		      const struct fb_axes_accepted *accepted, const struct fb_group *world,
		      FILE *errors)
{
	struct named named[NAMED];
	int err = FB_OK;

	list_named(named, s, accepted);
	named[TRANSPORT].list = usual_transport(s, accepted, world);
	for (int i = 0; i < NAMED && !err; i++) {
		bool none = !named[i].accepted;

		err = fb_axis_open(&axes[i], named[i].option, none ? "all" : named[i].list,
				   none ? no_choice : named[i].accepted, errors);
	}
	return err;
}

/* Axes whose values are enumerators or numbers. */
static int open_values(struct fb_axis axes[AXES], const struct fb_settings *s,
		       const struct fb_axes_accepted *accepted, int nranks, FILE *errors)
{
	const char *in_place = strcmp(s->in_place, "both") ? s->in_place : "all";
	int err;

	err = fb_axis_open(&axes[CADENCE], "cadence", s->cadence, fb_cadence_names, errors);
	if (!err)
		err = fb_axis_open(&axes[DATATYPE], "datatype", s->datatype, fb_datatype_names,
				   errors);
	if (!err)
		err = fb_axis_open(&axes[REDOP], "redop", accepted->has_redop ? s->redop : "all",
				   accepted->has_redop ? fb_redop_names : no_choice, errors);
	if (!err)
		err = fb_axis_open(&axes[IN_PLACE], "in-place",
				   accepted->has_in_place ? in_place : "no", no_yes, errors);
	if (!err && accepted->has_root)
		err = open_roots(&axes[ROOT], s->root, nranks, errors);
	else if (!err)
		err = fb_axis_open(&axes[ROOT], "root", "all", no_choice, errors);
	if (!err)
		err = open_bytes(&axes[BYTES], s->bytes, errors);
	return err;
}

/* The case at one point of the product. */
static struct fb_case case_at(const struct fb_axis axes[AXES], const size_t at[AXES],
			      const struct fb_case *base, const struct fb_axes_accepted *accepted)
{
	struct fb_case c = *base;

	c.engine = axes[ENGINE].value[at[ENGINE]];
	c.algorithm = axes[ALGORITHM].value[at[ALGORITHM]];
	c.protocol = axes[PROTOCOL].value[at[PROTOCOL]];
	c.transport = axes[TRANSPORT].value[at[TRANSPORT]];
	c.memory = axes[MEMORY].value[at[MEMORY]];
	c.launch = axes[LAUNCH].value[at[LAUNCH]];
	c.cadence = (enum fb_cadence)axes[CADENCE].index[at[CADENCE]];
	c.datatype = (enum fb_datatype)axes[DATATYPE].index[at[DATATYPE]];
	c.redop = accepted->has_redop ? axes[REDOP].index[at[REDOP]] : -1;
	c.root = accepted->has_root ? axes[ROOT].index[at[ROOT]] : -1;
	c.in_place = axes[IN_PLACE].index[at[IN_PLACE]] == 1;
	c.bytes = strtoull(axes[BYTES].value[at[BYTES]], NULL, 10);
	return c;
}

int fb_axes_none_left(const struct fb_run *run, const struct fb_axes_accepted *accepted)
{
	struct named named[NAMED];
	char lists[512] = "";

	list_named(named, fb_run_settings(run), accepted);
	for (int i = 0; i < NAMED; i++) {
		size_t used = strlen(lists);

		if (named[i].accepted)
			snprintf(lists + used, sizeof(lists) - used, " --%s %s", named[i].option,
				 named[i].list);
	}
	if (!fb_run_world(run)->rank)
		fb_error(FB_EINPUT, "no case is left of%s: expected some that go together", lists);
	return FB_EINPUT;
}

int fb_axes_expand(struct fb_run *run, const struct fb_case *base,
		   const struct fb_axes_accepted *accepted, fb_axes_adjust_fn adjust, void *arg)
{
	const struct fb_group *world = fb_run_world(run);
	const struct fb_settings *s = fb_run_settings(run);
	FILE *errors = world->rank == 0 ? stderr : NULL;
	size_t count[AXES], at[AXES] = {0}, added = 0;
	struct fb_axis axes[AXES] = {{0}};
	int err = open_names(axes, s, accepted, world, errors);

	if (!err)
		err = open_values(axes, s, accepted, world->nranks, errors);
	if (err)
		goto close_axes;
	for (int i = 0; i < AXES; i++)
		count[i] = axes[i].count;
	do {
		struct fb_case c = case_at(axes, at, base, accepted);

		if (adjust && !adjust(arg, &c))
			continue;
		err = fb_run_add(run, &c);
		added++;
	} while (!err && fb_product_next(at, count, AXES));
	if (accepted->added)
		*accepted->added += added;
	else if (!err && added == 0)
		err = fb_axes_none_left(run, accepted);
close_axes:
	for (int i = 0; i < AXES; i++)
		fb_axis_close(&axes[i]);
	return err;
}
