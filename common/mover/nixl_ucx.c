/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version and the transports of UCX below NIXL, whose interface has neither. The UCX that
 * NIXL's plugin has loaded says its version. The transports are in the tables of protocols that UCX
 * logs when an endpoint first needs them. So UCX logs to memory of this process, and all lines but
 * the tables are copied to stderr. Variables that the user has set are not changed.
 *
 * UCX opens its log once, when it is loaded. If the plugin uses a UCX that was loaded before, by
 * mover ucx or by the MPI library, it logs elsewhere, with the messages of all of its users. Then
 * the tables are not requested, and the transports of this mover are not known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/library/library.h"
#include "common/library/ucx.h"
#include "common/mover/nixl.h"

static const char log_variable[] = "UCX_LOG_FILE", table_variable[] = "UCX_PROTO_INFO";

void fb_nixl_ucx_begin(struct fb_nixl_mover *m)
{
	char name[32];

	if (strcmp(m->plugin, "UCX") || getenv(log_variable) || getenv(table_variable))
		return;
	m->log = memfd_create("fabricbench-ucx", MFD_CLOEXEC);
	if (m->log <= 0)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", m->log);
	setenv(log_variable, name, 1);
}

/* UCX's own descriptor of the log's memory file; 0: UCX has not opened it. */
static int find_log(int log)
{
	struct stat own, other;

	for (int fd = fstat(log, &own) ? FB_NIXL_FILES : 0; fd < FB_NIXL_FILES; fd++)
		if (fd != log && !fstat(fd, &other) && other.st_dev == own.st_dev &&
		    other.st_ino == own.st_ino)
			return fd;
	return 0;
}

void fb_nixl_ucx_loaded(struct fb_nixl_mover *m)
{
	if (m->log <= 0)
		return;
	unsetenv(log_variable);
	m->ucx_log = find_log(m->log);
	if (m->ucx_log)
		setenv(table_variable, "y", 1);
}

void fb_nixl_ucx_begun(struct fb_nixl_mover *m)
{
	static const struct fb_library_symbol table[] = {
		{"ucp_get_version_string", offsetof(struct fb_nixl_mover, ucx_version), true},
		{"ucs_log_flush", offsetof(struct fb_nixl_mover, ucx_flush), true},
	};

	if (m->ucx_log)
		unsetenv(table_variable);
	if (!strcmp(m->plugin, "UCX"))
		m->ucx_plugin = fb_library_find("libplugin_UCX.");
	if (!m->ucx_plugin)
		return;
	fb_library_functions(m->ucx_plugin, table, sizeof(table) / sizeof(table[0]), m);
	if (m->ucx_version) {
		snprintf(m->ucx, sizeof(m->ucx), "%.30s", m->ucx_version());
		fb_fact(m->mover.session, "library.nixl.libucp.version", "%s", m->ucx);
	}
}

char *fb_nixl_ucx_pass_on(struct fb_nixl_mover *m)
{
	const char *line;
	struct stat s;
	char *text;
	ssize_t n;

	if (m->ucx_flush)
		m->ucx_flush();
	if (!m->ucx_log || fstat(m->log, &s) || !s.st_size)
		return NULL;
	line = text = malloc((size_t)s.st_size + 1);
	if (!text)
		return NULL;
	n = pread(m->log, text, (size_t)s.st_size, 0);
	text[n > 0 ? n : 0] = '\0';
	line += m->passed < strlen(text) ? m->passed : strlen(text);
	for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
		const char *body = strstr(line, "] ");

		for (const char *next = body; next && next < end; next = strstr(next + 1, "] "))
			body = next;
		body = body && body < end ? body + 2 : line;
		body += strspn(body, " ");
		if (*body != '|' && *body != '+' && body < end)
			fprintf(stderr, "%.*s\n", (int)(end - line), line);
	}
	m->passed = (size_t)(line - text);
	return text;
}

void fb_nixl_ucx_end(struct fb_nixl_mover *m)
{
	free(fb_nixl_ucx_pass_on(m));
	/* Other users of this UCX may log later: these lines go to stderr. */
	if (m->ucx_log)
		dup2(STDERR_FILENO, m->ucx_log);
	if (m->log > 0)
		close(m->log);
	fb_library_close(m->ucx_plugin);
}

void fb_nixl_ucx_path(struct fb_nixl_mover *m, const struct fb_move *move, char *path, size_t n)
{
	bool get = move->transfers && move->transfer[0].verb == FB_MOVE_GET;
	char *text = fb_nixl_ucx_pass_on(m);

	snprintf(path, n, "%s%s", *m->ucx ? ", UCX " : "", m->ucx);
	if (text)
		fb_ucx_path_from_tables(text, get ? "remote memory read" : "remote memory write",
					path, n);
	free(text);
}
