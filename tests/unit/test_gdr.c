/* SPDX-License-Identifier: BSD-3-Clause */
/* GDRCopy, with a library that maps host memory: what is loaded, pinned, copied and taken back. */
#include "common/base/error.h"
#include "common/library/gdrcopy.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_nccl.h"

#include <stdlib.h>

static int left(const struct fb_gdr *gdr)
{
	void *address = dlsym(gdr->library, "fake_gdr_left");
	int (*function)(void);

	memcpy(&function, &address, sizeof(function));
	return function();
}

static void test_missing(void)
{
	char path[PATH_MAX], reason[256] = "";
	struct fb_gdr gdr;

	CHECK_INT(fb_gdr_open(&gdr, "libnone.so.7", reason, sizeof(reason)), FB_EUNSUPPORTED);
	CHECK(strstr(reason, "libnone.so.7 not found") != NULL);
	CHECK(!gdr.library);
	CHECK_INT(fb_gdr_open(&gdr, beside_program("libfake_nccl.so", path), reason,
			      sizeof(reason)), FB_EUNSUPPORTED);
	CHECK(strstr(reason, "it has no gdr_open") != NULL);
	setenv("FAKE_GDR_FAIL", "open", 1);
	CHECK_INT(fb_gdr_open(&gdr, beside_program("libfake_gdrapi.so", path), reason,
			      sizeof(reason)), FB_EUNSUPPORTED);
	CHECK_STR(reason, "GDRCopy 2.99 does not open its driver, gdrdrv: is it loaded?");
	unsetenv("FAKE_GDR_FAIL");
	fb_gdr_close(&gdr);
}

/* Wherever the buffer begins, all of its bytes and no others are reached. */
static void test_copies(struct fb_gdr *gdr, char *memory, size_t bytes)
{
	static char from[3000], to[3000];
	struct fb_gdr_map map;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + 1);
	for (size_t begin = 0; begin < bytes - 3000; begin += 512 * 77) {
		char *device = memory + begin;

		memset(memory, 0, bytes);
		CHECK_INT(fb_gdr_map(&map, gdr, device, 4096), FB_OK);
		CHECK_INT(left(gdr), 3);
		CHECK_INT(fb_gdr_write(&map, device + 5, from, 2000), FB_OK);
		CHECK(!memcmp(device + 5, from, 2000));
		CHECK(!device[4] && !device[2005]);
		memset(to, 0, sizeof(to));
		CHECK_INT(fb_gdr_read(&map, to + 1, device + 6, 1999), FB_OK);
		CHECK(!memcmp(to + 1, from + 1, 1999) && !to[0] && !to[2000]);
		/* Beyond what was mapped. */
		CHECK(fb_gdr_write(&map, device + 70000, from, 1) != FB_OK);
		fb_gdr_unmap(&map);
		CHECK_INT(left(gdr), 1);
	}
}

static void test_failures(struct fb_gdr *gdr, const char *memory)
{
	static const char *const calls[] = {"pin", "map"};
	struct fb_gdr_map map;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		setenv("FAKE_GDR_FAIL", calls[i], 1);
		CHECK_INT(fb_gdr_map(&map, gdr, memory, 4096), FB_EUNSUPPORTED);
		CHECK(!map.gdr);
		CHECK_INT(left(gdr), 1);
		fb_gdr_unmap(&map);
	}
	unsetenv("FAKE_GDR_FAIL");
}

int main(void)
{
	size_t bytes = 1 << 20;
	char *memory = malloc(bytes), path[PATH_MAX], reason[256] = "";
	struct fb_gdr gdr;

	test_missing();
	if (!CHECK_INT(fb_gdr_open(&gdr, beside_program("libfake_gdrapi.so", path), reason,
				   sizeof(reason)), FB_OK) ||
	    !CHECK(memory != NULL)) {
		free(memory);
		return check_done("gdr");
	}
	CHECK_INT(gdr.major * 100 + gdr.minor, 299);
	test_copies(&gdr, memory, bytes);
	test_failures(&gdr, memory);
	fb_gdr_close(&gdr);
	CHECK(!gdr.gdr);
	free(memory);
	return check_done("gdr");
}
