/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models as data: the tensors of each layer in the order of forward. From them follow the numbers
 * of parameters, of floating-point operations and of activations that a step keeps, also for a
 * rank's part of a model.
 *
 * The text has a line for each thing; '#' begins a comment.
 *
 *	model NAME               everything behind it is this model's
 *	source TEXT              where its figures are from, in front of the model or behind it
 *	sequence N               tokens of a sequence; 1: a token is a whole sample
 *	hidden N, ffn N          elements of a token; columns of an MLP's first matrix
 *	heads N QK V             attention: heads, elements of a query, of a value
 *	kv N                     elements of keys and values that a token has in a layer
 *	experts N K              experts of a layer, and of them those of each token
 *	layer NAME COUNT         so many layers with the lines that follow
 *	tensor NAME ROWS COLUMNS a matrix that each token is multiplied with
 *	expert NAME ROWS COLUMNS one such matrix for each expert
 *	shared NAME ROWS COLUMNS one whose parameters are those of another tensor
 *	table NAME ROWS COLUMNS  looked up, not multiplied
 *	vector NAME ROWS         added or multiplied element by element
 *	attention                between the tensors before it and behind it
 *
 * Behind a matrix: uses=N multiplications for each token (1), inputs=N elements of input that
 * backward needs of each token (the columns), cut=out|in: tensor parallelism cuts its rows, or its
 * columns (not cut).
 */
#ifndef FB_OVERLAP_MODEL_MODEL_H
#define FB_OVERLAP_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "overlap/compute/work.h"

enum { FB_NN_NAME = 32, FB_NN_WHY = 320 };

enum fb_tensor_kind {
	FB_TENSOR_MATRIX,
	FB_TENSOR_EXPERT,
	FB_TENSOR_SHARED,
	FB_TENSOR_TABLE,
	FB_TENSOR_VECTOR,
	FB_TENSOR_ATTENTION, /* no tensor: what a layer computes between two of them */
};

enum fb_tensor_cut { FB_CUT_NO, FB_CUT_OUT, FB_CUT_IN };

struct fb_nn_tensor {
	char name[FB_NN_NAME];
	enum fb_tensor_kind kind;
	enum fb_tensor_cut cut;
	uint64_t rows, columns, uses, inputs;
};

struct fb_nn_layer {
	char name[FB_NN_NAME];
	uint64_t count;
	size_t first, tensors; /* a range of the model's tensors */
};

struct fb_nn {
	char name[FB_NN_NAME];
	uint64_t sequence, hidden, ffn, heads, query, value, kv, experts, topk;
	struct fb_nn_layer *layers;
	struct fb_nn_tensor *tensors;
	size_t nlayers, ntensors;
};

/*
 * How ranks divide a model: the number of parts in each dimension, and which share of it is used.
 */
struct fb_nn_parts {
	uint64_t tensor, pipeline, expert, context; /* 1: not cut */
	uint64_t most; /* layers of a kind; 0: all */
	uint64_t shrink; /* divides all sizes; 1: none */
};

/* The cost for a rank and its tokens. If pipeline stages are unequal, of the most costly stage. */
struct fb_nn_cost {
	double parameters;
	double forward;     /* floating-point operations; backward has twice as many */
	double activations; /* elements that forward keeps for backward */
};

/*
 * The model of a name in the text that was built in, or, where the name has a '/' or ends in
 * ".model", the first one of that file. 0; FB_EINPUT with what is wrong and what is expected in
 * `why`; FB_ENOMEM. Prints nothing; *model is closed after an error.
 */
int fb_nn_open(struct fb_nn *model, const char *name, char why[FB_NN_WHY]);
void fb_nn_close(struct fb_nn *model);

/* The same from a text; `file` begins messages. An empty name stands for the first model. */
int fb_nn_read(struct fb_nn *model, const char *text, const char *file, const char *name,
		  char why[FB_NN_WHY]);
/* Names of all models of a text, as "a, b, c". Returns buf. */
const char *fb_nn_names(const char *text, char *buf, size_t n);
/* All files of this folder, one behind the other (built_in.c). */
const char *fb_nns_built_in(void);

/* The model as each rank has it: smaller tensors, fewer layers of each kind. */
void fb_nn_cut(struct fb_nn *model, const struct fb_nn_parts *parts);

/* Elements of a tensor on a rank (all its experts'). The model has been cut. */
uint64_t fb_nn_elements(const struct fb_nn *model, const struct fb_nn_tensor *tensor);

/*
 * What a rank computes with a tensor for its tokens, forward or backward. The model has been cut.
 * Tokens attend to a sequence, or to all tokens if these are fewer. Each expert has an equal share
 * of the tokens. Tables and vectors are passes over the tokens' elements.
 */
struct fb_work fb_nn_work(const struct fb_nn *model, const struct fb_nn_tensor *tensor,
			  uint64_t tokens, bool backward);

/* The cost of the whole model, divided as `parts` says. `sequence` tokens attend to each other. */
struct fb_nn_cost fb_nn_cost(const struct fb_nn *model,
				   const struct fb_nn_parts *parts, uint64_t batch,
				   uint64_t sequence);

#endif
