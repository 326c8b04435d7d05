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
	struct fb_control message; /* last: its list follows */
};

int fb_control_open(struct fb_control_channel *c, const struct fb_group *world)
{
	*c = (struct fb_control_channel){.comm = MPI_COMM_NULL};
	return MPI_Comm_dup(world->comm, &c->comm) ? fb_error(FB_EMPI, "MPI_Comm_dup") : FB_OK;
}

/* Frees what has left. */
static void tidy(struct fb_control_channel *channel, bool wait)
{
	struct fb_outgoing **at = &channel->out;

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

void fb_control_close(struct fb_control_channel *channel)
{
	tidy(channel, true);
	free(channel->received);
	if (channel->comm != MPI_COMM_NULL)
		MPI_Comm_free(&channel->comm);
}

int fb_control_send(struct fb_control_channel *channel, int to,
		    const struct fb_control_header *header, const uint32_t *list)
{
	size_t bytes = sizeof(*header) + header->words * sizeof(*list);
	struct fb_outgoing *o = malloc(sizeof(*o) + header->words * sizeof(*list));

	if (!o)
		return fb_error(FB_ENOMEM, "out of memory for a message");
	o->message.header = *header;
	if (header->words)
		memcpy(o->message.list, list, header->words * sizeof(*list));
	MPI_Isend(&o->message, (int)bytes, MPI_BYTE, to, TAG, channel->comm, &o->request);
	o->next = channel->out;
	channel->out = o;
	return FB_OK;
}

int fb_control_receive(struct fb_control_channel *channel, const struct fb_control **message,
		       int *from)
{
	MPI_Status status;
	int there = 0, bytes = 0;

	*message = NULL;
	tidy(channel, false);
	MPI_Iprobe(MPI_ANY_SOURCE, TAG, channel->comm, &there, &status);
	if (!there)
		return FB_OK;
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	if ((size_t)bytes > channel->received_bytes) {
		free(channel->received);
		channel->received = malloc((size_t)bytes);
		channel->received_bytes = channel->received ? (size_t)bytes : 0;
		if (!channel->received)
			return fb_error(FB_ENOMEM, "out of memory for a message");
	}
	MPI_Recv(channel->received, bytes, MPI_BYTE, status.MPI_SOURCE, TAG, channel->comm,
		 MPI_STATUS_IGNORE);
	*from = status.MPI_SOURCE;
	*message = channel->received;
	return FB_OK;
}
