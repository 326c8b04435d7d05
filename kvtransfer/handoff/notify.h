/* SPDX-License-Identifier: BSD-3-Clause */
/* How the receivers of PUTs learn that their pages are there (--notify). */
#ifndef FB_KVTRANSFER_HANDOFF_NOTIFY_H
#define FB_KVTRANSFER_HANDOFF_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record/traits.h" /* FB_REASON_CHARS */

struct fb_handoff_instance;
struct fb_handoff_link;
struct fb_handoff_plan;
struct fb_handoff_times;
struct fb_mover_ops;

enum fb_handoff_notify {
	FB_NOTIFY_EACH,	   /* a notice of the mover with every move */
	FB_NOTIFY_LAST,	   /* one behind all moves of a pair of ranks */
	FB_NOTIFY_MESSAGE, /* the sender waits for all of them, then sends a message by MPI */
};

/* Whether the mover can notify receivers in the plan's way; else the reason. */
bool fb_handoff_notifies_so(const struct fb_handoff_plan *plan, const struct fb_mover_ops *ops,
			    char reason[FB_REASON_CHARS]);
/* The notice of each move, or 0; and how many a call has for the link's two ranks. */
int fb_handoff_notice(const struct fb_handoff_plan *plan);
uint64_t fb_handoff_pair_notices(const struct fb_handoff_instance *i,
				 const struct fb_handoff_link *link);
/* Senders: notifies the receivers to which all moves are posted, or complete, as --notify needs. */
int fb_handoff_tell(const struct fb_handoff_instance *i);
/* Notes that all of a link has arrived at this receiver; the moment of the last link counts. */
void fb_handoff_note_told(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
			  uint64_t call, struct fb_handoff_times *t);
/* Looks for the notices of a link; *open: one link more if something is missing. */
int fb_handoff_listen(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
		      uint64_t call, struct fb_handoff_times *t, int *open);

#endif
