/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of several launches joined to cells, and cells put into sections.
 *
 * A cell is all launches of one experiment: rows with equal keys. A section is what may be
 * compared: cells that differ only in who carried the operation out (engine, algorithm, protocol,
 * transport, registration), in the number of bytes, and on the axes that were asked for. Cells that
 * differ in anything else (data type, cadence, number of ranks) are in different sections, so that
 * no table mixes them.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_CELLS_H
#define FB_SCRIPTS_TOOLS_LIB_CELLS_H

#include "scripts/tools/lib/axis.h"

#include <stdbool.h>

struct fb_cell {
	const struct fb_result *row;	   /* one of its rows: for the key. Borrowed */
	const struct fb_axis_place *place; /* its row's; NULL: no axes. Borrowed */
	/* [launches]: the row of each launch with a time */
	const struct fb_result **launch;
	uint64_t bytes;
	size_t launches;	  /* with a time */
	enum fb_status status;	  /* the worst of its launches */
	const char *reason;	  /* of the launch with that status */
	double us;		  /* median over launches of the row's median; NAN: no time */
	double low_us, high_us;	  /* see fb_cells_make */
	double least_us, most_us; /* of the launches' medians; NAN: no time */
	double busbw_GBps;	  /* that belongs to `us`; NAN: nothing is counted */
	double bound_us;	  /* least of all launches; NAN: unknown */
	const char *flags;	  /* of the first launch */
};

struct fb_section {
	/* [count], sorted by place and bytes; cells equal in both, as fb_cells_best ranks them */
	struct fb_cell *cell;
	size_t count;
	const struct fb_axes *axes; /* NULL: none. Borrowed */
};

struct fb_cells {
	struct fb_cell *cell; /* [count], by section */
	size_t count;
	struct fb_section *section; /* [nsections] */
	size_t nsections;
	const struct fb_axes *axes; /* borrowed; NULL: none */
};

/*
 * Makes cells of rows, which must outlive them, as the axes must (NULL: none). The interval low_us
 * .. high_us is, for one launch, the 95% interval of the median within it; for six and more, the
 * 95% interval of the median over launches; between these no such interval exists, and it is the
 * least and the greatest launch. If a launch has two rows, the later one counts: it was repeated
 * after a fault.
 */
void fb_cells_make(struct fb_cells *cells, const struct fb_results *results,
		   const struct fb_axes *axes);

/* The cell's field of that name of the schema. Borrowed. */
const char *fb_cell_text(const struct fb_cell *cell, const char *column);

/* The median over launches (the first 64) of a column by its number; NAN: unknown. */
double fb_cell_number(const struct fb_cell *cell, size_t column);

/* Whether a library ran the operation, as opposed to an algorithm of the project. */
bool fb_cell_is_library(const struct fb_cell *cell);

/* Whether two cells have equal keys, apart from the keys named in `but`, which ends with NULL. */
bool fb_cells_alike(const struct fb_cell *a, const struct fb_cell *b, const char *const *but);

/* Whether its time may be compared: status ok or few. */
bool fb_cell_has_time(const struct fb_cell *cell);

/*
 * The best usable cell of cell[0 .. n), of a library or of the project's own, or NULL: the one
 * whose interval ends first, so that a lucky median with a wide interval does not win.
 */
const struct fb_cell *fb_cells_best(const struct fb_cell *cell, size_t n, bool library);

/* How many of the section's cells from `first` on have the same place and number of bytes. */
size_t fb_section_same_place(const struct fb_section *section, size_t first);

/* The first of the section's cells of so many bytes, and how many there are at its place, or 0. */
size_t fb_section_at(const struct fb_section *section, uint64_t bytes, const struct fb_cell **at);

/*
 * What the section is, for people: "all_reduce, f32 sum, 4 ranks on 1 node"; what is usual
 * (host memory, isolated, blocking, out of place, root 0) and what is an axis is left out. Returns
 * buf.
 */
const char *fb_section_title(const struct fb_section *section, char *buf, size_t n);

/*
 * The cells of a section may differ in FB_SECTION_INNER key columns. Returns the number of a column
 * among these, from 1; 0: it is another column.
 */
enum { FB_SECTION_INNER = 6 };
size_t fb_section_inner(const char *column);

/* The memory by which sections differ. */
const char *fb_section_memory(const char *memory);

/* The library of the section's rows, for headings: "MPI", "NCCL"; "library": there are none. */
const char *fb_section_library(const struct fb_section *section);

#endif
