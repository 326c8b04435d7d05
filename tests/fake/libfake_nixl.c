/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIXL's C interface (common/mover/nixl.h) between processes of one host, by process_vm_writev and
 * datagrams, with NIXL's rules: memory has to be registered at both ends, an agent knows another by
 * its metadata only, and a request is carried out when its status is asked for, so that requests
 * complete in another order than that of their posting.
 *
 * FB_FAKE_NIXL: stub (what NIXL installs beside machines without it), no-plugin, unregistered
 * (memory is refused), lost (a request fails), short (a read of a file ends a byte too early and
 * fails), cut (it does not fail), foreign (notifications are cut), half-metadata, other-metadata
 * (of an agent that nobody expects), tcp (payload passes through a TCP socket of the process, too,
 * as UCX falls back to).
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/fake/nixl.h"

/* --- agents ----------------------------------------------------------------------------------- */

#ifndef FAKE_NIXL_OLD
/* A connection of the process with itself. */
static int open_tcp(int ends[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), err;

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	err = bind(listener, (struct sockaddr *)&at, n) || listen(listener, 1) ||
	      getsockname(listener, (struct sockaddr *)&at, &n) ||
	      connect(ends[0], (struct sockaddr *)&at, n);
	ends[1] = err ? -1 : accept(listener, NULL, NULL);
	close(listener);
	return ends[1] < 0;
}

CALL(create_configured_agent, const char *name, const struct fb_nixl_config *config, void **agent)
{
	static uint32_t agents;
	struct agent *a = calloc(1, sizeof(*a));
	struct sockaddr_un at;
	socklen_t n;

	(void)config;
	if (!a)
		return BACKEND;
	a->tcp[0] = a->tcp[1] = -1;
	snprintf(a->own.name, NAME, "%s", name);
	a->own.pid = getpid();
	a->own.serial = ++agents;
	/* Where only parents may read a process, any may this one. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	a->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	n = address_of(&a->own, &at);
	*agent = a;
	if (is("tcp") && open_tcp(a->tcp))
		return BACKEND;
	return bind(a->socket, (struct sockaddr *)&at, n) ? BACKEND : 0;
}
#endif

CALL(destroy_agent, void *agent)
{
	struct agent *a = agent;

	close(a->socket);
	for (int i = 0; i < 2 && a->tcp[i] >= 0; i++)
		close(a->tcp[i]);
	free(a->come.note);
	free(a);
	return 0;
}

static bool is_of_files(const char *plugin)
{
	return !strcmp(plugin, "POSIX") || !strcmp(plugin, "GDS");
}

CALL(get_plugin_params, void *agent, const char *plugin, void **memories, void **params)
{
	(void)agent;
	*memories = *params = NULL;
	return is("no-plugin") || (strcmp(plugin, "UCX") && !is_of_files(plugin)) ? NOT_FOUND : 0;
}

CALL(params_add, void *params, const char *key, const char *value)
{
	(void)params;
	return strcmp(key, "num_threads") || !*value ? NOT_FOUND : 0;
}

CALL(create_backend, void *agent, const char *plugin, void *params, void **backend)
{
	(void)params;
	((struct agent *)agent)->files = is_of_files(plugin);
	*backend = agent;
	return 0;
}

CALL(get_local_md, void *agent, void **data, size_t *n)
{
	if (((struct agent *)agent)->files)
		return NOT_FOUND;
	*n = sizeof(struct metadata);
	*data = malloc(*n);
	if (!*data)
		return BACKEND;
	memcpy(*data, &((struct agent *)agent)->own, *n);
	if (is("half-metadata"))
		*n /= 2;
	if (is("other-metadata"))
		((struct metadata *)*data)->name[0] = 'x';
	return 0;
}

CALL(load_remote_md, void *agent, const void *data, size_t n, char **name)
{
	const struct metadata *from = data;
	struct agent *a = agent;
	uint32_t i = 0;

	if (n != sizeof(*from))
		return NOT_FOUND;
	while (i < a->peers && strcmp(a->peer[i].name, from->name))
		i++;
	if (i == AGENTS)
		return BACKEND;
	a->peer[i] = *from;
	a->peers += i == a->peers;
	*name = strdup(from->name);
	return 0;
}

CALL(agent_make_connection, void *agent, const char *peer, void *args)
{
	(void)args;
	return find(agent, peer) ? 0 : NOT_FOUND;
}

CALL(is_stub, void)
{
	return is("stub");
}

/* --- optional arguments, lists, memory -------------------------------------------------------- */

CALL(create_opt_args, void **args)
{
	*args = calloc(1, sizeof(struct args));
	return *args ? 0 : BACKEND;
}

CALL(destroy_opt_args, void *args)
{
	free(args);
	return 0;
}

CALL(opt_args_add_backend, void *args, void *backend)
{
	return args && backend ? 0 : NOT_FOUND;
}

CALL(opt_args_set_notif_msg, void *args, const void *data, size_t n)
{
	struct args *a = args;

	if (n > NOTE)
		return BACKEND;
	memcpy(a->note, data, n);
	a->bytes = n;
	return 0;
}

CALL(opt_args_set_has_notif, void *args, bool has)
{
	((struct args *)args)->has = has;
	return 0;
}

CALL(create_xfer_dlist, int kind, void **list, bool sorted)
{
	struct list *l = calloc(1, sizeof(*l));

	(void)sorted;
	if (!l)
		return BACKEND;
	l->kind = (uint64_t)kind;
	*list = l;
	return 0;
}

CALL(destroy_xfer_dlist, void *list)
{
	free(((struct list *)list)->area);
	free(list);
	return 0;
}

CALL(xfer_dlist_add_desc, void *list, uintptr_t at, size_t n, uint64_t device)
{
	struct list *l = list;
	struct area *more = realloc(l->area, (l->n + 1) * sizeof(*more));

	if (!more)
		return BACKEND;
	l->area = more;
	l->area[l->n++] = (struct area){at, n, l->kind, device};
	return 0;
}

CALL(create_reg_dlist, int kind, void **list, bool sorted)
{
	return nixl_capi_create_xfer_dlist(kind, list, sorted);
}

CALL(destroy_reg_dlist, void *list)
{
	return nixl_capi_destroy_xfer_dlist(list);
}

CALL(reg_dlist_add_desc, void *list, uintptr_t at, size_t n, uint64_t device, const void *data,
     size_t data_bytes)
{
	(void)data;
	(void)data_bytes;
	return nixl_capi_xfer_dlist_add_desc(list, at, n, device);
}

CALL(register_mem, void *agent, void *list, void *args)
{
	struct metadata *own = &((struct agent *)agent)->own;
	const struct list *l = list;

	(void)args;
	for (size_t i = 0; i < l->n; i++) {
		if (own->areas == REGIONS || is("unregistered") ||
		    (l->area[i].kind == FB_NIXL_FILE && !((struct agent *)agent)->files))
			return BACKEND;
		own->area[own->areas++] = l->area[i];
	}
	return 0;
}

CALL(deregister_mem, void *agent, void *list, void *args)
{
	struct metadata *own = &((struct agent *)agent)->own;
	const struct list *l = list;
	uint32_t k = 0;

	(void)args;
	while (k < own->areas && memcmp(&own->area[k], l->area, sizeof(*l->area)))
		k++;
	if (k == own->areas)
		return NOT_FOUND;
	own->area[k] = own->area[--own->areas];
	return 0;
}

#include "tests/fake/nixl_requests.h"
