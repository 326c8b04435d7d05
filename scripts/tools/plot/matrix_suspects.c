/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is slow in a matrix of ranks, in words; see matrix.h. How: lib/suspects.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/hosts.h"
#include "scripts/tools/lib/suspects.h"
#include "scripts/tools/plot/matrix.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 4 };

/* As much slower than the others somebody has to be. */
static const double threshold = 0.1;

static void free_devices(char **devices, size_t ranks)
{
	for (size_t r = 0; devices && r < ranks; r++)
		free(devices[r]);
	free(devices);
}

/* What a rank's messages began with: "GPU 1 at 0000:61:00.0, mlx5_0:1"; NULL: not known. */
static char *name_device(const struct fb_matrix *matrix, const struct fb_results *results,
			 size_t rank, const char *host, int *err)
{
	const char *gpu = NULL, *network = NULL;
	char *text = NULL;

	if (matrix->gpus)
		gpu = fb_results_rank_fact(results, "gpu", rank, host);
	if (matrix->network)
		network = fb_results_rank_fact(results, matrix->network, rank, host);
	if ((gpu || network) &&
	    asprintf(&text, "%s%s%s%s", gpu ? "GPU " : "", gpu ? gpu : "",
		     gpu && network ? ", " : "", network ? network : "") < 0) {
		*err = FB_ENOMEM;
		return NULL;
	}
	return text;
}

/* Of all ranks; freed by the caller with free_devices. */
static int list_devices(const struct fb_matrix *matrix, const struct fb_results *results,
			const struct fb_hosts *hosts, char ***devices)
{
	char **list = calloc(matrix->rows + 1, sizeof(*list));
	int err = list ? FB_OK : FB_ENOMEM;

	for (size_t r = 0; list && r < matrix->rows && !err; r++)
		list[r] = name_device(matrix, results, r,
				      hosts->of ? hosts->name[hosts->of[r]] : NULL, &err);
	*devices = list;
	return err ? fb_error(err, "out of memory for the devices of ranks") : FB_OK;
}

bool fb_matrix_is_of_ranks(const struct fb_matrix *matrix)
{
	return matrix->rows == matrix->columns && !strcmp(matrix->row_name, "from rank");
}

int fb_matrix_name_slow(const struct fb_matrix *matrix, const struct fb_results *results,
			char *text, size_t n)
{
	const char *fact = results ? fb_results_fact(results, "run.ranks_of_hosts") : NULL;
	struct fb_suspects found = {.count = 0};
	struct fb_hosts hosts = {.count = 0};
	char **devices = NULL;
	char who[FB_SUSPECT_CHARS];
	size_t used = 0;
	int err = FB_OK;

	text[0] = '\0';
	if (!fb_matrix_is_of_ranks(matrix))
		return FB_OK;
	if (fact)
		err = fb_hosts_read(&hosts, fact, matrix->rows);
	if (!err)
		err = fb_suspects_find(&found, matrix->value, matrix->rows, matrix->more_is_better,
				       hosts.of, threshold);
	if (!err && results && found.count)
		err = list_devices(matrix, results, &hosts, &devices);
	for (size_t i = 0; i < found.count && i < NAMED_MAX && used < n && !err; i++)
		used += (size_t)snprintf(text + used, n - used, "%s%s", i ? "; " : "",
					 fb_suspect_text(&found.item[i], hosts.name,
							 (const char *const *)devices, who));
	if (found.count > NAMED_MAX && used < n)
		snprintf(text + used, n - used, "; and %zu more", found.count - NAMED_MAX);
	free_devices(devices, matrix->rows);
	fb_suspects_free(&found);
	fb_hosts_free(&hosts);
	return err;
}
