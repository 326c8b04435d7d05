/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ranks that lag behind the others; see rank_times.h. */
#include "common/measure/stats.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/hosts.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/rank_times.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A rank lags by more than this share of the row's time, and than so many standard deviations. */
static const double share = 0.1, scatter_factor = 4;

enum way { BEGINS, ENDS, WAYS };

/* How a rank of a program lags. */
struct record {
	size_t rows[WAYS];	   /* in which it lags */
	double us[WAYS], of[WAYS]; /* sums over these: in us, and as shares of the row's time */
};

struct search {
	const struct fb_rank_times *times;
	const char *program;
	struct record *record; /* [ranks] */
	double *late[WAYS];    /* [ranks * repetitions] of a group */
	double *x, *median;    /* [2 * ranks + 3 * repetitions] of scratch; [ranks] */
	size_t most;	       /* repetitions of the group that has most of them */
	size_t groups;
};

/*
 * Operations that no rank leaves before all have entered, so that the fastest rank entered last.
 * With blocks of unequal size that is not so: a rank may have no data that another waits for.
 */
static bool waits_for_all(const char *program)
{
	static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter",
					    "all_to_all", "barrier"};

	return FB_AMONG(program, names);
}

/* Lateness of all ranks in the repetition sample[i .. end), the n-th of its group. */
static double add_repetition(struct search *s, size_t i, size_t end, size_t n)
{
	const struct fb_rank_sample *sample = s->times->sample;
	double begin = sample[i].begin_us, first_end = sample[i].end_us, last = 0;

	for (size_t k = i; k < end; k++) {
		begin = fmin(begin, sample[k].begin_us);
		first_end = fmin(first_end, sample[k].end_us);
		last = fmax(last, sample[k].end_us);
	}
	for (size_t k = i; k < end; k++) {
		size_t at = sample[k].rank * s->most + n;

		if (s->times->late_known)
			s->late[BEGINS][at] = sample[k].begin_us - begin;
		else /* a rank with a shorter duration entered later by the difference */
			s->late[BEGINS][at] = last - sample[k].end_us;
		s->late[ENDS][at] = s->times->late_known ? sample[k].end_us - first_end : 0;
	}
	return last - begin;
}

/* Whether the rank is later than others beyond their scatter and a share of the time. */
static bool lags(struct search *s, size_t rank, double time, double *by)
{
	size_t n = 0;
	double middle, scatter = 0;

	for (size_t r = 0; r < s->times->ranks; r++)
		if (r != rank)
			s->x[n++] = s->median[r];
	if (n == 0)
		return false;
	middle = fb_median(s->x, n, s->x + n);
	*by = s->median[rank] - middle;
	if (n > 2)
		scatter = scatter_factor * fb_spread(s->x, n, middle, s->x + n);
	return *by > fmax(share * time, scatter);
}

/* sample[i .. end) is a group with n repetitions, whose lateness has been collected. */
static void judge_group(struct search *s, size_t n, double time)
{
	for (enum way way = BEGINS; way < WAYS; way++) {
		for (size_t r = 0; r < s->times->ranks; r++)
			s->median[r] = fb_median(s->late[way] + r * s->most, n, s->x);
		for (size_t r = 0; r < s->times->ranks; r++) {
			double by = 0;

			if (!lags(s, r, time, &by))
				continue;
			s->record[r].rows[way]++;
			s->record[r].us[way] += by;
			s->record[r].of[way] += by / time;
		}
	}
	s->groups++;
}

/* The groups of one program, which are anywhere in the file. */
static void judge_program(struct search *s)
{
	const struct fb_rank_times *t = s->times;
	int column = fb_sheet_column(&t->table, "program");
	size_t n, end;

	memset(s->record, 0, t->ranks * sizeof(*s->record));
	s->groups = 0;
	for (size_t i = 0; i < t->table.nrows; i = end) {
		uint64_t group = t->sample[i].group;
		double time = 0;
		bool wanted = !strcmp(fb_sheet_text(&t->table, t->group_row[group - 1], column),
				      s->program);

		n = 0;
		for (end = i; end < t->table.nrows && t->sample[end].group == group;) {
			size_t next = fb_rank_times_end(t, end);

			/* A repetition that lacks ranks cannot show which rank was late. */
			if (next - end == t->ranks && wanted)
				time += add_repetition(s, end, next, n++);
			end = next;
		}
		if (wanted && n)
			judge_group(s, n, time / (double)n);
	}
}

