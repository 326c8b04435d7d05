/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of nodes, the rules that judge them, and the rates that were measured. */
#ifndef FB_SCRIPTS_TOOLS_DOCTOR_DOCTOR_H
#define FB_SCRIPTS_TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "scripts/tools/lib/env.h"

enum fb_level { FB_LEVEL_GOOD, FB_LEVEL_DOUBT, FB_LEVEL_BAD, FB_LEVELS };

enum { FB_FINDING_CHARS = 160 };

/* The scope of a variable that NCCL takes from one of its files. */
#define FB_SCOPE_NCCL_FILE "nccl.conf"

struct fb_node_facts {
	struct fb_env env; /* sorted */
	size_t hosts; /* hosts that have a fact of their own, at least 1 */
	double least_Gbps; /* --expect-rate: the rate that RDMA ports should have; 0: not given */
};

/* One verdict; texts are borrowed from the facts and the rules, but for `found` and `wanted`. */
struct fb_finding {
	enum fb_level level;
	const char *check, *host;
	char found[FB_FINDING_CHARS], wanted[FB_FINDING_CHARS];
	const char *advice; /* what the fault costs, and how to repair it */
};

struct fb_findings {
	struct fb_finding *item;
	size_t count;
};

void fb_findings_add(struct fb_findings *findings, const struct fb_finding *finding);

/* What a rule checks, and what it prints if the check fails. */
struct fb_check {
	enum fb_level level; /* of a failed check */
	const char *check, *wanted, *advice;
};

/* Adds a verdict on a host; the rest says what was found, as printf does. */
void fb_findings_judge(struct fb_findings *findings, const struct fb_check *check,
		       const char *host, bool good, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/*
 * Reads the facts of a folder's environment.csv. Facts that it lacks are read from the folder
 * rates/ in it, because the program that measured rates loads more libraries and opens GPUs. The
 * fact "rank.gpu" of a launch is stored without the launch's prefix. 0 or FB_EINPUT (printed).
 */
int fb_node_facts_read(struct fb_node_facts *facts, const char *folder);

/* The value of a key on a host (of its first rank), or of all hosts; NULL: it is not known. */
const char *fb_node_fact(const struct fb_node_facts *facts, const char *host, const char *key);

/* The same of a rank, where it has one of its own. */
const char *fb_rank_fact(const struct fb_node_facts *facts, const char *host, long rank,
			 const char *key);

/* Whether this is the first fact of its key, and of those the first of its host. */
bool fb_fact_opens_key(const struct fb_node_facts *facts, const struct fb_env_fact *fact);
bool fb_fact_opens_host(const struct fb_node_facts *facts, const struct fb_env_fact *fact);

/* A rule that needs code, not only a fact's value. It is called for each fact whose key matches. */
struct fb_judge {
	const char *key; /* fnmatch(3) */
	void (*judge)(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		      struct fb_findings *findings);
};

/* The next fact behind `after` (NULL: the first) that is the host's or everyone's; fnmatch(3). */
const struct fb_env_fact *fb_next_fact(const struct fb_node_facts *facts,
					const struct fb_env_fact *after, const char *host,
					const char *pattern);

/* Whether that fact of a host, or of everyone, is known and has this text in it. */
bool fb_fact_has(const struct fb_node_facts *facts, const char *host, const char *key,
		 const char *text);

/* Each ends with a key that is NULL. */
extern const struct fb_judge fb_judges_of_ports[], fb_judges_of_networks[], fb_judges_of_ranks[],
	fb_judges_of_libraries[], fb_judges_of_fabric[];

/* Judges the facts by all rules, and finds facts that differ between nodes and should not. */
void fb_doctor_rules(const struct fb_node_facts *facts, struct fb_findings *findings);

/* The least shares that are good: of a row's own bound, and of what links carry. */
struct fb_least {
	double bound, link, collective;
};

/*
 * Judges the rows of a result file by the best engine of each case:
 * - From 1 MiB on the efficiency of each operation and memory has to be at least `bound`.
 * - From 1 MiB on each pair of ranks, and host_device, has to reach the share `link` of the rate of
 *   its link (lib/links.h).
 * - From 64 MiB on busbw_GBps of all_reduce, all_gather and reduce_scatter in GPU memory has to
 *   reach the share `collective` of a GPU's NVLink rate, or between nodes of a node's RDMA ports.
 * Rows whose bound and link are not known are not judged. Returns 0, or as fb_records_read.
 */
int fb_doctor_rates(const struct fb_node_facts *facts, const char *path,
		    const struct fb_least *least, struct fb_findings *findings);

#endif
