/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts of carriers: nothing that names one is cut. */
#include "common/run/carrier.h"

#include <string.h>

#include "common/run/path.h"
#include "tests/unit/check.h"

/* Two rails with the longest addresses there are, as engine rdma says them. */
static const char rails[] =
	"rdma mlx5_10:1 RoCE v2, IPv6 2001:db8:1234:5678:9abc:def0:1234:5678 mtu 4096"
	"+mlx5_11:1 RoCE v2, IPv6 2001:db8:1234:5678:9abc:def0:1234:5679 mtu 4096"
	", GPUDirect dma-buf";

static void test_whole(void)
{
	char text[FB_PATH_CHARS], want[FB_PATH_CHARS];

	fb_path_text(rails, "threads on 0>1, mlx5_10:1 1.01, mlx5_11:1 1.01", text);
	snprintf(want, sizeof(want), "%s (threads on 0>1, mlx5_10:1 1.01, mlx5_11:1 1.01)", rails);
	CHECK_STR(text, want);
	fb_path_text("shm", "", text);
	CHECK_STR(text, "shm");
}

/* Where there is no room for both, the carrier stays and the brackets are closed. */
static void test_full(void)
{
	char text[FB_PATH_CHARS], known[FB_PATH_CHARS], carrier[FB_PATH_CHARS];

	memset(known, 'x', sizeof(known) - 1);
	known[sizeof(known) - 1] = '\0';
	fb_path_text(rails, known, text);
	CHECK_INT(strlen(text), FB_PATH_CHARS - 1);
	CHECK(!strncmp(text, rails, strlen(rails)));
	CHECK(text[FB_PATH_CHARS - 2] == ')');
	memset(carrier, 'y', sizeof(carrier) - 1);
	carrier[sizeof(carrier) - 1] = '\0';
	fb_path_text(carrier, "eth0 1.00", text);
	CHECK_STR(text, carrier);
}

static void test_add(void)
{
	char text[16] = "";

	fb_carrier_add(text, sizeof(text), "");
	CHECK_STR(text, "");
	fb_carrier_add(text, sizeof(text), "lo 2.00");
	fb_carrier_add(text, sizeof(text), "eth0 1.00");
	CHECK_STR(text, "lo 2.00");
	fb_carrier_add(text, sizeof(text), "x 1.00");
	CHECK_STR(text, "lo 2.00, x 1.00");
}

#define CHECK_EXPECTED(carrier, want)                                                              \
	do {                                                                                       \
		char names_[FB_CARRIER_CHARS];                                                     \
		CHECK(fb_carrier_devices(carrier, names_));                                        \
		CHECK_STR(names_, want);                                                           \
	} while (0)

static void test_expected(void)
{
	char names[FB_CARRIER_CHARS];

	CHECK_EXPECTED("shm", "");
	CHECK_EXPECTED("tcp eth0 10.0.0.1 x3 zerocopy", "eth0");
	CHECK_EXPECTED("tcp eth0:1 10.0.0.1", "eth0");
	CHECK_EXPECTED("shm+tcp ib0 10.0.0.1", "ib0");
	CHECK_EXPECTED(rails, "mlx5_10:1 mlx5_11:1");
	CHECK_EXPECTED("rdma mlx5_0:1 InfiniBand lid 7 mtu 4096", "mlx5_0:1");
	CHECK_EXPECTED("shm (pages on 0)", "");
	CHECK_EXPECTED("peer memory, fused", "");
	CHECK_EXPECTED("peer memory+rdma mlx5_0:1 InfiniBand lid 7 mtu 4096", "mlx5_0:1");
	CHECK_EXPECTED("NCCL 2.28.9 ncclAllReduce: ring ll via P2P/CUMEM/read", "");
	CHECK_EXPECTED("NCCL 2.28.9 ncclAllReduce: ring ll via P2P/IPC, NET/IB/mlx5_0:1/GDRDMA, "
		       "NET/IB/mlx5_1:1/PXN, network IB, 2 warnings: NET/IB/x",
		       "mlx5_0:1 mlx5_1:1");
	CHECK_EXPECTED("NCCL 2.28.9 ncclAllReduce: ring ll via NET/Socket/eth0, network Socket",
		       "eth0");
	CHECK_EXPECTED("NCCL 2.28.9 ncclAllReduce: ring ll via NET/IB/mlx5_1_dma:1/GDRDMA/PCI, "
		       "NET/IB/mlx5_0:1, network IB", "mlx5_1:1 mlx5_0:1");
	CHECK(!fb_carrier_devices("NCCL 2.18.5 ncclAllReduce: untold", names));
	CHECK(!fb_carrier_devices("NCCL 2.28.9 ncclAllReduce: ring ll via NET/IB/0", names));
	CHECK(!fb_carrier_devices("NCCL 2.28.9 ncclAllReduce: ring ll via NET/SHARP/0", names));
	/* What a library took, and a rank that no message passes. */
	CHECK(!fb_carrier_devices("Open MPI v4.1.4", names));
	CHECK(!fb_carrier_devices("UCX 1.13.1 tcp/eth0", names));
	CHECK(!fb_carrier_devices("", names));
	CHECK(!fb_carrier_devices("tcp", names));
	names[0] = '\0';
	CHECK(fb_carrier_merge(names, "eth10 eth1 eth10"));
	CHECK(fb_carrier_merge(names, "eth1 eth"));
	CHECK_STR(names, "eth10 eth1 eth");
	memset(names, 'x', FB_CARRIER_CHARS - 2);
	names[FB_CARRIER_CHARS - 2] = '\0';
	CHECK(fb_carrier_merge(names, names));
	CHECK(!fb_carrier_merge(names, "y"));
}

int main(void)
{
	test_whole();
	test_full();
	test_add();
	test_expected();
	return check_done("carrier");
}
