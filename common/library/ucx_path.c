/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports and devices of a UCX endpoint. UCX reports them since 1.15; in earlier versions
 * they are in the text that ucp_ep_print_info() writes, a line for each lane:
 *
 *	#                 lane[0]:  2:posix/memory.0 md[2]      -> md[2]/posix/sysdev[255] ...
 */
#include "common/library/ucx.h"

#include <stdlib.h>
#include <string.h>

enum { TRANSPORTS = 32, NAME_CHARS = 64 };

/* Whether the path has this part already. */
static bool has_part(const char *path, const char *part)
{
	size_t length = strlen(part);

	for (const char *at = path; (at = strstr(at, part)); at += length)
		if ((at == path || at[-1] == '+' || at[-1] == ' ') &&
		    (at[length] == '+' || !at[length]))
			return true;
	return false;
}

static void add_part(const char *part, char *path, size_t n)
{
	size_t used = strlen(path);

	if (has_part(path, part) || used + strlen(part) + 2 > n)
		return;
	snprintf(path + used, n - used, "%s%s", strchr(path, '/') ? "+" : " ", part);
}

void fb_ucx_path_from_text(const char *text, char *path, size_t n)
{
	for (const char *at = text; (at = strstr(at, "lane[")); at++) {
		const char *name = strchr(at, ':'), *slash;
		char part[NAME_CHARS];
		size_t length, digits;

		if (!name)
			return;
		name++;
		name += strspn(name, " ");
		digits = strspn(name, "0123456789");
		if (digits && name[digits] == ':')
			name += digits + 1;
		length = strcspn(name, " \n");
		slash = memchr(name, '/', length);
		if (!slash || slash == name || length >= sizeof(part))
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)length, name);
		/* Cuts the number of the device's instance, ".0". */
		part[strcspn(part, ".")] = '\0';
		if (*part)
			add_part(part, path, n);
	}
}

/* Adds the words of a cell that name transport and device: "50% on rc_mlx5/mlx5_0:1 and ...". */
static void add_cell(const char *cell, const char *end, char *path, size_t n)
{
	while (cell < end) {
		size_t length = strcspn(cell, " |\n");
		char part[NAME_CHARS];

		if (memchr(cell, '/', length) && length < sizeof(part)) {
			snprintf(part, sizeof(part), "%.*s", (int)length, cell);
			add_part(part, path, n);
		}
		cell += length + 1;
	}
}

/*
 * A table has its operation in one line, then lines with a range of sizes, a protocol, and devices:
 *
 *	| remote memory write by ucp_put* from host memory to host |
 *	| 0..inf | zero-copy | cma/memory                          |
 */
void fb_ucx_path_from_tables(const char *text, const char *operation, char *path, size_t n)
{
	bool asked = false;

	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		const char *bar = strchr(line, '|'), *cell[2] = {NULL};
		const char *by = strstr(line, " by ucp_");

		end = line + strcspn(line, "\n");
		if (by && by < end) {
			const char *name = strstr(line, operation);

			asked = name && name < by;
			continue;
		}
		if (!asked || !bar || bar > end)
			continue;
		for (int i = 0; i < 2 && bar; i++)
			bar = cell[i] = strchr(bar + 1, '|');
		/* A line without a range of sizes is a title. */
		bar = strchr(line, '|') + 1;
		bar += strspn(bar, " ");
		if (cell[1] && cell[1] < end && strchr("0123456789", *bar))
			add_cell(cell[1] + 1, end, path, n);
	}
}

/* Asks UCX itself. False: this version does not report transports. */
static bool ask(const struct fb_ucx *ucx, void *ep, char *path, size_t n)
{
	struct fb_ucx_transport transports[TRANSPORTS] = {{NULL, NULL}};
	struct fb_ucx_ep_attr attr = {
		.mask = FB_UCX_EP_TRANSPORTS, .transports = transports,
		.ntransports = TRANSPORTS, .transport_bytes = sizeof(transports[0]),
	};
	char part[NAME_CHARS];

	if (!ucx->ep_query || ucx->ep_query(ep, &attr) != FB_UCX_OK || !transports[0].transport)
		return false;
	for (unsigned i = 0; i < attr.ntransports && i < TRANSPORTS; i++) {
		snprintf(part, sizeof(part), "%.30s/%.30s", transports[i].transport,
			 transports[i].device ? transports[i].device : "");
		if (*part)
			add_part(part, path, n);
	}
	return true;
}

void fb_ucx_path(const struct fb_ucx *ucx, void *ep, char *path, size_t n)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *stream;

	snprintf(path, n, "UCX %.32s", ucx->version);
	if (!ep || ask(ucx, ep, path, n))
		return;
	stream = open_memstream(&text, &bytes);
	if (!stream)
		return;
	ucx->ep_print_info(ep, stream);
	fclose(stream);
	if (text)
		fb_ucx_path_from_text(text, path, n);
	free(text);
}
