/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gradients of a model, and how data-parallel training packs them into buckets.
 *
 * Backward computes the gradients of the tensors one after the other, beginning with the last
 * layer. They lie in memory in this order, so that a bucket is contiguous. A bucket takes whole
 * tensors until it holds at least --bucket bytes: the rule of PyTorch's DistributedDataParallel (Li
 * et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", 2020).
 * Partitions cut buckets, also within a tensor. Then a bucket that forward needs early waits only
 * for a short collective (Peng et al., "A Generic Communication Scheduler for Distributed DNN
 * Training Acceleration", 2019).
 */
#ifndef FB_OVERLAP_SCHEDULE_BUCKETS_H
#define FB_OVERLAP_SCHEDULE_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "overlap/model/model.h"

enum { FB_MOST_TENSORS = 64, FB_MOST_RATIO = 10000, FB_MOST_BUCKETS = 10000 };

/* Elements [first, first + count) of the gradients, and the tensor of a model that they are. */
struct fb_tensor {
	uint64_t first, count;
	const struct fb_nn_tensor *of;     /* NULL: of equal layers */
	const struct fb_nn_tensor *before; /* computed right in front of it: attention; or NULL */
};

/* Some tensors, or a part of one: ready for its all_reduce when the gradient of `last` is. */
struct fb_bucket {
	uint64_t first, count;
	size_t last;
};

struct fb_gradients {
	struct fb_tensor *tensors; /* [ntensors], in the order of backward; none is empty */
	size_t ntensors;
	struct fb_bucket *buckets; /* [nbuckets] */
	size_t nbuckets;
};

/* Equal layers: the sizes of a layer's tensors in the order of forward, relative. */
struct fb_ratios {
	uint64_t layers;
	unsigned ratio[FB_MOST_TENSORS];
	size_t nratios;
};

/* "4,1,1,4": numbers from 1 to FB_MOST_RATIO. 0, or FB_EINPUT with *ratios untouched. */
int fb_ratios_parse(struct fb_ratios *ratios, const char *text);

/*
 * Splits `count` elements by ratios, each tensor but the last a multiple of `align` elements. 0 or
 * FB_ENOMEM (not printed), *gradients then empty. Freed by fb_gradients_free.
 */
int fb_gradients_split(struct fb_gradients *gradients, const struct fb_ratios *ratios,
		       uint64_t count, uint64_t align);
/* The tensors of a model, each rounded up to a multiple of `align` elements. The same. */
int fb_gradients_list(struct fb_gradients *gradients, const struct fb_nn *model, uint64_t align);
/* Packs the tensors into buckets: the first is full with `first` elements, the others with `full`;
 * 0: never. */
void fb_gradients_pack(struct fb_gradients *gradients, uint64_t first, uint64_t full);
/*
 * Cuts buckets into pieces of at most so many elements, each a bucket; 0: none. 0, or FB_EINPUT for
 * more than FB_MOST_BUCKETS or FB_ENOMEM (not printed), the buckets then as before.
 */
int fb_gradients_cut(struct fb_gradients *gradients, uint64_t most);
/* Elements of a bucket that are a tensor's: *first, counted from the bucket's; 0: it has none. */
uint64_t fb_gradients_shared(const struct fb_gradients *gradients, size_t tensor, size_t bucket,
			     uint64_t *first);
/*
 * The order of buckets by priority: whenever a bucket has been sent, the next one is the full
 * bucket that forward needs first. The times of backward and of sending are estimated by numbers of
 * elements, so that the order is the same on all ranks. order: [nbuckets].
 */
void fb_gradients_order(const struct fb_gradients *gradients, int *order);
uint64_t fb_gradients_elements(const struct fb_gradients *gradients);
void fb_gradients_free(struct fb_gradients *gradients);

#endif
