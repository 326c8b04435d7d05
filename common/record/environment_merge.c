/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges the facts of all ranks into one table; see environment.h.
 *
 * All entries are sorted by (key, host, rank); then each key is one stretch of the array, and
 * one walk over it decides its scope. O(n log n) for n entries, so thousands of ranks are fine.
 */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "common/record/csv_read.h"
#include "common/system/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Facts under this prefix, or of a launch under it, describe a host at one moment. */
static const char momentary[] = "host.", of_launch[] = ".host.";

enum { FIELD_KEY = 3, FIELDS = 5 }; /* of a row: scope, host, rank, key, value */

struct entry {
	const char *key, *value;
	size_t rank;
	size_t host; /* lowest rank on the same host */
};

struct table {
	struct entry *entries;
	size_t count, capacity;
	size_t nranks;
	const char **hostname; /* [nranks] */
	size_t *host;	       /* [nranks] lowest rank on the same host */
	size_t *size;	       /* [nranks] ranks on the host whose lowest rank this is, else 0 */
	size_t nhosts;
};

/* The string at *at if one ends before `end`, stepping over it; else NULL. */
static const char *next_string(const char **at, const char *end)
{
	const char *start = *at;
	const char *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return start;
}

static int push(struct table *t, struct entry entry)
{
	if (t->count == t->capacity) {
		size_t larger = t->capacity ? t->capacity * 2 : 1024;
		struct entry *entries = realloc(t->entries, larger * sizeof(entries[0]));

		if (!entries)
			return fb_error(FB_ENOMEM, "no memory for the facts of %zu ranks",
					t->nranks);
		t->entries = entries;
		t->capacity = larger;
	}
	t->entries[t->count++] = entry;
	return FB_OK;
}

static int unpack(struct table *t, size_t rank, const char *block, size_t length)
{
	const char *at = block, *end = block + length;

	t->hostname[rank] = "unknown";
	while (at < end) {
		struct entry entry = {.rank = rank};
		int ret;

		entry.key = next_string(&at, end);
		entry.value = entry.key ? next_string(&at, end) : NULL;
		if (!entry.value)
			return fb_error(FB_EDATA, "the facts of rank %zu arrived damaged", rank);
		if (!strcmp(entry.key, "hostname"))
			t->hostname[rank] = entry.value;
		ret = push(t, entry);
		if (ret)
			return ret;
	}
	return FB_OK;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const size_t *x = a, *y = b;
	const struct table *t = arg;
	int order = strcmp(t->hostname[*x], t->hostname[*y]);

	return order ? order : *x < *y ? -1 : *x > *y;
}

/* Fills host, size and nhosts, and sets the host of every entry. */
static int find_hosts(struct table *t)
{
	size_t *sorted = malloc(t->nranks * sizeof(sorted[0]));
	size_t lowest = 0;

	if (!sorted)
		return fb_error(FB_ENOMEM, "no memory for the facts of %zu ranks", t->nranks);
	for (size_t r = 0; r < t->nranks; r++)
		sorted[r] = r;
	qsort_r(sorted, t->nranks, sizeof(sorted[0]), by_name, t);
	for (size_t i = 0; i < t->nranks; i++) {
		size_t rank = sorted[i];

		if (i == 0 || strcmp(t->hostname[rank], t->hostname[lowest])) {
			lowest = rank;
			t->nhosts++;
		}
		t->host[rank] = lowest;
		t->size[lowest]++;
	}
	for (size_t i = 0; i < t->count; i++)
		t->entries[i].host = t->host[t->entries[i].rank];
	free(sorted);
	return FB_OK;
}

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (order)
		return order;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool all_equal(const struct entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(entries[i].value, entries[0].value))
			return false;
	return true;
}

static size_t host_stretch(const struct entry *entries, size_t count)
{
	size_t n = 1;

	while (n < count && entries[n].host == entries[0].host)
		n++;
	return n;
}

static void put(FILE *out, const char *scope, const char *host, const struct entry *entry,
		bool ranked)
{
	fprintf(out, "%s,", scope);
	fb_csv_put_field(out, host);
	fputc(',', out);
	if (ranked)
		fprintf(out, "%zu", entry->rank);
	fputc(',', out);
	fb_csv_put_field(out, entry->key);
	fputc(',', out);
	fb_csv_put_field(out, entry->value);
	fputc('\n', out);
}

/* Keeps one entry per host, the lowest rank's; returns how many are left. */
static size_t keep_first_of_host(struct entry *entries, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept == 0 || entries[i].host != entries[kept - 1].host)
			entries[kept++] = entries[i];
	return kept;
}

