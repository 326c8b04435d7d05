/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of pieces; see symbol.h. */
#include "overlap/step/symbol.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { FIRST_ROOM = 4 };

int fb_symbol_open(struct fb_symbol_row *row, uint64_t count)
{
	row->pieces = malloc(FIRST_ROOM * sizeof(*row->pieces));
	if (!row->pieces)
		return FB_ENOMEM;
	row->room = FIRST_ROOM;
	row->n = 1;
	row->pieces[0] = (struct fb_symbol_piece){count, {FB_NONE, 0, 0}};
	return FB_OK;
}

void fb_symbol_close(struct fb_symbol_row *row)
{
	free(row->pieces);
}

static uint64_t member_key(int member)
{
	uint64_t x = (uint64_t)member + 0x9e3779b97f4a7c15U;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
	x = (x ^ x >> 27) * 0x94d049bb133111ebU;
	return x ^ x >> 31;
}

struct fb_symbol fb_symbol_of(const struct fb_dag *dag, const struct fb_content *content,
			       uint64_t at)
{
	struct fb_symbol s = {content->data, 0, (int64_t)(content->first - at)};

	if (content->member != FB_ALL_MEMBERS)
		s.members = member_key(content->member);
	for (int m = 0; content->member == FB_ALL_MEMBERS && m < dag->members[s.data]; m++)
		s.members += member_key(m);
	return s;
}

bool fb_symbol_alike(const struct fb_symbol *a, const struct fb_symbol *b)
{
	return a->data == b->data && a->members == b->members && a->shift == b->shift;
}

const struct fb_symbol_piece *fb_symbol_at(const struct fb_symbol_row *row, uint64_t at)
{
	size_t low = 0, high = row->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (row->pieces[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return &row->pieces[low];
}

/* What is left of the piece before, this one, and what is left of the piece behind. */
bool fb_symbol_add(const struct fb_symbol_row *row, uint64_t at, uint64_t *count,
		   struct fb_symbol *symbol)
{
	const struct fb_symbol_piece *p = fb_symbol_at(row, at);

	symbol->members += p->symbol.members;
	*count = p->end - at < *count ? p->end - at : *count;
	return p->symbol.data == symbol->data && p->symbol.shift == symbol->shift;
}

int fb_symbol_put(struct fb_symbol_row *row, uint64_t first, uint64_t end, struct fb_symbol symbol)
{
	size_t low = (size_t)(fb_symbol_at(row, first) - row->pieces), high = low;
	uint64_t begin = low ? row->pieces[low - 1].end : 0;
	struct fb_symbol_piece added[3];
	size_t n = 0;

	while (row->pieces[high].end < end)
		high++;
	if (begin < first)
		added[n++] = (struct fb_symbol_piece){first, row->pieces[low].symbol};
	added[n++] = (struct fb_symbol_piece){end, symbol};
	if (end < row->pieces[high].end)
		added[n++] = row->pieces[high];
	if (row->n + 2 > row->room) {
		size_t room = 2 * (row->n + 2);
		struct fb_symbol_piece *more = realloc(row->pieces, room * sizeof(*more));

		if (!more)
			return FB_ENOMEM;
		row->pieces = more;
		row->room = room;
	}
	memmove(row->pieces + low + n, row->pieces + high + 1,
		(row->n - high - 1) * sizeof(*row->pieces));
	memcpy(row->pieces + low, added, n * sizeof(*added));
	row->n = row->n + n - (high - low + 1);
	return FB_OK;
}
