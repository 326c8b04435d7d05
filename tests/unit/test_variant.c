/* SPDX-License-Identifier: BSD-3-Clause */
/* The column `variant`: what --tag accepts, and how its keys join a program's own. */
#include "common/base/error.h"
#include "common/record/variant.h"
#include "tests/unit/check.h"

#include <string.h>

static void test_good(void)
{
	static const char *const good[] = {
		"a=1", "a=", "b=1;a=2", "env.UCX_TLS=self,sm", "a=b=c", "a-b=1;a.b=2;a_b=3",
	};
	static const char *const bad[] = {
		"", "a", "=1", "a=1;", ";a=1", "a=1;;b=2", "a=1;a=2", "a b=1", "a;b=1", "a=\n",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!CHECK(fb_variant_good(good[i])))
			printf("\t%s\n", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(!fb_variant_good(bad[i])))
			printf("\t%s\n", bad[i]);
}

static void test_add(void)
{
	static const struct {
		const char *own, *tags, *whole;
	} cases[] = {
		{"", "a=1", "a=1"},
		{"", "b=1;a=2", "a=2;b=1"},
		{"skew=1", "env.X=1,2", "env.X=1,2;skew=1"},
		{"b=1", "c=3;a=", "a=;b=1;c=3"},
		{"ab=1", "a=2;abc=3", "a=2;ab=1;abc=3"},
	};
	char variant[FB_VARIANT_CHARS], why[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(variant, sizeof(variant), "%s", cases[i].own);
		CHECK_INT(fb_variant_add(variant, cases[i].tags, why, sizeof(why)), FB_OK);
		CHECK_STR(variant, cases[i].whole);
	}
}

static void test_refused(void)
{
	char variant[FB_VARIANT_CHARS] = "skew=1", why[128] = "", tags[FB_VARIANT_CHARS] = "a=";

	CHECK_INT(fb_variant_add(variant, "a=1;skew=2", why, sizeof(why)), FB_EINPUT);
	CHECK_STR(variant, "skew=1");
	CHECK(strstr(why, "has skew") != NULL);
	/* "a=xx...;skew=1" of the longest length that fits, and one more. */
	memset(tags + 2, 'x', FB_VARIANT_CHARS - 10);
	tags[FB_VARIANT_CHARS - 8] = '\0';
	CHECK_INT(fb_variant_add(variant, tags, why, sizeof(why)), FB_OK);
	CHECK_INT(strlen(variant), FB_VARIANT_CHARS - 1);
	snprintf(variant, sizeof(variant), "skew=1");
	tags[FB_VARIANT_CHARS - 8] = 'x';
	tags[FB_VARIANT_CHARS - 7] = '\0';
	CHECK_INT(fb_variant_add(variant, tags, why, sizeof(why)), FB_EINPUT);
	CHECK_STR(variant, "skew=1");
	CHECK(strstr(why, "characters") != NULL);
}

static void test_set(void)
{
	char variant[FB_VARIANT_CHARS] = "bucket=1M;first_bucket=2M", value[FB_VARIANT_CHARS];

	CHECK_INT(fb_variant_set(variant, "bucket", "64K"), FB_OK);
	CHECK_STR(variant, "bucket=64K;first_bucket=2M");
	CHECK_INT(fb_variant_set(variant, "first_bucket", ""), FB_OK);
	CHECK_STR(variant, "bucket=64K;first_bucket=");
	CHECK_INT(fb_variant_set(variant, "first", "1"), FB_EINPUT);
	/* The longest value that fits is one character shorter than this. */
	memset(value, 'x', sizeof(value));
	value[FB_VARIANT_CHARS - strlen("bucket=;first_bucket=")] = '\0';
	CHECK_INT(fb_variant_set(variant, "bucket", value), FB_EINPUT);
	CHECK_STR(variant, "bucket=64K;first_bucket=");
	CHECK_INT(fb_variant_set(variant, "bucket", value + 1), FB_OK);
	CHECK_INT(strlen(variant), FB_VARIANT_CHARS - 1);
}

/* Keys that do not fit are not lost: the case is no longer one that may be run. */
static void test_overfull(void)
{
	struct fb_case c = {.variant = "skew=1"};
	char keys[FB_VARIANT_CHARS + 16] = "a=";

	fb_variant_put(&c, "");
	fb_variant_put(&c, "b=2");
	CHECK_STR(c.variant, "b=2;skew=1");
	CHECK_STR(c.overfull, "");
	memset(keys + 2, 'x', FB_VARIANT_CHARS - 3);
	memcpy(keys + FB_VARIANT_CHARS - 1, ";late=1", 8);
	fb_variant_put(&c, keys);
	CHECK_STR(c.overfull, "a, late");
	CHECK_STR(c.variant, "b=2;skew=1");
}

int main(void)
{
	test_overfull();
	test_good();
	test_add();
	test_refused();
	test_set();
	return check_done("variant");
}