/* True for facts of a moment (a host's load): the host's lowest rank gives them for all. */
static bool is_momentary(const char *key)
{
	return !strncmp(key, momentary, strlen(momentary)) ||
	       (!strncmp(key, FB_FACTS_KEPT, strlen(FB_FACTS_KEPT)) && strstr(key, of_launch));
}

/* Writes one key's entries at the widest scope at which they are the same. */
static void put_key(FILE *out, const struct table *t, struct entry *entries, size_t count)
{
	bool moment = is_momentary(entries[0].key);
	size_t n;
	bool per_node = true;

	if (moment)
		count = keep_first_of_host(entries, count);
	if (count == (moment ? t->nhosts : t->nranks) && all_equal(entries, count)) {
		put(out, "run", "", entries, false);
		return;
	}
	for (size_t i = 0; i < count && per_node; i += n) {
		n = host_stretch(entries + i, count - i);
		per_node = (moment || n == t->size[entries[i].host]) && all_equal(entries + i, n);
	}
	for (size_t i = 0; i < count; i += per_node ? n : 1) {
		n = host_stretch(entries + i, count - i);
		put(out, per_node ? "node" : "rank", t->hostname[entries[i].rank], entries + i,
		    !per_node);
	}
}

static void put_kept(FILE *out, char *const fields[FIELDS])
{
	for (int i = 0; i < FIELDS; i++) {
		if (i)
			fputc(',', out);
		fb_csv_put_field(out, fields[i]);
	}
	fputc('\n', out);
}

/*
 * The next row of the earlier file that is to be kept, or false at its end. A file that is not
 * whole ends where it stops to be readable.
 */
static bool next_kept(struct fb_csv_reader *old, const char *own)
{
	while (old->file && fb_csv_reader_next(old) == 1 && !old->torn && old->nfields == FIELDS) {
		const char *key = old->fields[FIELD_KEY];

		if (!strncmp(key, FB_FACTS_KEPT, strlen(FB_FACTS_KEPT)) &&
		    (!own || strncmp(key, own, strlen(own))))
			return true;
	}
	return false;
}

/* Both are sorted by key: merges them. */
static void put_table(FILE *out, const struct table *t, struct fb_csv_reader *old, const char *own)
{
	bool more = next_kept(old, own);
	size_t n;

	fputs("scope,host,rank,key,value\n", out);
	for (size_t i = 0; i < t->count; i += n) {
		for (; more && strcmp(old->fields[FIELD_KEY], t->entries[i].key) < 0;
		     more = next_kept(old, own))
			put_kept(out, old->fields);
		n = 1;
		while (i + n < t->count && !strcmp(t->entries[i].key, t->entries[i + n].key))
			n++;
		put_key(out, t, t->entries + i, n);
	}
	for (; more; more = next_kept(old, own))
		put_kept(out, old->fields);
}

/* Through a temporary file that takes the name at the end: readers never see half of it. */
static int write_file(const char *path, const struct table *t, const char *own)
{
	struct fb_csv_reader old = {.file = NULL};
	char *temporary;
	FILE *out;
	int fd, why;

	if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)
		return fb_error(FB_ENOMEM, "no memory for a path");
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		goto failed;
	if (access(path, R_OK) == 0 && fb_csv_reader_open(&old, path))
		fb_warn("facts of earlier programs are lost");
	put_table(out, t, &old, own);
	fb_csv_reader_close(&old);
	if (fflush(out) || fdatasync(fd) || ferror(out))
		goto failed;
	fd = -1;
	why = fclose(out);
	out = NULL;
	if (why || rename(temporary, path))
		goto failed;
	free(temporary);
	return FB_OK;

failed:
	why = errno;
	if (out)
		fclose(out);
	else if (fd >= 0)
		close(fd);
	unlink(temporary);
	free(temporary);
	return fb_error(FB_EIO, "cannot write '%s': %s", path, strerror(why));
}

int fb_environment_write(const char *path, const char *own, const char *const packed[],
			 const size_t length[], size_t nranks)
{
	struct table t = {.nranks = nranks};
	int ret = FB_OK;

	t.hostname = calloc(nranks, sizeof(t.hostname[0]));
	t.host = calloc(nranks, sizeof(t.host[0]));
	t.size = calloc(nranks, sizeof(t.size[0]));
	if (!t.hostname || !t.host || !t.size)
		ret = fb_error(FB_ENOMEM, "no memory for the facts of %zu ranks", nranks);
	for (size_t r = 0; r < nranks && !ret; r++)
		ret = unpack(&t, r, packed[r], length[r]);
	if (!ret)
		ret = find_hosts(&t);
	if (!ret) {
		if (t.count)
			qsort(t.entries, t.count, sizeof(t.entries[0]), by_key);
		ret = write_file(path, &t, own);
	}
	free(t.entries);
	free(t.hostname);
	free(t.host);
	free(t.size);
	return ret;
}
