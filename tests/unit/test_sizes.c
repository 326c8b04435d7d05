/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and sweeps: known answers, every kind of malformed text, and the limits. */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { WHY_CHARS = 160 };

/* The sweep as text, to compare with. */
static void join(const struct fb_sizes *sizes, char *buf, size_t n)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizes->count && used < n; i++)
		used += (size_t)snprintf(buf + used, n - used, "%s%llu", i ? " " : "",
					 (unsigned long long)sizes->value[i]);
}

static void test_single(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"0", 0},
		{"1", 1},
		{"007", 7},
		{"1K", 1024},
		{"1k", 1024},
		{"64M", UINT64_C(67108864)},
		{"3g", UINT64_C(3221225472)},
		{"2T", UINT64_C(2199023255552)},
		{"18446744073709551615", UINT64_MAX},
		{"16777215T", UINT64_C(16777215) << 40},
	};
	static const char *const bad[] = {
		"",
		" ",
		"K",
		"-1",
		"+1",
		"1 ",
		" 1",
		"1KB",
		"1KiB",
		"1.5K",
		"0x10",
		"1e3",
		"1P",
		"1,2",
		"18446744073709551616",
		"99999999999999999999999",
		"16777216T",
		"18014398509481984K",
		"1\n",
		"\xc2\xbd",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t value = 42;

		CHECK_INT(fb_size_parse(good[i].text, &value), FB_OK);
		CHECK(value == good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t value = 42;

		if (!CHECK_INT(fb_size_parse(bad[i], &value), FB_EINPUT))
			printf("\tfor '%s'\n", bad[i]);
		CHECK(value == 42);
	}
}

static void test_text(void)
{
	static const struct {
		uint64_t value;
		const char *text;
	} known[] = {
		{0, "0"},
		{8, "8"},
		{1023, "1023"},
		{1024, "1K"},
		{1025, "1025"},
		{1536, "1536"},
		{65536, "64K"},
		{UINT64_C(3) << 30, "3G"},
		{UINT64_C(1) << 40, "1T"},
		{UINT64_MAX, "18446744073709551615"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char buf[FB_SIZE_CHARS];
		uint64_t back;

		CHECK_STR(fb_size_text(known[i].value, buf), known[i].text);
		CHECK(!fb_size_parse(buf, &back) && back == known[i].value);
	}
}

static void test_sweeps(struct fb_sizes *sizes)
{
	static const struct {
		const char *text, *values;
	} known[] = {
		{"8", "8"},
		{"0", "0"},
		{"8:64:2", "8 16 32 64"},
		{"8:63:2", "8 16 32"},
		{"1:1K:4", "1 4 16 64 256 1024"},
		{"8:8:2", "8"},
		{"3:100:10", "3 30"},
		{"8:16:+4", "8 12 16"},
		{"0:10:+4", "0 4 8"},
		{"1K:4K:+1K", "1024 2048 3072 4096"},
		{"0,1,8,1K", "0 1 8 1024"},
		{"9,3,3,1", "1 3 9"},
		{"0,1:8:2,100", "0 1 2 4 8 100"},
		{"4:16:2,8:32:2", "4 8 16 32"},
		{"18446744073709551615", "18446744073709551615"},
		{"9223372036854775808:18446744073709551615:2", "9223372036854775808"},
		{"18446744073709551614:18446744073709551615:+1",
		 "18446744073709551614 18446744073709551615"},
		{"18446744073709551614:18446744073709551615:+5", "18446744073709551614"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char got[512], why[WHY_CHARS] = "";

		CHECK_INT(fb_sizes_parse(known[i].text, sizes, why, sizeof(why)), FB_OK);
		join(sizes, got, sizeof(got));
		CHECK_STR(got, known[i].values);
		CHECK(sizes->text == known[i].text);
	}
}

static void test_malformed(struct fb_sizes *sizes)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "is empty"},
		{",", "is empty"},
		{"8,", "is empty"},
		{",8", "is empty"},
		{"8,,16", "is empty"},
		{"8;16", "'8;16' is not a size"},
		{"8 16", "is not a size"},
		{"eight", "'eight' is not a size"},
		{"8,16x,32", "'16x' is not a size"},
		{"8:64", "has no factor or step"},
		{"8:", "has no factor or step"},
		{":", "has no factor or step"},
		{"::", "does not begin with a size"},
		{":64:2", "does not begin with a size"},
		{"8::2", "does not end at a size"},
		{"8:64:", "needs a whole factor"},
		{"8:64:+", "needs a whole factor"},
		{"8:64:-4", "needs a whole factor"},
		{"8:64:2:2", "needs a whole factor"},
		{"8:64:1.5", "needs a whole factor"},
		{"64:8:2", "runs backwards"},
		{"64:8:+8", "runs backwards"},
		{"8:64:1", "factor of at least 2"},
		{"8:64:0", "factor of at least 2"},
		{"8:64:+0", "step of at least 1"},
		{"0:64:2", "cannot begin at 0"},
		{"0:4K:+1", "more than 4096"},
		{"0:1T:+1", "more than 4096"},
		{"0:4095:+1,5000", "more than 4096"},
		{"18446744073709551616", "is not a size"},
		{"8:18446744073709551616:2", "does not end at a size"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char why[WHY_CHARS] = "";

		sizes->count = 77;
		CHECK_INT(fb_sizes_parse(bad[i].text, sizes, why, sizeof(why)), FB_EINPUT);
		if (!CHECK(strstr(why, bad[i].says)))
			printf("\tfor '%s': %s\n", bad[i].text, why);
		CHECK_INT(sizes->count, 77);
	}
}

static void test_limits(struct fb_sizes *sizes)
{
	char why[WHY_CHARS], tiny[8];

	CHECK_INT(fb_sizes_parse("1:4096:+1", sizes, why, sizeof(why)), FB_OK);
	CHECK_INT(sizes->count, FB_SIZES_MAX);
	CHECK_INT(sizes->value[4095], 4096);
	CHECK_INT(fb_sizes_parse("not a size at all", sizes, tiny, sizeof(tiny)), FB_EINPUT);
	CHECK_INT(strlen(tiny), sizeof(tiny) - 1);
}

int main(void)
{
	struct fb_sizes *sizes = calloc(1, sizeof(*sizes));

	if (!sizes)
		return 1;
	test_single();
	test_text();
	test_sweeps(sizes);
	test_malformed(sizes);
	test_limits(sizes);
	free(sizes);
	return check_done("sizes");
}
