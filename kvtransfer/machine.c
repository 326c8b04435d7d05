/* SPDX-License-Identifier: BSD-3-Clause */
/* Movers, and which of them auto means; see machine.h. */
#include "kvtransfer/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/memory/memory.h"
#include "common/option/option.h"
#include "common/run/table_file.h"
#include "common/system/environment_file.h"

static const char automatic[] = "auto";

/* What auto stands for on a machine that no table is of: on one host, on several, on GPUs. */
static const char *const usual[] = {"shm", "tcp", "cuda"};

int fb_kv_machine_new(struct fb_kv_machine **result, struct fb_run *run, size_t bytes)
{
	struct fb_kv_machine *m = calloc(1, bytes);
	int err = fb_group_agree(fb_run_world(run), m ? FB_OK : FB_ENOMEM);
	bool ignored;

	if (err || !m) {
		free(m);
		return fb_error(err, "out of memory");
	}
	err = fb_group_agree(fb_run_world(run), fb_movers_load());
	if (err) {
		free(m);
		return err;
	}
	m->session = fb_run_session(run);
	m->world = fb_run_world(run);
	m->settings = fb_run_settings(run);
	fb_memory_survey(m->world, &m->memory_limit, &ignored);
	*result = m;
	return FB_OK;
}

void fb_kv_machine_add(struct fb_kv_machine *m, const char *name, const struct fb_mover_ops *ops,
		       bool device)
{
	if (m->backends < FB_KV_BACKENDS)
		m->backend[m->backends++] = (struct fb_kv_backend){
			.name = name, .ops = ops, .device = device};
}

void fb_kv_machine_add_movers(struct fb_kv_machine *m, unsigned verbs)
{
	for (int i = 0; fb_movers[i]; i++)
		if (fb_movers[i]->verbs & verbs)
			fb_kv_machine_add(m, fb_movers[i]->name, fb_movers[i],
					  fb_movers[i]->device);
}

