/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of MPI that OSU's and Intel's benchmarks have in common. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_MPI_NAMES_H
#define FB_SCRIPTS_TOOLS_IMPORT_MPI_NAMES_H

#include "common/base/datatype.h"

/* The type of an MPI name ("MPI_FLOAT"); FB_DATATYPES where there is none such. */
enum fb_datatype fb_mpi_datatype(const char *name);

/* What a benchmark of a collective counts as size, in our terms. */
enum fb_size_rule {
	FB_SIZE_WHOLE,	  /* the larger of the two buffers, as ours */
	FB_SIZE_PER_RANK, /* one rank's block of the larger buffer */
};

#endif
