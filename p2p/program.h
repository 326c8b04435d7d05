/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A point-to-point program is a description: which patterns it measures, between which ranks,
 * with how many messages at once. Everything else these programs share.
 *
 * Times and rates in the rows. A row's times are of one message: half a round trip for
 * ping_pong, the time of a call divided by its window of messages elsewhere. algbw counts the
 * bytes of all flows (both directions of two_way, every pair at once); busbw is the share of
 * one flow, or for fan_in and fan_out what passes the one rank in the middle.
 */
#ifndef FB_P2P_PROGRAM_H
#define FB_P2P_PROGRAM_H

#include "common/cuda/stores.h"
#include "common/record/key.h"
#include "common/run/counters.h"
#include "p2p/engine/engine.h"
#include "p2p/pairs.h"

/* How a program's pairs become rows. */
enum fb_p2p_grouping {
	FB_ONE_BY_ONE, /* a row for each pair, all other ranks idle: dst=1;src=0 */
	FB_AT_ONCE,    /* a row for 1, 2, 4, ... pairs at once: pairs=2 */
	FB_AROUND_ROOT,	/* a row for 1, 2, 4, ... ranks around the root: degree=3 */
	FB_UNDER_LOAD,	/* the first pair, while 0, 1, 2, ... others stream: dst=1;load=2;src=0 */
};

struct fb_p2p_program {
	const char *name;	       /* as in the CSV */
	const char *summary;	       /* one line, for --help and the man page */
	const char *description;       /* paragraphs for both */
	const enum fb_pattern *patterns; /* ending in FB_PATTERNS */
	enum fb_p2p_grouping grouping;
	const char *pairs;	       /* default of --pairs */
	const struct fb_default *defaults; /* of common options; NULL: none differ */
	const struct fb_column *columns;   /* its own CSV columns, [ncolumns]; or NULL */
	size_t ncolumns;
	/* Fills traits->extra from a row's samples or its probes (under load); or NULL. */
	void (*summarise)(const struct fb_job *job, const double *us, size_t n,
			  struct fb_traits *traits);
};

/* The whole of main(): runs the program from start to end, returns the exit code. */
int fb_p2p_main(const struct fb_p2p_program *program, int argc, char **argv);

/* --- between program.c and cases.c -------------------------------------------------------- */

/* The kinds of memory that the programs offer, ending in NULL. */
extern const char *const fb_p2p_memories[];

/* The values of the programs' own options. */
struct fb_p2p_settings {
	const char *pairs;
	uint64_t window; /* 0: by size */
	uint64_t span;
	uint64_t load_bytes, probes;
	struct fb_job_class load_class;
	uint64_t rounds; /* 0: the engine chooses */
	const char *numa;
	const char *ucx_library;
};

/* The program, the values of its options, and the tables from which the harness reads them. */
struct fb_p2p_description {
	const struct fb_p2p_program *program;
	struct fb_p2p_settings settings;
	struct fb_option options[12];
	struct fb_column *columns; /* its own, then FB_P2P_GPU_COLUMNS of GPUs; owned */
};

/*
 * Fills description->options and allocates description->columns, which the caller frees. Returns
 * the options, or NULL without memory (printed). (options.c)
 */
const struct fb_option *fb_p2p_options(struct fb_p2p_description *description);

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_p2p_state {
	const struct fb_session *session;
	const struct fb_p2p_program *program;
	const struct fb_group *world;
	const struct fb_settings *settings;
	const struct fb_p2p_settings *own;
	struct fb_pairs pairs;
	char engine_list[512]; /* the names that --engine stands for */
	bool any; /* --engine all or movers: an engine that this machine lacks gets no rows */
	struct fb_p2p_engine **engines; /* in the order of fb_p2p_engines; NULL: not opened */
	struct fb_stores stores; /* the memory that messages lie in */
	struct fb_gpu gpu; /* if has_gpu */
	bool has_gpu;
	char no_gpu[FB_REASON_CHARS]; /* why not */
	MPI_Comm control; /* tells the load when to end */
	int *reader_of;	  /* [nranks]: the first rank of each one's host, which reads counters */
};

/* Index in fb_p2p_engines of the engine of that name; the name is one of them. */
size_t fb_p2p_engine_index(const char *name);

/* Index of a name in a list that ends in NULL; index of the NULL if the name is not in the list. */
int fb_p2p_index(const char *const *names, const char *name);

/* Messages of so many bytes in a window. */
int fb_p2p_window(const struct fb_p2p_state *state, uint64_t bytes);

/*
 * The programs' own axes (FB_OWN). A member is FB_KEY_NONE if the case lacks the axis. A case has
 * either a pair, from rank `src` to rank `dst`, or a number of `pairs`, or a number of ranks beside
 * the root (`degree`). `window` is the number of messages under way, `span` the bytes of memory
 * that they use, `load_*` how the packets of the load are marked, and `rdma_wait` how ranks wait
 * if they do not poll.
 */
