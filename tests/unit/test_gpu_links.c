/* SPDX-License-Identifier: BSD-3-Clause */
/* What a GPU's links are said to have carried, by counters of NVLink and PCIe. */
#include "common/system/gpu_links.h"
#include "tests/unit/check.h"

#include <string.h>

static struct fb_link_counter counter(uint64_t sent, uint64_t received, uint64_t wraps_at)
{
	return (struct fb_link_counter){true, sent, received, wraps_at};
}

static void test_share(void)
{
	struct fb_gpu_links before = {{[FB_GPU_NVLINK] = counter(1000, 500, 0)}};
	struct fb_gpu_links after = {{[FB_GPU_NVLINK] = counter(1600, 900, 0)}};

	CHECK_NEAR(fb_gpu_links_share(&before, &after, FB_GPU_NVLINK, 1000), 1.0, 1e-12);
	CHECK(isnan(fb_gpu_links_share(&before, &after, FB_GPU_PCIE, 1000)));
	CHECK(isnan(fb_gpu_links_share(&before, &after, FB_GPU_NVLINK, 0)));
	after.of[FB_GPU_NVLINK].known = false;
	CHECK(isnan(fb_gpu_links_share(&before, &after, FB_GPU_NVLINK, 1000)));
}

/* Counters of 32 bits begin anew; of more bytes than half of that nothing is said. */
static void test_wraps(void)
{
	const uint64_t half = UINT64_C(1) << 31, end = 2 * half;
	struct fb_gpu_links before = {{[FB_GPU_PCIE] = counter(end - 100, 7, end)}};
	struct fb_gpu_links after = {{[FB_GPU_PCIE] = counter(300, 107, end)}};

	CHECK_NEAR(fb_gpu_links_share(&before, &after, FB_GPU_PCIE, 500), 1.0, 1e-12);
	CHECK_NEAR(fb_gpu_links_share(&before, &after, FB_GPU_PCIE, (double)half),
		   500.0 / (double)half, 1e-12);
	CHECK(isnan(fb_gpu_links_share(&before, &after, FB_GPU_PCIE, (double)(half + 1))));
}

static void check_text(uint64_t nvlink, uint64_t pcie, const char *want, bool stray)
{
	struct fb_gpu_links before = {{counter(10, 10, 0), counter(20, 20, 0)}};
	struct fb_gpu_links after = {{counter(10 + nvlink, 10, 0), counter(20, 20 + pcie, 0)}};
	char text[48];

	fb_gpu_links_text(&before, &after, 1000, text, sizeof(text));
	CHECK_STR(text, want);
	CHECK(fb_gpu_links_stray(&before, &after, 1000) == stray);
}

static void test_text(void)
{
	struct fb_gpu_links before = {{{false}}}, after = {{{false}}};
	char text[48] = "x", small[12];

	check_text(1020, 5, "NVLink 1.02", false);
	check_text(1000, 250, "NVLink 1.00, PCIe 0.25", false);
	check_text(0, 1040, "PCIe 1.04", true);
	check_text(890, 400, "NVLink 0.89, PCIe 0.40", true);
	check_text(900, 400, "NVLink 0.90, PCIe 0.40", false);
	check_text(0, 399, "PCIe 0.40", false);
	check_text(99, 99, "", false);
	/* Nothing is known, or of one of them. */
	fb_gpu_links_text(&before, &after, 1000, text, sizeof(text));
	CHECK_STR(text, "");
	CHECK(!fb_gpu_links_stray(&before, &after, 1000));
	before.of[FB_GPU_PCIE] = counter(0, 0, 0);
	after.of[FB_GPU_PCIE] = counter(1000, 0, 0);
	CHECK(!fb_gpu_links_stray(&before, &after, 1000));
	fb_gpu_links_text(&before, &after, 1000, small, sizeof(small));
	CHECK_STR(small, "PCIe 1.00");
}

int main(void)
{
	test_share();
	test_wraps();
	test_text();
	return check_done("gpu_links");
}