static const char *name_rank(const struct fb_results *facts, const struct fb_hosts *hosts,
			     size_t rank, char text[256])
{
	const char *host = hosts->of ? hosts->name[hosts->of[rank]] : NULL;
	const char *gpu = fb_results_rank_fact(facts, "gpu", rank, host);
	const char *nic = fb_results_rank_fact(facts, "rdma", rank, host);

	if (!nic)
		nic = fb_results_rank_fact(facts, "tcp", rank, host);
	snprintf(text, 256, "%zu%s%s%.63s%s%s%.63s%s%.63s%s", rank, host || gpu || nic ? " (" : "",
		 host ? "host " : "", host ? host : "", host && (gpu || nic) ? ", " : "",
		 gpu ? "GPU " : "", gpu ? gpu : "", gpu && nic ? ", " : "", nic ? nic : "",
		 host || gpu || nic ? ")" : "");
	return text;
}

static void say_program(const struct search *s, const struct fb_results *facts,
			const struct fb_hosts *hosts, void (*use)(void *arg, const char *sentence),
			void *arg)
{
	bool clock = s->times->late_known;

	for (size_t r = 0; r < s->times->ranks; r++)
		for (enum way way = BEGINS; way < WAYS; way++) {
			const struct record *record = &s->record[r];
			size_t rows = record->rows[way];
			char text[512], rank[256];

			/* A rank that begins late also ends late, so one is reported. */
			if (2 * rows <= s->groups ||
			    (way == ENDS && 2 * record->rows[BEGINS] > s->groups))
				continue;
			snprintf(
				text, sizeof(text),
				"%s: rank %s %s %.3g us %s, %.0f%% of the time, in %zu of %zu rows",
				s->program, name_rank(facts, hosts, r, rank),
				!clock		? "takes"
				: way == BEGINS ? "begins"
						: "ends",
				record->us[way] / (double)rows,
				!clock ? "less: the others wait for it" : "after the others",
				100 * record->of[way] / (double)rows, rows, s->groups);
			use(arg, text);
		}
}

/* Judges each program of the file once. */
static void judge_all(struct search *s, const struct fb_results *facts,
		      const struct fb_hosts *hosts, void (*use)(void *arg, const char *sentence),
		      void *arg)
{
	const struct fb_rank_times *t = s->times;
	int column = fb_sheet_column(&t->table, "program");

	for (size_t g = 0; g < t->groups; g++) {
		size_t before = 0;

		s->program = fb_sheet_text(&t->table, t->group_row[g], column);
		while (before < g &&
		       strcmp(s->program, fb_sheet_text(&t->table, t->group_row[before], column)))
			before++;
		if (before < g || (!t->late_known && !waits_for_all(s->program)))
			continue;
		judge_program(s);
		say_program(s, facts, hosts, use, arg);
	}
}

/* Their numbers come from the file, which may begin with any of them, so they are counted. */
static size_t most_repetitions(const struct fb_rank_times *t)
{
	size_t most = 0, n = 0;

	for (size_t i = 0; i < t->table.nrows; i = fb_rank_times_end(t, i)) {
		n = i && t->sample[i].group == t->sample[i - 1].group ? n + 1 : 1;
		most = n > most ? n : most;
	}
	return most;
}

void fb_laggards(const struct fb_rank_times *times, const struct fb_results *facts,
		 void (*use)(void *arg, const char *sentence), void *arg)
{
	const char *fact = fb_results_fact(facts, "run.ranks_of_hosts");
	struct search s = {.times = times, .most = most_repetitions(times)};
	struct fb_hosts hosts = {.count = 0};

	if (fact)
		fb_hosts_read(&hosts, fact, times->ranks);
	s.record = fb_new(times->ranks + 1, sizeof(*s.record));
	s.median = fb_new(times->ranks + 1, sizeof(*s.median));
	s.x = fb_new(3 * times->ranks + 3 * s.most + 1, sizeof(*s.x));
	for (enum way way = BEGINS; way < WAYS; way++)
		s.late[way] = fb_new(times->ranks * s.most + 1, sizeof(double));
	judge_all(&s, facts, &hosts, use, arg);
}
