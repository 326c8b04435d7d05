/* SPDX-License-Identifier: BSD-3-Clause */
/* See mpi_names.h. */
#include "scripts/tools/import/mpi_names.h"
#include "scripts/tools/lib/text.h"

#include <string.h>

static const struct {
	const char *name;
	enum fb_datatype type;
} types[] = {
	{"MPI_CHAR", FB_I8},	  {"MPI_SIGNED_CHAR", FB_I8},	{"MPI_INT8_T", FB_I8},
	{"MPI_BYTE", FB_U8},	  {"MPI_UNSIGNED_CHAR", FB_U8}, {"MPI_INT", FB_I32},
	{"MPI_UNSIGNED", FB_U32}, {"MPI_LONG", FB_I64},		{"MPI_UNSIGNED_LONG", FB_U64},
	{"MPI_FLOAT", FB_F32},	  {"MPI_DOUBLE", FB_F64},
};

enum fb_datatype fb_mpi_datatype(const char *name)
{
	for (size_t i = 0; i < FB_COUNT_OF(types); i++)
		if (!strncmp(types[i].name, name, strlen(types[i].name)) &&
		    !strchr("_ABCDEFGHIJKLMNOPQRSTUVWXYZ", name[strlen(types[i].name)]))
			return types[i].type;
	return FB_DATATYPES;
}

void fb_mpi_set_collective(struct fb_import_record *record, enum fb_collective collective)
{
	const struct fb_collective_info *info = fb_collective_info(collective);
	int ranks = record->row.ranks < 1000000000 ? (int)record->row.ranks : 1000000000;

	if (info->reduces && collective != FB_BARRIER)
		record->key.redop = FB_SUM;
	if (info->has_root)
		record->key.root = 0;
	record->bus_factor = fb_collective_bus_factor(collective, ranks);
	if (info->unequal)
		fb_import_variant(record, "skew", "0");
}
