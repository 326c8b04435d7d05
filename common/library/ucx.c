/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading UCX; see ucx.h. */
#include "common/library/ucx.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

static const char log_variable[] = "UCX_LOG_FILE";

#define NEEDED(member) { "ucp_" #member, offsetof(struct fb_ucx, member), false }

static const struct fb_library_symbol symbols[] = {
	NEEDED(get_version_string),
	{"ucs_status_string", offsetof(struct fb_ucx, status_string), false},
	NEEDED(init_version),
	NEEDED(cleanup),
	NEEDED(context_query),
	NEEDED(worker_create),
	NEEDED(worker_destroy),
	NEEDED(worker_get_address),
	NEEDED(worker_release_address),
	NEEDED(worker_progress),
	NEEDED(worker_fence),
	NEEDED(worker_set_am_recv_handler),
	NEEDED(ep_create),
	NEEDED(ep_flush_nbx),
	NEEDED(ep_close_nbx),
	NEEDED(ep_print_info),
	{"ucp_ep_query", offsetof(struct fb_ucx, ep_query), true},
	NEEDED(mem_map),
	NEEDED(mem_unmap),
	NEEDED(rkey_pack),
	NEEDED(rkey_buffer_release),
	NEEDED(ep_rkey_unpack),
	NEEDED(rkey_destroy),
	NEEDED(tag_send_nbx),
	NEEDED(tag_recv_nbx),
	NEEDED(am_send_nbx),
	NEEDED(am_recv_data_nbx),
	NEEDED(put_nbx),
	NEEDED(get_nbx),
	NEEDED(request_check_status),
	NEEDED(request_free),
};

/* The real folder of a file; empty where there is none. */
static void folder_of(const char *file, char folder[PATH_MAX])
{
	char *slash;

	if (!file || !realpath(file, folder)) {
		*folder = '\0';
		return;
	}
	slash = strrchr(folder, '/');
	*slash = '\0';
}

/*
 * Whether libucp and libucs are of different folders. The linker gives libucp the libucs and libuct
 * that are loaded already. If an MPI library brought another version, libucp would crash.
 */
static bool is_mixed(const struct fb_ucx *ucx, char *reason, size_t n)
{
	char own[PATH_MAX], lower[PATH_MAX];
	void *function = NULL;
	Dl_info info;

	memcpy(&function, &ucx->status_string, sizeof(function));
	if (!dladdr(function, &info))
		return false;
	folder_of(ucx->file, own);
	folder_of(info.dli_fname, lower);
	if (!*own || !*lower || !strcmp(own, lower))
		return false;
	snprintf(reason, n, "libucp of %.60s got libucs of %.60s, loaded before it: name the first "
		 "in LD_LIBRARY_PATH", own, lower);
	return true;
}

int fb_ucx_open(struct fb_ucx *ucx, const char *file, char *reason, size_t n)
{
	const char *home = getenv("HPCX_UCX_DIR"), *log = getenv(log_variable), *lacks;
	char folder[PATH_MAX];
	const char *const folders[] = {home ? folder : NULL};
	struct fb_ucx found = {.handle = NULL};

	snprintf(folder, sizeof(folder), "%s/lib", home ? home : "");
	*ucx = found;
	/* UCX opens its log when it is loaded, by default stdout, where the rows are. */
	setenv(log_variable, log ? log : "stderr", 1);
	found.handle = fb_library_open(file, folders, 1, reason, n);
	if (!log)
		unsetenv(log_variable);
	if (!found.handle)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.handle, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "%s is no UCX of 1.10 or later: it has no %s", file, lacks);
		return FB_EUNSUPPORTED;
	}
	found.file = fb_library_file(found.handle);
	if (!found.file)
		found.file = file;
	if (is_mixed(&found, reason, n))
		return FB_EUNSUPPORTED;
	found.version = found.get_version_string();
	*ucx = found;
	return FB_OK;
}

int fb_ucx_error(const struct fb_ucx *ucx, fb_ucx_status status, const char *call, int peer)
{
	const char *transports = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");
	char with[32] = "";

	if (peer >= 0)
		snprintf(with, sizeof(with), " with rank %d", peer);
	return fb_error(FB_ESYS, "ucp_%s%s: %s%s%.80s%s%.80s", call, with,
			ucx->status_string(status),
			transports ? "; UCX_TLS=" : "", transports ? transports : "",
			devices ? "; UCX_NET_DEVICES=" : "", devices ? devices : "");
}

int fb_ucx_complete(const struct fb_ucx *ucx, fb_ucx_pending *pending, const char *call, int peer)
{
	fb_ucx_status status = fb_ucx_pending_error(*pending);

	if (!status && *pending) {
		status = ucx->request_check_status(*pending);
		if (status == FB_UCX_IN_PROGRESS)
			return 0;
		ucx->request_free(*pending);
	}
	*pending = NULL;
	return status ? fb_ucx_error(ucx, status, call, peer) : 1;
}
