/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection manager from the inside: shared by rdma_cm.c and rdma_cm_connect.c only. */
#ifndef FB_COMMON_TRANSPORT_RDMA_CM_INTERNAL_H
#define FB_COMMON_TRANSPORT_RDMA_CM_INTERNAL_H

#include "common/transport/rdma_cm.h"

/* -DFB_WITHOUT_RDMACM builds as on a machine without the header. */
#if FB_HAVE_VERBS && defined(__has_include) && !defined(FB_WITHOUT_RDMACM)
#if __has_include(<rdma/rdma_cma.h>)
#define FB_HAVE_RDMACM 1
#endif
#endif
#ifndef FB_HAVE_RDMACM
#define FB_HAVE_RDMACM 0
#endif

#if FB_HAVE_RDMACM

#include <rdma/rdma_cma.h>

#include "common/transport/rdma_ip.h"

/* Names and meaning as in the library (rdma_...). */
struct fb_rdma_cm_calls {
	struct rdma_event_channel *(*create_event_channel)(void);
	void (*destroy_event_channel)(struct rdma_event_channel *channel);
	int (*create_id)(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
			 enum rdma_port_space space);
	int (*destroy_id)(struct rdma_cm_id *id);
	int (*bind_addr)(struct rdma_cm_id *id, struct sockaddr *address);
	int (*resolve_addr)(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
			    int timeout_ms);
	int (*resolve_route)(struct rdma_cm_id *id, int timeout_ms);
	int (*listen)(struct rdma_cm_id *id, int backlog);
	int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param);
	int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *param);
	int (*establish)(struct rdma_cm_id *id);
	int (*init_qp_attr)(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask);
	int (*get_cm_event)(struct rdma_event_channel *channel, struct rdma_cm_event **event);
	int (*ack_cm_event)(struct rdma_cm_event *event);
	const char *(*event_str)(enum rdma_cm_event_type event);
	uint16_t (*get_src_port)(struct rdma_cm_id *id);
};

struct fb_rdma_cm {
	void *library;
	struct fb_rdma_cm_calls c;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listeners[FB_RDMA_RAILS];
	int nlisteners;
	struct rdma_cm_id **ids; /* kept, because destroying an id ends its connection */
	int nids, room;
	union fb_rdma_ip *all;   /* [nranks][FB_RDMA_RAILS]: on which IP and port ranks listen */
};

/* Keeps the id until fb_rdma_cm_close(). FB_OK; or FB_ENOMEM (printed), the id destroyed. */
int fb_rdma_cm_keep(struct fb_rdma_cm *cm, struct rdma_cm_id *id);

/* Collective, done once: listens on all rails, and exchanges on which IP and port ranks listen. */
int fb_rdma_cm_listen(struct fb_rdma_cm *cm, const struct fb_rdma_exchange *exchange);

#endif
#endif
