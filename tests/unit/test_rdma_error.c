/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every status of a work completion has a meaning and something to check; what is wrong with a
 * machine's devices says what to check too; and the fastest active ports are taken. By a library
 * that is made up here, so without a device.
 */
#include "common/transport/rdma_error.h"

#include "tests/unit/check.h"

#if FB_HAVE_VERBS

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/transport/rdma_device.h"

static void test_statuses(void)
{
	const char *unknown = fb_rdma_status_meaning((enum ibv_wc_status)1000);

	CHECK(*unknown && *fb_rdma_status_check((enum ibv_wc_status)1000));
	for (int i = IBV_WC_SUCCESS + 1; i <= IBV_WC_GENERAL_ERR; i++) {
		enum ibv_wc_status status = (enum ibv_wc_status)i;
		const char *meaning = fb_rdma_status_meaning(status);
		const char *check = fb_rdma_status_check(status);

		if (!CHECK(strcmp(meaning, unknown) != 0 && strlen(meaning) > 10) ||
		    !CHECK(strlen(check) > 10 && strcmp(check, meaning) != 0))
			printf("\tstatus %d: %s; check %s\n", i, meaning, check);
	}
	for (int i = IBV_WC_SUCCESS + 1; i <= IBV_WC_GENERAL_ERR; i++)
		for (int j = IBV_WC_SUCCESS + 1; j < i; j++)
			CHECK(strcmp(fb_rdma_status_meaning((enum ibv_wc_status)i),
				     fb_rdma_status_meaning((enum ibv_wc_status)j)) != 0);
}

/* Devices that are made up: their ports' state, width and speed; what is refused. */
enum { DEVICES = 2, PORTS = 3 };

static struct machine {
	int devices, opens, domains; /* how many calls succeed from here on */
	struct ibv_device device[DEVICES];
	struct ibv_context context[DEVICES];
	struct ibv_port_attr port[DEVICES][PORTS];
	struct ibv_pd pd;
	unsigned addressed; /* devices whose ports have an address, bit by bit */
	int opened; /* contexts and protection domains that are there */
} fake;

static struct ibv_device **get_list(int *n)
{
	/* Not in the order of names. */
	struct ibv_device **list = calloc(DEVICES + 1, sizeof(*list));

	for (int i = 0; list && i < fake.devices; i++)
		list[fake.devices - 1 - i] = &fake.device[i];
	if (n)
		*n = fake.devices;
	return list;
}

static void free_list(struct ibv_device **list)
{
	free(list);
}

static const char *name_of(struct ibv_device *device)
{
	return device == fake.device ? "fb_one" : "fb_two";
}

static struct ibv_context *open_device(struct ibv_device *device)
{
	errno = EACCES;
	if (fake.opens-- <= 0)
		return NULL;
	fake.opened++;
	return &fake.context[device - fake.device];
}

static int close_device(struct ibv_context *context)
{
	fake.opened -= context != NULL;
	return 0;
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){.phys_port_cnt = PORTS, .max_sge = 1};
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	if (port < 1 || port > PORTS)
		return EINVAL;
	*attr = fake.port[context - fake.context][port - 1];
	return 0;
}

static int query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	static const uint8_t address[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};

	(void)port;
	if (index || !(fake.addressed >> (context - fake.context) & 1))
		return ENOENT;
	memcpy(gid->raw, address, sizeof(address));
	return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
	(void)context;
	errno = ENOMEM;
	if (fake.domains-- <= 0)
		return NULL;
	fake.opened++;
	return &fake.pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	fake.opened -= pd != NULL;
	return 0;
}

static const struct fb_verbs verbs = {
	.get_device_list = get_list, .free_device_list = free_list, .get_device_name = name_of,
	.open_device = open_device, .close_device = close_device, .query_device = query_device,
	.query_port = query_port, .query_gid = query_gid, .alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
};

