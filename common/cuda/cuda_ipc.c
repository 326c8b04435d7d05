/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments by CUDA IPC; see gpu_segment.h.
 *
 * Mapping costs each rank a call of the driver for each peer, and the driver serves one process of
 * a host at a time: the ranks of 8 GPUs need 15 ms for it, those of 2 GPUs 1 ms. So memory of
 * closed segments stays mapped and is kept, and the next segment that fits in it gets it, cleared.
 * All ranks open and close segments in the same order, so they keep the same memory.
 */
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_segment.h"

enum { KEPT_MOST = 8 };

static const size_t kept_bytes_most = (size_t)1 << 30; /* of a GPU's memory */

/* This rank's memory and the mapped memory of peers. */
struct ipc_memory {
	struct fb_gpu_kept *home;
	size_t bytes;
	int own, nparts;
	char **parts;  /* [nparts] */
	bool made;     /* all memory that this GPU reaches is mapped */
};

/* Kept memory, in the order of closing. */
struct fb_gpu_kept {
	struct ipc_memory *memory[KEPT_MOST];
	int count, open; /* open: segments in use, whose memory may come back */
	size_t bytes;
	bool left;       /* the view was closed: nothing is kept any more */
};

/* Frees this rank's memory last; CUDA keeps it for peers that still map it. */
static void ipc_free(struct ipc_memory *m)
{
	for (int i = 0; m->parts && i < m->nparts; i++)
		if (i != m->own && m->parts[i])
			(void)cudaIpcCloseMemHandle(m->parts[i]);
	if (m->parts)
		(void)cudaFree(m->parts[m->own]);
	(void)cudaGetLastError();
	free(m->parts);
	free(m);
}

/* Removes memory i from the list. */
static struct ipc_memory *take(struct fb_gpu_kept *kept, int i)
{
	struct ipc_memory *m = kept->memory[i];

	kept->count--;
	kept->bytes -= m->bytes;
	memmove(&kept->memory[i], &kept->memory[i + 1],
		(size_t)(kept->count - i) * sizeof(kept->memory[0]));
	return m;
}

/* The smallest one that holds this many bytes, or NULL. */
static struct ipc_memory *find(struct fb_gpu_kept *kept, size_t bytes)
{
	int best = -1;

	for (int i = 0; i < kept->count; i++) {
		size_t has = kept->memory[i]->bytes;

		if (has >= bytes && (best < 0 || has < kept->memory[best]->bytes))
			best = i;
	}
	return best < 0 ? NULL : take(kept, best);
}

static void ipc_close(struct fb_segment *s)
{
	struct ipc_memory *m = s->mapping;
	struct fb_gpu_kept *kept = m ? m->home : NULL;

	s->parts = NULL; /* owned by `m` */
	if (!kept)
		return;
	kept->open--;
	if (kept->left || !m->made || m->bytes > kept_bytes_most) {
		ipc_free(m);
	} else {
		while (kept->count == KEPT_MOST || kept->bytes + m->bytes > kept_bytes_most)
			ipc_free(take(kept, 0));
		kept->memory[kept->count++] = m;
		kept->bytes += m->bytes;
	}
	if (kept->left && !kept->open)
		free(kept);
}

struct fb_gpu_kept *fb_gpu_kept_open(void)
{
	return calloc(1, sizeof(struct fb_gpu_kept));
}

void fb_gpu_kept_close(struct fb_gpu_kept *kept)
{
	if (!kept)
		return;
	while (kept->count)
		ipc_free(take(kept, 0));
	kept->left = true;
	if (!kept->open)
		free(kept);
}

static const struct fb_memory_ops ipc_ops = {
	.name = "device", .device = true, .close = ipc_close,
	.set = fb_device_set, .put = fb_device_put, .get = fb_device_get,
	.fill = fb_device_fill, .check = fb_device_check,
	.fill_spans = fb_device_fill_spans, .check_spans = fb_device_check_spans,
};

/* Local: allocates this rank's memory of a new segment, and gets its handle. */
static int allocate(struct ipc_memory *m, cudaIpcMemHandle_t *own)
{
	void *memory = NULL;
	int err = FB_CUDA(cudaMalloc(&memory, m->bytes));

	if (err)
		return err;
	m->parts[m->own] = memory;
	err = FB_CUDA(cudaMemset(memory, 0, m->bytes));
	if (!err && m->nparts > 1)
		err = FB_CUDA(cudaIpcGetMemHandle(own, memory));
	return err ? err : FB_CUDA(cudaDeviceSynchronize());
}

/* Collective: allocates memory on every rank; each rank maps the memory that its GPU reaches. */
static int make(struct ipc_memory *m, const struct fb_gpu *gpu, const int *part_of)
{
	const struct fb_group *w = gpu->group;
	cudaIpcMemHandle_t own, *handles = calloc((size_t)m->nparts, sizeof(*handles));
	int err;

	memset(&own, 0, sizeof(own));
	err = fb_group_agree(w, handles ? allocate(m, &own) : FB_ENOMEM);
	if (!err)
		MPI_Allgather(&own, sizeof(own), MPI_BYTE, handles, sizeof(own), MPI_BYTE,
			      w->node_comm);
	for (int r = 0; r < w->nranks && !err; r++) {
		int part = part_of[r];

		/* Memory that this GPU does not reach stays NULL and must not be used. */
		if (part < 0 || part == m->own || !gpu->reaches[r])
			continue;
		err = FB_CUDA(cudaIpcOpenMemHandle((void **)&m->parts[part], handles[part],
						   cudaIpcMemLazyEnablePeerAccess));
	}
	free(handles);
	err = fb_group_agree(w, err);
	m->made = !err;
	return err;
}

/* Collective: each rank clears its part of kept memory, which is then like new memory. */
static int renew(struct ipc_memory *m, const struct fb_gpu *gpu, size_t bytes)
{
	int err = FB_CUDA(cudaMemset(m->parts[m->own], 0, bytes));

	if (!err)
		err = FB_CUDA(cudaDeviceSynchronize());
	return fb_group_agree(gpu->group, err);
}

int fb_ipc_open(struct fb_segment *s, const struct fb_gpu *gpu)
{
	struct ipc_memory *m = find(gpu->kept, s->part_bytes);
	bool is_kept = m != NULL;
	int err;

	s->ops = &ipc_ops;
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (m) {
			m->bytes = s->part_bytes;
			m->nparts = s->nparts;
			m->own = s->part_of[gpu->group->rank];
			m->parts = calloc((size_t)s->nparts, sizeof(*m->parts));
		}
		err = fb_group_agree(gpu->group, m && m->parts ? FB_OK : FB_ENOMEM);
		if (err || !m) {
			free(m ? m->parts : NULL);
			free(m);
			return err;
		}
	}
	m->home = gpu->kept;
	gpu->kept->open++;
	s->mapping = m;
	s->parts = m->parts;
	return is_kept ? renew(m, gpu, s->part_bytes) : make(m, gpu, s->part_of);
}
