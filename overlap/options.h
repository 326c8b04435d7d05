/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several programs of steps have, and what their common options are by default. */
#ifndef FB_OVERLAP_OPTIONS_H
#define FB_OVERLAP_OPTIONS_H

#include "common/option/option.h"
#include "common/option/settings.h"
#include "overlap/settings.h"

enum { FB_MOST_LAYERS = 1000 };

/* The tensors of a layer of Llama 3 8B: q, k, v, o, gate, up, down. */
#define FB_DDP_RATIOS "4,1,1,4,14,14,14"

extern const char *const fb_overlap_priorities[];

enum fb_compute_type { FB_COMPUTE_BF16, FB_COMPUTE_FP8 };
extern const char *const fb_overlap_compute_types[];

enum fb_background_operation { FB_BACKGROUND_ALL_GATHER, FB_BACKGROUND_ALL_REDUCE };
extern const char *const fb_background_operations[];

#define FB_OVERLAP_U64(field, name, fallback, low, high, help)                                     \
	FB_OPTION_U64(struct fb_overlap_settings, field, 0, name, "N", fallback, low, high, help)

/* A list of numbers, each from low to high, of which each is a case. */
#define FB_OVERLAP_NUMBERS(field_, name_, fallback_, low, high, help_)                             \
	{                                                                                          \
		.type = FB_OPT_SIZES, .name = (name_), .placeholder = "LIST",                      \
		.fallback = (fallback_), .help = (help_),                                          \
		.offset = offsetof(struct fb_overlap_settings, field_),                            \
		.range.u64 = {(low), (high)}                                                       \
	}

#define FB_OVERLAP_SCHEDULES(fallback, names, help)                                                \
	FB_OPTION_CHOICES(struct fb_overlap_settings, schedules, 0, "schedule", fallback, names,   \
			  help)

#define FB_OVERLAP_LAYERS(fallback, help)                                                          \
	FB_OVERLAP_U64(layers, "layers", fallback, 1, FB_MOST_LAYERS, help)

#define FB_OVERLAP_HIDDEN(fallback)                                                                \
	FB_OVERLAP_U64(hidden, "hidden", fallback, 8, 1 << 20,                                     \
		       "elements of a token; columns of every tensor's matrix")

/* The length of computing, by time or by the number of tokens. */
#define FB_OVERLAP_COMPUTE(time, count)                                                            \
	FB_OPTION_TIME(struct fb_overlap_settings, compute_s, 0, "compute", time, 1e-6, 60,        \
		       "time of a step's computing alone; the number of tokens is chosen for "	   \
		       "it"),									   \
	FB_OVERLAP_TOKENS(count, "tokens of each rank; 0: as --compute says")

#define FB_OVERLAP_TOKENS(count, help)                                                             \
	FB_OVERLAP_U64(tokens, "tokens", count, 0, 1 << 20, help)

#define FB_OVERLAP_MODEL                                                                           \
	FB_OPTION_STRING(struct fb_overlap_settings, model, 0, "model", "NAME", "none", NULL,      \
			 "a built-in model, or a FILE.model; its sizes override other options; "   \
			 "none: equal layers by options"),					   \
	FB_OVERLAP_U64(shrink, "shrink", "1", 1, 4096, "divides all sizes of the model")

/* How much of a model a rank has where the program's own ranks do not cut it. */
#define FB_OVERLAP_PARTS                                                                           \
	FB_OVERLAP_U64(model_layers, "model-layers", "0", 0, FB_MOST_LAYERS,                       \
		       "most layers of each kind that are taken from the model; 0: all"),	   \
	FB_OVERLAP_U64(batch, "batch", "0", 0, 1 << 16,                                            \
		       "sequences of a rank (images, of resnet-50); 0: as --tokens says"),         \
	FB_OVERLAP_U64(sequence, "sequence", "0", 0, 1 << 24,                                      \
		       "tokens of a sequence; 0: as the model says"),                              \
	FB_OVERLAP_U64(tp, "tp", "1", 1, 1024, "ranks that cut the model's matrices"),             \
	FB_OVERLAP_U64(ep, "ep", "1", 1, 1024, "ranks that share its experts"),                    \
	FB_OVERLAP_U64(cp, "cp", "1", 1, 1024, "ranks that share a sequence")

