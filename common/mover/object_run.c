/* SPDX-License-Identifier: BSD-3-Clause */
/* Mover object: requests; see object.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/object.h"

/* Moves up to n bytes between the request's memory and `data`. Returns how many there were. */
static size_t pass(struct fb_object_request *r, char *data, size_t n)
{
	size_t moved = 0;

	while (moved < n && r->part < r->parts) {
		const struct iovec *v = &r->iov[r->part];
		size_t left = v->iov_len - r->done, now = left < n - moved ? left : n - moved;
		char *memory = (char *)v->iov_base + r->done;

		memcpy(r->writes ? data + moved : memory, r->writes ? memory : data + moved, now);
		moved += now;
		r->done += now;
		r->part += r->done == v->iov_len;
		r->done = r->done == v->iov_len ? 0 : r->done;
	}
	r->moved += moved;
	return moved;
}

/* libcurl's callbacks: for bytes to send, and for bytes that have come. */
static size_t give_bytes(char *data, size_t size, size_t n, void *request)
{
	return pass(request, data, size * n);
}

/* If it takes fewer bytes than came, libcurl ends the request with an error. */
static size_t take_bytes(char *data, size_t size, size_t n, void *request)
{
	return pass(request, data, size * n);
}

static size_t ignore_bytes(char *data, size_t size, size_t n, void *request)
{
	(void)data;
	(void)request;
	return size * n;
}

static void sign(const struct fb_object_mover *m, void *easy)
{
	const char *key = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
	const char *region = getenv("AWS_REGION");
	char user[256], how[96];

	if (!key || !secret)
		return;
	snprintf(user, sizeof(user), "%s:%s", key, secret);
	snprintf(how, sizeof(how), "aws:amz:%s:s3", region ? region : "us-east-1");
	m->curl.easy_setopt(easy, FB_CURL_AWS_SIGV4, how);
	m->curl.easy_setopt(easy, FB_CURL_USERPWD, user);
}

/* Sets a handle up for an object; the library copies texts. */
static void aim(const struct fb_object_mover *m, void *easy, const char *folder, uint64_t object)
{
	const struct fb_curl *c = &m->curl;
	char url[FB_OBJECT_URL_CHARS + 32];

	snprintf(url, sizeof(url), "%s/%llu", folder, (unsigned long long)object);
	c->easy_reset(easy);
	c->easy_setopt(easy, FB_CURL_URL, url);
	c->easy_setopt(easy, FB_CURL_FAILONERROR, 1L);
	c->easy_setopt(easy, FB_CURL_NOSIGNAL, 1L);
	c->easy_setopt(easy, FB_CURL_CONNECTTIMEOUT, 10L);
	c->easy_setopt(easy, FB_CURL_HTTPHEADER, m->headers);
	c->easy_setopt(easy, FB_CURL_WRITEFUNCTION, ignore_bytes);
	sign(m, easy);
}

static void start(struct fb_object_mover *m, int slot, struct fb_object_request *r)
{
	const struct fb_transfer *t = r->move->move.transfer;
	const struct fb_object_region *region = (const struct fb_object_region *)t->remote;
	const struct fb_curl *c = &m->curl;
	void *easy = m->easy[slot];
	char range[48];

	r->part = r->done = 0;
	r->moved = 0;
	aim(m, easy, region->url, r->object);
	c->easy_setopt(easy, FB_CURL_PRIVATE, r);
	if (r->writes) {
		m->written = r->object >= m->written ? r->object + 1 : m->written;
		c->easy_setopt(easy, FB_CURL_UPLOAD, 1L);
		c->easy_setopt(easy, FB_CURL_INFILESIZE, (long)r->bytes);
		c->easy_setopt(easy, FB_CURL_READFUNCTION, give_bytes);
		c->easy_setopt(easy, FB_CURL_READDATA, r);
	} else {
		snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)r->at,
			 (unsigned long long)(r->at + r->bytes - 1));
		c->easy_setopt(easy, FB_CURL_RANGE, range);
		c->easy_setopt(easy, FB_CURL_WRITEFUNCTION, take_bytes);
		c->easy_setopt(easy, FB_CURL_WRITEDATA, r);
	}
	m->busy[slot] = true;
	c->multi_add_handle(m->multi, easy);
}

