/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations on buffers in GPU memory (memory_ops.h): kernels make and compare test data in
 * place. Only the first wrong element is copied to the host, which prints it.
 */
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_segment.h"
#include "common/cuda/data_kernels.h"

enum { MOST_DEVICES = 64 };

static const struct fb_check_result nothing = {.errors = 0, .first = ~0ull};

int fb_device_set(void *to, int byte, size_t bytes)
{
	int err = bytes ? FB_CUDA(cudaMemset(to, byte, bytes)) : FB_OK;

	return err ? err : FB_CUDA(cudaDeviceSynchronize());
}

int fb_device_put(void *to, const void *from, size_t bytes)
{
	int err = bytes ? FB_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice)) : FB_OK;

	return err ? err : FB_CUDA(cudaStreamSynchronize(NULL));
}

int fb_device_get(void *to, const void *from, size_t bytes)
{
	return bytes ? FB_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost)) : FB_OK;
}

static struct fb_element_source source_of(int rank)
{
	return (struct fb_element_source){.reduced = rank == FB_REDUCED,
					  .rank = rank == FB_REDUCED ? 0 : (uint32_t)rank};
}

int fb_device_fill(const struct fb_data *data, int rank, uint64_t first, void *to, size_t count)
{
	const struct fb_element_recipe recipe = fb_element_prepare(data);
	int err;

	if (count == 0)
		return FB_OK;
	err = FB_CUDA((cudaError_t)fb_data_kernel_fill(&recipe, source_of(rank), first, to, count));
	return err ? err : FB_CUDA(cudaDeviceSynchronize());
}

/* Has the host check the first wrong element again, which fills in *bad. */
static int explain(const struct fb_data *data, int rank, uint64_t first, const char *from,
		   const struct fb_check_result *result, struct fb_mismatch *bad)
{
	uint64_t errors = bad->errors, element;
	size_t size = fb_datatype_size(data->type);
	struct fb_mismatch found = {0};
	int err = fb_device_get(&element, from + result->first * size, size);

	if (err)
		return err;
	fb_memory_host.check(data, rank, first + result->first, &element, 1, &found);
	if (errors == 0) {
		*bad = found;
		bad->index = first + result->first;
		/* Host and device then make different data, which is an error just as well. */
		if (!found.errors)
			bad->got[0] = bad->expected[0] = '\0';
	}
	bad->errors = errors + result->errors;
	return FB_OK;
}

static struct fb_check_result *kept[MOST_DEVICES];

/* A list of spans on each device, which is kept for the next call. */
static struct {
	struct fb_data_span *span;
	size_t n;
} lists[MOST_DEVICES];

/* Frees a result after an error, since its contents are not known. */
static void forget(struct fb_check_result *result)
{
	for (int d = 0; d < MOST_DEVICES; d++)
		kept[d] = kept[d] == result ? NULL : kept[d];
	(void)cudaFree(result);
}

/*
 * The memory in which the current device's kernels write the result of a check. It is kept, because
 * allocating and freeing it takes longer than the check of a page, and a KV cache has thousands of
 * pages. Between checks it says that nothing was found. Only one thread of a process may check at a
 * time.
 */
static int result_of_device(struct fb_check_result **result)
{
	int device, err = FB_CUDA(cudaGetDevice(&device));

	if (err)
		return err;
	if (device >= MOST_DEVICES)
		return fb_error(FB_EUNSUPPORTED, "GPU %d of a process that may use %d", device,
				MOST_DEVICES);
	if (!kept[device]) {
		err = FB_CUDA(cudaMalloc((void **)&kept[device], sizeof(**result)));
		if (!err)
			err = fb_device_put(kept[device], &nothing, sizeof(nothing));
		if (err)
			forget(kept[device]);
	}
	*result = kept[device];
	return err;
}

/* Reads the result of a check, and resets it for the next one. */
static int found_by(struct fb_check_result *result, struct fb_check_result *host)
{
	int err = fb_device_get(host, result, sizeof(*host));

	if (!err && host->errors)
		err = fb_device_put(result, &nothing, sizeof(nothing));
	if (err)
		forget(result);
	return err;
}

int fb_device_check(const struct fb_data *data, int rank, uint64_t first, const void *from,
		    size_t count, struct fb_mismatch *bad)
{
	const struct fb_element_recipe recipe = fb_element_prepare(data);
	struct fb_check_result host = nothing, *result = NULL;
	int err;

	if (count == 0)
		return FB_OK;
	err = result_of_device(&result);
	if (err)
		return err;
	err = FB_CUDA((cudaError_t)fb_data_kernel_check(&recipe, source_of(rank), first, from,
							count, result));
	if (!err)
		err = found_by(result, &host);
	return err || !host.errors ? err : explain(data, rank, first, from, &host, bad);
}

/* Copies the spans to the current device, where they are valid until the next call. */
static int list_on_device(const struct fb_data_span *span, size_t n,
			  struct fb_data_span **list)
{
	int device = 0, err = FB_CUDA(cudaGetDevice(&device));

	if (!err && device >= MOST_DEVICES)
		err = fb_error(FB_EUNSUPPORTED, "GPU %d of a process that may use %d", device,
			       MOST_DEVICES);
	if (err)
		return err;
	if (lists[device].n < n) {
		(void)cudaFree(lists[device].span);
		lists[device].span = NULL;
		lists[device].n = 0;
		err = FB_CUDA(cudaMalloc((void **)&lists[device].span, n * sizeof(*span)));
		if (!err)
			lists[device].n = n;
	}
	*list = lists[device].span;
	return err ? err : fb_device_put(*list, span, n * sizeof(*span));
}

int fb_device_fill_spans(const struct fb_data *data, int rank, const struct fb_data_span *span,
			 size_t n, size_t count)
{
	const struct fb_element_recipe recipe = fb_element_prepare(data);
	struct fb_data_span *list = NULL;
	int err;

	if (!n || !count)
		return FB_OK;
	err = list_on_device(span, n, &list);
	if (!err)
		err = FB_CUDA((cudaError_t)fb_data_kernel_fill_spans(&recipe, source_of(rank), list,
								     n, count));
	return err ? err : FB_CUDA(cudaStreamSynchronize(NULL));
}

int fb_device_check_spans(const struct fb_data *data, int rank, const struct fb_data_span *span,
			  size_t n, size_t count, struct fb_mismatch *bad)
{
	const struct fb_element_recipe recipe = fb_element_prepare(data);
	struct fb_check_result host = nothing, *result = NULL;
	struct fb_data_span *list = NULL;
	const struct fb_data_span *wrong;
	int err;

	if (!n || !count)
		return FB_OK;
	err = list_on_device(span, n, &list);
	if (!err)
		err = result_of_device(&result);
	if (!err)
		err = FB_CUDA((cudaError_t)fb_data_kernel_check_spans(
			&recipe, source_of(rank), list, n, count, result));
	if (!err)
		err = found_by(result, &host);
	if (err || !host.errors)
		return err;
	wrong = &span[host.first / count];
	host.first %= count;
	return explain(data, rank, wrong->first, wrong->at, &host, bad);
}