/* Two devices with three ports each. `spec`: state, width and speed of each. */
static void plug(const int spec[DEVICES][PORTS][3])
{
	fake = (struct machine){.devices = DEVICES, .opens = 10, .domains = 10};
	for (int d = 0; d < DEVICES; d++)
		for (int p = 0; p < PORTS; p++)
			fake.port[d][p] = (struct ibv_port_attr){
				.state = (enum ibv_port_state)spec[d][p][0],
				.active_width = (uint8_t)spec[d][p][1],
				.active_speed = (uint8_t)spec[d][p][2],
				.active_mtu = IBV_MTU_4096, .gid_tbl_len = 1,
				.link_layer = IBV_LINK_LAYER_INFINIBAND,
			};
}

enum { UP = IBV_PORT_ACTIVE, DOWN = IBV_PORT_DOWN, X1 = 1, X4 = 2, X12 = 8, X2 = 16 };
enum { QDR = 4, FDR = 16, EDR = 32, HDR = 64, NDR = 128 };

/* Opens the device list; expects the port, or the error and two parts of its reason. */
static void try_open(const char *device, const char *want, int port, int err, const char *says,
		     const char *too)
{
	struct fb_rdma_settings settings = fb_rdma_defaults;
	struct fb_rdma_rail rails[FB_RDMA_RAILS];
	char why[192] = "";
	int n = 0;

	settings.device = device;
	if (CHECK_INT(fb_rdma_rails_open(&verbs, &settings, rails, &n, why, sizeof(why)), err) &&
	    !err && CHECK_INT(n, 1)) {
		CHECK_STR(rails[0].name, want);
		CHECK_INT(rails[0].number, port);
		fb_rdma_rails_close(rails, n);
	}
	if (err && (!CHECK(strstr(why, says) && strstr(why, too)) ||
		    !CHECK(strlen(why) < sizeof(why) - 1)))
		printf("\t%s\n", why);
	CHECK_INT(fake.opened, 0);
}

static void test_ports(void)
{
	static const int mixed[DEVICES][PORTS][3] = {
		{{DOWN, X12, NDR}, {UP, X4, EDR}, {UP, X4, HDR}},
		{{UP, X2, HDR}, {UP, X1, NDR}, {DOWN, X4, NDR}}};
	/* The code of 2 lanes is the largest, that of the speed says nothing of 12 lanes. */
	static const int narrow[DEVICES][PORTS][3] = {
		{{UP, X2, EDR}, {DOWN, X4, EDR}, {UP, X12, QDR}},
		{{UP, X2, EDR}, {UP, X4, EDR}, {UP, X4, FDR}}};
	static const int dead[DEVICES][PORTS][3] = {{{DOWN, X4, EDR}}, {{DOWN, X4, EDR}}};

	plug(mixed);
	try_open("auto", "fb_one", 3, FB_OK, NULL, NULL);
	try_open("fb_one", "fb_one", 3, FB_OK, NULL, NULL);
	try_open("fb_two", "fb_two", 1, FB_OK, NULL, NULL); /* the first of equal ones */
	try_open("fb_one:2", "fb_one", 2, FB_OK, NULL, NULL);
	try_open("fb_one:1", NULL, 0, FB_EINPUT, "no active port of that number", "the cable");
	try_open("fb_none", NULL, 0, FB_EINPUT, "'fb_none'", "fb_two, fb_one");
	plug(narrow);
	try_open("auto", "fb_two", 2, FB_OK, NULL, NULL);
	try_open("fb_one", "fb_one", 3, FB_OK, NULL, NULL);
	plug(dead);
	try_open("auto", NULL, 0, FB_EUNSUPPORTED, "no active port", "ibv_devinfo");
}

