/* SPDX-License-Identifier: BSD-3-Clause */
/* The things that a program opens once; see session.h. */
#include "common/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/watchdog.h"
#include "common/system/environment.h"
#include "common/system/mount.h"

/* A thing that somebody has asked for, whether it could be opened or not. */
struct thing {
	const struct fb_once *once;
	int err; /* of opening it */
	char why[FB_REASON_CHARS];
	struct thing *next; /* opened before this one */
	max_align_t memory[];
};

struct fb_session_things {
	struct thing *last;
};

int fb_session_open(struct fb_session *session)
{
	session->things = calloc(1, sizeof(*session->things));
	return session->things ? FB_OK : fb_error(FB_ENOMEM, "out of memory for the session");
}

void fb_session_close(struct fb_session *session)
{
	while (session->things && session->things->last) {
		struct thing *thing = session->things->last;

		session->things->last = thing->next;
		if (!thing->err)
			thing->once->close(thing->memory);
		free(thing);
	}
	free(session->things);
	session->things = NULL;
}

int fb_session_once(const struct fb_session *session, const struct fb_once *once, void **memory,
		    const char **why)
{
	struct thing *thing = session->things->last;

	while (thing && thing->once != once)
		thing = thing->next;
	if (!thing) {
		thing = calloc(1, sizeof(*thing) + once->bytes);
		if (!thing)
			return fb_error(FB_ENOMEM, "out of memory for what is opened once");
		thing->once = once;
		thing->err = once->open(thing->memory, session, thing->why);
		thing->next = session->things->last;
		session->things->last = thing;
	}
	*memory = thing->err ? NULL : thing->memory;
	*why = thing->why;
	return thing->err;
}

int fb_alive(const struct fb_session *session, const char *doing)
{
	return session->watchdog ? fb_watchdog_alive(session->watchdog, doing) : FB_OK;
}

void fb_reason(const struct fb_group *world, const char *what, int err,
	       char reason[FB_REASON_CHARS])
{
	snprintf(reason, FB_REASON_CHARS, "rank %d on %s: %s failed: %s", world->rank, world->host,
		 what, fb_error_cause(err));
}

_Noreturn void fb_fail(const struct fb_session *session, const char *what, int err)
{
	char reason[FB_REASON_CHARS];

	fb_reason(session->world, what, err, reason);
	/* FB_ETIMEOUT means that the job is ending for another reason, which was printed. */
	if (err != FB_ETIMEOUT)
		fb_error_print("%s", reason);
	if (!session->watchdog)
		fb_group_abort(session->world, FB_EXIT_FAULT);
	fb_watchdog_fail(session->watchdog, reason);
}

const char *fb_session_prefix(const struct fb_session *session, char buf[FB_FACT_KEY_CHARS])
{
	snprintf(buf, FB_FACT_KEY_CHARS, FB_FACTS_KEPT "%.64s.%" PRIu64 ".", session->program,
		 session->settings->launch_index);
	return buf;
}

static void add_fact(const struct fb_session *session, const char *prefix, const char *key,
		     const char *fmt, va_list args)
{
	char full[FB_FACT_KEY_CHARS], *text = NULL;

	if (!session->facts)
		return;
	snprintf(full, sizeof(full), "%s%s", prefix, key);
	if (vasprintf(&text, fmt, args) < 0) {
		session->facts->failed = true;
		return;
	}
	fb_facts_add(session->facts, full, "%s", text);
	free(text);
}

void fb_fact(const struct fb_session *session, const char *key, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_fact(session, "", key, fmt, args);
	va_end(args);
}

void fb_launch_fact(const struct fb_session *session, const char *key, const char *fmt, ...)
{
	char prefix[FB_FACT_KEY_CHARS];
	va_list args;

	va_start(args, fmt);
	add_fact(session, fb_session_prefix(session, prefix), key, fmt, args);
	va_end(args);
}

void fb_folder_facts(const struct fb_session *session, const char *key, const char *folder)
{
	struct fb_mount mount;
	char name[64], disk[512];

	snprintf(name, sizeof(name), "%s.file_system", key);
	if (!fb_mount_of("/proc/self/mountinfo", folder, &mount)) {
		fb_launch_fact(session, name, "unknown: not in /proc/self/mountinfo");
		return;
	}
	fb_launch_fact(session, name, "%s", mount.file_system);
	snprintf(name, sizeof(name), "%s.disk", key);
	if (!fb_environment_disk("", mount.major, mount.minor, disk, sizeof(disk)))
		snprintf(disk, sizeof(disk), "unknown: %.*s names no block device, and %u:%u is "
			 "none", (int)strcspn(mount.file_system, " "), mount.file_system,
			 mount.major, mount.minor);
	fb_launch_fact(session, name, "%s", disk);
}
