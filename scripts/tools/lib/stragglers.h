/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds slow ranks, links and nodes from a time for each pair of ranks.
 *
 * The logarithm of a pair's time is the sum of a common value, an effect of the sender, an effect
 * of the receiver, and a rest, which belongs to the link. Tukey's median polish ("Exploratory Data
 * Analysis", 1977, chapter 11) finds these: it takes out the medians of rows and of columns in
 * turn. Because of the medians a few slow ranks and links do not change the common value, and pairs
 * may be missing. Pairs on one host and pairs between two hosts have different common values.
 *
 * A slow row is a rank that sends slowly, a slow column is a rank that receives slowly, and both
 * together are a slow rank, because of its GPU, adapter or place. A large rest is a slow link. If
 * all ranks of a host are slow, the host is named instead.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_STRAGGLERS_H
#define FB_SCRIPTS_TOOLS_LIB_STRAGGLERS_H

#include <stdbool.h>
#include <stddef.h>

enum fb_straggler_kind {
	FB_STRAGGLER_NODE,     /* host `from`: all of its ranks */
	FB_STRAGGLER_RANK,     /* rank `from`, sending and receiving */
	FB_STRAGGLER_SENDER,   /* rank `from`, only when it sends */
	FB_STRAGGLER_RECEIVER, /* rank `from`, only when it receives */
	FB_STRAGGLER_LINK,     /* from `from` to `to`, both ways if `both` */
};

struct fb_straggler {
	enum fb_straggler_kind kind;
	size_t from, to;
	bool both;
	double times; /* its time divided by others'; of a rank: mean of sending and receiving */
};

struct fb_stragglers {
	struct fb_straggler *item; /* [count], worst first */
	size_t count;
};

/* Among fewer ranks no slow one can be found. */
enum { FB_STRAGGLER_RANKS_MIN = 4 };

/*
 * Finds what is slow in time[n * n], where time[from * n + to] is in any unit and NAN where it is
 * not known; with `rate` it holds rates, of which more is better. If no pair was measured in both
 * directions, the measured one stands for both. host[n] says which host a rank is on, NULL: all on
 * one. `threshold` is the least excess that counts, 0.1 for 10%. An excess must also exceed what
 * the scatter of the pairs explains, and that of a rank also the usual differences between ranks
 * (stragglers.c has the numbers).
 */
void fb_stragglers_find(struct fb_stragglers *stragglers, const double *time, size_t n, bool rate,
			const size_t *host, double threshold);

enum { FB_STRAGGLER_CHARS = 240 };

/*
 * "rank 3 is slow: 2.1 times", or "rank 3 (GPU 1 at 0000:61:00.0) ..." where it is known what the
 * rank worked with. `hosts` are the names of the hosts, `devices` of what each rank has, or NULL;
 * so may single devices be. Returns buf.
 */
const char *fb_straggler_text(const struct fb_straggler *straggler, const char *const *hosts,
			      const char *const *devices, char buf[FB_STRAGGLER_CHARS]);

#endif