#define FB_OVERLAP_STAGES                                                                          \
	FB_OVERLAP_U64(pp, "pp", "1", 1, 1024, "ranks that share the model's layers")

#define FB_OVERLAP_OPTIONS                                                                         \
	FB_OVERLAP_MODEL,                                                                          \
	FB_OVERLAP_U64(polls, "polls", "0", 0, 10000,                                              \
		       "processors: 0: one thread computes, another one communicates; else one "   \
		       "thread does both, and advances the collectives this often in each "	   \
		       "task"),									   \
	FB_OPTION_CHOICE(struct fb_overlap_settings, compute_type, 0, "compute-type", "bf16",      \
			 fb_overlap_compute_types, "GPUs: type of the matrix products, which may " \
			 "differ from the communicated type; fp8: E4M3 "			   \
			 "into bf16, by cuBLASLt"),						   \
	FB_OVERLAP_NUMBERS(compute_sms, "compute-sms", "0", 0, 1024,                               \
			   "GPUs: multiprocessors to compute on, by a green context, or else by "  \
			   "cuBLAS; 0: all"),                                                      \
	FB_OPTION_CHOICE(struct fb_overlap_settings, priority, 0, "priority", "high",              \
			 fb_overlap_priorities, "GPUs: of the streams that communicate"),          \
	FB_OPTION_STRING(struct fb_overlap_settings, cublas, 0, "cublas-library", "FILE", "auto",  \
			 NULL, "GPUs: the cuBLAS to compute with; auto: where the linker finds "   \
			 "one; none: own kernel"),                                                 \
	FB_OPTION_STRING(struct fb_overlap_settings, blas, 0, "blas-library", "FILE", "auto",      \
			 NULL, "processors: the OpenBLAS to compute with; auto: where the linker " \
			 "finds one; none: own loop"),                                             \
	FB_OPTION_STRING(struct fb_overlap_settings, trace, 0, "trace", "FOLDER", NULL, NULL,      \
			 "writes spans.csv and trace.json of a step of each row to that folder")

/* Traffic beside the step, as an axis, for steps that call fb_dag_background. */
#define FB_OVERLAP_BACKGROUND                                                                      \
	FB_OPTION_SIZES(struct fb_overlap_settings, background, 0, "background", "0",              \
			"bytes that other traffic gathers on all ranks beside the step, with a "   \
			"communicator of its own; 0: none"),                                       \
	FB_OPTION_CHOICE(struct fb_overlap_settings, background_operation, 0,                      \
			 "background-operation", "all_gather", fb_background_operations,           \
			 "what that traffic is"),                                                  \
	FB_OPTION_STRING(struct fb_overlap_settings, background_engine, 0, "background-engine",    \
			 "NAME", NULL, NULL,                                                       \
			 "the engine of that traffic; none given: the row's"),                     \
	FB_OPTION_STRING(struct fb_overlap_settings, background_force, 0, "background-force",      \
			 "ALGORITHM[:PROTOCOL]", NULL, NULL,                                       \
			 "algorithm and protocol of that traffic, on engines with plans or NCCL; " \
			 "none given: those of the row, or the choice of --background-engine")

#define FB_BACKGROUND_AXIS(schedules_)                                                             \
	{                                                                                          \
		.key = "background", .kind = FB_AXIS_SIZES,                                        \
		.offset = offsetof(struct fb_overlap_settings, background),                        \
		.schedules = (schedules_), .silent = 1                                             \
	}

#define FB_OVERLAP_DEFAULTS                                                                        \
	{"algorithm", "auto"}, {"protocol", "auto"}, {"launch", "nonblocking"},                    \
	{"objective", "overlapped"},                                                               \
	{"min-samples", "10"}, {"max-samples", "200"}, {"max-time", "2s"}, {NULL, NULL}

#endif
