/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stubs for the linker in a build without CUDA: two functions stand under the names of all that
 * need it. fb_gpu_view_open() fails there, so no program calls the others with work to do. If a
 * name is missing here, the linker says so.
 *
 * Headers are not included, because the two functions take any arguments and read none.
 */
#include "common/base/error.h"

int fb_without_cuda(void);
void *fb_without_cuda_none(void);

int fb_without_cuda(void)
{
	return FB_EUNSUPPORTED;
}

void *fb_without_cuda_none(void)
{
	return NULL;
}

/* A function that returns an error code. */
#define ABSENT(name) \
	extern __typeof__(fb_without_cuda) name __attribute__((alias("fb_without_cuda")))
/* One that returns a pointer, a number or bool, or nothing: NULL, 0, false. */
#define NOTHING(name) \
	extern __typeof__(fb_without_cuda_none) name __attribute__((alias("fb_without_cuda_none")))

/* common/cuda */
ABSENT(fb_gpu_open);
NOTHING(fb_gpu_close);
NOTHING(fb_gpu_facts);
NOTHING(fb_gpu_busy_begin);
NOTHING(fb_gpu_busy_end);
NOTHING(fb_gpu_kept_open);
NOTHING(fb_gpu_kept_close);
NOTHING(fb_gpu_free_bytes);
NOTHING(fb_gpu_clocks);
NOTHING(fb_gpu_device_of);
NOTHING(fb_gpu_links_read);
NOTHING(fb_gpu_link_to);
NOTHING(fb_gpu_segment_can);
ABSENT(fb_gpu_segment_open);
ABSENT(fb_gpu_segment_adopt);
NOTHING(fb_gpu_direct_methods);
ABSENT(fb_gpu_direct_export);
ABSENT(fb_gpu_direct_flush);
ABSENT(fb_gpu_cache_open);
NOTHING(fb_gpu_cache_close);
ABSENT(fb_gpu_cache_clear);
ABSENT(fb_gpu_enter);
ABSENT(fb_gpu_stream_open);
NOTHING(fb_gpu_stream_watch);
NOTHING(fb_gpu_stream_watch_closely);
NOTHING(fb_gpu_stream_commands);
NOTHING(fb_gpu_stream_close);
ABSENT(fb_gpu_stream_ready);
ABSENT(fb_gpu_stream_capture_begin);
ABSENT(fb_gpu_stream_capture_end);
ABSENT(fb_gpu_stream_instantiate);
ABSENT(fb_gpu_stream_replay);
ABSENT(fb_gpu_stream_run);
ABSENT(fb_gpu_stream_start);
ABSENT(fb_gpu_stream_test);
ABSENT(fb_gpu_stream_wait);
ABSENT(fb_gpu_fresh_open);
NOTHING(fb_gpu_fresh_close);
ABSENT(fb_gpu_fresh_reset);
ABSENT(fb_gpu_fresh_read);
ABSENT(fb_gpu_fresh_produce);
ABSENT(fb_gpu_fresh_consume);
NOTHING(fb_gpu_stream_event_us);

/* common/mover/gpu */
ABSENT(fb_gpu_mover_begin);
NOTHING(fb_gpu_mover_end);
ABSENT(fb_gpu_move_post);
ABSENT(fb_gpu_move_test);
ABSENT(fb_copy_prepare);
NOTHING(fb_copy_release);
NOTHING(fb_copy_form);
NOTHING(fb_cuda_form);
ABSENT(fb_copy_arrived);
ABSENT(fb_copy_enqueue_behind);
ABSENT(fb_cuda_prepare);
NOTHING(fb_cuda_release);
ABSENT(fb_cuda_arrived);
ABSENT(fb_cuda_enqueue_behind);
ABSENT(fb_nccl_move_prepare);
NOTHING(fb_nccl_move_release);
ABSENT(fb_nccl_move_post);
ABSENT(fb_nccl_move_test);
ABSENT(fb_nccl_move_enqueue);
ABSENT(fb_nvshmem_mover_load);
ABSENT(fb_nvshmem_prepare);
NOTHING(fb_nvshmem_release);
NOTHING(fb_nvshmem_form);
ABSENT(fb_nvshmem_arrived);
ABSENT(fb_nvshmem_enqueue_behind);

/* kvtransfer */
ABSENT(fb_kv_streams_open);
NOTHING(fb_kv_streams_close);
ABSENT(fb_kv_enqueue_call);
ABSENT(fb_kv_gpu_fill);
ABSENT(fb_kv_gpu_check);
ABSENT(fb_kv_gpu_packing_open);
NOTHING(fb_kv_gpu_packing_close);
ABSENT(fb_kv_gpu_packing_run);
ABSENT(fb_kv_stage_open);
NOTHING(fb_kv_stage_close);
ABSENT(fb_kv_stage_copy);
ABSENT(fb_kv_stage_done);

/* overlap/gpu */
ABSENT(fb_gpu_compute_open);
NOTHING(fb_gpu_compute_close);
ABSENT(fb_gpu_compute_limit);
ABSENT(fb_gpu_compute_stream);
ABSENT(fb_gpu_compute_room);
ABSENT(fb_gpu_compute_enqueue);
ABSENT(fb_gpu_compute_finish);
NOTHING(fb_gpu_compute_describe);
ABSENT(fb_gpu_run_open);
NOTHING(fb_gpu_run_close);
ABSENT(fb_gpu_run_ready);
ABSENT(fb_gpu_run_steps);
ABSENT(fb_gpu_run_traced);
NOTHING(fb_gpu_run_event_us);
NOTHING(fb_gpu_run_graph_us);

/* p2p/local, p2p/cost */
ABSENT(fb_local_memory_get);
NOTHING(fb_local_memory_put);
ABSENT(fb_local_open);
NOTHING(fb_local_close);
ABSENT(fb_local_ready);
ABSENT(fb_local_run);
ABSENT(fb_local_channels);
NOTHING(fb_local_columns);
ABSENT(fb_cost_cuda_open);
NOTHING(fb_cost_cuda_close);
ABSENT(fb_cost_cuda_get);
ABSENT(fb_cost_cuda_drop);
ABSENT(fb_cost_cuda_share);
