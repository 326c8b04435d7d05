/* SPDX-License-Identifier: BSD-3-Clause */
/* Naming slow ranks, links and nodes: known answers, and how often noise alone names somebody. */
#include "common/base/rng.h"
#include "scripts/tools/lib/stragglers.h"
#include "tests/unit/check.h"

#include <math.h>

enum { RANKS_MAX = 16 };

struct matrix {
	size_t n;
	double time[RANKS_MAX * RANKS_MAX];
};

static void fill(struct matrix *m, size_t n)
{
	*m = (struct matrix){.n = n};
	for (size_t i = 0; i < n * n; i++)
		m->time[i] = i / n == i % n ? (double)NAN : 5;
}

/* What rank sends, receives, or both, takes so many times. */
static void slow(struct matrix *m, size_t rank, double sends, double receives)
{
	for (size_t k = 0; k < m->n; k++) {
		m->time[rank * m->n + k] *= sends;
		m->time[k * m->n + rank] *= receives;
	}
}

/* Normal noise of that relative deviation. */
static void disturb(struct matrix *m, struct fb_rng *rng, double deviation)
{
	for (size_t i = 0; i < m->n * m->n; i++) {
		double sum = -6;

		for (int k = 0; k < 12; k++)
			sum += fb_rng_unit(rng);
		m->time[i] *= exp(deviation * sum);
	}
}

/* All stragglers as one text, "; " between them. */
static const char *named(const struct matrix *m, bool rate, const size_t *host)
{
	static const char *const hosts[] = {"n1", "n2", "n3", "n4"};
	static char all[512];
	char text[FB_STRAGGLER_CHARS];
	struct fb_stragglers found;
	size_t used = 0;

	all[0] = '\0';
	fb_stragglers_find(&found, m->time, m->n, rate, host, 0.1);
	for (size_t i = 0; i < found.count && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? "; " : "",
					 fb_straggler_text(&found.item[i], hosts, NULL, text));
	return all;
}

static void test_known(void)
{
	struct matrix m;

	for (size_t n = 2; n <= RANKS_MAX; n++) {
		fill(&m, n);
		CHECK_STR(named(&m, false, NULL), "");
		slow(&m, 1, 2, 2);
		CHECK_STR(named(&m, false, NULL), n < 4 ? "" : "rank 1 is slow: 2 times");
		/* A higher rate is better: then all others are 1 by 2. */
		for (size_t i = 0; i < n * n; i++)
			m.time[i] = 1 / m.time[i];
		CHECK_STR(named(&m, true, NULL), n < 4 ? "" : "rank 1 is slow: 2 times");
		fill(&m, n);
		slow(&m, 0, 1.5, 1);
		CHECK_STR(named(&m, false, NULL), n < 4 ? "" : "rank 0 sends slowly: 1.5 times");
		fill(&m, n);
		slow(&m, n - 1, 1, 1.08); /* below the threshold */
		CHECK_STR(named(&m, false, NULL), "");
	}
	fill(&m, 8);
	slow(&m, 6, 1, 3);
	CHECK_STR(named(&m, false, NULL), "rank 6 receives slowly: 3 times");
}

static void test_links(void)
{
	struct matrix m;

	fill(&m, 6);
	m.time[2 * 6 + 4] *= 1.7;
	CHECK_STR(named(&m, false, NULL), "the link 2 to 4 is slow: 1.7 times");
	m.time[4 * 6 + 2] *= 1.7;
	CHECK_STR(named(&m, false, NULL), "the link 2 - 4 is slow: 1.7 times");
	/* A rank and a link of others. */
	slow(&m, 1, 4, 4);
	CHECK_STR(named(&m, false, NULL),
		  "rank 1 is slow: 4 times; the link 2 - 4 is slow: 1.7 times");
	/* Pairs that are missing, as a failed row leaves them. */
	m.time[0 * 6 + 5] = m.time[3 * 6 + 1] = m.time[1 * 6 + 2] = (double)NAN;
	CHECK_STR(named(&m, false, NULL),
		  "rank 1 is slow: 4 times; the link 2 - 4 is slow: 1.7 times");
	/* Both ways measured at once: 1-0 stands for 0-1. */
	fill(&m, 6);
	slow(&m, 3, 2, 2);
	for (size_t i = 0; i < 36; i++)
		if (i / 6 > i % 6)
			m.time[i] = (double)NAN;
	CHECK_STR(named(&m, false, NULL), "rank 3 is slow: 2 times");
	/* Nothing known, or half of all slow: nobody is to be told from the others. */
	for (size_t i = 0; i < 36; i++)
		m.time[i] = (double)NAN;
	CHECK_STR(named(&m, false, NULL), "");
	fill(&m, 6);
	for (size_t i = 0; i < 3; i++)
		slow(&m, i, 2, 2);
	CHECK_STR(named(&m, false, NULL), "");
}

