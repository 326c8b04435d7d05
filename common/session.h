/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session is what a program opens once and then hands to everything that works for it: the
 * world, the settings, the watchdog, the facts, and things such as the rank's GPU or a library,
 * which are opened when somebody first needs them.
 *
 * Engines, movers and transports open on (session, group). They need nothing else of the harness,
 * so they include neither common/run/run.h nor common/run/program.h.
 */
#ifndef FB_COMMON_SESSION_H
#define FB_COMMON_SESSION_H

#include <stddef.h>

#include "common/option/settings.h"
#include "common/record/traits.h"
#include "common/system/group.h"

struct fb_clock;
struct fb_counters;
struct fb_facts;
struct fb_watchdog;
struct fb_session_things; /* opaque */

struct fb_session {
	const char *program; /* its name */
	const struct fb_group *world;
	const struct fb_settings *settings; /* those of the command line; they never change */
	const void *own;		    /* values of the program's own options; or NULL */
	const struct fb_clock *clock;	    /* open before the first case, not yet in `open` */
	struct fb_watchdog *watchdog;	    /* NULL: no watchdog (tests) */
	struct fb_facts *facts;		    /* this rank's; NULL: nobody collects them (tests) */
	struct fb_counters *counters;	    /* around the case under way; NULL: nobody reads */
	struct fb_session_things *things;
};

/*
 * Local: the caller has filled in all members but `things`. Returns 0 or FB_ENOMEM (printed).
 * Closing closes all things, the latest first; a zeroed session is fine.
 */
int fb_session_open(struct fb_session *session);
void fb_session_close(struct fb_session *session);

/*
 * Tells the watchdog what this rank does ("waiting for messages"). Engines call it from slow paths
 * of long waits; it is cheap and does not prolong the step. Returns FB_ETIMEOUT when the step's
 * time limit is over; then the caller gives up, and the watchdog has reported.
 */
int fb_alive(const struct fb_session *session, const char *doing);

/* A row's reason, "rank 1 on HOST: WHAT failed: CAUSE"; the cause as fb_error_cause(). */
void fb_reason(const struct fb_group *world, const char *what, int err,
	       char reason[FB_REASON_CHARS]);

/* Ends the job, as others wait for what this rank will not do; this goes into the row. */
_Noreturn void fb_fail(const struct fb_session *session, const char *what, int err);

/*
 * Adds a fact to environment.csv: about the machine, or about this program's launch, whose key then
 * gets "program.NAME.LAUNCH." before it. Facts of a launch stay in the file when other programs or
 * launches write it.
 */
void fb_fact(const struct fb_session *session, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void fb_launch_fact(const struct fb_session *session, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Facts of this launch: KEY.file_system and KEY.disk of a folder (NULL: $TMPDIR, or /tmp). */
void fb_folder_facts(const struct fb_session *session, const char *key, const char *folder);

/* The prefix of the keys of facts about this program's launch. Returns buf. */
enum { FB_FACT_KEY_CHARS = 192 };
const char *fb_session_prefix(const struct fb_session *session, char buf[FB_FACT_KEY_CHARS]);

/* A kind of thing that a process has at most once, as its GPU. */
struct fb_once {
	size_t bytes; /* of the structure that `open` fills, zeroed before */
	/*
	 * FB_EUNSUPPORTED with the reason where the machine or the build has none; other errors
	 * are printed. After an error nothing is left to close.
	 */
	int (*open)(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS]);
	void (*close)(void *thing);
};

/*
 * The thing, opened by the first call, which is collective over the world if `open` is; later calls
 * are local and give the same result. Returns what `open` returned: FB_OK with *thing, or
 * FB_EUNSUPPORTED with the reason in *why. Both stay valid until the session is closed.
 */
int fb_session_once(const struct fb_session *session, const struct fb_once *once, void **thing,
		    const char **why);

#endif
