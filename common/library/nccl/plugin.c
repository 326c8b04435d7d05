/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading the tuner plugin from within a program; see plugin.h. */
#include "common/library/nccl/plugin.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/library/library.h"

static const char variable[] = "NCCL_TUNER_PLUGIN";

/* State that is opened once. */
struct opened {
	struct fb_nccl_plugin plugin;
	void *library; /* NULL: closed, because another rank could not open it */
};

static bool in_use;

/* Whether the file has a line NAME=VALUE, which NCCL takes like a variable. */
static bool is_in_file(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	const size_t n = strlen(name);
	char line[1024];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, name, n) && line[n] == '=';
	if (file)
		fclose(file);
	return found;
}

/* Whether the environment, or a file of settings that NCCL adds to it, has the variable. */
static bool is_set(const char *name)
{
	const char *file = getenv("NCCL_CONF_FILE");
	const struct passwd *user = file && *file ? NULL : getpwuid(getuid());
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", user ? user->pw_dir : file ? file : "",
		 user ? "/.nccl.conf" : "");
	return getenv(name) || is_in_file(path, name) || is_in_file("/etc/nccl.conf", name);
}

/* Whether no variable overrides tuners. `careful`: and no other plugin may have one. */
static bool is_free(bool careful, char why[FB_REASON_CHARS])
{
	static const char *const taken[] = {variable, "NCCL_ALGO", "NCCL_PROTO", "NCCL_NET_PLUGIN"};
	static const char *const others[] = {"libnccl-tuner.so", "libnccl-net.so"};
	char ignored[FB_REASON_CHARS];

	for (int i = 0; i < (careful ? 4 : 3); i++)
		if (is_set(taken[i])) {
			snprintf(why, FB_REASON_CHARS, "the tuner plugin is not used: %s is set",
				 taken[i]);
			return false;
		}
	for (int i = 0; careful && i < 2; i++) {
		void *other = fb_library_open(others[i], NULL, 0, ignored, sizeof(ignored));

		fb_library_close(other);
		if (other) {
			snprintf(why, FB_REASON_CHARS, "the tuner plugin is not used: %s may have "
				 "one", others[i]);
			return false;
		}
	}
	return true;
}

static int open_once(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	static const struct fb_library_symbol table[] = {
		{"fb_nccl_tuner_force", offsetof(struct fb_nccl_plugin, force), false},
		{"fb_nccl_tuner_obeyed", offsetof(struct fb_nccl_plugin, obeyed), false}};
	struct opened *o = thing;
	const char *lacks;

	if (is_free(session->settings->nccl_force_by == FB_NCCL_BY_AUTO, why))
		o->library = fb_library_open_beside("FB_NCCL_PLUGIN", "libfabricbench-nccl.so", why,
						    FB_REASON_CHARS);
	if (!o->library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(o->library, table, sizeof(table) / sizeof(table[0]),
				     &o->plugin);
	if (!lacks && fb_library_file(o->library))
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "libfabricbench-nccl.so has no %s", lacks ? lacks : "path");
	fb_library_close(o->library);
	return FB_EUNSUPPORTED;
}

/* Does not close the library, because NCCL may use it. */
static void close_once(void *thing)
{
	(void)thing;
}

static const struct fb_once once = {
	.bytes = sizeof(struct opened), .open = open_once, .close = close_once};

/* From 2.24 on all versions have interface version 3 and log which algorithm and protocol ran. */
int fb_nccl_plugin_use(struct fb_nccl_plugin *plugin, const struct fb_nccl *nccl,
		       const struct fb_session *session, const struct fb_group *group,
		       char why[FB_REASON_CHARS])
{
	char version[FB_NCCL_NAME_CHARS];
	const char *missing = "";
	struct opened *o = NULL;
	void *found = NULL;
	int err;

	*plugin = (struct fb_nccl_plugin){NULL, NULL};
	if (nccl->version < 22403) {
		snprintf(why, FB_REASON_CHARS, "NCCL %s is too old for the tuner plugin (2.24)",
			 fb_nccl_version_text(nccl, version));
		return FB_EUNSUPPORTED;
	}
	err = fb_session_once(session, &once, &found, &missing);
	if (err)
		snprintf(why, FB_REASON_CHARS, "%s", missing);
	o = found;
	err = fb_group_agree_why(group, err, why, FB_REASON_CHARS);
	/* NCCL may load it only if all ranks have it. */
	if (!err && o) {
		*plugin = o->plugin;
		(void)plugin->force(NULL, NULL); /* from now on it needs no table */
		(void)setenv(variable, fb_library_file(o->library), 1);
		in_use = true;
	} else if (o) {
		fb_library_close(o->library);
		o->library = NULL;
	}
	return err;
}

bool fb_nccl_plugin_in_use(void)
{
	return in_use;
}

void fb_nccl_plugin_force(const struct fb_nccl_plugin *plugin,
			  const struct fb_nccl_algo_proto *choice)
{
	bool forced = choice && fb_nccl_is_forced(choice);
	bool any = forced && !strcmp(choice->protocol, "library");

	if (plugin->force)
		(void)plugin->force(forced ? choice->algorithm : NULL,
				    forced && !any ? choice->protocol : NULL);
}
