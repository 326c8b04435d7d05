/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by all collective programs, which differ by a name and a text only.
 *
 * A program is a struct fb_collective_program and one call. Cases, buffers, data, verification
 * and the lower bound are the same for all engines, so that rows differ by engine and algorithm
 * and by nothing else.
 *
 * `bytes` counts what nccl-tests counts: the larger of a rank's two whole buffers.
 *
 *	all_reduce, broadcast, reduce, send_recv   the one block
 *	all_gather, gather                         the whole output, one block per rank
 *	reduce_scatter, scatter                    the whole input, one block per rank
 *	all_to_all                                 the whole input, one block per rank
 *	all_to_all_v                               the whole input, averaged over ranks
 *	all_gather_v, reduce_scatter_v             the whole output, the whole input
 *	barrier                                    nothing: 0
 *
 * One block holds floor(bytes / element) elements; where there is one per rank, each holds
 * ceil(bytes / element / ranks), so that small sizes still move something. Where that makes
 * another number of bytes than was asked for, the row has the flag "rounded", and rates are
 * those of the real number.
 */
#ifndef FB_COLLECTIVES_PROGRAM_H
#define FB_COLLECTIVES_PROGRAM_H

#include "collectives/settings.h"
#include "common/plan/collective.h"
#include "common/run/program.h"

/*
 * The default of --engine, which a program's own defaults have to repeat: between GPUs the engines
 * that users of GPUs have (fb_engine_list), elsewhere all.
 */
#define FB_USUAL_ENGINES "usual"

struct fb_collective_program {
	enum fb_collective collective;     /* gives the name too */
	const char *summary;               /* one line, for --help and the man page */
	const char *description;           /* paragraphs for both */
	const struct fb_default *defaults; /* of common options; NULL: the engine's */
	const struct fb_option *options;   /* of unequal blocks; NULL: fb_collective_options */
};

/*
 * What the descriptions of all programs with fb_block_options say behind their own sentences.
 * `library_` and `nccl_` are what the project's algorithms run beside, `buffer_` is whose size
 * BYTES is, and `equal_` is the collective of equal blocks.
 */
#define FB_BLOCK_DESCRIPTION(library_, nccl_, buffer_, equal_)                                     \
	"The sizes follow --skew or --weights, and a rank may have nothing. Each of the "          \
	"project's algorithms runs beside the MPI library's " library_ " and NCCL's " nccl_        \
	" in a group, on the same buffers.\n\n"                                                    \
	"BYTES is the size of " buffer_ ", which the blocks share by weight; with equal weights "  \
	"sizes are those of " equal_ ". busbw is algbw * (n - 1) / n, n being the number of "      \
	"ranks, as if blocks were even.\n\n"                                                       \
	"A file of weights has one line and in it a number for each rank, separated by commas or " \
	"blanks. Empty lines and what follows a # are passed over."

/* The whole of main(): runs the program from start to end, returns the exit code. */
int fb_collective_main(const struct fb_collective_program *program, int argc, char **argv);

/*
 * The program as the harness sees it; `own` is what its own options are written to, and
 * must live as long as the result. For fb_collective_main and tests.
 */
struct fb_program fb_collective_describe(const struct fb_collective_program *program,
					 struct fb_collective_settings *own);

#endif
