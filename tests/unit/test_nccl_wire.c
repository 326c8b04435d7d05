/* SPDX-License-Identifier: BSD-3-Clause */
/* What the log of NCCL 2.19 to 2.32 says of its setup and of the path of its bytes. */
#include "common/library/nccl/wire.h"
#include "tests/unit/check.h"

#define NODE "node:7:9 [0] NCCL INFO "

/* Lines as versions write them; numbers of devices become names where the log has those. */
static void test_wire(void)
{
	struct fb_nccl_wire wire = {.warnings = 0};

	/* 2.19, one host: pointers within a process, handles between processes. */
	fb_nccl_wire_parse(NODE "Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n"
			   NODE "Channel 01/0 : 0[0] -> 1[1] via P2P/IPC/read\n"
			   NODE "Channel 02/0 : 0[0] -> 1[1] via P2P/IPC\n"
			   NODE "Channel 03/0 : 0[0] -> 1[1] via P2P/IPC/read\n", &wire);
	CHECK_STR(wire.via, "P2P/direct, P2P/IPC/read, P2P/IPC");
	CHECK_INT(wire.warnings, 0);
	/* 2.22 to 2.32; the second log adds to the first. */
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(NODE "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n", &wire);
	fb_nccl_wire_parse(NODE "Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM/CE\n", &wire);
	CHECK_STR(wire.via, "SHM/direct/direct, P2P/CUMEM/CE");
	/* Networks: what is sent; PXN and GPUDirect are told, shared buffers left out. */
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(
		NODE "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_3:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
		NODE "Using network IB\n"
		NODE "Channel 00/0 : 3[3] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
		NODE "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA/Shared\n"
		NODE "Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/1(2)/GDRDMA(PCI)\n"
		NODE "Channel 02/0 : 0[0] -> 1[1] [send] via NET/IB/7\n", &wire);
	CHECK_STR(wire.setup.network, "IB");
	CHECK_STR(wire.via, "NET/IB/mlx5_0:1/GDRDMA, NET/IB/mlx5_3:1/PXN/GDRDMA/PCI, NET/IB/7");
	/* 2.27 to 2.32 on adapters that have a DMA function of their own beside the GPU. */
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(
		NODE "NET/IB: Data Direct DMA Interface is detected for device mlx5_0\n"
		NODE "NET/IB: Data Direct DMA Interface is detected for device mlx5_1\n"
		NODE "NET/IB: Data Direct DMA Interface is detected for device mlx5_0\n"
		NODE "NET/IB : Using [0]mlx5_0_dma:1/IB [1]mlx5_1_dma:1/IB; OOB eth0:10.0.0.1<0>\n"
		NODE "Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/1/GDRDMA(PCI)\n", &wire);
	CHECK_STR(wire.setup.data_direct, "mlx5_0 mlx5_1");
	CHECK_STR(wire.via, "NET/IB/mlx5_1_dma:1/GDRDMA/PCI");
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(
		NODE "NET/IB : No device found.\n"
		NODE "NET/Socket : Using [0]eth0:10.0.0.1<0>\n" NODE "Using network Socket\n"
		NODE "NET/Socket: Using 2 threads and 1 sockets per thread\n"
		NODE "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n", &wire);
	CHECK_STR(wire.setup.network, "Socket");
	CHECK_STR(wire.via, "NET/Socket/eth0");
	/* Warnings, of which the first is kept, and slower ways that are told as information. */
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse("\n[2026-01-01] node:7:9 [0] a.cc:1 NCCL WARN Cuda failure 'x'\n"
			   "[2026-01-01] node:7:9 [0] b.cc:2 NCCL WARN second\n"
			   "node:7:9 [0] r.cc:1 NCCL WARN RMA/Socket : no GDRCopy\n"
			   NODE "unable to enable P2P, falling back to copy\n", &wire);
	CHECK_STR(wire.setup.rma, "Socket : no GDRCopy");
	CHECK_INT(wire.warnings, 3);
	CHECK_STR(wire.warning, "Cuda failure 'x'");
}

/*
 * Ports that NCCL uses as one adapter. 2.20 to 2.23 name their parts in the list of adapters, 2.24
 * and later in a line of its own, which has another number. 2.30 adds rail and plane to a port.
 */
