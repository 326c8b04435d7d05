/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of the network: RDMA devices, subnets, UCX's endpoints; ratios of tensors; models. */
#include "common/base/error.h"
#include "common/transport/rdma_choice.h"
#include "common/transport/tcp_address.h"
#include "overlap/schedule/buckets.h"
#include "p2p/engine/ucx.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct fb_rdma_rail_name rails[FB_RDMA_RAILS];
	char *text = fuzz_text(bytes, n), path[64] = "UCX";
	const struct fb_nn_parts parts = {2, 3, 4, 5, 6, 7};
	char why[FB_NN_WHY];
	struct fb_gradients gradients;
	struct fb_nn model;
	struct fb_tcp_address subnet;
	struct fb_ratios ratios = {.layers = 2};

	fb_rdma_parse_rails(text, rails);
	fb_rdma_parse_auto(text);
	if (fb_tcp_parse_subnet(text, &subnet))
		fb_tcp_address_text(&subnet, (char[FB_TCP_TEXT]){0});
	fb_ucx_path_from_text(text, path, sizeof(path));
	fb_ucx_path_from_tables(text, "remote", path, sizeof(path));
	if (!fb_ratios_parse(&ratios, text) &&
	    !fb_gradients_split(&gradients, &ratios, 1000, 16)) {
		fb_gradients_pack(&gradients, 10, 100);
		fb_gradients_free(&gradients);
	}
	if (!fb_nn_read(&model, text, "text", "", why)) {
		fb_nn_cut(&model, &parts);
		fb_nn_close(&model);
	}
	free(text);
	return 0;
}
