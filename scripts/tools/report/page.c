/* SPDX-License-Identifier: BSD-3-Clause */
/* The page and the head of its document; see page.h. */
#include "common/base/error.h"
#include "common/base/version.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/doubts.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/report/assets.h"
#include "scripts/tools/report/page.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int fb_page_set_read(struct fb_page_set *set, char *const *path, size_t npaths, const char *axis)
{
	const char *file;
	int err = FB_OK;

	*set = (struct fb_page_set){.path = path, .npaths = npaths};
	for (size_t i = 0; i < npaths && !err; i++)
		err = fb_results_read(&set->results, path[i]);
	if (!err)
		err = fb_axes_parse(&set->axes, axis, &set->results);
	if (err)
		return err;
	fb_cells_make(&set->cells, &set->results, &set->axes);
	file = fb_beside(path[0], "environment.csv");
	return access(file, R_OK) ? FB_OK : fb_sheet_read_any(&set->environment, file);
}

/* A name for people: that of the run, else of its folder. */
static void put_name(json_t *data, const struct fb_page_set *set)
{
	fb_json_set(data, "path", fb_json_string(set->path[0]));
	fb_json_set(data, "name",
		    fb_json_string(set->results.count ? fb_result_text(&set->results.row[0], "run")
						      : set->path[0]));
}

static void put_machine(const struct fb_page *page, json_t *data)
{
	static const char *const facts[][2] = {
		{"Host", "hostname"},	     {"Processor", "cpu.model"},
		{"Processors", "cpu.count"}, {"Ranks", "run.ranks"},
		{"Nodes", "run.nodes"},	     {"MPI", "mpi.library"},
		{"Kernel", "os.kernel"},     {"System", "os.name"},
		{"fabricbench", "build.version"},
	};
	json_t *machine = fb_json_array(data, "machine");

	for (size_t i = 0; i < FB_COUNT_OF(facts); i++) {
		const char *value = fb_results_fact(&page->set->results, facts[i][1]);
		json_t *fact = value && *value ? fb_json_array(machine, NULL) : NULL;

		if (!fact)
			continue;
		fb_json_add(fact, fb_json_string(facts[i][0]));
		fb_json_add(fact, fb_json_string(value));
	}
}

static void put_head(const struct fb_page *page, json_t *data)
{
	char doubt[FB_DOUBTS][FB_DOUBT_CHARS];
	int count = fb_doubts(&page->set->cells, &page->set->results, doubt);
	json_t *doubts = fb_json_array(data, "doubts");

	put_name(data, page->set);
	if (page->base)
		put_name(fb_json_object(data, "base"), page->base);
	fb_json_set(data, "version", fb_json_string(fb_version_text()));
	fb_json_set(data, "revision", fb_json_string(fb_version_revision()));
	fb_json_set(data, "estimator", fb_json_string(FB_ESTIMATOR));
	for (int i = 0; i < count; i++)
		fb_json_add(doubts, fb_json_string(doubt[i]));
	put_machine(page, data);
}

/* An SVG file, which becomes a picture: that cannot run scripts nor load anything. */
static int put_figure(json_t *figures, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length;
	const char *text = fb_file_text(path, &length);
	json_t *figure;

	if (!text)
		return FB_EINPUT;
	figure = fb_json_object(figures, NULL);
	fb_json_set(figure, "name", fb_json_string(slash ? slash + 1 : path));
	fb_json_set(figure, "svg", fb_json_string(text));
	return FB_OK;
}

static int make_document(const struct fb_page *page, json_t *data)
{
	json_t *figures = fb_json_array(data, "figures");
	int err = FB_OK;

	put_head(page, data);
	fb_page_sections(page, data);
	fb_page_findings(page, data);
	if (page->base)
		err = fb_page_comparison(page, data);
	if (!err)
		fb_page_pairs(page, data);
	for (size_t i = 0; i < page->nfigures && !err; i++)
		err = put_figure(figures, page->figure[i]);
	fb_page_rows(page, data);
	fb_page_facts(page, data);
	return err;
}

/* A random nonce, so that injected text cannot run as a script even if all else fails. */
static int make_nonce(char nonce[33])
{
	unsigned char random[16];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return fb_error(FB_ESYS, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(nonce + 2 * i, 3, "%02x", random[i]);
	return FB_OK;
}

int fb_page_write(const struct fb_page *page, FILE *out)
{
	char nonce[33];
	const struct {
		const char *name, *text; /* NULL: the document */
	} parts[] = {{"@NONCE@", nonce}, {"@CSS@", fb_page_css}, {"@DATA@", NULL},
		     {"@JS@", fb_page_js}};
	json_t *data = json_object();
	int err = make_nonce(nonce);

	if (!err)
		err = make_document(page, data);
	for (const char *at = fb_page_html; *at && !err;) {
		size_t plain = strcspn(at, "@"), i = 0;

		fwrite(at, 1, plain, out);
		at += plain;
		while (*at && i < 3 && strncmp(at, parts[i].name, strlen(parts[i].name)))
			i++;
		if (!*at)
			break;
		at += strlen(parts[i].name);
		if (parts[i].text)
			fputs(parts[i].text, out);
		else
			err = fb_json_write(data, out);
	}
	json_decref(data);
	return err;
}
