/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses a rank tries, and in which order. */
#include <arpa/inet.h>

#include "common/base/error.h"
#include "common/transport/tcp_address.h"
#include "tests/unit/check.h"

static struct fb_tcp_identity identity(const char *boot, uint64_t netns)
{
	struct fb_tcp_identity id = {.netns = netns, .port = 5000};

	snprintf(id.host, sizeof(id.host), "host");
	snprintf(id.boot, sizeof(id.boot), "%s", boot);
	return id;
}

static void add(struct fb_tcp_identity *id, const char *interface, const char *text,
		unsigned prefix, uint32_t speed_Mbps)
{
	struct fb_tcp_address *a = &id->addresses[id->naddresses++];

	memset(a, 0, sizeof(*a));
	snprintf(a->interface, sizeof(a->interface), "%s", interface);
	a->family = strchr(text, ':') ? AF_INET6 : AF_INET;
	a->prefix = (uint16_t)prefix;
	a->speed_Mbps = speed_Mbps;
	CHECK_INT(inet_pton(a->family, text, a->bytes), 1);
}

/* The candidates as text, "interface address class;". */
static const char *routes(const struct fb_tcp_identity *own, const struct fb_tcp_identity *peer,
			  char text[1024])
{
	static const char *const names[] = {"loopback", "subnet", "routed"};
	struct fb_tcp_candidate list[FB_TCP_CANDIDATES];
	int n = fb_tcp_candidates(own, peer, list);
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		char address[FB_TCP_TEXT];

		fb_tcp_address_text(&list[i].address, address);
		at += (size_t)snprintf(text + at, 1024 - at, "%s %s %s;",
				       list[i].address.interface, address, names[list[i].class]);
	}
	return text;
}

static void test_stacks(void)
{
	struct fb_tcp_identity a = identity("boot-1", 7), same = identity("boot-1", 7),
			       container = identity("boot-1", 8), other = identity("boot-2", 7),
			       unknown = identity("", 7);
	char text[1024];

	CHECK_STR(routes(&a, &same, text), "lo 127.0.0.1 loopback;");
	/* No address in common: no way. */
	CHECK_STR(routes(&a, &container, text), "");
	CHECK_STR(routes(&a, &other, text), "");
	CHECK_STR(routes(&unknown, &unknown, text), "");
	/* One stack's own addresses may lead nowhere, so loopback only. */
	add(&a, "eth0", "192.0.2.2", 24, 1000);
	add(&same, "eth0", "192.0.2.2", 24, 1000);
	CHECK_STR(routes(&a, &same, text), "lo 127.0.0.1 loopback;");
	add(&container, "eth0", "192.0.2.3", 24, 1000);
	CHECK_STR(routes(&a, &container, text), "eth0 192.0.2.3 subnet;");
}

static void test_order(void)
{
	struct fb_tcp_identity a = identity("boot-1", 7), b = identity("boot-2", 7);
	char text[1024];

	/* The fastest interface first, as fb_tcp_identify() sorts them. */
	add(&a, "ib0", "10.1.0.1", 16, 400000);
	add(&a, "eth0", "10.0.0.1", 24, 1000);
	add(&a, "eth0", "2001:db8::1", 64, 1000);
	add(&a, "docker0", "172.17.0.1", 16, 0);
	add(&b, "docker0", "172.17.0.1", 16, 0);
	add(&b, "net7", "2001:db8::2", 64, 100000);
	add(&b, "net7", "10.0.0.2", 24, 100000);
	add(&b, "far", "203.0.113.9", 30, 100000);
	add(&b, "ib1", "10.1.255.9", 16, 200000);
	add(&b, "ib2", "10.2.0.9", 16, 400000);
	CHECK_STR(routes(&a, &b, text),
		  "ib0 10.1.255.9 subnet;"
		  "eth0 10.0.0.2 subnet;"
		  "eth0 2001:db8::2 subnet;"
		  "ib0 10.2.0.9 routed;"
		  "ib0 203.0.113.9 routed;");
	/* Both ends see the same link, from either side. */
	CHECK_STR(fb_tcp_interface_of(&a, &a.addresses[1]), "eth0");
	CHECK_STR(fb_tcp_interface_of(&a, &b.addresses[4]), "?");
}

static void test_subnets(void)
{
	static const struct {
		const char *a, *b;
		unsigned prefix;
		const char *want;
	} cases[] = {
		{"10.0.0.1", "10.0.1.1", 23, "x 10.0.1.1 subnet;"},
		{"10.0.0.1", "10.0.1.1", 24, "x 10.0.1.1 routed;"},
		{"10.0.0.127", "10.0.0.128", 25, "x 10.0.0.128 routed;"},
		{"10.0.0.126", "10.0.0.127", 31, "x 10.0.0.127 subnet;"},
		{"10.0.0.126", "10.0.0.127", 32, "x 10.0.0.127 routed;"},
		{"10.0.0.1", "99.0.0.1", 0, "x 99.0.0.1 subnet;"},
		{"fd00::1", "fd00::ffff", 112, "x fd00::ffff subnet;"},
		{"fd00::1", "fd00::1:1", 112, "x fd00::1:1 routed;"},
		{"10.0.0.1", "fd00::1", 8, ""},
	};
	char text[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fb_tcp_identity a = identity("1", 1), b = identity("2", 1);

		add(&a, "x", cases[i].a, cases[i].prefix, 0);
		add(&b, "y", cases[i].b, cases[i].prefix, 0);
		CHECK_STR(routes(&a, &b, text), cases[i].want);
	}
}

static void test_sockaddr(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"10.1.2.3", "10.1.2.3"},
		{"2001:db8::5", "2001:db8::5"},
		{"::ffff:10.1.2.3", "10.1.2.3"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fb_tcp_identity id = identity("1", 1);
		struct fb_tcp_address back;
		struct sockaddr_storage to;
		char text[FB_TCP_TEXT];

		add(&id, "x", cases[i].text, 8, 0);
		fb_tcp_sockaddr(&id.addresses[0], 1234, &to);
		fb_tcp_from_sockaddr(&to, &back);
		fb_tcp_address_text(&back, text);
		CHECK_STR(text, cases[i].want);
	}
}

/* This machine, whatever it has: nothing that is of no use to others. */
static void test_own(void)
{
	struct fb_tcp_identity own;

	CHECK_INT(fb_tcp_identify(&own, "name", NULL), FB_OK);
	CHECK_STR(own.host, "name");
	CHECK(own.naddresses <= FB_TCP_ADDRESSES);
	for (uint32_t i = 0; i < own.naddresses; i++) {
		char text[FB_TCP_TEXT];

		fb_tcp_address_text(&own.addresses[i], text);
		CHECK(strncmp(text, "127.", 4) && strncmp(text, "fe80:", 5) && strcmp(text, "::1"));
		CHECK(i == 0 ||
		      own.addresses[i - 1].speed_Mbps >= own.addresses[i].speed_Mbps);
		CHECK(own.addresses[i].interface[0] != '\0');
	}
	CHECK_INT(fb_tcp_identify(&own, "name", "no-such-one"), FB_OK);
	CHECK_INT(own.naddresses, 0);
}

int main(void)
{
	test_stacks();
	test_order();
	test_subnets();
	test_sockaddr();
	test_own();
	return check_done("tcp_address");
}
