/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The axis --numa: on which NUMA node a rank's thread runs and its host memory lies.
 *
 *	any      as the launcher and the kernel have it; the variant says nothing
 *	local    memory on the node of the rank's thread, which stays there
 *	remote   memory on the node that is farthest from it
 *	N        the thread and the memory of every rank on node N
 *	N:M      the threads on node N, the memory on node M
 *	all      N:M for each two nodes with memory
 *
 * The node of a thread that the launcher has bound to one node is this node; other threads are
 * spread over the nodes that they may run on, neighbouring ranks together. The variant says what
 * was asked for (numa=0:1), and `path` says where threads and pages really are.
 */
#ifndef FB_COMMON_MEMORY_PLACES_H
#define FB_COMMON_MEMORY_PLACES_H

#include "common/memory/segment.h"
#include "common/option/option.h"
#include "common/record/case.h"
#include "common/run/program.h"
#include "common/system/numa.h"

enum { FB_NUMA_NAME_CHARS = 16, FB_NUMA_REASON_CHARS = 128 };

/* A value of the axis. Members are equal on all ranks but for the nodes. */
struct fb_place {
	int number;		       /* its number in fb_places, from 1 */
	char name[FB_NUMA_NAME_CHARS]; /* canonical: "any", "local", "remote", "0:1" */
	int thread, memory;	       /* nodes of this rank; -1: wherever */
	int store;		       /* equal for places with the same memory; 0: as `any` */
	char reason[FB_NUMA_REASON_CHARS]; /* why this machine lacks the place; "": it has it */
	uint64_t limit;			   /* bytes that each rank may have of that memory */
	uint64_t huge_limit[FB_PAGE_KINDS]; /* and of it in explicit huge pages */
};

/* The values asked for. */
struct fb_places {
	const struct fb_group *world;
	struct fb_numa *numa;
	struct fb_place *item; /* [count] */
	int count, stores; /* stores: different memories; the first one is that of `any` */
	int used;	   /* stores that may exist at the same time */
	struct fb_cpus allowed; /* the thread's processors at the start */
};

/* fb_option_check_fn: checks of a list what does not depend on the machine. */
int fb_places_check(const char *list, char *accepted, size_t n);

/*
 * Collective: resolves a list that was checked. 0, FB_EINPUT (a value twice; printed by rank 0)
 * or FB_ENOMEM (printed), the same on all ranks, *places then zeroed.
 */
int fb_places_open(struct fb_places *places, const struct fb_group *world, const char *list);

/* Safe on a zeroed structure. */
void fb_places_close(struct fb_places *places);

/* The place of a case; `any` if the case has none. Never NULL. */
const struct fb_place *fb_places_of(const struct fb_places *places, const struct fb_case *c);

/* Makes it the case's place, with a key in the variant, unless it is `any`. */
void fb_place_put(const struct fb_place *place, struct fb_case *c);

/* The processors of the place's node that the rank may use; an errno if there are none. */
int fb_place_cpus(const struct fb_places *places, const struct fb_place *place,
		  struct fb_cpus *cpus);

/*
 * Local: moves the calling thread to the place's node, and back to the processors that it had at
 * the start. They do nothing if place->thread is -1. 0 or FB_ESYS (printed).
 */
int fb_place_enter(const struct fb_places *places, const struct fb_place *place);
int fb_place_leave(const struct fb_places *places, const struct fb_place *place);

/*
 * Local: binds the pages of the calling rank's part, which must not have been touched, to the
 * place's node, and touches them. 0 or FB_ESYS (printed).
 */
int fb_place_part(const struct fb_places *places, const struct fb_place *place,
		  const struct fb_segment *segment);

/* The nodes of a rank's thread and pages, as bits; 0 where they are not known. */
struct fb_placed {
	uint64_t thread, pages;
};

/*
 * "threads on 0, pages on 1"; of two ends that differ "threads on 0>0, pages on 0>1", from the
 * first to the second. `ends` has n of them. Returns buf.
 */
enum { FB_PLACED_CHARS = 96 };
const char *fb_placed_text(const struct fb_placed *ends, int n, char buf[FB_PLACED_CHARS]);

/*
 * Collective: that text for all ranks; with two ranks from the first to the second. `pages` are the
 * nodes of the calling rank's pages (fb_numa_pages). Without `memory` the text names threads only.
 * Empty if place->thread is -1.
 */
void fb_placed_where(const struct fb_places *places, const struct fb_place *place, bool memory,
		     uint64_t pages, char text[FB_PLACED_CHARS]);

/* The option's line, in a table of structure s; its group is the table's. */
#define FB_PLACES_OPTION(s, field)                                                                 \
	FB_OPTION_STRING(s, field, 0, "numa", "LIST", "any", fb_places_check,                      \
			 "NUMA nodes of threads and host memory; remote: memory far from the "     \
			 "thread; N:M: threads on N, memory on M")

#endif
