/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover object: between memory and an object store, by HTTP and libcurl, found at run time. As with
 * mover store (store.h) the `remote` places are in a tier of each rank alone. The tier is cut into
 * objects of FB_OBJECT_BYTES, URL/fabricbench-HOST-PID-REGION/NUMBER. PUT writes whole objects, so
 * its bytes have to begin where an object begins, and its other pieces have to follow without gaps;
 * other transfers are FB_EUNSUPPORTED. GET reads parts of objects by ranges.
 *
 * Up to `depth` requests are under way at once, each with a connection that is kept. Where
 * AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set, requests are signed as Amazon's S3 wants it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/mover/object.h"

enum { HOST_CHARS = 65 };

static const char *chosen_url;
static unsigned chosen_depth = 8;

void fb_object_store(const char *url, unsigned depth)
{
	chosen_url = url;
	chosen_depth = depth < 1 ? 1 : depth > FB_OBJECT_DEPTH ? FB_OBJECT_DEPTH : depth;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void close_mover(struct fb_mover *mover)
{
	struct fb_object_mover *m = (struct fb_object_mover *)mover;

	for (int i = 0; i < m->depth; i++)
		if (m->easy[i])
			m->curl.easy_cleanup(m->easy[i]);
	if (m->multi)
		m->curl.multi_cleanup(m->multi);
	if (m->headers)
		m->curl.slist_free_all(m->headers);
	fb_mover_free(mover);
}

static void name_folder(struct fb_object_mover *m, char url[FB_OBJECT_URL_CHARS])
{
	char host[HOST_CHARS] = "";

	(void)gethostname(host, sizeof(host) - 1);
	snprintf(url, FB_OBJECT_URL_CHARS, "%.300s/fabricbench-%s-%d-%d", chosen_url, host,
		 (int)getpid(), m->regions++);
}

/* Local: opens the library and its handles, and tries whether the store takes an object. */
static int find_store(struct fb_object_mover *m, char why[FB_REASON_CHARS])
{
	const char *token = getenv("AWS_SESSION_TOKEN");
	char url[FB_OBJECT_URL_CHARS], header[4096];
	bool there = true;
	long status = 0;
	int code;

	if (!chosen_url) {
		snprintf(why, FB_REASON_CHARS, "no object store was named");
		return FB_EUNSUPPORTED;
	}
	if (fb_curl_open(&m->curl, why, FB_REASON_CHARS))
		return FB_EUNSUPPORTED;
	m->multi = m->curl.multi_init();
	/* Without this header the library waits for a status before it sends the body. */
	m->headers = m->curl.slist_append(NULL, "Expect:");
	if (m->headers && token) {
		/* Temporary credentials have a token, which is signed as well. */
		snprintf(header, sizeof(header), "x-amz-security-token: %s", token);
		m->headers = m->curl.slist_append(m->headers, header);
	}
	m->depth = (int)chosen_depth;
	for (int i = 0; i < m->depth; i++) {
		m->easy[i] = m->curl.easy_init();
		there &= m->easy[i] != NULL;
	}
	if (!m->multi || !m->headers || !there) {
		snprintf(why, FB_REASON_CHARS, "libcurl gives no handles");
		return FB_EUNSUPPORTED;
	}
	name_folder(m, url);
	code = fb_object_alone(m, url, 0, "PUT");
	if (!code)
		code = fb_object_alone(m, url, 0, "DELETE");
	if (code) {
		m->curl.easy_getinfo(m->easy[0], FB_CURL_INFO_STATUS, &status);
		snprintf(why, FB_REASON_CHARS, "%.100s: %s, status %ld", chosen_url,
			 m->curl.easy_strerror(code), status);
	}
	return code ? FB_EUNSUPPORTED : FB_OK;
}

static int open_mover(struct fb_mover **mover, const struct fb_session *session,
		      const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, &fb_mover_object, sizeof(struct fb_object_mover), session,
			       group);

	if (err)
		return err;
	*why = '\0';
	err = find_store((struct fb_object_mover *)*mover, why);
	err = fb_group_agree_why(group, err, why, FB_REASON_CHARS);
	if (err)
		close_mover(*mover);
	return err;
}

static int open_region(struct fb_region *region)
{
	name_folder((struct fb_object_mover *)region->mover,
		    ((struct fb_object_region *)region)->url);
	return FB_OK;
}

static int add_region(struct fb_mover *mover, const struct fb_segment *segment,
		      struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct fb_object_region), open_region, region);
}

