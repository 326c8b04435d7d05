/* SPDX-License-Identifier: BSD-3-Clause */
/* Mover object, between object.c (opening, preparing) and object_run.c (requests); see object.c. */
#ifndef FB_COMMON_MOVER_OBJECT_H
#define FB_COMMON_MOVER_OBJECT_H

#include <sys/uio.h>

#include "common/library/curl.h"
#include "common/mover/store.h"

enum { FB_OBJECT_DEPTH = 64, FB_OBJECT_URL_CHARS = 512 };

struct fb_object_request {
	uint64_t object, at, bytes; /* at: in the object */
	struct iovec *iov;	    /* [parts] */
	size_t parts;
	bool writes;
	size_t part; /* the part that is being moved */
	size_t done; /* and its bytes that have been moved */
	uint64_t moved;
	struct fb_object_move *move;
};

struct fb_object_move {
	struct fb_move move;
	struct fb_object_request *request; /* [requests] */
	struct iovec *iov;
	uint64_t requests, begun, ended;
	bool listed;
	struct fb_object_move *next; /* under way, in the order of posting */
};

struct fb_object_region {
	struct fb_region region;
	char url[FB_OBJECT_URL_CHARS];
};

struct fb_object_mover {
	struct fb_mover mover;
	struct fb_curl curl;
	void *multi, *headers;
	void *easy[FB_OBJECT_DEPTH];
	bool busy[FB_OBJECT_DEPTH];
	int depth, regions;
	uint64_t written; /* objects before this number, of any region, may be there */
	struct fb_object_move *first, *last;
	uint64_t arrived[FB_NOTICES + 1];
};

/*
 * Local: makes one request and waits for it: PUT of no bytes, or DELETE, for object `number` of a
 * folder. Returns libcurl's code, after at most 30 s.
 */
int fb_object_alone(const struct fb_object_mover *m, const char *folder, uint64_t number,
		    const char *method);

/* fb_mover_ops */
int fb_object_post(struct fb_move *move);
int fb_object_test(struct fb_move *move, bool *done);
int fb_object_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);

#endif
