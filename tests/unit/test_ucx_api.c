/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX found at run time: what is missing is said, what an endpoint uses is read from UCX's text,
 * and the numbers and structures declared by hand are those of UCX's headers where these are
 * installed.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "p2p/engine/ucx.h"
#include "tests/unit/check.h"

#if __has_include(<ucp/api/ucp.h>)
#include <ucp/api/ucp.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SIZE(type, member) sizeof(((type *)0)->member)
/* The same member, of the same size, at the same place. */
#define LIKE(ours, our_member, theirs, their_member)                                             \
	SAME(offsetof(struct ours, our_member), offsetof(theirs, their_member));                  \
	SAME(SIZE(struct ours, our_member), SIZE(theirs, their_member))

SAME(sizeof(fb_ucx_status), sizeof(ucs_status_t));
SAME(FB_UCX_OK, UCS_OK);
SAME(FB_UCX_IN_PROGRESS, UCS_INPROGRESS);
SAME(FB_UCX_LAST_ERROR, UCS_ERR_LAST);
SAME(sizeof(fb_ucx_pending), sizeof(ucs_status_ptr_t));

SAME(FB_UCX_PARAMS_FEATURES, UCP_PARAM_FIELD_FEATURES);
SAME(FB_UCX_PARAMS_ENDPOINTS, UCP_PARAM_FIELD_ESTIMATED_NUM_EPS);
SAME(FB_UCX_WORKER_THREADS, UCP_WORKER_PARAM_FIELD_THREAD_MODE);
SAME(FB_UCX_EP_ADDRESS, UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
SAME(FB_UCX_EP_ERROR_MODE, UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE);
SAME(FB_UCX_EP_ERROR_HANDLER, UCP_EP_PARAM_FIELD_ERR_HANDLER);
SAME(FB_UCX_ERRORS_TOLD, UCP_ERR_HANDLING_MODE_PEER);
SAME(FB_UCX_MAP_ADDRESS, UCP_MEM_MAP_PARAM_FIELD_ADDRESS);
SAME(FB_UCX_MAP_LENGTH, UCP_MEM_MAP_PARAM_FIELD_LENGTH);
SAME(FB_UCX_HANDLER_ID, UCP_AM_HANDLER_PARAM_FIELD_ID);
SAME(FB_UCX_HANDLER_FLAGS, UCP_AM_HANDLER_PARAM_FIELD_FLAGS);
SAME(FB_UCX_HANDLER_CALLBACK, UCP_AM_HANDLER_PARAM_FIELD_CB);
SAME(FB_UCX_HANDLER_ARG, UCP_AM_HANDLER_PARAM_FIELD_ARG);
SAME(FB_UCX_CONTEXT_MEMORIES, UCP_ATTR_FIELD_MEMORY_TYPES);
SAME(FB_UCX_OP_CALLBACK, UCP_OP_ATTR_FIELD_CALLBACK);
SAME(FB_UCX_OP_USER, UCP_OP_ATTR_FIELD_USER_DATA);
SAME(FB_UCX_FEATURE_TAG, UCP_FEATURE_TAG);
SAME(FB_UCX_FEATURE_RMA, UCP_FEATURE_RMA);
SAME(FB_UCX_FEATURE_AM, UCP_FEATURE_AM);
SAME(FB_UCX_THREADS_SINGLE, UCS_THREAD_MODE_SINGLE);
SAME(FB_UCX_MEMORY_CUDA, UCS_MEMORY_TYPE_CUDA);
SAME(FB_UCX_AM_WHOLE, UCP_AM_FLAG_WHOLE_MSG);
SAME(FB_UCX_AM_RENDEZVOUS, UCP_AM_RECV_ATTR_FLAG_RNDV);

LIKE(fb_ucx_params, mask, ucp_params_t, field_mask);
LIKE(fb_ucx_params, features, ucp_params_t, features);
LIKE(fb_ucx_params, request_size, ucp_params_t, request_size);
LIKE(fb_ucx_params, tag_sender_mask, ucp_params_t, tag_sender_mask);
LIKE(fb_ucx_params, shared_workers, ucp_params_t, mt_workers_shared);
LIKE(fb_ucx_params, endpoints, ucp_params_t, estimated_num_eps);
LIKE(fb_ucx_worker_params, mask, ucp_worker_params_t, field_mask);
LIKE(fb_ucx_worker_params, threads, ucp_worker_params_t, thread_mode);
LIKE(fb_ucx_ep_params, mask, ucp_ep_params_t, field_mask);
LIKE(fb_ucx_ep_params, address, ucp_ep_params_t, address);
LIKE(fb_ucx_ep_params, error_mode, ucp_ep_params_t, err_mode);
LIKE(fb_ucx_ep_params, failed, ucp_ep_params_t, err_handler.cb);
LIKE(fb_ucx_ep_params, arg, ucp_ep_params_t, err_handler.arg);
LIKE(fb_ucx_map_params, mask, ucp_mem_map_params_t, field_mask);
LIKE(fb_ucx_map_params, address, ucp_mem_map_params_t, address);
LIKE(fb_ucx_map_params, length, ucp_mem_map_params_t, length);
LIKE(fb_ucx_context_attr, mask, ucp_context_attr_t, field_mask);
LIKE(fb_ucx_context_attr, memory_types, ucp_context_attr_t, memory_types);
LIKE(fb_ucx_ep_attr, mask, ucp_ep_attr_t, field_mask);
LIKE(fb_ucx_ep_attr, name, ucp_ep_attr_t, name);
LIKE(fb_ucx_ep_attr, local, ucp_ep_attr_t, local_sockaddr);
LIKE(fb_ucx_ep_attr, remote, ucp_ep_attr_t, remote_sockaddr);
LIKE(fb_ucx_op, mask, ucp_request_param_t, op_attr_mask);
LIKE(fb_ucx_op, flags, ucp_request_param_t, flags);
LIKE(fb_ucx_op, received, ucp_request_param_t, cb);
LIKE(fb_ucx_op, datatype, ucp_request_param_t, datatype);
LIKE(fb_ucx_op, user, ucp_request_param_t, user_data);
LIKE(fb_ucx_op, memory_type, ucp_request_param_t, memory_type);
LIKE(fb_ucx_op, received_info, ucp_request_param_t, recv_info);
LIKE(fb_ucx_am_info, attributes, ucp_am_recv_param_t, recv_attr);
LIKE(fb_ucx_am_info, reply_ep, ucp_am_recv_param_t, reply_ep);
LIKE(fb_ucx_am_handler, mask, ucp_am_handler_param_t, field_mask);
LIKE(fb_ucx_am_handler, id, ucp_am_handler_param_t, id);
LIKE(fb_ucx_am_handler, flags, ucp_am_handler_param_t, flags);
LIKE(fb_ucx_am_handler, arrived, ucp_am_handler_param_t, cb);
LIKE(fb_ucx_am_handler, arg, ucp_am_handler_param_t, arg);

/* Structures that UCX fills have room for all of its members. */
_Static_assert(sizeof(struct fb_ucx_context_attr) >= sizeof(ucp_context_attr_t), "context");
_Static_assert(sizeof(struct fb_ucx_ep_attr) >= sizeof(ucp_ep_attr_t), "endpoint");
_Static_assert(sizeof(struct fb_ucx_op) >= sizeof(ucp_request_param_t), "operation");

#if UCP_API_VERSION >= UCP_VERSION(1, 15)
SAME(FB_UCX_EP_TRANSPORTS, UCP_EP_ATTR_FIELD_TRANSPORTS);
LIKE(fb_ucx_ep_attr, transports, ucp_ep_attr_t, transports.entries);
LIKE(fb_ucx_ep_attr, ntransports, ucp_ep_attr_t, transports.num_entries);
LIKE(fb_ucx_ep_attr, transport_bytes, ucp_ep_attr_t, transports.entry_size);
SAME(sizeof(struct fb_ucx_transport), sizeof(ucp_transport_entry_t));
LIKE(fb_ucx_transport, transport, ucp_transport_entry_t, transport_name);
LIKE(fb_ucx_transport, device, ucp_transport_entry_t, device_name);
#endif

static void test_header(void)
{
	CHECK_INT(fb_ucx_pending_error(UCS_STATUS_PTR(UCS_ERR_UNREACHABLE)), UCS_ERR_UNREACHABLE);
	CHECK_INT(UCS_PTR_IS_ERR(UCS_STATUS_PTR(FB_UCX_LAST_ERROR)), 1);
	CHECK(sizeof(ucp_tag_t) == sizeof(uint64_t));
}
#else
static void test_header(void)
{
	printf("the structures are not compared: there are no headers of UCX (libucx-dev)\n");
}
#endif

static void test_pending(void)
{
	int request = 0;

	CHECK_INT(fb_ucx_pending_error(NULL), 0);
	CHECK_INT(fb_ucx_pending_error(&request), 0);
	CHECK_INT(fb_ucx_pending_error((void *)(intptr_t)-1), -1);
	CHECK_INT(fb_ucx_pending_error((void *)(intptr_t)-100), -100);
	CHECK_INT(fb_ucx_pending_error((void *)(intptr_t)-101), 0);
}

static void test_missing(void)
{
	struct fb_ucx ucx;
	char why[192];

	CHECK_INT(fb_ucx_open(&ucx, "/nowhere/libucp.so.0", why, sizeof(why)), FB_EUNSUPPORTED);
	CHECK(ucx.handle == NULL);
	CHECK(!strncmp(why, "/nowhere/libucp.so.0 not found: ", 32));
	setenv("HPCX_UCX_DIR", "/nowhere", 1);
	CHECK_INT(fb_ucx_open(&ucx, "libucp-is-not-here.so.0", why, sizeof(why)),
		  FB_EUNSUPPORTED);
	CHECK(!strncmp(why, "libucp-is-not-here.so.0 not found: ", 35));
	unsetenv("HPCX_UCX_DIR");
	CHECK_INT(fb_ucx_open(&ucx, "libc.so.6", why, sizeof(why)), FB_EUNSUPPORTED);
	CHECK_STR(why, "libc.so.6 is no UCX of 1.10 or later: it has no ucp_get_version_string");
}

/* As 1.13.1 writes it. */
static const char lanes[] =
	"#\n# UCP endpoint 0x7f1a5c0d4000\n#\n#               peer: uuid 0xb1c\n"
	"#               lane[0]:  2:posix/memory.0 md[2]      -> md[2]/posix/sysdev[255] am\n"
	"#               lane[1]:  3:cma/memory.0 md[3]        -> md[3]/cma/sysdev[255] rma_bw#0\n"
	"#               lane[2]: 17:rc_mlx5/mlx5_0:1.0 md[4]  -> md[4]/ib/sysdev[0] rma_bw#1\n"
	"#               lane[3]:  2:posix/memory.1 md[2]      -> md[2]/posix/sysdev[255] am\n"
	"#               lane[4]:  nothing\n#                tag_send: 0..<egr/short>..8246\n";

static void test_path(void)
{
	char path[192] = "UCX 1.13.1", small[20] = "UCX 1.13.1";

	fb_ucx_path_from_text(lanes, path, sizeof(path));
	CHECK_STR(path, "UCX 1.13.1 posix/memory+cma/memory+rc_mlx5/mlx5_0:1");
	fb_ucx_path_from_text(lanes, small, sizeof(small));
	CHECK_STR(small, "UCX 1.13.1");
	strcpy(path, "UCX 1");
	fb_ucx_path_from_text("# lane[0]", path, sizeof(path));
	CHECK_STR(path, "UCX 1");
}

/* What UCX_PROTO_INFO=y writes, here of UCX 1.23 and, of two rails, as older versions do. */
static const char tables[] =
	"[179.9] [h:1 :0]   +--------+-------------+-----------------------------------+\n"
	"[179.9] [h:1 :0]   | rank0 self cfg#0                                         |\n"
	"[179.9] [h:1 :0]   | remote memory write by ucp_put* from host memory to host |\n"
	"[179.9] [h:1 :0]   | Range  | Description | Config                            |\n"
	"[179.9] [h:1 :0]   | 0..inf | zero-copy   | cma/memory                        |\n"
	"[179.9] [h:1 :0]   | active message by ucp_am_send* from host memory          |\n"
	"[179.9] [h:1 :0]   |      0 | short       | tcp/lo                            |\n"
	"[179.9] [h:1 :0]   | ep_cfg[1] | remote memory read by ucp_get* into host memory |\n"
	"[179.9] [h:1 :0]   |   0..99 | copy-out | rc_mlx5/mlx5_0:1/path0               |\n"
	"[179.9] [h:1 :0]   | 100..inf | zero-copy | 50% on rc_mlx5/mlx5_0:1/path0 and 50% on "
	"rc_mlx5/mlx5_1:1/path0 |\n";

static void test_tables(void)
{
	char path[192] = "UCX 1", small[8] = "UCX 1";

	fb_ucx_path_from_tables(tables, "remote memory write", path, sizeof(path));
	CHECK_STR(path, "UCX 1 cma/memory");
	fb_ucx_path_from_tables(tables, "remote memory read", path, sizeof(path));
	CHECK_STR(path, "UCX 1 cma/memory+rc_mlx5/mlx5_0:1/path0+rc_mlx5/mlx5_1:1/path0");
	fb_ucx_path_from_tables(tables, "remote memory write", small, sizeof(small));
	CHECK_STR(small, "UCX 1");
	strcpy(path, "UCX 1");
	fb_ucx_path_from_tables("| x by ucp_\n| remote memory write by ucp_put\n| 0", "remote "
				"memory write", path, sizeof(path));
	CHECK_STR(path, "UCX 1");
}

/* The one that this machine has, if any. */
static void test_real(void)
{
	struct fb_ucx ucx;
	char why[192];

	if (fb_ucx_open(&ucx, "libucp.so.0", why, sizeof(why))) {
		printf("no UCX is opened: %s\n", why);
		return;
	}
	CHECK(ucx.version != NULL && strchr(ucx.version, '.') != NULL);
	CHECK(strstr(ucx.file, "libucp.so") != NULL);
	CHECK_STR(ucx.status_string(-6), "Destination is unreachable");
	CHECK_INT(fb_ucx_error(&ucx, -6, "ep_create", 3), FB_ESYS);
}

int main(void)
{
	test_header();
	test_pending();
	test_missing();
	test_path();
	test_tables();
	test_real();
	return check_done("ucx_api");
}
