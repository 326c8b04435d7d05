/* SPDX-License-Identifier: BSD-3-Clause */
/* The options and columns that the point-to-point programs have beside the common ones. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "p2p/program.h"

#define U64(field, name, placeholder, fallback, low, high, help)                                  \
	FB_OPTION_U64(struct fb_p2p_description, settings.field, 0, name, placeholder, fallback,  \
		      low, high, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("Traffic"),
	FB_OPTION_STRING(struct fb_p2p_description, settings.pairs, 0, "pairs", "LIST", "first",
			 NULL, "which ranks: all, first, halves, neighbours, root, or a list as "
			 "0-1,2-3 from sender to receiver"),
	U64(window, "window", "N", "0", 0, 4096,
	    "messages of a flow in a call; 0: 64, less for large ones"),
	U64(span, "span", "SIZE", "4M", 1, UINT64_C(1) << 30,
	    "memory for the messages of a flow, at each end; further messages use it again; 1: all "
	    "messages use the same memory"),
	U64(load_bytes, "load-bytes", "SIZE", "1M", 1, UINT64_C(1) << 30,
	    "loaded_latency: bytes of a message of the load"),
	FB_OPTION_INT(struct fb_p2p_description, settings.load_class.service_level, 0,
		      "load-service-level", "N", "-1", -1, 15,
		      "loaded_latency, engine rdma: service level of the load's packets "
		      "(InfiniBand); -1: that of the measured messages"),
	FB_OPTION_INT(struct fb_p2p_description, settings.load_class.traffic_class, 0,
		      "load-traffic-class", "N", "-1", -1, 255,
		      "the same (RoCE: DSCP in the upper 6 bits)"),
	U64(probes, "probes", "N", "1000", 1, 100000,
	    "loaded_latency: round trips in a call"),
	U64(rounds, "rounds", "N", "0", 0, 100000,
	    "GPUs: round trips in a call of ping_pong; 0: the engine chooses"),
	FB_PLACES_OPTION(struct fb_p2p_description, settings.numa),
	FB_OPTION_STRING(struct fb_p2p_description, settings.ucx_library, 0, "ucx-library", "FILE",
			 "libucp.so.0", NULL,
			 "the UCX to load: a path, or a name that the linker finds"),
	FB_OPTION_END,
};

_Static_assert(sizeof(table) <= sizeof(((struct fb_p2p_description *)0)->options),
	       "there is room for the options");

const struct fb_option *fb_p2p_options(struct fb_p2p_description *description)
{
	const struct fb_p2p_program *program = description->program;

	description->columns = calloc(program->ncolumns + FB_P2P_GPU_COLUMNS,
				    sizeof(*description->columns));
	if (!description->columns) {
		fb_error(FB_ENOMEM, "out of memory for the columns of %s", program->name);
		return NULL;
	}
	memcpy(description->options, table, sizeof(table));
	description->options[1].fallback = program->pairs;
	if (program->ncolumns)
		memcpy(description->columns, program->columns,
		       program->ncolumns * sizeof(description->columns[0]));
	memcpy(description->columns + program->ncolumns, fb_p2p_gpu_columns,
	       FB_P2P_GPU_COLUMNS * sizeof(description->columns[0]));
	return description->options;
}
