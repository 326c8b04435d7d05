/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test data of pages in GPU memory, made and compared where they lie (kvtransfer/pages.h). Only the
 * first wrong element comes to the host, which knows how to print it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "kvtransfer/pages_kernels.h"
#include "kvtransfer/pages.h"

/* A locator for kernels: its table copied to the device. The caller frees locator.inverse. */
static int upload(struct fb_kv_locator *locator)
{
	size_t bytes = locator->pool * sizeof(*locator->inverse);
	void *table = NULL;
	int err = FB_CUDA(cudaMalloc(&table, bytes));

	if (!err)
		err = FB_CUDA(cudaMemcpy(table, locator->inverse, bytes, cudaMemcpyHostToDevice));
	if (err) {
		(void)cudaFree(table);
		return err;
	}
	locator->inverse = table;
	return FB_OK;
}

static void release(const struct fb_kv_locator *locator)
{
	union {
		const int32_t *read;
		void *freed;
	} table = {.read = locator->inverse};

	(void)cudaFree(table.freed);
}

static uint64_t elements_of(const struct fb_kv_job *job, enum fb_kv_side side)
{
	return fb_kv_area_bytes(&job->plan.shape, side) / job->plan.shape.element_bytes;
}

int fb_kv_gpu_fill(const struct fb_kv_job *job, enum fb_kv_side side, bool empty)
{
	char *to = fb_kv_region_of(job, job->rank, side, 0);
	struct fb_kv_locator locator = fb_kv_locator_of(job, side);
	const struct fb_data data = fb_kv_data_of(job);
	const struct fb_element_recipe recipe = fb_element_prepare(&data);
	int err;

	if (empty)
		return job->segment->ops->set(to, fb_kv_canary(side),
					      fb_kv_area_bytes(&job->plan.shape, side));
	err = upload(&locator);
	if (err)
		return err;
	err = FB_CUDA((cudaError_t)fb_kv_kernel_fill(&recipe, &locator, fb_kv_canary(side), to,
						     elements_of(job, side)));
	if (!err)
		err = FB_CUDA(cudaDeviceSynchronize());
	release(&locator);
	return err;
}

/* What the host says of the first wrong element, which it checks once more. */
static int explain(const struct fb_kv_job *job, enum fb_kv_side side,
		   const struct fb_check_result *result, struct fb_mismatch *bad)
{
	const struct fb_kv_locator locator = fb_kv_locator_of(job, side);
	struct fb_kv_place at = fb_kv_locate(&locator, result->first);
	uint64_t before = bad->errors, bits = 0;
	uint32_t size = job->plan.shape.element_bytes;
	const struct fb_data data = fb_kv_data_of(job);
	struct fb_mismatch found = {.errors = 0};
	int err = job->segment->ops->get(&bits, fb_kv_region_of(job, job->rank, side, 0) +
						       result->first * size, size);

	if (err)
		return err;
	if (at.used) {
		fb_data_check(&data, 0, at.index, &bits, 1, &found);
	} else {
		found.index = result->first;
		snprintf(found.got, sizeof(found.got), "0x%llx", (unsigned long long)bits);
		snprintf(found.expected, sizeof(found.expected), "canary 0x%02x",
			 (unsigned)fb_kv_canary(side));
	}
	if (before == 0) {
		*bad = found;
		fb_kv_print_wrong(job, side, result->first, &found);
	}
	bad->errors = before + result->errors;
	return FB_OK;
}

int fb_kv_gpu_check(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad)
{
	struct fb_kv_locator locator = fb_kv_locator_of(job, side);
	/* What the kernel reports; `worst` is used of quantised pages. */
	struct report {
		struct fb_check_result result;
		unsigned worst;
	} host = {.result = {.errors = 0, .first = ~0ull}, .worst = 0}, *report = NULL;
	bool near = job->worst && side == FB_KV_DECODE;
	const struct fb_data data = fb_kv_data_of(job);
	const struct fb_element_recipe recipe = fb_element_prepare(&data);
	int err = upload(&locator);

	if (err)
		return err;
	err = FB_CUDA(cudaMalloc((void **)&report, sizeof(*report)));
	if (!err)
		err = FB_CUDA(cudaMemcpy(report, &host, sizeof(host), cudaMemcpyHostToDevice));
	if (!err)
		err = FB_CUDA((cudaError_t)fb_kv_kernel_check(
			&recipe, &locator, fb_kv_canary(side),
			fb_kv_region_of(job, job->rank, side, 0), elements_of(job, side),
			&report->result, near ? &report->worst : NULL));
	if (!err)
		err = FB_CUDA(cudaMemcpy(&host, report, sizeof(host), cudaMemcpyDeviceToHost));
	(void)cudaFree(report);
	release(&locator);
	if (!err && near && (double)fb_bits_float(host.worst) > *job->worst)
		*job->worst = (double)fb_bits_float(host.worst);
	return err || !host.result.errors ? err : explain(job, side, &host.result, bad);
}
