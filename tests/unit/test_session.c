/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session opens once: one opening whoever asks, the reason kept, closing in reverse. */
#include "common/session.h"

#include <string.h>

#include "common/base/error.h"
#include "common/system/environment.h"
#include "tests/unit/check.h"

/* What happened, a letter each: a and b opened, A and B closed, c tried. */
struct log {
	char text[16];
};

struct thing {
	struct log *log;
	char name;
};

static void note(struct log *log, char what)
{
	size_t used = strlen(log->text);

	if (used + 1 < sizeof(log->text))
		log->text[used] = what;
}

/* The session's own options are the log here. */
static int open_named(void *thing, const struct fb_session *session, char name)
{
	struct thing *t = thing;
	union {
		const void *own;
		struct log *log;
	} from = {.own = session->own};

	*t = (struct thing){from.log, name};
	note(t->log, name);
	return FB_OK;
}

static int open_a(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	(void)why;
	return open_named(thing, session, 'a');
}

static int open_b(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	(void)why;
	return open_named(thing, session, 'b');
}

static int open_c(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	(void)open_named(thing, session, 'c');
	snprintf(why, FB_REASON_CHARS, "there is no c");
	return FB_EUNSUPPORTED;
}

static void close_thing(void *thing)
{
	struct thing *t = thing;

	note(t->log, (char)(t->name - 'a' + 'A'));
}

static const struct fb_once a = {sizeof(struct thing), open_a, close_thing};
static const struct fb_once b = {sizeof(struct thing), open_b, close_thing};
static const struct fb_once c = {sizeof(struct thing), open_c, close_thing};

static void test_once(void)
{
	struct log log = {""};
	struct fb_session session = {.program = "test", .own = &log};
	void *first = NULL, *again = NULL, *none = &log;
	const char *why = NULL;

	CHECK_INT(fb_session_open(&session), FB_OK);
	CHECK_INT(fb_session_once(&session, &a, &first, &why), FB_OK);
	CHECK_INT(fb_session_once(&session, &b, &again, &why), FB_OK);
	CHECK(first != again);
	CHECK_INT(fb_session_once(&session, &a, &again, &why), FB_OK);
	CHECK(first == again);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(fb_session_once(&session, &c, &none, &why), FB_EUNSUPPORTED);
		CHECK(none == NULL);
		CHECK_STR(why, "there is no c");
	}
	fb_session_close(&session);
	CHECK_STR(log.text, "abcBA");
	fb_session_close(&session);
	CHECK_STR(log.text, "abcBA");
}

static void test_facts(void)
{
	struct fb_facts facts = {.item = NULL};
	struct fb_settings settings = {.launch_index = 3};
	struct fb_session session = {.program = "test", .settings = &settings, .facts = &facts};

	fb_fact(&session, "gpu.model", "%s %d", "x", 1);
	fb_launch_fact(&session, "rank.gpu", "%d", 2);
	CHECK_STR(fb_facts_get(&facts, "gpu.model"), "x 1");
	CHECK_STR(fb_facts_get(&facts, "program.test.3.rank.gpu"), "2");
	fb_facts_free(&facts);
	session.facts = NULL;
	fb_fact(&session, "gpu.model", "nobody collects it");
	CHECK_INT(fb_alive(&session, "nobody watches"), FB_OK);
}

int main(void)
{
	test_once();
	test_facts();
	return check_done("session");
}