static int slot_of(const struct fb_object_mover *m, const void *easy)
{
	int slot = 0;

	while (m->easy[slot] != easy)
		slot++;
	return slot;
}

/* Takes a request that has ended, and checks that all of its bytes have moved. */
static int end(struct fb_object_mover *m, void *easy, int result)
{
	struct fb_object_request *r = NULL;
	long status = 0;

	m->curl.easy_getinfo(easy, FB_CURL_INFO_PRIVATE, &r);
	m->curl.easy_getinfo(easy, FB_CURL_INFO_STATUS, &status);
	m->curl.multi_remove_handle(m->multi, easy);
	m->busy[slot_of(m, easy)] = false;
	r->move->ended++;
	if (!result && r->moved == r->bytes && (r->writes || status == 206))
		return FB_OK;
	return fb_error(FB_ESYS, "mover object: %s of object %llu: %s, status %ld, %llu of %llu "
			"bytes", r->writes ? "PUT" : "GET", (unsigned long long)r->object,
			result ? m->curl.easy_strerror(result) : "no error", status,
			(unsigned long long)r->moved, (unsigned long long)r->bytes);
}

static void give_notices(struct fb_object_mover *m, const struct fb_move *move)
{
	for (uint32_t i = 0; i < move->transfers; i++)
		m->arrived[move->transfer[i].notice]++;
}

static int progress(struct fb_object_mover *m)
{
	struct fb_curl_message *message;
	int left, running, err = FB_OK;

	for (struct fb_object_move *o = m->first; o; o = o->next)
		for (int slot = 0; slot < m->depth && o->begun < o->requests; slot++)
			if (!m->busy[slot])
				start(m, slot, &o->request[o->begun++]);
	m->curl.multi_perform(m->multi, &running);
	while (!err && (message = m->curl.multi_info_read(m->multi, &left)))
		if (message->what == FB_CURL_DONE)
			err = end(m, message->easy, message->of.result);
	while (!err && m->first && m->first->ended == m->first->requests) {
		give_notices(m, &m->first->move);
		m->first->listed = false;
		m->first = m->first->next;
	}
	return err;
}

int fb_object_alone(const struct fb_object_mover *m, const char *folder, uint64_t object,
		    const char *method)
{
	void *easy = m->easy[0];

	aim(m, easy, folder, object);
	m->curl.easy_setopt(easy, FB_CURL_CUSTOMREQUEST, method);
	m->curl.easy_setopt(easy, FB_CURL_TIMEOUT, 30L);
	if (!strcmp(method, "PUT")) {
		struct fb_object_request empty = {.writes = true};

		m->curl.easy_setopt(easy, FB_CURL_UPLOAD, 1L);
		m->curl.easy_setopt(easy, FB_CURL_INFILESIZE, 0L);
		m->curl.easy_setopt(easy, FB_CURL_READFUNCTION, give_bytes);
		m->curl.easy_setopt(easy, FB_CURL_READDATA, &empty);
	}
	return m->curl.easy_perform(easy);
}

int fb_object_post(struct fb_move *move)
{
	struct fb_object_mover *m = (struct fb_object_mover *)move->mover;
	struct fb_object_move *o = (struct fb_object_move *)move;

	o->begun = o->ended = 0;
	o->next = NULL;
	o->listed = true;
	if (m->first)
		m->last->next = o;
	else
		m->first = o;
	m->last = o;
	return progress(m);
}

int fb_object_test(struct fb_move *move, bool *done)
{
	struct fb_object_move *o = (struct fb_object_move *)move;
	int err = o->listed ? progress((struct fb_object_mover *)move->mover) : FB_OK;

	*done = !o->listed;
	return err;
}

int fb_object_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_object_mover *m = (struct fb_object_mover *)mover;
	int err = m->first ? progress(m) : FB_OK;

	*count = from == mover->group->rank ? m->arrived[notice] : 0;
	return err;
}
