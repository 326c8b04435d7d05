/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of rail and address, the cut of messages over rails, and the options' variant. */
#include <string.h>

#include "common/base/error.h"
#include "common/option/rdma_options.h"
#include "common/system/pci.h"
#include "common/transport/rdma_choice.h"
#include "tests/unit/check.h"

static void test_rails(void)
{
	struct fb_rdma_rail_name rails[FB_RDMA_RAILS];
	char accepted[128];

	CHECK_INT(fb_rdma_parse_rails("mlx5_0:1,mlx5_1", rails), 2);
	CHECK_STR(rails[0].device, "mlx5_0");
	CHECK_INT(rails[0].port, 1);
	CHECK_STR(rails[1].device, "mlx5_1");
	CHECK_INT(rails[1].port, 0);
	CHECK_INT(fb_rdma_parse_rails("a:1,a:2", rails), 2);
	CHECK_INT(fb_rdma_parse_rails("a,b,c,d,e,f,g,h", rails), FB_RDMA_RAILS);
	CHECK_INT(fb_rdma_parse_rails("a,b,c,d,e,f,g,h,i", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("a,,b", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("a:0", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("a:255", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("a:", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("a:1x", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails(":1", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_rails("a:1,a:1", rails), FB_EINPUT);
	CHECK_INT(fb_rdma_check_device("auto", accepted, sizeof(accepted)), FB_OK);
	CHECK_INT(fb_rdma_check_device("a:x", accepted, sizeof(accepted)), FB_EINPUT);
	CHECK(strstr(accepted, "device:port") != NULL);
}

static void test_auto(void)
{
	static const char *const good[] = {"auto", "auto:1", "auto:8", "auto:all", "autobahn"};
	static const char *const bad[] = {"auto:0", "auto:9", "auto:", "auto:x", "auto:2x",
					  "auto:+1", "auto: 1", "auto:all,a", "auto:2,a", "auto,a",
					  "a,auto", "a,auto:2"};
	char accepted[128];

	CHECK_INT(fb_rdma_parse_auto("auto"), 1);
	CHECK_INT(fb_rdma_parse_auto("auto:3"), 3);
	CHECK_INT(fb_rdma_parse_auto("auto:all"), FB_RDMA_RAILS);
	CHECK_INT(fb_rdma_parse_auto("auto:9"), FB_EINPUT);
	CHECK_INT(fb_rdma_parse_auto("mlx5_0"), 0);
	CHECK_INT(fb_rdma_parse_auto("autobahn"), 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!CHECK(!fb_rdma_check_device(good[i], accepted, sizeof(accepted))))
			printf("\t%s\n", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(fb_rdma_check_device(bad[i], accepted, sizeof(accepted))))
			printf("\t%s\n", bad[i]);
	CHECK(strstr(accepted, "auto:all") != NULL);
}

/* "0 2" of what is taken. */
static const char *taken_of(const struct fb_rdma_rail_offer *offers, int n)
{
	static char text[64];
	int taken[16], count = fb_rdma_choose_nearest(offers, n, taken);
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
					 taken[i]);
	return text;
}

static void test_nearest(void)
{
	/* Two sockets with two fast ports each, seen from the second; and a slow one at each. */
	const struct fb_rdma_rail_offer sockets[] = {
		{400000, 0, false}, {400000, 0, false}, {25000, 0, true},
		{400000, 1, false}, {25000, 1, true},   {400000, 1, false},
	};
	/* Four switches with a GPU and an adapter each: one is nearest; all are if none is. */
	const struct fb_rdma_rail_offer switches[] = {
		{400000, 3, false}, {400000, 3, false}, {400000, 6, false}, {400000, 3, false}};
	const struct fb_rdma_rail_offer alike[] = {
		{400000, 3, false}, {400000, 3, false}, {400000, 3, false}};
	/* A far port that is faster is better; nothing beside it carries as much. */
	const struct fb_rdma_rail_offer far[] = {{100000, 1, false}, {200000, 0, false}};
	/* Adapters of storage, which are as fast and as near but of another network. */
	const struct fb_rdma_rail_offer mixed[] = {
		{400000, 1, false}, {400000, 1, true}, {400000, 1, false}, {400000, 1, true}};
	const struct fb_rdma_rail_offer unknown[] = {{0, 0, true}, {0, 0, true}};

	CHECK_STR(taken_of(sockets, 6), "3 5");
	CHECK_STR(taken_of(sockets, 3), "0 1");
	CHECK_STR(taken_of(switches, 4), "2");
	CHECK_STR(taken_of(alike, 3), "0 1 2");
	CHECK_STR(taken_of(far, 2), "1");
	CHECK_STR(taken_of(mixed, 4), "0 2");
	CHECK_STR(taken_of(mixed + 1, 3), "0 2");
	CHECK_STR(taken_of(unknown, 2), "0 1");
	CHECK_STR(taken_of(unknown, 0), "");
}

enum kind { NONE, LOCAL, GLOBAL, IPV4 };

static struct fb_rdma_gid gid(int index, enum kind kind, enum fb_rdma_gid_type type, bool vlan)
{
	struct fb_rdma_gid g = {.index = index, .type = type, .vlan = vlan};

	if (kind == LOCAL || kind == NONE) {
		g.raw[0] = 0xfe;
		g.raw[1] = 0x80;
		g.raw[15] = kind == LOCAL;
	} else if (kind == GLOBAL) {
		g.raw[0] = 0x20;
		g.raw[1] = 0x01;
	} else {
		memcpy(g.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
	}
	return g;
}

static int chosen(const struct fb_rdma_gid *table, int n)
{
	const struct fb_rdma_gid *best = fb_rdma_choose_gid(table, n);

	return best ? best->index : -1;
}

static void test_gids(void)
{
	/* The table of a usual port: each address with both versions, v1 first. */
	const struct fb_rdma_gid usual[] = {
		gid(0, LOCAL, FB_RDMA_GID_ROCE_V1, false),
		gid(1, LOCAL, FB_RDMA_GID_ROCE_V2, false),
		gid(2, IPV4, FB_RDMA_GID_ROCE_V1, false), gid(3, IPV4, FB_RDMA_GID_ROCE_V2, false),
		gid(4, IPV4, FB_RDMA_GID_ROCE_V2, true), gid(5, GLOBAL, FB_RDMA_GID_ROCE_V2, false),
	};
	const struct fb_rdma_gid vlan_first[] = {
		gid(0, IPV4, FB_RDMA_GID_ROCE_V2, true), gid(1, IPV4, FB_RDMA_GID_ROCE_V2, false),
	};
	const struct fb_rdma_gid routable[] = {
		gid(0, LOCAL, FB_RDMA_GID_ROCE_V2, false),
		gid(1, GLOBAL, FB_RDMA_GID_ROCE_V2, false),
	};
	const struct fb_rdma_gid old[] = {
		gid(0, LOCAL, FB_RDMA_GID_ROCE_V2, false), gid(1, IPV4, FB_RDMA_GID_ROCE_V1, false),
	};
	const struct fb_rdma_gid twice[] = {
		gid(7, IPV4, FB_RDMA_GID_ROCE_V2, false), gid(3, IPV4, FB_RDMA_GID_ROCE_V2, false),
	};
	const struct fb_rdma_gid none[] = {gid(0, NONE, FB_RDMA_GID_IB, false)};
	char text[64];

	CHECK_INT(chosen(usual, 6), 3);
	CHECK_INT(chosen(vlan_first, 2), 1);
	CHECK_INT(chosen(routable, 2), 1);
	CHECK_INT(chosen(old, 2), 0);
	CHECK_INT(chosen(twice, 2), 3);
	CHECK_INT(chosen(none, 1), -1);
	CHECK_INT(chosen(none, 0), -1);
	fb_rdma_gid_kind(&usual[4], text, sizeof(text));
	CHECK_STR(text, "RoCE v2, IPv4, VLAN");
	CHECK_STR(fb_rdma_gid_text(usual[3].raw, text), "10.0.0.1");
	CHECK_STR(fb_rdma_gid_text(usual[1].raw, text), "fe80::1");
}

static void test_stripes(void)
{
	static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4096, 1 << 20};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int n = 1; n <= FB_RDMA_RAILS; n++) {
			size_t end = 0, first, part, most = 0, least = SIZE_MAX;

			for (int r = 0; r < n; r++) {
				fb_rdma_stripe(sizes[i], r, n, &first, &part);
				CHECK(first == end && (first % 64 == 0 || first == sizes[i]));
				end = first + part;
				most = part > most ? part : most;
				least = part < least ? part : least;
			}
			CHECK(end == sizes[i] && most - least <= 64);
		}
}

/* Two GPUs and two devices: one pair behind a switch, the other one of another root. */
static void test_nearness(void)
{
	static const char gpu[] = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:18:00.0";
	static const char same[] = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:1a:00.0";
	static const char root[] = "/sys/devices/pci0000:15/0000:15:03.0/0000:1f:00.0";
	static const char far[] = "/sys/devices/pci0000:1500/0000:85:01.0";

	CHECK_INT(fb_pci_shared_path(gpu, same), 5);
	CHECK_INT(fb_pci_shared_path(same, gpu), 5);
	CHECK_INT(fb_pci_shared_path(gpu, root), 3);
	CHECK_INT(fb_pci_shared_path(gpu, far), 2);
	CHECK_INT(fb_pci_shared_path(far, gpu), 2);
	CHECK_INT(fb_pci_shared_path(gpu, gpu), 6);
	CHECK_INT(fb_pci_shared_path("/sys/devices", gpu), 2);
	CHECK_INT(fb_pci_shared_path("", gpu), 0);
}

static void test_variant(void)
{
	struct fb_rdma_settings s = fb_rdma_defaults;
	char text[256] = "";

	fb_rdma_variant(&s, text, sizeof(text));
	CHECK_STR(text, "");
	s.device = "mlx5_3";
	s.gid_index = 5;
	fb_rdma_variant(&s, text, sizeof(text));
	CHECK_STR(text, "");
	s.notify = FB_RDMA_NOTIFY_IMM;
	s.qps = 4;
	s.mtu = 3;
	s.sges = 2;
	s.connect = FB_RDMA_CONNECT_CM;
	fb_rdma_variant(&s, text, sizeof(text));
	CHECK_STR(text, "rdma_connect=cm;rdma_mtu=1024;rdma_notify=imm;rdma_qps=4;rdma_sges=2");
	/* What decides how long a lost packet takes, and when the connection ends. */
	s = fb_rdma_defaults;
	s.timeout = 18;
	s.retry = 2;
	s.rnr_retry = 0;
	s.reads = 1;
	s.service_level = 3;
	text[0] = '\0';
	fb_rdma_variant(&s, text, sizeof(text));
	CHECK_STR(text, "rdma_reads=1;rdma_retry=2;rdma_rnr_retry=0;rdma_service_level=3;"
			"rdma_timeout=18");
	s = fb_rdma_defaults;
	CHECK(!fb_rdma_sleeps(&s));
	s.waits = 1 << FB_RDMA_WAIT_HYBRID;
	s.spin_us = 5;
	CHECK(fb_rdma_sleeps(&s));
	text[0] = '\0';
	fb_rdma_variant(&s, text, sizeof(text));
	CHECK_STR(text, "rdma_spin=5;rdma_wait=hybrid");
}

/* 4x EDR is 100 Gbit/s, 2x HDR too, and each speed is faster than the one before. */
static void test_rates(void)
{
	CHECK_INT(fb_rdma_port_rate(2, 32), 100000);
	CHECK_INT(fb_rdma_port_rate(16, 64), 100000);
	CHECK_INT(fb_rdma_port_rate(2, 64), 200000);
	CHECK_INT(fb_rdma_port_rate(2, 128), 400000);
	CHECK_INT(fb_rdma_port_rate(2, 256), 800000);
	CHECK_INT(fb_rdma_port_rate(4, 128), 800000);
	CHECK_INT(fb_rdma_port_rate(8, 4), 96000);
	CHECK_INT(fb_rdma_port_rate(1, 1), 2000);
	CHECK_INT(fb_rdma_port_rate(2, 16) / 1000, 54);
	CHECK_INT(fb_rdma_port_rate(3, 32), 0);
	CHECK_INT(fb_rdma_port_rate(2, 0), 0);
	CHECK_INT(fb_rdma_port_rate(2, 512), 0);
	for (unsigned speed = 2; speed <= 256; speed *= 2)
		CHECK(fb_rdma_port_rate(2, speed) > fb_rdma_port_rate(2, speed / 2));
}

static void test_port_choice(void)
{
	struct fb_rdma_port_offer ports[] = {
		{1, true, 100}, {2, false, 400}, {3, true, 200}, {4, true, 200}};

	CHECK_INT(fb_rdma_choose_port(ports, 4)->number, 3);
	CHECK_INT(fb_rdma_choose_port(ports, 2)->number, 1);
	CHECK(!fb_rdma_choose_port(ports + 1, 1));
	CHECK(!fb_rdma_choose_port(ports, 0));
	/* A rate that is not known is better than no port. */
	ports[1].active = true;
	ports[1].rate = 0;
	CHECK_INT(fb_rdma_choose_port(ports + 1, 1)->number, 2);
}

int main(void)
{
	test_rates();
	test_port_choice();
	test_rails();
	test_auto();
	test_nearest();
	test_gids();
	test_stripes();
	test_nearness();
	test_variant();
	return check_done("rdma_choice");
}
