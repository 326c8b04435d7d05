/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving messages of a wire; see wire.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/wire.h"

static int foreign(int from, const char *what)
{
	return fb_error(FB_EPEER, "rank %d sent what makes no sense: %s", from, what);
}

/* The address of [place, place + bytes) in this rank's part of a region; NULL: outside of it. */
static char *place_in(const struct fb_wire *wire, const struct fb_region *region, uint64_t place,
		      uint64_t bytes)
{
	if (!region || place > region->segment->part_bytes ||
	    bytes > region->segment->part_bytes - place)
		return NULL;
	return fb_segment_part(region->segment, wire->mover.group->rank) + place;
}

static const struct fb_region *region_by_number(const struct fb_wire *wire, int number)
{
	return number < wire->regions ? wire->region[number] : NULL;
}

/* The job that asked, by the answer's tag, which is a pointer that this rank has sent. */
static struct fb_wire_job *asked(uint64_t tag)
{
	return (struct fb_wire_job *)(uintptr_t)tag;
}

static int take_data(const struct fb_wire *wire, int from, const struct fb_wire_header *header,
		     const char *body)
{
	struct fb_wire_job *job = asked(header->tag);
	const struct fb_region *region = job ? job->transfer->local
					     : region_by_number(wire, header->region);
	size_t left = header->body;

	while (left) {
		struct fb_wire_record record;
		char *to = NULL;

		if (left >= sizeof(record)) {
			memcpy(&record, body, sizeof(record));
			body += sizeof(record);
			left -= sizeof(record);
			if (record.bytes <= left)
				to = place_in(wire, region, record.place, record.bytes);
		}
		if (!to)
			return foreign(from, "bytes for outside of the region");
		memcpy(to, body, record.bytes);
		body += record.bytes;
		left -= record.bytes;
		if (job) {
			job->missing -= record.bytes;
			job->move->missing -= record.bytes;
		}
	}
	return FB_OK;
}

static bool has_form(const struct fb_wire *wire, unsigned form)
{
	unsigned forms = 0;

	while (wire->mover.ops->forms && wire->mover.ops->forms[forms])
		forms++;
	return form < (forms ? forms : 1);
}

/* Makes an answer of the peer's question, and queues it like other jobs. */
static int take_question(struct fb_wire *wire, int from, const struct fb_wire_header *header,
			 const char *body)
{
	size_t n = header->body / sizeof(struct fb_wire_question);
	const struct fb_region *region = region_by_number(wire, header->region);
	struct fb_wire_answer *answer = calloc(1, sizeof(*answer) + n * sizeof(answer->piece[0]));

	if (!answer)
		return fb_error(FB_ENOMEM, "out of memory for %zu questions", n);
	for (size_t i = 0; i < n; i++) {
		struct fb_wire_question q;

		memcpy(&q, body + i * sizeof(q), sizeof(q));
		if (!place_in(wire, region, q.from, q.bytes)) {
			free(answer);
			return foreign(from, "a question for bytes outside of the region");
		}
		answer->piece[i] = (struct fb_piece){q.from, q.to, q.bytes};
	}
	answer->peer = from;
	answer->notice = header->notice;
	answer->transfer = (struct fb_transfer){
		.verb = FB_MOVE_PUT, .peer = from, .local = region, .piece = answer->piece,
		.pieces = n};
	answer->job = (struct fb_wire_job){
		.transfer = &answer->transfer, .walk = {.transfer = &answer->transfer},
		.tag = header->tag, .kind = FB_WIRE_DATA, .form = header->form};
	fb_wire_queue_add(&wire->peer[from].link[FB_WIRE_ONE_SIDED].queue, &answer->job);
	return FB_OK;
}

static int take_stream(const struct fb_wire *wire, int from, const struct fb_wire_header *header,
		       const char *body)
{
	struct fb_wire_queue *queue = &wire->peer[from].receives;
	struct fb_wire_job *job = queue->head;
	uint64_t left = header->body, a, b, bytes;
	char *base = fb_transfer_local(job->transfer, wire->mover.group->rank);

	if (left > job->missing)
		return foreign(from, "more bytes than the RECV takes");
	job->missing -= left;
	job->move->missing -= left;
	while (left && (bytes = fb_walk_next(&job->walk, left, &a, &b))) {
		memcpy(base + a, body, bytes);
		body += bytes;
		left -= bytes;
	}
	if (!job->missing)
		queue->head = job->next;
	return FB_OK;
}

static int take_body(struct fb_wire *wire, int from, const struct fb_wire_header *header,
		     const char *body)
{
	struct fb_wire_peer *peer = &wire->peer[from];
	int err = FB_OK;

	if (header->kind == FB_WIRE_ASK && !has_form(wire, header->form))
		return foreign(from, "a question to be answered by an unknown form");
	if (header->kind == FB_WIRE_ASK)
		return take_question(wire, from, header, body);
	if (header->kind == FB_WIRE_STREAM)
		return take_stream(wire, from, header, body);
	if (header->kind != FB_WIRE_DATA || header->notice > FB_NOTICES)
		return foreign(from, "an unknown kind of message");
	if (header->body)
		err = take_data(wire, from, header, body);
	if (!err && header->notice)
		peer->arrived[header->notice]++;
	return err;
}

/* 1: a message was used; 0: there is none, or its RECV is not posted; else an error. */
static int take_message(struct fb_wire *wire, int from, struct fb_wire_link *link)
{
	const struct fb_port_ops *ops = link->in->ops;
	const void *body = NULL;
	int err;

	if (!link->headed) {
		const void *header = ops->peek(link->in, sizeof(link->header));

		if (!header)
			return 0;
		memcpy(&link->header, header, sizeof(link->header));
		ops->release(link->in);
		link->taken++;
		link->headed = true;
	}
	if (link->header.kind == FB_WIRE_STREAM && !wire->peer[from].receives.head)
		return 0;
	if (link->header.body) {
		body = ops->peek(link->in, link->header.body);
		if (!body)
			return 0;
	}
	err = take_body(wire, from, &link->header, body);
	link->headed = false;
	if (body) {
		ops->release(link->in);
		link->taken++;
	}
	return err ? err : 1;
}

int fb_wire_receive(struct fb_wire *wire, int from)
{
	int used = 0;

	for (int lane = 0; lane < FB_WIRE_LANES; lane++)
		do {
			used = take_message(wire, from, &wire->peer[from].link[lane]);
			if (used < 0)
				return used;
		} while (used);
	return FB_OK;
}