/* Expects the rails that the device list opens, as "fb_one:2 fb_two:1". */
static void try_rails(const char *device, const char *want)
{
	struct fb_rdma_settings settings = fb_rdma_defaults;
	struct fb_rdma_rail rails[FB_RDMA_RAILS];
	char why[192] = "", got[128] = "";
	int n = 0;

	settings.device = device;
	fake.opens = fake.domains = 100;
	if (!CHECK_INT(fb_rdma_rails_open(&verbs, &settings, rails, &n, why, sizeof(why)), FB_OK))
		return;
	for (int r = 0; r < n; r++) {
		size_t used = strlen(got);

		snprintf(got + used, sizeof(got) - used, "%s%s:%d", r ? " " : "", rails[r].name,
			 rails[r].number);
	}
	CHECK_STR(got, want);
	CHECK_STR(why, "");
	fb_rdma_rails_close(rails, n);
	CHECK_INT(fake.opened, 0);
}

/* Ports as fast as the fastest, of both devices; none that is slower, dead or without address. */
static void test_several(void)
{
	static const int even[DEVICES][PORTS][3] = {
		{{UP, X4, EDR}, {DOWN, X4, HDR}, {UP, X4, HDR}},
		{{UP, X4, HDR}, {UP, X4, HDR}, {UP, X4, EDR}}};
	static const int second[DEVICES][PORTS][3] = {{{DOWN, X4, EDR}}, {{UP, X4, EDR}}};

	plug(even);
	try_rails("auto", "fb_one:3");
	try_rails("auto:1", "fb_one:3");
	try_rails("auto:2", "fb_one:3 fb_two:1");
	try_rails("auto:3", "fb_one:3 fb_two:1 fb_two:2");
	try_rails("auto:all", "fb_one:3 fb_two:1 fb_two:2");
	fake.port[1][0].state = IBV_PORT_DOWN;
	try_rails("auto:2", "fb_one:3 fb_two:2");
	/* The first network's ports are taken; of an Ethernet those that have an address. */
	fake.port[1][1].link_layer = IBV_LINK_LAYER_ETHERNET;
	try_rails("auto:all", "fb_one:3");
	plug(even);
	fake.port[0][2].link_layer = fake.port[1][0].link_layer = IBV_LINK_LAYER_ETHERNET;
	fake.port[1][1].link_layer = IBV_LINK_LAYER_ETHERNET;
	fake.addressed = 1 << 1;
	try_rails("auto:all", "fb_two:1 fb_two:2");
	try_rails("auto", "fb_two:1");
	fake.addressed = 0;
	try_open("auto:2", NULL, 0, FB_EUNSUPPORTED, "has no address", "GID");
	/* A dead device before a good one is no reason for anything. */
	plug(second);
	try_rails("auto", "fb_two:1");
	try_rails("auto:all", "fb_two:1");
	plug(even);
	fake.domains = 1;
	try_open("auto:2", NULL, 0, FB_ESYS, "no protection domain", "ulimit -l");
}

static void test_refusals(void)
{
	static const int good[DEVICES][PORTS][3] = {{{UP, X4, EDR}}, {{UP, X4, EDR}}};

	plug(good);
	fake.opens = 0;
	try_open("auto", NULL, 0, FB_EUNSUPPORTED, "cannot be opened: Permission denied",
		 "this user may read and write /dev/infiniband/uverbs*");
	try_open("fb_two", NULL, 0, FB_EINPUT, "fb_two cannot be opened", "module ib_uverbs");
	plug(good);
	fake.domains = 0;
	try_open("auto", NULL, 0, FB_ESYS, "no protection domain: Cannot allocate memory",
		 "ulimit -l");
	fake.devices = 0;
	try_open("auto", NULL, 0, FB_EUNSUPPORTED, "no RDMA device: ", "module ib_uverbs");
}

int main(void)
{
	test_statuses();
	test_ports();
	test_several();
	test_refusals();
	return check_done("rdma_error");
}

#else

int main(void)
{
	printf("SKIP rdma_error: built without the verbs' header\n");
	return CHECK_SKIP;
}

#endif