/* Four hosts of two ranks, twice as quick inside, which is no fault of anybody's. */
static void test_nodes(void)
{
	static const size_t host[] = {0, 0, 1, 1, 2, 2, 3, 3};
	struct matrix m;

	fill(&m, 8);
	for (size_t i = 0; i < 64; i++)
		if (host[i / 8] == host[i % 8])
			m.time[i] /= 2;
	CHECK_STR(named(&m, false, host), "");
	slow(&m, 5, 2, 2);
	CHECK_STR(named(&m, false, host), "rank 5 is slow: 2 times");
	slow(&m, 4, 2, 2);
	CHECK_STR(named(&m, false, host), "node n3 is slow: 2 times");
	/* Only its network, and only outwards. */
	fill(&m, 8);
	for (size_t i = 0; i < 64; i++)
		if (host[i / 8] == 1 && host[i % 8] != 1)
			m.time[i] *= 3;
	CHECK(!strncmp(named(&m, false, host), "node n2 is slow: 3 times", 24));
}

/* 5% of noise: who is 50% slower is named, and hardly ever anybody else. */
static void test_noise(void)
{
	static const char *const answers[] = {"", "rank 2 is slow", "the link 1 - 3 is slow"};
	static const size_t sizes[] = {4, 6, 8, 16};
	enum { TRIES = 600 };
	struct fb_rng rng;

	fb_rng_seed(&rng, 7);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		int right[3] = {0};

		for (int try = 0; try < TRIES; try++) {
			const char *found;
			struct matrix m;
			int which = try % 3;

			fill(&m, sizes[s]);
			if (which == 1)
				slow(&m, 2, 1.5, 1.5);
			if (which == 2)
				m.time[sizes[s] + 3] *= 1.6, m.time[3 * sizes[s] + 1] *= 1.6;
			disturb(&m, &rng, 0.05);
			found = named(&m, false, NULL);
			right[which] +=
				which ? !strncmp(found, answers[which], strlen(answers[which])) &&
						!strchr(found, ';')
				      : !*found;
		}
		printf("%zu ranks, of %d tries right: none %d, rank %d, link %d\n", sizes[s],
		       TRIES / 3, right[0], right[1], right[2]);
		/* Little can be said about four ranks, and little is. */
		CHECK(right[0] >= TRIES / 3 * (sizes[s] < 6 ? 93 : 97) / 100);
		CHECK(sizes[s] < 8 || right[1] >= TRIES / 3 * 95 / 100);
		CHECK(sizes[s] < 8 || right[2] >= TRIES / 3 * 80 / 100);
	}
}

/* What a slow rank worked with is said where it is known. */
static void test_devices(void)
{
	static const char *const devices[] = {"GPU 0 at 0000:61:00.0, mlx5_0:1", NULL, "eth0"};
	const struct fb_straggler rank = {.kind = FB_STRAGGLER_SENDER, .from = 2, .times = 2};
	const struct fb_straggler unknown = {.kind = FB_STRAGGLER_RANK, .from = 1, .times = 3};
	const struct fb_straggler link = {.kind = FB_STRAGGLER_LINK, .from = 0, .to = 1,
					  .times = 1.5};
	char text[FB_STRAGGLER_CHARS];

	CHECK_STR(fb_straggler_text(&rank, NULL, devices, text),
		  "rank 2 (eth0) sends slowly: 2 times");
	CHECK_STR(fb_straggler_text(&unknown, NULL, devices, text), "rank 1 is slow: 3 times");
	CHECK_STR(fb_straggler_text(&link, NULL, devices, text),
		  "the link 0 (GPU 0 at 0000:61:00.0, mlx5_0:1) to 1 is slow: 1.5 times");
	CHECK_STR(fb_straggler_text(&link, NULL, NULL, text), "the link 0 to 1 is slow: 1.5 times");
}

int main(void)
{
	test_devices();
	test_known();
	test_links();
	test_nodes();
	test_noise();
	return check_done("test_stragglers");
}
