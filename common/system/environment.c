/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of facts and the order in which they are collected; see environment.h. */
#include "common/system/environment.h"

#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Control characters become blanks; blanks at both ends go. Returns the new start. */
static char *clean(char *text)
{
	char *start, *end;

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	start = text + strspn(text, " ");
	end = start + strlen(start);
	while (end > start && end[-1] == ' ')
		*--end = '\0';
	return start;
}

static struct fb_fact *find(const struct fb_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->item[i].key, key))
			return &facts->item[i];
	return NULL;
}

/* A new entry with a copy of the key and no value, or NULL. */
static struct fb_fact *append(struct fb_facts *facts, const char *key)
{
	char *copy;

	if (facts->count == facts->capacity) {
		size_t larger = facts->capacity ? facts->capacity * 2 : 64;
		struct fb_fact *item = realloc(facts->item, larger * sizeof(item[0]));

		if (!item)
			return NULL;
		facts->item = item;
		facts->capacity = larger;
	}
	copy = strdup(key);
	if (!copy)
		return NULL;
	facts->item[facts->count] = (struct fb_fact){.key = copy};
	return &facts->item[facts->count++];
}

void fb_facts_add(struct fb_facts *facts, const char *key, const char *fmt, ...)
{
	char *text = NULL, *value;
	struct fb_fact *fact;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0) {
		facts->failed = true;
		return;
	}
	value = strdup(clean(text));
	free(text);
	if (value && !*value) {
		free(value);
		return;
	}
	fact = value ? find(facts, key) : NULL;
	if (value && !fact)
		fact = append(facts, key);
	if (!fact) {
		facts->failed = true;
		free(value);
		return;
	}
	free(fact->value);
	fact->value = value;
}

const char *fb_facts_get(const struct fb_facts *facts, const char *key)
{
	const struct fb_fact *fact = find(facts, key);

	return fact ? fact->value : NULL;
}

void fb_facts_free(struct fb_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		free(facts->item[i].key);
		free(facts->item[i].value);
	}
	free(facts->item);
	*facts = (struct fb_facts){.item = NULL};
}

int fb_facts_pack(const struct fb_facts *facts, char **bytes, size_t *length)
{
	size_t total = 0;
	char *block, *at;

	for (size_t i = 0; i < facts->count; i++)
		total += strlen(facts->item[i].key) + strlen(facts->item[i].value) + 2;
	block = facts->failed ? NULL : malloc(total + 1);
	if (!block)
		return fb_error(FB_ENOMEM, "no memory for the facts about the environment");
	at = block;
	for (size_t i = 0; i < facts->count; i++) {
		at = stpcpy(at, facts->item[i].key) + 1;
		at = stpcpy(at, facts->item[i].value) + 1;
	}
	*bytes = block;
	*length = total;
	return FB_OK;
}

void fb_environment_collect(struct fb_facts *facts, const char *root)
{
	fb_environment_build(facts);
	fb_environment_system(facts, root);
	fb_environment_container(facts, root);
	fb_environment_cpu(facts, root);
	fb_environment_memory(facts, root);
	fb_environment_device(facts, root);
	fb_environment_ready(facts, root);
	fb_environment_rdma(facts, root);
	fb_environment_network(facts, root);
	fb_environment_nccl(facts, root);
	fb_environment_topology(facts, root);
	fb_environment_library(facts);
	fb_environment_variable(facts, environ);
}
