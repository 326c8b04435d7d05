/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning tables: what was measured to be best on a machine, for --algorithm auto, --protocol auto
 * and --channels 0. scripts/tools/tune.c writes them from result files; docs/tuning.md.
 *
 * A table is text, so that it can be read, compared and mended by hand. `#` begins a comment; the
 * first word of a line says what it is:
 *
 *	table NAME gpu|cpu MODEL
 *	like NAME
 *	rule ENGINE OPERATION RANKS NODES TRANSPORT IN_PLACE ELEMENT FROM TO ALGORITHM PROTOCOL
 *	     ALGORITHM PROTOCOL CHANNELS THREADS SLOT_BYTES [channels=N] [objective=overlapped]
 *	     [unaligned]
 *
 * (a rule is one line). A rule belongs to the table line above it. What a table has no rule for is
 * looked for in the one that `like` names, if the text has it: for machines that differ little, of
 * which not all could be measured. Two tables may be like each other. IN_PLACE is yes, no or any,
 * ELEMENT the size of an element in bytes or any, FROM and TO the least and greatest size that was
 * measured. The first algorithm and protocol are what is asked for, each a name or auto; what
 * follows is the answer, in which 0 leaves a number to the engine. At the end may stand what else
 * was asked for: so many channels, what is best while the GPU computes, or long blocks that do not
 * all begin at multiples of 16 bytes (fb_tuning_unaligned), which kernels move in another way.
 * Rules for engine auto answer with an engine's name before the algorithm, "copy/push".
 */
#ifndef FB_COLLECTIVES_TUNING_TUNING_H
#define FB_COLLECTIVES_TUNING_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/option/settings.h"

/* How an operation is carried out beside its algorithm; 0: the engine chooses. */
struct fb_tuned {
	uint32_t channels; /* engine copy: streams */
	uint32_t threads;
	uint64_t slot_bytes;
};

enum { FB_TUNING_ANY = -1 };

/* What is asked for, or what a rule is for. Texts are borrowed. */
struct fb_tuning_key {
	const char *engine, *operation, *transport;
	const char *algorithm, *protocol; /* "auto": to be chosen */
	int ranks, nodes;
	int in_place; /* 0, 1; of a rule also FB_TUNING_ANY */
	int element;  /* bytes; of a rule also FB_TUNING_ANY */
	uint32_t channels; /* that the user gave; 0: none */
	bool unaligned;    /* blocks are; of a rule: it is for no others */
	enum fb_auto_objective objective;
};

struct fb_tuning_rule {
	struct fb_tuning_key key;
	uint64_t from, to; /* bytes, both measured */
	const char *algorithm, *protocol;
	struct fb_tuned tuned;
	const char *table; /* its name */
	int line;          /* of the text, from 1 */
};

enum fb_machine { FB_MACHINE_GPU, FB_MACHINE_CPU, FB_MACHINES };

/* "gpu", "cpu" */
extern const char *const fb_machine_names[FB_MACHINES + 1];

struct fb_tuning {
	const char *name;  /* "h200" */
	enum fb_machine kind;
	const char *model; /* "NVIDIA H200" */
	const struct fb_tuning_rule *rule; /* [nrules] */
	size_t nrules;
	const char *like_name;        /* NULL: none */
	const struct fb_tuning *like; /* NULL: none, or the text has none of that name */
	int like_line;
};

/* The tables of a text, with all that their texts point into. */
struct fb_tunings {
	struct fb_tuning *table; /* [count] */
	size_t count;
	struct fb_tuning_rule *rule;
	size_t nrules, room, tables_room;
	char *text;
};

/*
 * Reads tables from a text; `file` names it in messages. Returns 0, FB_EINPUT after one line
 * "FILE:LINE: ..." to `errors` (may be NULL), or FB_ENOMEM (printed). *tunings is set on success
 * only; free with fb_tunings_free, which is safe on a zeroed structure.
 */
int fb_tunings_parse(struct fb_tunings *tunings, const char *text, const char *file, FILE *errors);
void fb_tunings_free(struct fb_tunings *tunings);

/* The first table of that kind for that model (NULL: for any), or NULL. */
const struct fb_tuning *fb_tunings_for(const struct fb_tunings *tunings, enum fb_machine kind,
				       const char *model);

/* Whether a rule's answer can be used. */
typedef bool (*fb_tuning_accept_fn)(void *arg, const struct fb_tuning_rule *rule);

/*
 * The accepted rule that is nearest to what is asked, of this table or, where that has none, or
 * none that is as near, of the one that it is like; or NULL. Engine, operation, transport, nodes,
 * and the asked algorithm and protocol have to be the rule's, and so has the number of ranks, but
 * of rules for an objective. A rule for an objective, for a number of channels or for unaligned
 * blocks is for nobody who does not ask for that, and for no size below a quarter of those
 * measured; one for unaligned blocks is for none above four times of these. Of those rules the
 * nearest is the one that agrees about the objective, then the one with the nearest number of
 * ranks, then of channels, then the one that agrees about alignment, then about in_place, then the
 * one with the nearest size of an element, then of the message (by ratio: between two ranges the
 * nearer end counts, in the very middle the range of larger sizes, and beyond the last one the
 * last one does). accept may be NULL.
 */
const struct fb_tuning_rule *fb_tuning_find(const struct fb_tuning *tuning,
					    const struct fb_tuning_key *asked, uint64_t bytes,
					    fb_tuning_accept_fn accept, void *arg);

/*
 * Whether blocks of that length count as unaligned: it is no multiple of 16 bytes, and so long that
 * moving bytes takes the time, from 4 KiB on.
 */
bool fb_tuning_unaligned(uint64_t block_bytes);

/* How far a size is from those that the rule was measured at, in powers of two; 0: among them. */
double fb_tuning_apart(const struct fb_tuning_rule *rule, uint64_t bytes);

/* Whether the table's own rules for what is asked, and its objective, have sizes on both sides. */
bool fb_tuning_spans(const struct fb_tuning *tuning, const struct fb_tuning_key *asked,
		     uint64_t bytes);

/* The tables that were built in: all collectives/tuning/ *.tuning, one behind the other. */
const char *fb_tunings_built_in(void);

#endif
