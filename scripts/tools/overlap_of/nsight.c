/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports of Nsight Systems (`nsys export --type sqlite`) as profiles. Times are in nanoseconds,
 * names in the table StringIds. The sqlite3 library is loaded at run time.
 */
#include "common/base/error.h"
#include "common/library/library.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/overlap_of/profile.h"

#include <stdio.h>

/* Values from sqlite3.h, which need not be there. */
enum { SQLITE_READONLY_FLAG = 1, SQLITE_GOOD = 0, SQLITE_HAS_ROW = 100, SQLITE_IS_DONE = 101 };
struct sqlite3;
struct sqlite3_stmt;

struct sqlite {
	void *handle;
	struct sqlite3 *file;
	int (*open)(const char *, struct sqlite3 **, int, const char *);
	int (*prepare)(struct sqlite3 *, const char *, int, struct sqlite3_stmt **, const char **);
	int (*step)(struct sqlite3_stmt *);
	int64_t (*integer)(struct sqlite3_stmt *, int);
	const unsigned char *(*text)(struct sqlite3_stmt *, int);
	int (*finish)(struct sqlite3_stmt *);
	int (*close)(struct sqlite3 *);
	const char *(*why)(struct sqlite3 *);
};

static const struct fb_library_symbol symbols[] = {
	{"sqlite3_open_v2", offsetof(struct sqlite, open), false},
	{"sqlite3_prepare_v2", offsetof(struct sqlite, prepare), false},
	{"sqlite3_step", offsetof(struct sqlite, step), false},
	{"sqlite3_column_int64", offsetof(struct sqlite, integer), false},
	{"sqlite3_column_text", offsetof(struct sqlite, text), false},
	{"sqlite3_finalize", offsetof(struct sqlite, finish), false},
	{"sqlite3_close", offsetof(struct sqlite, close), false},
	{"sqlite3_errmsg", offsetof(struct sqlite, why), false},
};

/* Columns of each SQL query. */
enum { BEGIN, END, PROCESS, DEVICE, CORRELATION, WHAT };

/* The upper bits of a thread's global number are its process's. */
#define OF_PROCESS(column) column " & ~0xFFFFFF"

enum { PEER_TO_PEER = 10 }; /* copyKind */

static const struct question {
	const char *table, *sql;
	bool needed;
} questions[] = {
	{"CUPTI_ACTIVITY_KIND_KERNEL",
	 "SELECT k.start, k.end, " OF_PROCESS("k.globalPid")
	 ", k.deviceId, k.correlationId, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k"
	 " JOIN StringIds s ON s.id = k.shortName",
	 true},
	{"CUPTI_ACTIVITY_KIND_MEMCPY",
	 "SELECT start, end, " OF_PROCESS("globalPid") ", deviceId, correlationId, copyKind"
	 " FROM CUPTI_ACTIVITY_KIND_MEMCPY",
	 false},
	{"CUPTI_ACTIVITY_KIND_MEMSET",
	 "SELECT start, end, " OF_PROCESS("globalPid") ", deviceId, correlationId, 0"
	 " FROM CUPTI_ACTIVITY_KIND_MEMSET",
	 false},
	{"CUPTI_ACTIVITY_KIND_RUNTIME",
	 "SELECT r.start, r.end, " OF_PROCESS("r.globalTid")
	 ", 0, r.correlationId, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r"
	 " JOIN StringIds s ON s.id = r.nameId",
	 false},
	{"NVTX_EVENTS",
	 "SELECT n.start, n.end, " OF_PROCESS("n.globalTid") ", 0, 0, COALESCE(n.text, s.value)"
	 " FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId"
	 " WHERE n.end IS NOT NULL",
	 false},
};
enum { KERNELS, COPIES, FILLS, CALLS, RANGES, QUESTIONS };

/* Sets the kind of a row; false: the row is ignored. */
static bool kind_of(const struct fb_profile *p, int question, const char *name, int64_t what,
		    enum fb_activity *kind)
{
	switch (question) {
	case KERNELS:
		*kind = fb_kernel_kind(p, name);
		return true;
	case COPIES:
		*kind = what == PEER_TO_PEER ? FB_DOES_COMMUNICATION : FB_DOES_COPY;
		return true;
	case FILLS:
		*kind = FB_DOES_COPY;
		return true;
	case CALLS:
		*kind = fb_name_is(&p->names->sync, name) ? FB_DOES_SYNC : FB_DOES_LAUNCH;
		return true;
	default:
		*kind = FB_DOES_STEP;
		return fb_name_is(&p->names->step, name);
	}
}

static bool has_table(const struct sqlite *s, const char *table)
{
	struct sqlite3_stmt *statement = NULL;
	char sql[128];
	bool has;

	snprintf(sql, sizeof(sql), "SELECT 1 FROM sqlite_master WHERE name = '%s'", table);
	has = s->prepare(s->file, sql, -1, &statement, NULL) == SQLITE_GOOD &&
	      s->step(statement) == SQLITE_HAS_ROW;
	s->finish(statement);
	return has;
}

static int ask(const struct sqlite *s, struct fb_profile *profile, const char *path, int question)
{
	const struct question *q = &questions[question];
	struct sqlite3_stmt *statement = NULL;
	int err = FB_OK, state;

	if (!has_table(s, q->table))
		return q->needed ? fb_error(FB_EINPUT, "%s: no table %s: expected an export of "
					    "Nsight Systems with CUDA traced", path, q->table)
				 : FB_OK;
	if (s->prepare(s->file, q->sql, -1, &statement, NULL) != SQLITE_GOOD)
		return fb_error(FB_EINPUT, "%s: %s: %s", path, q->table, s->why(s->file));
	while ((state = s->step(statement)) == SQLITE_HAS_ROW && !err) {
		const char *name = (const char *)s->text(statement, WHAT);
		struct fb_activity_event e = {
			.begin_us = (double)s->integer(statement, BEGIN) * 1e-3,
			.end_us = (double)s->integer(statement, END) * 1e-3,
			.process = (uint64_t)s->integer(statement, PROCESS),
			.device = s->integer(statement, DEVICE),
			.correlation = (uint64_t)s->integer(statement, CORRELATION),
		};

		if (kind_of(profile, question, name ? name : "", s->integer(statement, WHAT),
			    &e.kind))
			*FB_ADD(profile->event, profile->count) = e;
	}
	if (!err && state != SQLITE_IS_DONE)
		err = fb_error(FB_EINPUT, "%s: %s: %s", path, q->table, s->why(s->file));
	s->finish(statement);
	return err;
}

int fb_profile_read_nsight(struct fb_profile *profile, const char *path)
{
	struct sqlite s = {.handle = NULL};
	const char *missing;
	char why[256];
	int err = FB_OK;

	s.handle = fb_library_open("libsqlite3.so.0", NULL, 0, why, sizeof(why));
	if (!s.handle)
		return fb_error(FB_EUNSUPPORTED, "%s: an SQLite file needs libsqlite3: %s", path,
				why);
	missing = fb_library_functions(s.handle, symbols, FB_COUNT_OF(symbols), &s);
	if (missing)
		err = fb_error(FB_EUNSUPPORTED, "libsqlite3 lacks %s", missing);
	else if (s.open(path, &s.file, SQLITE_READONLY_FLAG, NULL) != SQLITE_GOOD)
		err = fb_error(FB_EINPUT, "%s: %s", path, s.why(s.file));
	for (int q = 0; q < QUESTIONS && !err; q++)
		err = ask(&s, profile, path, q);
	if (!missing)
		s.close(s.file);
	fb_library_close(s.handle);
	return err;
}
