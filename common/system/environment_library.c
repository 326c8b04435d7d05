/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about the libraries that the process really loaded; see environment.h.
 *
 * What a program was compiled against says nothing about what runs: modules, LD_LIBRARY_PATH and
 * dlopen decide that. The dynamic linker's own list is asked, and each library's build id is
 * read from its notes in memory, so that even a library replaced on disk is told apart.
 */
#include "common/system/environment.h"

#include <elf.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEM_CHARS = 64, BUILD_ID_CHARS = 2 * 64 + 1 };

/* Libraries that decide results. A name is that of the file up to ".so". */
static const struct {
	const char *name;
	bool begins; /* every library whose name begins so */
} libraries[] = {
	{"libc", false},      {"libcuda", false},     {"libcudart", false}, {"libfabric", true},
	{"libhwloc", true},   {"libibverbs", false},  {"libmlx5", false},   {"libmpi", true},
	{"libnccl", true},    {"libnixl", true},      {"libnuma", false},   {"libnvidia-ml", false},
	{"libnvshmem", true}, {"libopen-pal", false}, {"libpmi", true},	    {"librdmacm", false},
	{"libsharp", true},   {"libucp", true},	      {"libucs", false},    {"libuct", true},
};

static bool is_listed(const char *stem)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		const char *name = libraries[i].name;

		if (!strcmp(stem, name))
			return true;
		if (libraries[i].begins && !strncmp(stem, name, strlen(name)))
			return true;
	}
	return false;
}

/* The hexadecimal build id in notes[0..bytes), or false. A note's parts are padded to 4. */
static bool find_build_id(const unsigned char *notes, size_t bytes, char id[BUILD_ID_CHARS])
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		size_t name, content;

		memcpy(&note, notes, sizeof(note));
		notes += sizeof(note);
		bytes -= sizeof(note);
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > bytes || content > bytes - name)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes, "GNU", 4) && note.n_descsz <= (BUILD_ID_CHARS - 1) / 2) {
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(id + 2 * i, 3, "%02x", notes[name + i]);
			return note.n_descsz > 0;
		}
		notes += name + content;
		bytes -= name + content;
	}
	return false;
}

static bool build_id(const struct dl_phdr_info *info, char id[BUILD_ID_CHARS])
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t at = (uintptr_t)info->dlpi_addr + (uintptr_t)header->p_vaddr;

		if (header->p_type == PT_NOTE &&
		    find_build_id((const unsigned char *)at, header->p_memsz, id))
			return true;
	}
	return false;
}

/* "library.libnccl", or "library.libnccl.2" where one of that name is there already. */
static void make_prefix(const struct fb_facts *facts, const char *stem, char *prefix, size_t n)
{
	char key[STEM_CHARS + 64];

	snprintf(prefix, n, "library.%s", stem);
	for (int i = 2; i < 100; i++) {
		snprintf(key, sizeof(key), "%s.path", prefix);
		if (!fb_facts_get(facts, key))
			return;
		snprintf(prefix, n, "library.%.50s.%d", stem, i);
	}
}

static void add_object(struct fb_facts *facts, const char *prefix, const char *path,
		       const struct dl_phdr_info *info)
{
	char real[PATH_MAX], id[BUILD_ID_CHARS], key[STEM_CHARS + 32];

	snprintf(key, sizeof(key), "%s.path", prefix);
	fb_facts_add(facts, key, "%s", realpath(path, real) ? real : path);
	snprintf(key, sizeof(key), "%s.build_id", prefix);
	if (build_id(info, id))
		fb_facts_add(facts, key, "%s", id);
}

/* The program itself by name and build id: the folder is its user's business, not a result's. */
static void add_program(struct fb_facts *facts, const struct dl_phdr_info *info)
{
	char real[PATH_MAX], id[BUILD_ID_CHARS];
	const char *slash = realpath("/proc/self/exe", real) ? strrchr(real, '/') : NULL;

	fb_facts_add(facts, "binary.file", "%s", slash ? slash + 1 : "unknown");
	if (build_id(info, id))
		fb_facts_add(facts, "binary.build_id", "%s", id);
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct fb_facts *facts = arg;
	const char *path = info->dlpi_name, *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path, *suffix = strstr(file, ".so");
	char stem[STEM_CHARS], prefix[STEM_CHARS + 16];

	(void)size;
	if (!*path && !fb_facts_get(facts, "binary.file"))
		add_program(facts, info);
	if (!suffix || (size_t)(suffix - file) >= sizeof(stem))
		return 0;
	snprintf(stem, sizeof(stem), "%.*s", (int)(suffix - file), file);
	if (is_listed(stem)) {
		make_prefix(facts, stem, prefix, sizeof(prefix));
		add_object(facts, prefix, path, info);
	}
	return 0;
}

void fb_environment_library(struct fb_facts *facts)
{
	dl_iterate_phdr(visit, facts);
	fb_facts_add(facts, "library.libc.version", "%s", gnu_get_libc_version());
}
