/* SPDX-License-Identifier: BSD-3-Clause */
/* Names the slow ranks of a matrix in words; see matrix.h. lib/stragglers.h finds them. */
#include "scripts/tools/lib/hosts.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/stragglers.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/matrix.h"

#include <string.h>

enum { NAMED_MAX = 4 };

/* A rank or link that is slower by this share is named. */
static const double threshold = 0.1;

/* What a rank's messages began with: "GPU 1 at 0000:61:00.0, mlx5_0:1"; NULL: not known. */
static const char *name_device(const struct fb_matrix *matrix, const struct fb_results *results,
			       size_t rank, const char *host)
{
	const char *gpu = NULL, *network = NULL;

	if (matrix->gpus)
		gpu = fb_results_rank_fact(results, "gpu", rank, host);
	if (matrix->network)
		network = fb_results_rank_fact(results, matrix->network, rank, host);
	if (!gpu && !network)
		return NULL;
	return fb_new_text("%s%s%s%s", gpu ? "GPU " : "", gpu ? gpu : "",
			   gpu && network ? ", " : "", network ? network : "");
}

bool fb_matrix_is_of_ranks(const struct fb_matrix *matrix)
{
	return matrix->rows == matrix->columns && !strcmp(matrix->row_name, "from rank");
}

void fb_matrix_name_slow(const struct fb_matrix *matrix, const struct fb_results *results,
			 char *text, size_t n)
{
	const char *fact = results ? fb_results_fact(results, "run.ranks_of_hosts") : NULL;
	const char **devices = fb_new(matrix->rows, sizeof(*devices));
	struct fb_stragglers found;
	struct fb_hosts hosts = {.count = 0};
	char who[FB_STRAGGLER_CHARS];

	text[0] = '\0';
	if (!fb_matrix_is_of_ranks(matrix))
		return;
	if (fact)
		fb_hosts_read(&hosts, fact, matrix->rows);
	fb_stragglers_find(&found, matrix->value, matrix->rows, matrix->more_is_better, hosts.of,
			   threshold);
	for (size_t r = 0; results && found.count && r < matrix->rows; r++)
		devices[r] = name_device(matrix, results, r,
					 hosts.of ? hosts.name[hosts.of[r]] : NULL);
	for (size_t i = 0; i < found.count && i < NAMED_MAX; i++)
		fb_append(text, n, "%s%s", i ? "; " : "",
			  fb_straggler_text(&found.item[i], hosts.name, devices, who));
	if (found.count > NAMED_MAX)
		fb_append(text, n, "; and %zu more", found.count - NAMED_MAX);
}
