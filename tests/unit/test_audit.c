/* SPDX-License-Identifier: BSD-3-Clause */
/* What carried the bytes, from counters in a made-up /sys. */
#include "common/system/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char root[] = "/tmp/fb_audit_XXXXXX";

/* Writes a counter below the root, and the folders it lies in. */
static void put(const char *path, unsigned long long value)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "mkdir -p %s/sys/class/$(dirname %s)", root, path);
	CHECK_INT(system(full), 0);
	snprintf(full, sizeof(full), "%s/sys/class/%s", root, path);
	file = fopen(full, "w");
	CHECK(file);
	if (file) {
		fprintf(file, "%llu\n", value);
		fclose(file);
	}
}

static void test_nothing_there(void)
{
	struct fb_audit audit = {.count = 3};

	fb_audit_read(&audit, "/nonexistent");
	CHECK_INT(audit.count, 0);
}

static void test_counters(void)
{
	struct fb_audit before, after;
	char text[64];

	put("net/lo/statistics/rx_bytes", 1000);
	put("net/lo/statistics/tx_bytes", 1000);
	put("net/eth0/statistics/rx_bytes", 5);
	put("net/eth0/statistics/tx_bytes", 0);
	put("infiniband/mlx5_0/ports/1/counters/port_xmit_data", 100);
	put("infiniband/mlx5_0/ports/1/counters/port_rcv_data", 0);
	fb_audit_read(&before, root);
	CHECK_INT(before.count, 3);

	CHECK_INT(fb_audit_text(&before, &before, 1000, text, sizeof(text)), 0);
	CHECK_STR(text, "");

	put("net/lo/statistics/rx_bytes", 2000);
	put("net/lo/statistics/tx_bytes", 2000);
	put("net/eth0/statistics/rx_bytes", 104);
	put("infiniband/mlx5_0/ports/1/counters/port_xmit_data", 350);
	fb_audit_read(&after, root);
	/* lo both ways; four bytes a word; eth0's 99 bytes are less than a tenth. */
	CHECK_INT(fb_audit_text(&before, &after, 1000, text, sizeof(text)), 2);
	CHECK_STR(text, "lo 2.00, mlx5_0:1 1.00");
	CHECK_INT(fb_audit_text(&before, &after, 900, text, sizeof(text)), 3);
	CHECK_INT(fb_audit_text(&before, &after, 0, text, sizeof(text)), 0);
	/* No room for all of it: what fits, and the right number. */
	CHECK_INT(fb_audit_text(&before, &after, 900, text, 6), 3);
	CHECK_STR(text, "lo 2.");

	/* A counter that went back was reset: it says nothing. */
	put("net/lo/statistics/rx_bytes", 0);
	put("net/lo/statistics/tx_bytes", 0);
	fb_audit_read(&after, root);
	CHECK_INT(fb_audit_text(&before, &after, 1000, text, sizeof(text)), 1);
	CHECK_STR(text, "mlx5_0:1 1.00");
}

/* Writes the name of the interface that a port works over, but no counters for it. */
static void put_over(const char *port, const char *interface)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "d=%s/sys/class/infiniband/%s/gid_attrs/ndevs; mkdir -p $d; echo %s >$d/0", root,
		 port, interface);
	CHECK_INT(system(command), 0);
}

/* 1000 bytes were sent: who carried them, and who should have? */
static void test_stray(void)
{
	struct fb_audit before, after;

	put("net/eth0/statistics/rx_bytes", 0);
	put("net/eth1/statistics/rx_bytes", 0);
	put("infiniband/mlx5_0/ports/1/counters/port_xmit_data", 0);
	put_over("rxe0/ports/1", "eth1");
	fb_audit_read(&before, root);
	CHECK(fb_audit_stray(&before, &before, 1000, "") == 0);

	put("net/eth1/statistics/rx_bytes", 1040);
	fb_audit_read(&after, root);
	CHECK(fb_audit_stray(&before, &after, 1000, "") == 1.04);
	CHECK(fb_audit_stray(&before, &after, 1000, "eth0") == 1.04);
	CHECK(fb_audit_stray(&before, &after, 1000, "eth0 eth") == 1.04);
	CHECK(fb_audit_stray(&before, &after, 1000, "eth1") == 0);
	CHECK(fb_audit_stray(&before, &after, 1000, "eth0 eth1") == 0);
	CHECK(fb_audit_stray(&before, &after, 0, "eth0") == 0);
	/* RDMA that went by an IP interface, but for a port that is made of it. */
	CHECK(fb_audit_stray(&before, &after, 1000, "mlx5_0:1") == 1.04);
	CHECK(fb_audit_stray(&before, &after, 1000, "rxe0:1") == 0);
	/* Somebody's little traffic is no way that the bytes took. */
	CHECK(fb_audit_stray(&before, &after, 3000, "eth0") == 0);
	/* One way of two. */
	put("net/eth0/statistics/rx_bytes", 1040);
	fb_audit_read(&after, root);
	CHECK(fb_audit_stray(&before, &after, 2000, "eth0") == 0.52);
	/* The bond and its part: both have counted, and the right one is among them. */
	put("net/eth0/statistics/rx_bytes", 1040);
	fb_audit_read(&after, root);
	CHECK(fb_audit_stray(&before, &after, 1000, "eth0") == 0);
	CHECK(fb_audit_stray(&before, &after, 1000, "") == 2.08);
	put("infiniband/mlx5_0/ports/1/counters/port_xmit_data", 250);
	fb_audit_read(&after, root);
	CHECK(fb_audit_stray(&before, &after, 1000, "mlx5_0:1") == 0);
}