struct fb_p2p_keys {
	uint64_t degree, dst, load, load_bytes, load_service_level, load_traffic_class;
	uint64_t pairs, rdma_wait, span, src, window;
};
extern const struct fb_key fb_p2p_keys[];

/* How the case's ranks wait. */
enum fb_rdma_wait fb_p2p_wait_of(const struct fb_case *c);

/*
 * Fills the job of a case and the job of its load, which has no flows if the case has no load. The
 * caller frees the flows of both, also after an error. Pure. Returns the bytes that both jobs need
 * in each rank's part of the segment, or 0 if memory is exhausted.
 */
size_t fb_p2p_jobs(const struct fb_p2p_state *state, const struct fb_case *c, struct fb_job *job,
		   struct fb_job *load);

/* As fb_program.can; *part_bytes: what a case that can run needs in each rank's part. */
bool fb_p2p_judge(const struct fb_p2p_state *state, const struct fb_case *c, size_t *part_bytes,
		  char reason[FB_REASON_CHARS]);

/* fb_program.expand (expand.c) and fb_program.can */
int fb_p2p_expand(struct fb_run *run, void *state);
bool fb_p2p_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);

/* --- memory.c: the memory that messages lie in ----------------------------------------------- */

/* Pure: whether each rank can get a part of so many bytes. Writes the reason if not. */
bool fb_p2p_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
		       uint64_t part_bytes, char reason[FB_REASON_CHARS]);

/*
 * Collective: the NUMA nodes on which threads and pages of the case really are, and which kind of
 * pages this rank really got: "threads on 0, pages on 1, 2M pages". Empty if the user asked for
 * neither. 0 or FB_ENOMEM.
 */
enum { FB_P2P_WHERE_CHARS = FB_PLACED_CHARS + FB_PAGES_CHARS + 4 };
int fb_p2p_where(const struct fb_p2p_state *state, const struct fb_case *c,
		 const struct fb_job *job, char text[FB_P2P_WHERE_CHARS]);

/* --- rate.c: the column messages_per_s, of programs whose windows of messages make a rate ----- */

enum { FB_P2P_RATE_COLUMNS = 1 };
extern const struct fb_column fb_p2p_rate_columns[FB_P2P_RATE_COLUMNS];
/* fb_p2p_program.summarise */
void fb_p2p_rate(const struct fb_job *job, const double *us, size_t n, struct fb_traits *traits);

/* --- path.c: the column `path` ---------------------------------------------------------------- */

/* What the column `path` of one case is composed of; known from the case's setup on. */
struct fb_p2p_path {
	char carrier[FB_PATH_CHARS];	/* the engine's, of the first flow, on all ranks */
	char where[FB_P2P_WHERE_CHARS]; /* the same */
	bool reads; /* this rank reads its host's counters, and the host has a part in the job */
	struct fb_carrier expected; /* devices that should carry the bytes of this rank's host */
	bool device, on_gpu; /* the engine works between GPUs; messages are in GPU memory */
};

/* Collective: fills state->reader_of. 0 or FB_ENOMEM (printed). */
int fb_p2p_hosts(struct fb_p2p_state *state);

/* Collective. `of_engine` is what the engine says of this rank. 0 or FB_ENOMEM. */
int fb_p2p_path_open(struct fb_p2p_path *path, const struct fb_p2p_state *state,
		     const struct fb_case *c, const struct fb_job *job, const char *of_engine);

/*
 * Collective: path and flags of the row: "Open MPI v4.1.4 (lo 2.00)". If the job ran `alone`, the
 * path names the interfaces that carried the `moved` bytes, and the flag stray-traffic says that
 * they should have used other interfaces, or none.
 */
void fb_p2p_path_describe(const struct fb_p2p_path *path, const struct fb_p2p_state *state,
			  const struct fb_job *job, double moved, bool alone,
			  struct fb_traits *traits);

/* --- gpu.c: what differs for messages between GPUs ------------------------------------------- */

/* Collective: opens the GPU of this rank if an engine or a kind of memory needs one. */
int fb_p2p_gpu_open(struct fb_p2p_state *state);

/*
 * Replaces values that are meant for processors by those that a device engine needs: launch, memory
 * and transport. Returns false if the engine has no such case.
 */
bool fb_p2p_adapt_case(const struct fb_p2p_state *state, struct fb_case *c);

/* Adds the options of device engines that the user has set to the variant. */
void fb_p2p_adapt_variant(const struct fb_p2p_state *state, struct fb_case *c);

/* Round trips in a call of ping_pong. */
int fb_p2p_rounds(const struct fb_p2p_state *state, const struct fb_case *c);

/* The columns of device engines, [FB_P2P_GPU_COLUMNS]. */
extern const struct fb_column fb_p2p_gpu_columns[];

#endif
