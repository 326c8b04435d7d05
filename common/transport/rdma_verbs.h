/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libibverbs, opened at run time: one program runs where there is no such library, and says so in
 * its rows, and where there is one.
 *
 * Only the calls that set things up are functions of the library. Posting and polling are inline
 * functions of its header, which call through the device's own table, and need no symbol. Some
 * others are macros around inline functions that would bring an undefined symbol into the
 * program; those are called through this table too.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_VERBS_H
#define FB_COMMON_TRANSPORT_RDMA_VERBS_H

#include <stddef.h>
#include <stdint.h>

/* -DFB_WITHOUT_VERBS builds as on a machine without the header. */
#if defined(__has_include) && !defined(FB_WITHOUT_VERBS)
#if __has_include(<infiniband/verbs.h>)
#define FB_HAVE_VERBS 1
#endif
#endif
#ifndef FB_HAVE_VERBS
#define FB_HAVE_VERBS 0
#endif

#if FB_HAVE_VERBS
#include <infiniband/verbs.h>

/* Names and meaning as in the library (ibv_...). */
struct fb_verbs {
	void *library;
	struct ibv_device **(*get_device_list)(int *n);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *device);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *context);
	int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attr);
	int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
	int (*query_gid)(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid);
	int (*query_pkey)(struct ibv_context *context, uint8_t port, int index, uint16_t *key);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *at, size_t bytes, int access);
	struct ibv_mr *(*reg_mr_iova2)(struct ibv_pd *pd, void *at, size_t bytes, uint64_t iova,
				       unsigned access);
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset, size_t bytes,
					uint64_t iova, int fd, int access); /* NULL: too old */
	int (*dereg_mr)(struct ibv_mr *mr);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries, void *arg,
				    struct ibv_comp_channel *channel, int vector);
	int (*destroy_cq)(struct ibv_cq *cq);
	struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
	int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
	int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg);
	void (*ack_cq_events)(struct ibv_cq *cq, unsigned n);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	struct ibv_qp_ex *(*qp_to_qp_ex)(struct ibv_qp *qp); /* NULL: too old */
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	const char *(*wc_status_str)(enum ibv_wc_status status);
};

/*
 * Opens the library. Local. FB_OK, or FB_EUNSUPPORTED with the reason in `why`, not printed:
 * whether that is an error is the caller's to say.
 */
int fb_verbs_open(struct fb_verbs *verbs, char *why, size_t n);

/* Safe on a zeroed structure. */
void fb_verbs_close(struct fb_verbs *verbs);

#endif
#endif
