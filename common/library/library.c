/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening optional libraries; see library.h. */
#include "common/library/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *load(const char *file, char *why, size_t n)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const char *text = handle ? NULL : dlerror();

	if (!handle)
		snprintf(why, n, "%s", text ? text : "unknown error");
	return handle;
}

void fb_library_close(void *handle)
{
	if (handle)
		dlclose(handle);
}

void *fb_library_open(const char *file, const char *const folders[], size_t n, char *reason,
		      size_t reason_chars)
{
	char path[PATH_MAX], why[PATH_MAX], ignored[PATH_MAX];
	void *handle = load(file, why, sizeof(why));

	for (size_t i = 0; !handle && !strchr(file, '/') && i < n; i++) {
		if (!folders[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s", folders[i], file);
		handle = load(path, ignored, sizeof(ignored));
	}
	/* The linker's text begins with the file's name, which the reason has already. */
	if (!handle && !strncmp(why, file, strlen(file)) && why[strlen(file)] == ':')
		snprintf(reason, reason_chars, "%s not found%s", file, why + strlen(file));
	else if (!handle)
		snprintf(reason, reason_chars, "%s not found: %s", file, why);
	return handle;
}

void *fb_library_open_cuda(const char *const files[], size_t n, char *reason, size_t reason_chars)
{
	const char *home = getenv("CUDA_HOME");
	char folder[PATH_MAX];
	const char *const folders[] = {folder, "/usr/local/cuda/lib64"};
	void *handle = NULL;

	snprintf(folder, sizeof(folder), "%s/lib64", home ? home : "/usr/local/cuda");
	for (size_t i = 0; !handle && i < n; i++)
		handle = fb_library_open(files[i], folders, 2, reason, reason_chars);
	return handle;
}

void *fb_library_open_beside(const char *variable, const char *name, char *reason,
			     size_t reason_chars)
{
	const char *file = getenv(variable);
	char folder[PATH_MAX] = ".";
	const char *const folders[] = {folder};
	char *slash = realpath("/proc/self/exe", folder) ? strrchr(folder, '/') : NULL;

	if (slash)
		*slash = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return fb_library_open(file ? file : name, folders, 1, reason, reason_chars);
}

const char *fb_library_functions(void *handle, const struct fb_library_symbol *table, size_t n,
				 void *functions)
{
	for (size_t i = 0; i < n; i++) {
		void *address = dlsym(handle, table[i].name);

		if (!address && !table[i].optional)
			return table[i].name;
		/* ISO C has no conversion from void * to a function's address. */
		memcpy((char *)functions + table[i].offset, &address, sizeof(address));
	}
	return NULL;
}

const char *fb_library_file(void *handle)
{
	struct link_map *map = NULL;

	if (dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map) || !map || !*map->l_name)
		return NULL;
	return map->l_name;
}

struct search {
	const char *prefix;
	char *text; /* NULL: only the first library is wanted */
	size_t n;
	char path[PATH_MAX]; /* of the first one */
};

static int add_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name, *end = strstr(file, ".so");
	size_t used = s->text ? strlen(s->text) : 0, length = strlen(s->prefix);

	(void)size;
	if (!s->text && !strncmp(file, s->prefix, length))
		return snprintf(s->path, sizeof(s->path), "%s", info->dlpi_name) > 0;
	if (s->text && end && !strncmp(file, s->prefix, length))
		snprintf(s->text + used, s->n - used, "%s%.*s", used ? "+" : "",
			 (int)(end - file - (long)length), file + length);
	return 0;
}

const char *fb_library_loaded(const char *prefix, char *text, size_t n)
{
	struct search s = {.prefix = prefix, .text = text, .n = n};

	*text = '\0';
	dl_iterate_phdr(add_loaded, &s);
	return text;
}

void *fb_library_find(const char *prefix)
{
	struct search s = {.prefix = prefix};

	dl_iterate_phdr(add_loaded, &s);
	return *s.path ? dlopen(s.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}
