/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two parts of libfake_nixl.c share. */
#ifndef FB_TESTS_FAKE_NIXL_H
#define FB_TESTS_FAKE_NIXL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/mover/nixl.h"

enum { NOT_FOUND = -4, BACKEND = -6, REGIONS = 16, AGENTS = 16, NAME = 32, NOTE = 64 };
enum { CHUNK = 32 << 10 };

struct area {
	uint64_t at, bytes, kind, device; /* of a file, kind FB_NIXL_FILE: its descriptor */
};

/* What an agent says of itself. */
struct metadata {
	char name[NAME];
	int pid;
	uint32_t serial; /* of the process's agents */
	uint32_t areas;
	struct area area[REGIONS];
};

struct note {
	char from[NAME], data[NOTE];
	size_t bytes;
};

struct map {
	struct note *note;
	size_t n;
};

struct agent {
	struct metadata own, peer[AGENTS];
	uint32_t peers;
	int socket, tcp[2];
	bool files; /* the plugin is of files */
	struct map come; /* notifications that nobody has asked for yet */
};

struct list {
	uint64_t kind;
	size_t n;
	struct area *area;
};

/* Optional arguments, and requests, which have kept a notification's from the last post. */
struct args {
	char note[NOTE];
	size_t bytes;
	bool has;
};

struct request {
	struct list local, remote;
	struct args args;
	char peer[NAME];
	int operation;
};

#define CALL(name, ...) int nixl_capi_##name(__VA_ARGS__); int nixl_capi_##name(__VA_ARGS__)

static bool is(const char *how)
{
	const char *asked = getenv("FB_FAKE_NIXL");

	return asked && !strcmp(asked, how);
}

static const struct metadata *find(const struct agent *a, const char *name)
{
	if (!strcmp(a->own.name, name))
		return &a->own;
	for (uint32_t i = 0; i < a->peers; i++)
		if (!strcmp(a->peer[i].name, name))
			return &a->peer[i];
	return NULL;
}

static socklen_t address_of(const struct metadata *of, struct sockaddr_un *to)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	/* Abstract: the first character stays 0, and nothing is left behind. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1,
					    "fake-nixl-%d-%u", of->pid, of->serial));
}

#endif