static void test_merged(void)
{
	struct fb_nccl_wire wire = {.warnings = 0};

	fb_nccl_wire_parse(
		NODE "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [1]={[2] mlx5_2:1/"
		"RoCE, [3] mlx5_3:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>\n"
		NODE "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n"
		NODE "Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/1\n", &wire);
	CHECK_STR(wire.via, "NET/IB/mlx5_0:1+mlx5_1:1/GDRDMA, NET/IB/mlx5_2:1+mlx5_3:1");
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(
		NODE "NET/IB : Made virtual device [0] name=mlx5_0 speed=200000 ndevs=1\n"
		NODE "NET/IB : Made virtual device [1] name=mlx5_1 speed=200000 ndevs=1\n"
		NODE "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
		NODE "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=400000 ndevs=2\n"
		NODE "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/2/GDRDMA\n"
		NODE "Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/1\n", &wire);
	CHECK_STR(wire.via, "NET/IB/mlx5_0+mlx5_1/GDRDMA, NET/IB/mlx5_1:1");
	/* Logged again for a second communicator, the adapter is listed once. */
	fb_nccl_wire_parse(NODE "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=400000 "
			   "ndevs=2 rail=-1 plane=-1\n", &wire);
	CHECK_STR(wire.setup.devices, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
				      " [2]mlx5_0+mlx5_1");
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(
		NODE "NET/IB : Using [0]mlx5_0:1:3:2/IB [1]mlx5_1:1::2/IB; OOB eth0:10.0.0.1<0>\n"
		NODE "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0\n"
		NODE "Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/1\n", &wire);
	CHECK_STR(wire.via, "NET/IB/mlx5_0:1, NET/IB/mlx5_1:1");
}

/* What rank 0 of an 8-GPU host says when its communicator is made, by 2.28 and by 2.19. */
static void test_setup(void)
{
	struct fb_nccl_wire wire = {.warnings = 0};
	const struct fb_nccl_setup *s = &wire.setup;

	fb_nccl_wire_parse(
		NODE "Bootstrap: Using eth0:10.0.0.1<0>\n"
		NODE "NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.\n"
		NODE "NCCL_DEBUG_SUBSYS set by environment to INIT.\n"
		NODE "NCCL_ALGO set by environment to ring\n"
		NODE "NCCL_NVLS_ENABLE set by environment to 0.\n"
		NODE "NET/Plugin: Loaded collnet plugin SHARP (v9)\n"
		NODE "NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)\n"
		NODE "Channel 00/02 :    0   7   1\n"
		NODE "Channel 01/02 :    0   1   7\n"
		NODE "Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1\n"
		NODE "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, "
		"2 p2p channels per peer\n"
		NODE "Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM\n", &wire);
	CHECK_STR(s->bootstrap, "eth0:10.0.0.1<0>");
	CHECK_STR(s->settings, "NCCL_IB_HCA=mlx5_0,mlx5_1;NCCL_NVLS_ENABLE=0");
	CHECK_STR(s->collnet, "SHARP (v9)");
	CHECK_STR(s->multicast, "not available on dev 0 (NVLS_NCHANNELS 0)");
	CHECK_STR(s->ring, "0 7 1");
	CHECK_STR(s->tree, "1/-1/-1->0->-1");
	CHECK_STR(s->channels, "24 coll, 24 collnet, 0 nvls, 32 p2p, 2 p2p per peer");
	CHECK_STR(wire.via, "P2P/CUMEM");
	/* A second communicator does not replace what the first one said. */
	fb_nccl_wire_parse(NODE "Trees [0] -1/-1/-1->0->1\n"
			   NODE "NCCL_NVLS_ENABLE set by environment to 0.\n", &wire);
	CHECK_STR(s->tree, "1/-1/-1->0->-1");
	CHECK_STR(s->settings, "NCCL_IB_HCA=mlx5_0,mlx5_1;NCCL_NVLS_ENABLE=0");
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(NODE "Bootstrap : Using ib0:10.1.0.1<0>\n"
			   NODE "Ring 00 : 3 -> 0 -> 1\n"
			   NODE "2 coll channels, 0 nvls channels, 2 p2p channels\n", &wire);
	CHECK_STR(s->bootstrap, "ib0:10.1.0.1<0>");
	CHECK_STR(s->ring, "3 -> 0 -> 1");
	CHECK_STR(s->channels, "2 coll, 0 nvls, 2 p2p");
	/* Subsystem GRAPH, in the order of 2.28: the ring of rank 0 as a whole comes first. */
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_wire_parse(
		NODE "=== System : maxBw 370.0 totalBw 370.0 ===\n"
		NODE "CPU/0-0 (1/1/2)\n"
		NODE "+ PCI[24.0] - NIC/0-1000\n"
		NODE "KV Convert to int : could not find value of 'x' in dictionary, falling back "
		"to 60\n"
		NODE "Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, "
		"sameChannels 1\n"
		NODE " 0 : NET/0-0 GPU/0-1b000 GPU/0-43000 NET/0-0\n"
		NODE "Pattern 1, crossNic 0, nChannels 12, bw 40.000000/20.000000, type NVL/PIX, "
		"sameChannels 1\n"
		NODE "Tree 0 : -1 -> 0 -> 1/-1/-1\n"
		NODE "Channel 00/24 :    0   1\n"
		NODE "Ring 00 : 1 -> 0 -> 1\n"
		NODE "Trees [0] 1/-1/-1->0->-1\n", &wire);
	CHECK_STR(s->graph, "crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, "
			    "sameChannels 1");
	CHECK_STR(s->ring, "0 1");
	CHECK_STR(s->tree, "1/-1/-1->0->-1");
	CHECK_STR(wire.via, "");
	CHECK_INT(wire.warnings, 0);
}

int main(void)
{
	test_wire();
	test_merged();
	test_setup();
	return check_done("nccl_wire");
}
