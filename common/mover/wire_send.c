/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending messages of a wire; see wire.h. */
#include <stdlib.h>
#include <string.h>

#include "common/mover/wire.h"

/* How many bytes a chunk takes in a body beside its data. */
static size_t record_bytes(enum fb_wire_kind kind)
{
	static const size_t bytes[] = {
		[FB_WIRE_DATA] = sizeof(struct fb_wire_record),
		[FB_WIRE_ASK] = sizeof(struct fb_wire_question), [FB_WIRE_STREAM] = 0,
	};

	return bytes[kind];
}

/* The next chunk for a body with so much room. A question has the chunk's places, not its bytes. */
static uint64_t next_chunk(struct fb_wire_job *job, size_t room, uint64_t *local, uint64_t *remote)
{
	size_t record = record_bytes(job->kind);

	if (room <= record && !(room == record && job->kind == FB_WIRE_ASK))
		return 0;
	return fb_walk_next(&job->walk, job->kind == FB_WIRE_ASK ? UINT64_MAX : room - record,
			    local, remote);
}

static size_t size_of(const struct fb_wire_job *job, uint64_t bytes)
{
	return record_bytes(job->kind) + (job->kind == FB_WIRE_ASK ? 0 : bytes);
}

/* Bytes of the job's next body, and whether it is the last one. */
static size_t plan_body(const struct fb_wire *wire, const struct fb_wire_job *job, bool *last)
{
	struct fb_wire_job probe = *job;
	size_t body = 0;
	uint64_t a, b, bytes;

	while ((bytes = next_chunk(&probe, wire->slot_bytes - body, &a, &b)))
		body += size_of(job, bytes);
	*last = fb_walk_next(&probe.walk, 1, &a, &b) == 0;
	return body;
}

static void fill_body(const struct fb_wire *wire, struct fb_wire_job *job, size_t body, char *to)
{
	const struct fb_transfer *t = job->transfer;
	char *base = fb_transfer_local(t, wire->mover.group->rank);
	uint64_t a, b, bytes;

	while (body && (bytes = next_chunk(job, body, &a, &b))) {
		const struct fb_wire_record record = {b, bytes};
		const struct fb_wire_question question = {b, a, bytes};

		body -= size_of(job, bytes);
		if (job->kind == FB_WIRE_ASK) {
			memcpy(to, &question, sizeof(question));
			to += sizeof(question);
			continue;
		}
		if (job->kind == FB_WIRE_DATA) {
			memcpy(to, &record, sizeof(record));
			to += sizeof(record);
		}
		memcpy(to, base + a, bytes);
		to += bytes;
	}
}

static void choose(const struct fb_wire *wire, struct fb_wire_link *link, int form)
{
	if (wire->choose)
		wire->choose(link->out, form);
}

/* Sends the header of the job's next message; false: no room now. */
static bool send_header(const struct fb_wire *wire, struct fb_wire_link *link,
			const struct fb_wire_job *job)
{
	struct fb_wire_header header = {.kind = (uint32_t)job->kind & 0xf,
					.form = (uint32_t)job->form & 0xf, .tag = job->tag};
	void *to;

	/* An answer without bytes exists for its notice only, which this rank itself counts. */
	if (!job->move && !job->transfer->pieces) {
		link->last = true;
		return true;
	}
	choose(wire, link, 0);
	to = link->out->ops->acquire(link->out, sizeof(header));
	if (!to)
		return false;
	link->body = plan_body(wire, job, &link->last);
	header.body = (uint32_t)link->body;
	if (job->kind != FB_WIRE_STREAM && job->transfer->remote)
		header.region = (uint16_t)fb_wire_number(wire, job->transfer->remote);
	if (link->last && job->move)
		header.notice = (uint8_t)job->transfer->notice;
	memcpy(to, &header, sizeof(header));
	link->out->ops->commit(link->out, sizeof(header));
	link->sent++;
	return true;
}

/* The queue's first job has been sent as a whole: removes it. */
static void end_job(struct fb_wire *wire, struct fb_wire_peer *peer, struct fb_wire_link *link)
{
	struct fb_wire_job *job = link->queue.head;
	struct fb_wire_answer *answer = (struct fb_wire_answer *)job;

	link->queue.head = job->next;
	link->last = false;
	if (job->move) {
		job->move->open--;
		return;
	}
	/* The GET's bytes have been read. A rank that sees the notice may stop calling. */
	if (answer->notice && fb_wire_settled(wire, link)) {
		peer->arrived[answer->notice]++;
	} else if (answer->notice) {
		peer->owed[answer->notice]++;
		wire->owes = true;
	}
	free(answer);
}

static void send_on(struct fb_wire *wire, struct fb_wire_peer *peer,
		    struct fb_wire_link *link)
{
	while (link->queue.head) {
		struct fb_wire_job *job = link->queue.head;

		if (!link->body && !send_header(wire, link, job))
			return;
		if (link->body) {
			char *to;

			choose(wire, link, job->kind == FB_WIRE_ASK ? 0 : job->form);
			to = link->out->ops->acquire(link->out, link->body);
			if (!to)
				return;
			fill_body(wire, job, link->body, to);
			link->out->ops->commit(link->out, link->body);
			link->sent++;
			link->body = 0;
		}
		if (link->last)
			end_job(wire, peer, link);
	}
}

void fb_wire_send(struct fb_wire *wire, struct fb_wire_peer *peer)
{
	for (int lane = 0; lane < FB_WIRE_LANES; lane++)
		send_on(wire, peer, &peer->link[lane]);
}
