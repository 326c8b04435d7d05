/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the title of a section; see cells.h. */
#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/text.h"

#include <stdio.h>
#include <string.h>

/*
 * Memory of NCCL's own allocator is GPU memory like any other, and some algorithms of NCCL need it.
 * Both kinds are in one section, so that such an algorithm is shown beside those that it competes
 * with.
 */
const char *fb_section_memory(const char *memory)
{
	return strcmp(memory, "nccl") ? memory : "device";
}

const char *fb_section_title(const struct fb_section *section, char *buf, size_t n)
{
	static const struct {
		const char *column, *usual, *before;
	} rest[] = {
		{"root", "0", "root "},	       {"in_place", "no", "in place: "},
		{"memory", "host", "memory "}, {"launch", "blocking", ""},
		{"cadence", "isolated", ""},   {"variant", "", ""},
	};
	const struct fb_cell *cell = section->cell;
	const char *redop = fb_cell_text(cell, "redop"), *nodes = fb_cell_text(cell, "nodes");
	const char *program = fb_cell_text(cell, "program");
	const char *operation = fb_cell_text(cell, "operation");
	bool same = !strcmp(program, operation) ||
		    (section->axes && fb_axes_have(section->axes, "operation"));

	snprintf(buf, n, "%s%s%s", program, same ? "" : " ", same ? "" : operation);
	/* The cells of a place are sorted by bytes: where the last one has none, nothing moves. */
	if (section->cell[section->count - 1].bytes)
		fb_append(buf, n, ", %s%s%s", fb_cell_text(cell, "datatype"),
			  strcmp(redop, "-") ? " " : "", strcmp(redop, "-") ? redop : "");
	if (!(section->axes && fb_axes_have(section->axes, "ranks")))
		fb_append(buf, n, ", %s ranks on %s node%s", fb_cell_text(cell, "ranks"), nodes,
			  strcmp(nodes, "1") ? "s" : "");
	for (size_t i = 0; i < FB_COUNT_OF(rest); i++) {
		const char *text = fb_cell_text(cell, rest[i].column);

		if (section->axes && fb_axes_have(section->axes, rest[i].column))
			continue;
		if (!strcmp(rest[i].column, "variant") && cell->place)
			text = cell->place->rest;
		if (!strcmp(rest[i].column, "memory"))
			text = fb_section_memory(text);
		/* MPI has broadcast with one buffer only, so that is usual there. */
		if (!strcmp(rest[i].column, "in_place") && !strcmp(operation, "broadcast"))
			continue;
		if (strcmp(text, rest[i].usual) && strcmp(text, "-") && strcmp(text, "-1") && *text)
			fb_append(buf, n, ", %s%s", rest[i].before, text);
	}
	return buf;
}

const char *fb_section_library(const struct fb_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (fb_cell_is_library(&section->cell[i]))
			return strcmp(fb_cell_text(&section->cell[i], "engine"), "mpi") ? "NCCL"
											: "MPI";
	return "library";
}

size_t fb_section_at(const struct fb_section *section, uint64_t bytes, const struct fb_cell **at)
{
	for (size_t i = 0; i < section->count; i++) {
		if (section->cell[i].bytes != bytes)
			continue;
		*at = &section->cell[i];
		return fb_section_same_place(section, i);
	}
	return 0;
}
