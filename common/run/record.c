/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing rows; see record.h. */
#include "common/base/error.h"
#include "common/run/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * "results/2024-quick/" gives "2024-quick"; no folder gives host and time. A folder "=1+1"
 * loses its sign, because a spreadsheet would take the field for a formula.
 */
static void name_run(struct fb_recorder *r, const struct fb_group *world)
{
	const struct fb_settings *s = r->settings;
	char utc[FB_UTC_CHARS];
	size_t end, start;

	if (s->run) {
		snprintf(r->run, sizeof(r->run), "%s", s->run);
		return;
	}
	if (s->csv) {
		end = strlen(s->csv);
		while (end > 0 && s->csv[end - 1] == '/')
			end--;
		start = end;
		while (start > 0 && s->csv[start - 1] != '/')
			start--;
		start += strspn(s->csv + start, FB_CSV_SIGNS);
		snprintf(r->run, sizeof(r->run), "%.*s", end > start ? (int)(end - start) : 0,
			 s->csv + start);
		if (r->run[0] && strcmp(r->run, ".") && strcmp(r->run, ".."))
			return;
	}
	snprintf(r->run, sizeof(r->run), "%s-%s", world->host, fb_utc_now(utc));
}

static int open_files(struct fb_recorder *r, bool one_host)
{
	const struct fb_settings *s = r->settings;
	int err = fb_csv_open(&r->csv, s->csv, r->program->name, r->program->columns,
			      r->program->ncolumns, false);

	if (!err)
		err = fb_under_way_open(&r->under_way, s->csv, r->program->name, s->launch_index,
					!one_host);
	if (!err && s->raw)
		err = fb_samples_open(&r->samples, s->csv, r->run, s->launch_index,
				      r->program->name);
	if (!err && s->raw_ranks)
		err = fb_samples_open_ranks(&r->ranks_file, s->csv, r->run, s->launch_index,
					    r->program->name);
	if (err) {
		fb_samples_close(&r->samples);
		fb_under_way_close(&r->under_way);
		fb_csv_close(&r->csv);
	}
	return err;
}

/* ferror(): MPI libraries may leave stdout unbuffered, and then an earlier write has failed. */
static int flush_output(void)
{
	return fflush(stdout) || ferror(stdout)
		       ? fb_error(FB_EIO, "standard output: %s", strerror(errno))
		       : FB_OK;
}

static int print_header(const struct fb_recorder *r)
{
	char *header = fb_csv_header(r->program->columns, r->program->ncolumns);

	if (!header)
		return fb_error(FB_ENOMEM, "out of memory for the CSV header");
	fputs(header, stdout);
	free(header);
	return flush_output();
}

int fb_recorder_open(struct fb_recorder *recorder, const struct fb_program *program,
		     const struct fb_settings *settings, const struct fb_group *world,
		     uint64_t rows)
{
	int err = FB_OK;

	*recorder = (struct fb_recorder){
		.to_files = settings->csv != NULL,
		.writes = world->rank == 0,
		.csv = {.extra = program->columns, .nextra = program->ncolumns},
		.raw = settings->raw,
		.raw_ranks = settings->raw_ranks,
		.table = settings->format == FB_FORMAT_TABLE ||
			 (settings->format == FB_FORMAT_AUTO &&
			  (settings->csv ? !settings->quiet : fb_screen_is_terminal())),
		.screen = {.own = program->columns,
			   .nown = program->ncolumns,
			   .shown = program->shown},
		.settings = settings,
		.program = program,
		.ranks = (uint64_t)world->nranks,
		.nodes = (uint64_t)world->nnodes,
		.rows = rows,
	};
	name_run(recorder, world);
	if (recorder->writes && recorder->to_files)
		err = open_files(recorder, fb_group_one_host(world));
	else if (recorder->writes && !recorder->table)
		err = print_header(recorder);
	if (err)
		return err;
	pthread_mutex_init(&recorder->lock, NULL);
	recorder->open = true;
	return FB_OK;
}

struct fb_row fb_recorder_row(const struct fb_recorder *recorder, const struct fb_case *c)
{
	struct fb_row row = fb_row_empty(c);

	row.run = recorder->run;
	row.launch_index = recorder->settings->launch_index;
	row.ranks = recorder->ranks;
	row.nodes = recorder->nodes;
	return row;
}

void fb_recorder_begin(struct fb_recorder *recorder, const struct fb_case *c)
{
	struct fb_row row = fb_recorder_row(recorder, c);

	pthread_mutex_lock(&recorder->lock);
	recorder->current = c;
	fb_under_way_set(&recorder->under_way, &recorder->csv, &row);
	pthread_mutex_unlock(&recorder->lock);
}

/* The row as CSV on stdout. */
static int print_csv(const struct fb_recorder *r, const struct fb_row *row)
{
	size_t bytes;
	char *text = fb_csv_row_text(&r->csv, row, &bytes);

	if (!text)
		return fb_error(FB_ENOMEM, "out of memory for a row");
	fputs(text, stdout);
	free(text);
	return flush_output();
}

