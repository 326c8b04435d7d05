/* SPDX-License-Identifier: BSD-3-Clause */
/* Notifies receivers; see notify.h. */
#include <stdio.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/handoff.h"

enum { TAG = 0x6b77 };

const char *const fb_handoff_notifies[] = {"each", "last", "message", NULL};

bool fb_handoff_notifies_so(const struct fb_handoff_plan *p, const struct fb_mover_ops *ops,
			    char reason[FB_REASON_CHARS])
{
	if (p->notify == FB_NOTIFY_EACH)
		return true;
	if (p->get || p->send)
		snprintf(reason, FB_REASON_CHARS,
			 "with %s the receiver's own moves tell it that data has arrived",
			 p->get ? "get" : "send");
	else if (!ops->lands && (p->notify == FB_NOTIFY_MESSAGE || !ops->fifo))
		snprintf(reason, FB_REASON_CHARS, "%s of mover %s can overtake the pages",
			 p->notify == FB_NOTIFY_LAST ? "a later notice" : "a message behind puts",
			 ops->name);
	else
		return true;
	return false;
}

int fb_handoff_notice(const struct fb_handoff_plan *p)
{
	return p->send || p->notify ? 0 : p->get ? FB_NOTE_GOT : FB_NOTE_PUT;
}

uint64_t fb_handoff_pair_notices(const struct fb_handoff_instance *i,
				 const struct fb_handoff_link *link)
{
	return i->plan.notify == FB_NOTIFY_LAST ? 1 : fb_handoff_pair_moves(i, link);
}

static bool same_pair(const struct fb_handoff_link *a, const struct fb_handoff_link *b)
{
	return a->from == b->from && a->to == b->to;
}

int fb_handoff_tell(const struct fb_handoff_instance *i)
{
	int err = FB_OK;

	for (int k = 0; k < i->links && i->plan.notify && !i->receives && !err; k++) {
		struct fb_handoff_link *link = &i->link[k];
		bool wait = !link->last || !i->engine->ops->fifo, open = link->follows;

		for (int j = k; j < i->links && wait; j++)
			open |= same_pair(link, &i->link[j]) && i->link[j].open;
		if (open || link->said)
			continue;
		link->said = true;
		if (link->last)
			err = i->engine->ops->post(link->last);
		else
			MPI_Send(NULL, 0, MPI_BYTE, link->to, TAG, i->state->machine.world->comm);
	}
	return err;
}

void fb_handoff_note_told(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
			  uint64_t call, struct fb_handoff_times *t)
{
	if (link->told != call && i->receives)
		t->notified = fb_handoff_now(i);
	link->told = call;
}

/* The message of a pair, for which all of its links wait. */
static void record_notice(const struct fb_handoff_instance *i, const struct fb_handoff_link *link,
			  uint64_t call, struct fb_handoff_times *t)
{
	MPI_Comm comm = i->state->machine.world->comm;
	int came = 0;

	MPI_Iprobe(link->from, TAG, comm, &came, MPI_STATUS_IGNORE);
	if (came)
		MPI_Recv(NULL, 0, MPI_BYTE, link->from, TAG, comm, MPI_STATUS_IGNORE);
	for (int k = 0; k < i->links && came; k++)
		if (same_pair(&i->link[k], link)) {
			fb_handoff_note_told(i, &i->link[k], call, t);
			i->link[k].come = i->link[k].moves;
		}
}

int fb_handoff_listen(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
		      uint64_t call, struct fb_handoff_times *t, int *open)
{
	bool get = i->plan.get;
	uint64_t notices = fb_handoff_pair_notices(i, link), count = 0;
	uint64_t before = link->count_base + link->moves_before + (call - 1) * notices;
	/* That also progresses the mover. */
	int err = i->engine->ops->arrived(i->engine->mover, get ? link->to : link->from,
					  get ? FB_NOTE_GOT : FB_NOTE_PUT, &count);

	if (i->plan.notify == FB_NOTIFY_MESSAGE) {
		if (link->told != call && !link->follows)
			record_notice(i, link, call, t);
	} else if (count >= link->count_base + call * notices) {
		fb_handoff_note_told(i, link, call, t);
	}
	if (i->plan.notify == FB_NOTIFY_EACH && !get && count > before)
		link->come = count - before;
	else if (i->plan.notify && link->told == call)
		link->come = link->moves;
	*open += link->told != call;
	return err;
}