static void remove_region(struct fb_region *region)
{
	struct fb_object_region *r = (struct fb_object_region *)region;
	const struct fb_object_mover *m = (const struct fb_object_mover *)region->mover;

	/* An object that was never written does not exist; its DELETE does no harm. */
	for (uint64_t k = 0; k < m->written && k * FB_OBJECT_BYTES < region->segment->part_bytes;
	     k++) {
		(void)fb_object_alone(m, r->url, k, "DELETE");
		(void)fb_alive(m->mover.session, "deleting objects");
	}
	free(r);
}

/* --- moves ------------------------------------------------------------------------------------ */

static void free_move(struct fb_move *move)
{
	struct fb_object_move *m = (struct fb_object_move *)move;

	free(m->request);
	free(m->iov);
	fb_move_free(move);
}

/* Makes requests of the pieces: cuts them where objects end, joins neighbours in one object. */
static void list(struct fb_object_move *m, const struct fb_transfer *t, uint64_t *parts)
{
	struct fb_object_request *last = NULL;
	char *memory = fb_transfer_local(t, m->move.mover->group->rank);
	struct fb_walk walk = {.transfer = t};
	uint64_t a, b, bytes;

	while ((bytes = fb_walk_next(&walk, FB_OBJECT_BYTES, &a, &b)))
		while (bytes) {
			uint64_t object = b / FB_OBJECT_BYTES, at = b % FB_OBJECT_BYTES;
			uint64_t now = FB_OBJECT_BYTES - at < bytes ? FB_OBJECT_BYTES - at : bytes;

			if (!last || last->object != object || last->at + last->bytes != at) {
				last = &m->request[m->requests++];
				*last = (struct fb_object_request){
					.object = object, .at = at, .move = m,
					.iov = &m->iov[*parts], .writes = t->verb == FB_MOVE_PUT};
			}
			m->iov[(*parts)++] = (struct iovec){memory + a, now};
			last->parts++;
			last->bytes += now;
			a += now;
			b += now;
			bytes -= now;
		}
}

static int prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		   struct fb_move **move)
{
	uint64_t most = 1, parts = 0, a, b;
	struct fb_object_move *m;
	bool whole = true;
	int err;

	(void)form;
	/* All requests of a move name the region of its first transfer. */
	if (given->transfers != 1)
		return FB_EUNSUPPORTED;
	if (given->transfer->peer != mover->group->rank)
		return fb_error(FB_EINPUT, "mover object: a transfer with rank %d, but objects "
				"are of each rank alone", given->transfer->peer);
	/* A chunk lies in two objects at most. */
	for (struct fb_walk w = {.transfer = given->transfer};
	     fb_walk_next(&w, FB_OBJECT_BYTES, &a, &b);)
		most += 2;
	err = fb_move_new(mover, given, sizeof(*m), move);
	if (err)
		return err;
	m = (struct fb_object_move *)*move;
	m->request = calloc(most, sizeof(*m->request));
	m->iov = calloc(most, sizeof(*m->iov));
	if (!m->request || !m->iov) {
		free_move(*move);
		return fb_error(FB_ENOMEM, "mover object: out of memory");
	}
	if (m->move.transfer->pieces)
		list(m, m->move.transfer, &parts);
	for (uint64_t k = 0; k < m->requests; k++)
		whole &= !m->request[k].writes || !m->request[k].at;
	if (!whole)
		free_move(*move);
	return whole ? FB_OK : FB_EUNSUPPORTED;
}

static void describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_object_mover *m = (const struct fb_object_mover *)move->mover;
	const struct fb_object_move *o = (const struct fb_object_move *)move;

	snprintf(traits->path, sizeof(traits->path), "HTTP, libcurl %.20s, %llu requests%s, "
		 "objects of %d KiB at %.200s", m->curl.version_text,
		 (unsigned long long)o->requests, getenv("AWS_ACCESS_KEY_ID") ? " signed for S3"
									       : "",
		 FB_OBJECT_BYTES >> 10, chosen_url);
	traits->channels = m->depth;
}

const struct fb_mover_ops fb_mover_object = {
	.name = "object",
	.summary = "between memory and an object store by HTTP",
	.transport = "http",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	.open = open_mover,
	.close = close_mover,
	.add = add_region,
	.remove = remove_region,
	.prepare = prepare,
	.release = free_move,
	.post = fb_object_post,
	.test = fb_object_test,
	.arrived = fb_object_arrived,
	.describe = describe,
};