/* Four ports of which one is used: one is idle, one is slow, one is down. */
static void test_idle(void)
{
	struct fb_audit before, after;
	char path[96], text[64];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "infiniband/port%d/ports/1/counters/port_xmit_data",
			 i);
		put(path, 0);
		snprintf(path, sizeof(path), "infiniband/port%d/ports/1/state", i);
		put(path, i == 3 ? 1 : 4);
		snprintf(path, sizeof(path), "infiniband/port%d/ports/1/rate", i);
		put(path, i == 2 ? 25 : 400);
	}
	fb_audit_read(&before, root);
	put("infiniband/port0/ports/1/counters/port_xmit_data", 25000);
	put("infiniband/port1/ports/1/counters/port_xmit_data", 10);
	fb_audit_read(&after, root);
	CHECK_INT(fb_audit_idle(&before, &after, "port0:1", 100000, text, sizeof(text)), 1);
	CHECK_STR(text, "port1:1");
	CHECK_INT(fb_audit_idle(&before, &after, "port0:1 port1:1", 1, text, sizeof(text)), 0);
	CHECK_STR(text, "");
	/* Fewer bytes than there should be, and no port at all. */
	CHECK_INT(fb_audit_idle(&before, &after, "port0:1", 100001, text, sizeof(text)), 0);
	CHECK_INT(fb_audit_idle(&before, &after, "eth0", 0, text, sizeof(text)), 0);
	put("infiniband/port1/ports/1/counters/port_xmit_data", 250);
	fb_audit_read(&after, root);
	CHECK_INT(fb_audit_idle(&before, &after, "port0:1", 100000, text, sizeof(text)), 0);
}

/* Errors, retransmissions and congestion; what is none of them is not there. */
static void test_events(void)
{
	struct fb_audit before, after;
	FILE *file;
	char path[128];

	put("net/eth2/statistics/rx_errors", 1);
	put("net/eth2/statistics/rx_dropped", 3);
	put("net/eth2/statistics/rx_packets", 70);
	put("infiniband/mlx5_1/ports/1/counters/port_xmit_wait", 10);
	put("infiniband/mlx5_1/ports/1/counters/port_xmit_packets", 10);
	put("infiniband/mlx5_1/ports/1/hw_counters/out_of_sequence", 4);
	put("infiniband/mlx5_1/ports/1/hw_counters/lifespan", 10);
	put("../../proc/net/x", 0);
	snprintf(path, sizeof(path), "%s/proc/net/snmp", root);
	file = fopen(path, "w");
	if (CHECK(file)) {
		fputs("Ip: Forwarding InReceives\nIp: 2 64\n"
		      "Tcp: RtoAlgorithm InSegs RetransSegs InErrs\nTcp: 1 5 6 0\n", file);
		fclose(file);
	}
	fb_audit_read(&before, root);
	put("net/eth2/statistics/rx_errors", 2);
	put("net/eth2/statistics/rx_packets", 90);
	put("infiniband/mlx5_1/ports/1/hw_counters/out_of_sequence", 9);
	fb_audit_read(&after, root);
	for (int i = 0, found = 0; i < after.events; i++) {
		const struct fb_audit_event *event = &after.event[i];
		uint64_t more = fb_audit_events(&before, event);

		CHECK(!strstr(event->name, "packets") && !strstr(event->name, "lifespan"));
		if (!strcmp(event->name, "Tcp.RetransSegs"))
			CHECK_INT(event->count, 6);
		CHECK_INT(more, !strcmp(event->name, "eth2.rx_errors")		       ? 1
				: !strcmp(event->name, "mlx5_1:1.out_of_sequence") ? 5
										   : 0);
		found += !strcmp(event->name, "Tcp.RetransSegs") ||
			 !strcmp(event->name, "eth2.rx_dropped") ||
			 !strcmp(event->name, "mlx5_1:1.port_xmit_wait") || more;
		CHECK(i + 1 < after.events || found == 5);
	}
	CHECK_INT(fb_audit_sort("Tcp.RetransSegs"), FB_AUDIT_RETRANSMIT);
	CHECK_INT(fb_audit_sort("mlx5_1:1.out_of_sequence"), FB_AUDIT_RETRANSMIT);
	CHECK_INT(fb_audit_sort("eth2.rx_errors"), FB_AUDIT_ERROR);
	CHECK_INT(fb_audit_sort("mlx5_1:1.port_xmit_wait"), FB_AUDIT_REMARK);
	CHECK_INT(fb_audit_sort("eth2.rx_dropped"), FB_AUDIT_REMARK);
}

/* Two rails, of which one carries half of what the other does. */
static void test_balance(void)
{
	struct fb_audit before, after;

	put("infiniband/rail0/ports/1/counters/port_xmit_data", 0);
	put("infiniband/rail1/ports/1/counters/port_xmit_data", 0);
	fb_audit_read(&before, root);
	put("infiniband/rail0/ports/1/counters/port_xmit_data", 1000);
	put("infiniband/rail1/ports/1/counters/port_xmit_data", 500);
	fb_audit_read(&after, root);
	CHECK(fb_audit_balance(&before, &after, "rail0:1 rail1:1", 100) == 0.5);
	CHECK(fb_audit_balance(&before, &after, "rail0:1 rail1:1", 5000) == 1);
	CHECK(fb_audit_balance(&before, &after, "rail0:1", 100) == 1);
	CHECK(fb_audit_balance(&before, &after, "rail0:1 rail9:1", 100) == 1);
	CHECK(fb_audit_balance(&before, &after, "", 100) == 1);
}

int main(void)
{
	char command[64];

	if (!CHECK(mkdtemp(root)))
		return check_done("audit");
	test_nothing_there();
	test_counters();
	test_stray();
	test_idle();
	test_events();
	test_balance();
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
	return check_done("audit");
}
