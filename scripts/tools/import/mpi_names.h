/* SPDX-License-Identifier: BSD-3-Clause */
/* What OSU's and Intel's benchmarks of MPI have in common. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_MPI_NAMES_H
#define FB_SCRIPTS_TOOLS_IMPORT_MPI_NAMES_H

#include "common/base/datatype.h"
#include "common/plan/collective.h"
#include "scripts/tools/import/import.h"

/* The type of an MPI name ("MPI_FLOAT"); FB_DATATYPES where there is none such. */
enum fb_datatype fb_mpi_datatype(const char *name);

/*
 * Sets what follows from the collective: reduction, root and bus factor. Both tools give every rank
 * an equal block in the collectives whose blocks may be unequal, so the last key of the variant
 * becomes skew=0, as in our rows of equal blocks.
 */
void fb_mpi_set_collective(struct fb_import_record *record, enum fb_collective collective);

/* What a benchmark of a collective counts as size, in our terms. */
enum fb_size_rule {
	FB_SIZE_WHOLE,	  /* the larger of the two buffers, as ours */
	FB_SIZE_PER_RANK, /* one rank's block of the larger buffer */
};

#endif
