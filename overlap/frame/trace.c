/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasks of a step over time: spans.csv for figures, a Chrome trace for its viewers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"
#include "common/measure/barrier.h"
#include "overlap/frame/frame.h"

enum { NAME_CHARS = 48, PATH_CHARS = 1024 };

/* A task as rank 0 gets it. */
struct span {
	char lane[NAME_CHARS], name[NAME_CHARS];
	double begin, end; /* us */
	int rank, lane_number;
};

/* One step, with the times of its tasks. */
static int run_once(struct fb_step_instance *i)
{
	int err = fb_step_ready(i, i->parts, 1);

	if (err)
		return err;
	fb_barrier_wait(i->state->barrier);
	if (i->device)
		return fb_gpu_run_traced(i->gpu, i->parts, i->times, &i->trace_error_s);
	return fb_step_run_parts(i, i->parts, 1);
}

static int take_spans(const struct fb_step_instance *i, struct span *spans)
{
	int n = 0;

	for (int t = 0; t < i->dag.ntasks; t++) {
		const struct fb_task *task = &i->dag.tasks[t];
		const struct fb_dag_lane *lane = &i->dag.lanes[task->lane];
		struct span *s = &spans[n];

		if (isnan(i->times[t].begin))
			continue;
		s->rank = i->dag.rank;
		s->lane_number = task->lane;
		snprintf(s->lane, sizeof(s->lane), "rank %d %s", i->dag.rank, lane->name);
		if (i->dag.alone)
			snprintf(s->lane, sizeof(s->lane), "rank %d %s %d", i->dag.rank,
				 lane->name, lane->place);
		snprintf(s->name, sizeof(s->name), "%s %d", task->name, task->number);
		s->begin = i->times[t].begin * 1e6;
		s->end = i->times[t].end * 1e6;
		n++;
	}
	return n;
}

/* Collective: all ranks' spans on rank 0; *all is NULL elsewhere. 0 or FB_ENOMEM. */
static int gather(const struct fb_group *w, const struct span *own, int n, struct span **all,
		  int *count)
{
	int bytes = n * (int)sizeof(*own), total = 0, err = FB_OK;
	int *sizes = calloc(2 * (size_t)w->nranks, sizeof(*sizes));

	*all = NULL;
	err = fb_group_agree(w, sizes ? FB_OK : FB_ENOMEM);
	if (err || !sizes)
		goto free_sizes;
	MPI_Gather(&bytes, 1, MPI_INT, sizes, 1, MPI_INT, 0, w->comm);
	for (int r = 0; r < w->nranks; r++) {
		sizes[w->nranks + r] = total;
		total += sizes[r];
	}
	if (!w->rank)
		*all = malloc((size_t)total + 1);
	err = fb_group_agree(w, w->rank || *all ? FB_OK : FB_ENOMEM);
	if (err)
		goto free_sizes;
	MPI_Gatherv(own, bytes, MPI_BYTE, *all, sizes, sizes + w->nranks, MPI_BYTE, 0, w->comm);
	*count = total / (int)sizeof(*own);
free_sizes:
	free(sizes);
	return err;
}

/* Opens for appending; *begun: the file was there. */
static FILE *open_file(const char *folder, const char *name, bool *begun)
{
	char path[PATH_CHARS];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	*begun = stat(path, &st) == 0 && st.st_size > 0;
	f = fopen(path, "a");
	if (!f)
		fb_error(FB_EIO, "--trace %s: %s", path, strerror(errno));
	return f;
}

/* The row that the spans are of: "ddp overlap host bucket=1M". */
static void row_text(const struct fb_step_instance *i, char *text, size_t n)
{
	snprintf(text, n, "%s %s %s %s", i->state->program->name, i->key->operation,
		 i->key->engine, i->key->variant);
	for (char *at = text; *at; at++)
		if (*at == '"' || *at == '\\' || *at == ',')
			*at = ' ';
}

static int write_spans(const struct fb_step_instance *i, const struct span *spans, int n,
		       double zero)
{
	const char *folder = i->state->own->trace;
	char row[2 * FB_VARIANT_CHARS];
	bool begun;
	FILE *f = open_file(folder, "spans.csv", &begun);

	if (!f)
		return FB_EIO;
	row_text(i, row, sizeof(row));
	if (!begun)
		fprintf(f, "lane,name,begin_us,end_us,rank,row,clock_error_us\n");
	for (int k = 0; k < n; k++)
		fprintf(f, "%s,%s,%.3f,%.3f,%d,%s,%.3f\n", spans[k].lane, spans[k].name,
			spans[k].begin - zero, spans[k].end - zero, spans[k].rank, row,
			i->trace_error_s * 1e6);
	return fclose(f) ? fb_error(FB_EIO, "--trace %s: %s", folder, strerror(errno)) : FB_OK;
}

/* The array form of the format, which needs no closing bracket: rows can be appended. */
static int write_chrome(const struct fb_step_instance *i, const struct span *spans, int n,
			double zero)
{
	const char *folder = i->state->own->trace;
	char row[2 * FB_VARIANT_CHARS];
	bool begun;
	FILE *f = open_file(folder, "trace.json", &begun);

	if (!f)
		return FB_EIO;
	row_text(i, row, sizeof(row));
	for (int k = 0; k < n; k++)
		fprintf(f, "%s{\"ph\":\"X\",\"pid\":\"%s\",\"tid\":\"%s\",\"name\":\"%s\","
			"\"ts\":%.3f,\"dur\":%.3f}", begun || k ? ",\n" : "[\n", row,
			spans[k].lane, spans[k].name, spans[k].begin - zero,
			spans[k].end - spans[k].begin);
	return fclose(f) ? fb_error(FB_EIO, "--trace %s: %s", folder, strerror(errno)) : FB_OK;
}

int fb_step_trace(struct fb_step_instance *i)
{
	const struct fb_group *w = i->state->session->world;
	struct span *own = calloc((size_t)i->dag.ntasks + 1, sizeof(*own)), *all = NULL;
	double zero = HUGE_VAL;
	int count = 0, err;

	err = fb_group_agree(w, own ? FB_OK : fb_error(FB_ENOMEM, "out of memory for a trace"));
	if (!err)
		err = fb_group_agree(w, run_once(i));
	if (!err && own)
		err = gather(w, own, take_spans(i, own), &all, &count);
	for (int k = 0; all && k < count; k++)
		zero = fmin(zero, all[k].begin);
	if (!err && !w->rank && all)
		err = write_spans(i, all, count, zero);
	if (!err && !w->rank && all)
		err = write_chrome(i, all, count, zero);
	free(all);
	free(own);
	return fb_group_agree(w, err);
}