static int write_row(struct fb_recorder *r, const struct fb_row *row)
{
	int err;

	/* Before the row is written: a row that is there twice is worse than a lost one. */
	fb_under_way_set(&r->under_way, &r->csv, NULL);
	err = r->to_files ? fb_csv_append(&r->csv, row) : r->table ? FB_OK : print_csv(r, row);
	if (err)
		return err;
	r->rows++;
	r->current = NULL;
	if (row->status == FB_STATUS_SKIPPED && !r->skipped++)
		snprintf(r->why, sizeof(r->why), "%s", row->reason ? row->reason : "");
	if (r->table && !fb_screen_add(&r->screen, row))
		fb_warn("out of memory: the table at the end will lack rows");
	return FB_OK;
}

int fb_recorder_put(struct fb_recorder *recorder, const struct fb_row *row,
		    const double *samples_us, size_t count)
{
	int err;

	pthread_mutex_lock(&recorder->lock);
	err = write_row(recorder, row);
	if (!err && recorder->raw && samples_us && count)
		err = fb_samples_append(&recorder->samples, recorder->rows - 1, samples_us, count);
	pthread_mutex_unlock(&recorder->lock);
	return err;
}

int fb_recorder_put_ranks(struct fb_recorder *recorder, const struct fb_rank_times *times,
			  size_t count, bool one_clock)
{
	size_t first = times->count > count ? times->count - count : 0;
	int err = times->err;

	if (!recorder->raw_ranks || err)
		return err;
	pthread_mutex_lock(&recorder->lock);
	err = fb_samples_append_ranks(&recorder->ranks_file, recorder->rows - 1,
				      times->time + first * recorder->ranks, times->count - first,
				      recorder->ranks, one_clock);
	pthread_mutex_unlock(&recorder->lock);
	return err;
}

/* On another rank than 0: if rank 0 has died, moves the row that it left to the result file. */
static void move_row(const struct fb_recorder *r, const char *reason, bool asked)
{
	const struct fb_settings *s = r->settings;
	char text[FB_REASON_CHARS];
	bool moved;

	snprintf(text, sizeof(text), "%s%s", asked ? "rank 0 has died, and " : "", reason);
	if (!fb_under_way_move(s->csv, r->program->name, s->launch_index, r->program->columns,
			       r->program->ncolumns, text, asked, &moved) && moved)
		fb_warn("the row of the fault is in %s/%s.csv; --resume goes on from there",
			s->csv, r->program->name);
}

void fb_recorder_emergency(struct fb_recorder *recorder, const char *reason, bool asked)
{
	struct timespec until;

	if (!recorder->open)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	/* If the main thread hangs in a write, it holds the lock. Rows on the disk stay whole. */
	if (pthread_mutex_timedlock(&recorder->lock, &until))
		return;
	if (!recorder->writes) {
		if (recorder->to_files)
			move_row(recorder, reason, asked);
		return;
	}
	if (recorder->current) {
		struct fb_row row = fb_recorder_row(recorder, recorder->current);

		row.status = FB_STATUS_FAULT;
		row.reason = reason;
		if (asked)
			fb_under_way_leave(&recorder->under_way, &recorder->csv, &row, reason);
		else
			write_row(recorder, &row);
	}
	if (!recorder->current)
		fb_under_way_close(&recorder->under_way);
	if (recorder->table)
		fb_screen_print(&recorder->screen, stdout);
	if (!recorder->to_files)
		fb_warn("rows that were printed before the end: %llu",
			(unsigned long long)recorder->rows);
	else if (!fb_csv_close(&recorder->csv))
		fb_warn("%llu rows are safe in %s/%s.csv; --resume goes on from there",
			(unsigned long long)recorder->rows, recorder->settings->csv,
			recorder->program->name);
	/* The lock stays: no row may follow. */
}

int fb_recorder_close(struct fb_recorder *recorder)
{
	int err = FB_OK, other;

	if (!recorder->open)
		return FB_OK;
	pthread_mutex_lock(&recorder->lock);
	recorder->open = false;
	if (!recorder->writes) {
		pthread_mutex_unlock(&recorder->lock);
		return FB_OK;
	}
	fb_under_way_close(&recorder->under_way);
	if (recorder->to_files)
		err = fb_csv_close(&recorder->csv);
	if (recorder->raw) {
		other = fb_samples_close(&recorder->samples);
		err = err ? err : other;
	}
	if (recorder->raw_ranks) {
		other = fb_samples_close(&recorder->ranks_file);
		err = err ? err : other;
	}
	pthread_mutex_unlock(&recorder->lock);
	if (recorder->table) {
		fb_screen_print(&recorder->screen, stdout);
		other = flush_output();
		err = err ? err : other;
	}
	fb_screen_free(&recorder->screen);
	return err;
}
