/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's algorithms and protocols, for which collectives each of them exists, and how a
 * communicator is made to use one.
 *
 * NCCL reads NCCL_ALGO and NCCL_PROTO whenever a communicator is made, while it reads other
 * variables once in a process. So every choice has its own communicator, made while the two
 * variables name the choice, and one process can have all of them at the same time.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_FORCE_H
#define FB_COMMON_LIBRARY_NCCL_FORCE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/plan/collective.h"

/* Names of static storage. "library": NCCL chooses; "grouped": sends and receives in a group. */
struct fb_nccl_algo_proto {
	const char *algorithm, *protocol;
};

enum { FB_NCCL_MOST_ALGO_PROTOS = 24 };

/*
 * A list as --nccl-force has it: "library", "grouped", "ring", "ring:ll", "symk:st", or "all",
 * which is all but symk. Returns how many choices it names, or FB_EINPUT after one line to
 * `errors` (may be NULL).
 */
int fb_nccl_algo_proto_list(const char *list,
			    struct fb_nccl_algo_proto choices[FB_NCCL_MOST_ALGO_PROTOS],
			    FILE *errors);

/* The choice with these names, which are copied to static ones; "library" for unknown names. */
struct fb_nccl_algo_proto fb_nccl_algo_proto_named(const char *algorithm, const char *protocol);

/* What decides beside the collective whether NCCL has a choice. */
struct fb_nccl_place {
	int nranks, nnodes;
	bool multicast; /* allowed */
	bool held;      /* graphs are launched behind a blocking kernel */
};

/* Pure: whether NCCL has it. Writes the reason otherwise. */
bool fb_nccl_algo_proto_can(const struct fb_nccl_algo_proto *choice, enum fb_collective collective,
			    const struct fb_nccl_place *place, char *reason, size_t n);

/* Whether the choice is made by NCCL_ALGO or NCCL_PROTO. */
bool fb_nccl_is_forced(const struct fb_nccl_algo_proto *choice);

/* Whether it is a kernel of symmetric windows, "symk:agxll_r", which only calls can name (2.31). */
bool fb_nccl_is_symmetric(const struct fb_nccl_algo_proto *choice);

/*
 * Settings of a communicator or a call for the launch of NCCL's kernels; 0: NCCL chooses. Smallest
 * and largest number of CTAs (thread blocks), policy (index in fb_nccl_policies) and CTAs per
 * cluster (index in fb_nccl_clusters). `poll` is no setting of NCCL but of this program: how often
 * a waiting rank asks for errors (index in fb_nccl_polls).
 */
struct fb_nccl_ctas {
	int min, max, policy, cluster, poll;
};

/* ncclCommGetAsyncError now and then, never, or at each look at the stream while a rank waits. */
enum fb_nccl_poll { FB_NCCL_POLL_USUAL, FB_NCCL_POLL_NEVER, FB_NCCL_POLL_EACH };

/* "usual", "never", "each", NULL. */
extern const char *const fb_nccl_polls[];

/* "auto", "default", "efficiency", "zero", NULL, and "auto", "0", "1", "2", "4", "8", NULL. */
extern const char *const fb_nccl_policies[], *const fb_nccl_clusters[];

/* As NCCL's configurations have them: FB_NCCL_UNDEFINED_INT where NCCL chooses. */
int fb_nccl_policy_number(const struct fb_nccl_ctas *ctas);
int fb_nccl_cluster_number(const struct fb_nccl_ctas *ctas);

enum { FB_NCCL_SELECTION_CHARS = 96 };

/*
 * fb_nccl_call_config.selection for the choice: "RING_LL", or where NCCL chooses the protocol
 * "TREE_SIMPLE,TREE_LL,TREE_LL128". "" for a choice that is not forced.
 */
void fb_nccl_selection(const struct fb_nccl_algo_proto *choice, char text[FB_NCCL_SELECTION_CHARS]);

/* The earlier values of the two variables; owned between begin and end. */
struct fb_nccl_saved {
	char *algorithm, *protocol;
};

/*
 * Set the two variables around the making of a communicator, and restore them. For a choice that is
 * not forced the user's values stay. 0 or FB_ENOMEM (printed).
 */
int fb_nccl_force_begin(const struct fb_nccl_algo_proto *choice, struct fb_nccl_saved *saved);
void fb_nccl_force_end(struct fb_nccl_saved *saved);

#endif
