/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between router and workers; see serve.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/serve/serve.h"

enum { TAG = 7 };

struct fb_outgoing {
	struct fb_outgoing *next;
	MPI_Request request;
	struct fb_letter letter; /* last: its list follows */
};

int fb_mailbox_open(struct fb_mailbox *box, const struct fb_group *world)
{
	*box = (struct fb_mailbox){.comm = MPI_COMM_NULL};
	return MPI_Comm_dup(world->comm, &box->comm) ? fb_error(FB_EMPI, "MPI_Comm_dup") : FB_OK;
}

/* Frees what has left. */
static void tidy(struct fb_mailbox *box, bool wait)
{
	struct fb_outgoing **at = &box->out;

	while (*at) {
		struct fb_outgoing *o = *at;
		int left = 0;

		if (wait)
			MPI_Wait(&o->request, MPI_STATUS_IGNORE);
		else
			MPI_Test(&o->request, &left, MPI_STATUS_IGNORE);
		if (!wait && !left) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		free(o);
	}
}

void fb_mailbox_close(struct fb_mailbox *box)
{
	tidy(box, true);
	free(box->received);
	if (box->comm != MPI_COMM_NULL)
		MPI_Comm_free(&box->comm);
}

int fb_mail_send(struct fb_mailbox *box, int to, const struct fb_mail *mail, const uint32_t *list)
{
	size_t bytes = sizeof(*mail) + mail->words * sizeof(*list);
	struct fb_outgoing *o = malloc(sizeof(*o) + mail->words * sizeof(*list));

	if (!o)
		return fb_error(FB_ENOMEM, "out of memory for a message");
	o->letter.mail = *mail;
	if (mail->words)
		memcpy(o->letter.list, list, mail->words * sizeof(*list));
	MPI_Isend(&o->letter, (int)bytes, MPI_BYTE, to, TAG, box->comm, &o->request);
	o->next = box->out;
	box->out = o;
	return FB_OK;
}

int fb_mail_receive(struct fb_mailbox *box, const struct fb_letter **letter, int *from)
{
	MPI_Status status;
	int there = 0, bytes = 0;

	*letter = NULL;
	tidy(box, false);
	MPI_Iprobe(MPI_ANY_SOURCE, TAG, box->comm, &there, &status);
	if (!there)
		return FB_OK;
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	if ((size_t)bytes > box->received_bytes) {
		free(box->received);
		box->received = malloc((size_t)bytes);
		box->received_bytes = box->received ? (size_t)bytes : 0;
		if (!box->received)
			return fb_error(FB_ENOMEM, "out of memory for a message");
	}
	MPI_Recv(box->received, bytes, MPI_BYTE, status.MPI_SOURCE, TAG, box->comm,
		 MPI_STATUS_IGNORE);
	*from = status.MPI_SOURCE;
	*letter = box->received;
	return FB_OK;
}
