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

int main(void)
{
	char command[64];

	if (!CHECK(mkdtemp(root)))
		return check_done("audit");
	test_nothing_there();
	test_counters();
	test_stray();
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
	return check_done("audit");
}