void fb_kv_machine_add_staged(struct fb_kv_machine *m, unsigned verbs)
{
	for (int i = 0; fb_movers[i]; i++) {
		int before = m->backends;

		if (!(fb_movers[i]->verbs & verbs) || fb_movers[i]->device)
			continue;
		fb_kv_machine_add(m, fb_movers[i]->name, fb_movers[i], true);
		if (m->backends > before)
			m->backend[before].staged = true;
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

static const char *usual_of(const struct fb_kv_machine *m, bool device)
{
	return (m->usual ? m->usual : usual)[device ? 2 : m->world->nnodes > 1];
}

bool fb_kv_machine_model(const struct fb_kv_machine *m, bool device,
			 char model[FB_PATHS_MODEL_CHARS])
{
	struct fb_facts facts = {.item = NULL};
	const char *cpu;

	memset(model, 0, FB_PATHS_MODEL_CHARS);
	if (device) {
		snprintf(model, FB_PATHS_MODEL_CHARS, "%s", m->gpu.name);
	} else {
		fb_environment_cpu(&facts, "");
		cpu = fb_facts_get(&facts, "cpu.model");
		snprintf(model, FB_PATHS_MODEL_CHARS, "%s", cpu ? cpu : "");
		fb_facts_free(&facts);
	}
	return fb_group_same(m->world, model, FB_PATHS_MODEL_CHARS);
}

/*
 * The lines of this machine's GPUs or processors; none where ranks have several models. Built-in
 * lines of processors were measured on one host, and say nothing of ranks on several hosts.
 */
static int open_paths(struct fb_kv_machine *m)
{
	char model[FB_PATHS_MODEL_CHARS];
	const char *file = m->settings->tuning;
	bool built_in = !strcmp(file, automatic);
	char *text = NULL;
	int err = FB_OK;

	if (!strcmp(file, "none") || (built_in && !m->has_gpu && m->world->nnodes > 1))
		return FB_OK;
	if (!fb_kv_machine_model(m, m->has_gpu, model))
		return FB_OK;
	if (!built_in)
		err = fb_table_file_share(m->world, file, "kv-paths", &text);
	if (!err)
		err = fb_paths_parse(&m->paths, text ? text : fb_paths_built_in(),
				     text ? file : "built-in paths", m->has_gpu, model,
				     m->world->rank ? NULL : stderr);
	free(text);
	return fb_group_agree(m->world, err);
}

static bool is_asked(const struct fb_kv_machine *m, const struct fb_kv_backend *b)
{
	if (fb_option_names(m->settings->engine, b->name))
		return true;
	if (!fb_option_names(m->settings->engine, automatic) || b->device != m->has_gpu ||
	    b->staged)
		return false;
	for (size_t i = 0; i < m->paths.count; i++)
		if (!strcmp(m->paths.line[i].mover, b->name))
			return true;
	for (size_t i = 0; i < m->paths.bests; i++)
		if (m->paths.best[i].tier && !strcmp(m->paths.best[i].mover, b->name))
			return true;
	return !strcmp(usual_of(m, b->device), b->name);
}

/* Whether the backend is of the first transport, and a mover of the second one is open. */
static bool is_beside(const struct fb_kv_machine *m, const struct fb_kv_backend *b,
		      const char *transport, const char *other)
{
	bool open = false;

	for (int i = 0; i < m->backends; i++)
		open |= m->backend[i].mover && !strcmp(m->backend[i].ops->transport, other);
	return open && b->ops && !strcmp(b->ops->transport, transport);
}

/* Whether the backend works in memory of processes, and --memory names only memory of GPUs. */
static bool lacks_memory(const struct fb_kv_machine *m, const struct fb_kv_backend *b)
{
	return !b->device && !fb_option_names(m->settings->memory, "host") &&
	       !fb_option_names(m->settings->memory, "hugepage");
}

/*
 * Says why the backend is not to be opened, or that "all" leaves it out; nothing where it may be.
 * NIXL brings a UCX of its own. In a process in which UCX's library has been opened before, NIXL's
 * moves by TCP, which would be measured as NIXL's time. So "all" opens what comes first of both.
 */
static void judge(struct fb_kv_machine *m, struct fb_kv_backend *b)
{
	bool all = !strcmp(m->settings->engine, "all");

	if (b->device)
		snprintf(b->why, sizeof(b->why), "%s", m->no_gpu);
	else if (lacks_memory(m, b) && !fb_option_names(m->settings->engine, b->name))
		snprintf(b->why, sizeof(b->why), "engine auto has no GPU for the memory that "
			 "--memory names: %.100s", m->no_gpu);
	else if (lacks_memory(m, b))
		snprintf(b->why, sizeof(b->why), "%s works in host or hugepage memory, and "
			 "--memory names neither", b->name);
	b->left_out = all && ((m->has_gpu ? lacks_memory(m, b) : b->device) ||
			      is_beside(m, b, "nixl", "ucx"));
	if (all && !*b->why && is_beside(m, b, "ucx", "nixl"))
		snprintf(b->why, sizeof(b->why), "not beside NIXL, which has a UCX of its own: "
			 "name %s alone", b->name);
}

int fb_kv_machine_open(struct fb_kv_machine *m, bool device)
{
	bool choose = fb_option_names(m->settings->engine, automatic), wanted = choose;
	int err = fb_memory_one_each(m->settings->memory, m->world->rank == 0);

	if (err)
		return err;
	for (int i = 0; i < m->backends; i++)
		wanted |= m->backend[i].device &&
			  (!m->backend[i].ops ||
			   fb_option_names(m->settings->engine, m->backend[i].name));
	if (device && wanted) {
		err = fb_gpu_view_open(&m->gpu, m->session, m->world, m->no_gpu);
		m->has_gpu = !err;
		if (m->has_gpu)
			fb_fact(m->session, "gpu.model", "%s", m->gpu.name);
		err = err == FB_EUNSUPPORTED ? FB_OK : err;
	}
	if (!err && choose)
		err = open_paths(m);
	for (int i = 0; i < m->backends && !err; i++) {
		struct fb_kv_backend *b = &m->backend[i];

		judge(m, b);
		if (*b->why || !b->ops || (b->device && !m->has_gpu) || !is_asked(m, b) ||
		    b->left_out)
			continue;
		err = fb_mover_open(&b->mover, b->ops, m->session, m->world, b->why);
		if (err)
			b->mover = NULL;
		err = err == FB_EUNSUPPORTED ? FB_OK : err;
	}
	return err;
}

void fb_kv_machine_close(void *machine)
{
	struct fb_kv_machine *m = machine;

	fb_kv_machine_close_memory(m);
	fb_gpu_view_close(&m->gpu);
	fb_paths_free(&m->paths);
	free(m);
}

/* --- choosing --------------------------------------------------------------------------------- */

static struct fb_kv_backend *choose(struct fb_kv_machine *m, bool device,
				    const struct fb_kv_need *need)
{
	enum fb_auto_objective objective = need->beside
						   ? FB_OVERLAPPED
						   : (enum fb_auto_objective)m->settings->objective;
	const struct fb_path_best *measured = fb_paths_best(
		&m->paths, false, need->get, objective, need->pieces, need->bytes);
	struct fb_kv_backend *best = NULL, *plain = NULL;
	unsigned verb = 1u << (need->get ? FB_MOVE_GET : FB_MOVE_PUT);
	double least = (double)INFINITY;

	for (int i = 0; i < m->backends; i++) {
		struct fb_kv_backend *b = &m->backend[i];
		double us;

		if (b->device != device || b->staged || !b->ops || !(b->ops->verbs & verb))
			continue;
		if (!strcmp(b->name, usual_of(m, device)))
			plain = b;
		b->line = fb_paths_find(&m->paths, b->name, need->get, objective);
		us = b->line ? fb_path_us(b->line, need->pieces, need->bytes) : (double)INFINITY;
		b->measured = b->mover && measured && !strcmp(b->name, measured->mover);
		if (b->measured)
			return b;
		if (b->mover && us < least) {
			least = us;
			best = b;
		}
	}
	return best ? best : plain;
}

struct fb_kv_backend *fb_kv_backend_of(struct fb_kv_machine *m, const struct fb_case *c,
				       const struct fb_kv_need *need)
{
	/* "-": not yet said. */
	bool known = c->memory && strcmp(c->memory, "-") != 0;
	bool device = known && fb_memory_by_gpu(fb_memory_kind_of(c->memory));
	bool host = known && !device;
	bool staged = need && need->staged;
	struct fb_kv_backend *chosen = NULL;
	int i = 0;

	if (need && !strcmp(c->engine, automatic))
		chosen = choose(m, device || (!host && m->has_gpu), need);
	if (chosen)
		return chosen;
	while (i + 1 < m->backends &&
	       (strcmp(m->backend[i].name, c->engine) || m->backend[i].staged != staged ||
		(host && m->backend[i].device) || (device && !m->backend[i].device)))
		i++;
	return &m->backend[i];
}

void fb_kv_backend_names(const struct fb_kv_machine *m, const char *names[FB_KV_BACKENDS + 2])
{
	int n = 0;

	names[n++] = automatic;
	for (int i = 0; i < m->backends; i++) {
		int k = 0;

		while (k < n && strcmp(names[k], m->backend[i].name))
			k++;
		if (k == n)
			names[n++] = m->backend[i].name;
	}
	names[n] = NULL;
}

uint64_t fb_kv_most_bytes(const struct fb_kv_machine *m, bool device)
{
	return device ? m->gpu.memory_bytes / 8 * 7 : m->memory_limit;
}

/* All ranks get what the lowest one with a path has. */
static void agree_on_path(const struct fb_group *w, struct fb_traits *traits)
{
	int rank = *traits->path ? w->rank : w->nranks;

	MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MIN, w->comm);
	if (rank == w->nranks)
		return;
	MPI_Bcast(traits->path, sizeof(traits->path), MPI_CHAR, rank, w->comm);
	MPI_Bcast(traits->flags, sizeof(traits->flags), MPI_CHAR, rank, w->comm);
	MPI_Bcast(&traits->channels, 1, MPI_INT, rank, w->comm);
}

void fb_kv_backend_path(const struct fb_kv_machine *m, const struct fb_kv_backend *b,
			bool chosen, struct fb_traits *traits)
{
	/* All of it but for a path beyond what any mover says. */
	enum { OWN_CHARS = FB_PATH_CHARS - 96 };
	char own[FB_PATH_CHARS], *path = traits->path;

	agree_on_path(m->world, traits);
	if (!*path)
		snprintf(path, FB_PATH_CHARS, "%s", b->ops ? b->ops->summary : "no transfer");
	if (!chosen)
		return;
	snprintf(own, sizeof(own), "%s", path);
	if (b->measured)
		snprintf(path, FB_PATH_CHARS, "%s by path table, best of such lists: %.*s", b->name,
			 OWN_CHARS, own);
	else if (b->line)
		snprintf(path, FB_PATH_CHARS, "%s by path table, %s: %.*s", b->name,
			 fb_auto_objectives[b->line->objective], OWN_CHARS, own);
	else
		snprintf(path, FB_PATH_CHARS, "%s, no path table: %.*s", b->name, OWN_CHARS, own);
}
