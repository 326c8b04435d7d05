/* SPDX-License-Identifier: BSD-3-Clause */
/* The layers of a model on the stages of a pipeline; see pipeline_order.h. */
#include "overlap/schedule/pipeline_order.h"
#include "overlap/schedule/schedule.h"

uint64_t fb_pipeline_layers(const struct fb_nn *nn)
{
	uint64_t all = 0;

	for (size_t l = 0; l < nn->nlayers; l++)
		all += nn->layers[l].count;
	return all;
}

uint64_t fb_pipeline_layers_of(const struct fb_nn *nn, size_t kind, int stage, int stages)
{
	uint64_t all = fb_pipeline_layers(nn), before = 0, begin, end;

	for (size_t l = 0; l < kind; l++)
		before += nn->layers[l].count;
	begin = all * (uint64_t)stage / (uint64_t)stages;
	end = all * (uint64_t)(stage + 1) / (uint64_t)stages;
	begin = begin > before ? begin : before;
	end = end < before + nn->layers[kind].count ? end : before + nn->layers[kind].count;
	return end > begin ? end - begin : 0;
}

void fb_pipeline_weigh(const struct fb_build *b, int stages, double *weight)
{
	const struct fb_nn *nn = b->nn;
	double sum = 0;

	for (int s = 0; s < stages; s++)
		for (size_t l = 0; l < nn->nlayers; l++) {
			double layers = (double)fb_pipeline_layers_of(nn, l, s, stages);

			for (size_t t = 0; t < nn->layers[l].tensors; t++) {
				const struct fb_work w =
					fb_nn_work(nn, &nn->tensors[nn->layers[l].first + t],
						   b->tokens, false);

				weight[s] += fb_work_flop(&w) * layers;
				sum += fb_work_flop(&w) * layers;
			}
		}
	for (int s = 0; s < stages; s++)
		weight[s] *= stages / sum;
}
