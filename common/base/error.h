/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error values, exit codes and the one way to report an error.
 *
 * Whoever finds an error prints it once with fb_error(), naming what was given and what is
 * accepted, and returns the value; callers pass it on in silence.
 */
#ifndef FB_COMMON_BASE_ERROR_H
#define FB_COMMON_BASE_ERROR_H

#include <stdio.h>

enum fb_err {
	FB_OK = 0,
	FB_EINPUT = -1,	      /* an option, file or environment that cannot be used */
	FB_ENOMEM = -2,	      /* memory could not be allocated or mapped */
	FB_ESYS = -3,	      /* a system call failed; errno was printed */
	FB_EDATA = -4,	      /* a result differs from the expected one */
	FB_EUNSUPPORTED = -5, /* valid, but not on this machine or with this library */
	FB_ETIMEOUT = -6,     /* a bounded wait ran out */
	FB_EPEER = -7,	      /* another rank failed or disappeared */
	FB_EMPI = -8,	      /* an MPI call failed */
	FB_EIO = -9,	      /* a result file could not be written whole */
	FB_EPLAN = -10,	      /* a plan is malformed or was disproved by the checker */
};

/* Process exit codes, the same for every program. */
enum fb_exit {
	FB_EXIT_OK = 0,
	FB_EXIT_REGRESSION = 1,
	FB_EXIT_WRONG = 2,
	FB_EXIT_INPUT = 3,
	FB_EXIT_UNSURE = 4,
	FB_EXIT_FAULT = 5,
	FB_EXIT_NOTHING = 6, /* nothing could be measured; of compare: nothing judged */
};

/* One sentence for an fb_err value. Static storage. */
const char *fb_strerror(int err);

/* The exit code that belongs to an fb_err value (FB_OK gives FB_EXIT_OK). */
int fb_exit_code(int err);

/*
 * fb_error(err, format, ...): prints "fabricbench: " and the message as one line on stderr in one
 * write, so that lines of several ranks do not mix, and has the value err, for
 * `return fb_error(...)`. A macro, so that compilers and analysers see the value.
 */
#define fb_error(err, ...) fb_error_value((fb_error_print(__VA_ARGS__), (err)))

void fb_error_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* This thread's last text since fb_error_forget(), cut to the length of a row's reason; or "". */
const char *fb_error_last(void);
void fb_error_forget(void);
/* Makes `text`, which was printed earlier, the last one again. */
void fb_error_recall(const char *text);
/* fb_error_last(), or if that is empty, what `err` means. */
const char *fb_error_cause(int err);

static inline int fb_error_value(int err)
{
	return err;
}

/* The same for a remark that changes no result. */
void fb_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
