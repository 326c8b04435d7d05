/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading models, cutting them, and what they cost; see model.h. */
#include "overlap/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { MOST_WORDS = 8, MOST_LINE = 400, MOST_LAYERS_OF_A_KIND = 100000 };

static const char blanks[] = " \t\r";

struct reader {
	struct fb_nn *model;
	const char *file, *wanted; /* wanted: a name, or "" for the first model */
	char *why;
	int line;
	bool inside, found;        /* the wanted model is being read; was found */
	char *word[MOST_WORDS];
	size_t words;
};

/* --- a line ---------------------------------------------------------------------------------- */

static int refuse(const struct reader *r, const char *what, const char *expected)
{
	snprintf(r->why, FB_NN_WHY, "%s:%d: '%.80s': expected %s", r->file, r->line, what,
		 expected);
	return FB_EINPUT;
}

static int number(const struct reader *r, const char *text, uint64_t most, uint64_t *value)
{
	char *end, expected[64];

	errno = 0;
	*value = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (*text >= '0' && *text <= '9' && !*end && !errno && *value <= most)
		return FB_OK;
	snprintf(expected, sizeof(expected), "a whole number up to %llu", (unsigned long long)most);
	return refuse(r, text, expected);
}

/* Room for one more in an array that doubles. */
static void *grown(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : realloc(array, (n ? 2 * n : 1) * size);
}

/* The words behind a keyword that are whole numbers, to the members of the model. */
static int read_numbers(struct reader *r, uint64_t *const to[])
{
	int err = FB_OK;

	for (size_t i = 0; to[i] && !err; i++) {
		if (i + 1 >= r->words)
			return refuse(r, r->word[0], "more numbers behind it");
		err = number(r, r->word[i + 1], UINT64_C(1) << 32, to[i]);
	}
	return err;
}

static int read_layer(struct reader *r)
{
	struct fb_nn *m = r->model;
	struct fb_nn_layer *more, *l;

	if (r->words != 3)
		return refuse(r, r->word[0], "layer NAME COUNT");
	more = grown(m->layers, m->nlayers, sizeof(*more));
	if (!more)
		return FB_ENOMEM;
	m->layers = more;
	l = &m->layers[m->nlayers++];
	*l = (struct fb_nn_layer){.first = m->ntensors};
	snprintf(l->name, sizeof(l->name), "%s", r->word[1]);
	return number(r, r->word[2], MOST_LAYERS_OF_A_KIND, &l->count);
}

static int read_setting(const struct reader *r, const char *word, struct fb_nn_tensor *t)
{
	if (!strncmp(word, "uses=", 5))
		return number(r, word + 5, UINT64_C(1) << 32, &t->uses);
	if (!strncmp(word, "inputs=", 7))
		return number(r, word + 7, UINT64_C(1) << 32, &t->inputs);
	if (!strcmp(word, "cut=out") || !strcmp(word, "cut=in")) {
		t->cut = word[4] == 'o' ? FB_CUT_OUT : FB_CUT_IN;
		return FB_OK;
	}
	return refuse(r, word, "uses=N, inputs=N, cut=out or cut=in");
}

static int read_tensor(struct reader *r, enum fb_tensor_kind kind)
{
	struct fb_nn *m = r->model;
	struct fb_nn_tensor t = {.kind = kind, .columns = 1};
	bool matrix = kind <= FB_TENSOR_SHARED, attends = kind == FB_TENSOR_ATTENTION;
	size_t sizes = attends ? 0 : kind == FB_TENSOR_VECTOR ? 1 : 2;
	struct fb_nn_tensor *more;
	int err = FB_OK;

	if (!m->nlayers)
		return refuse(r, r->word[0], "a line 'layer' in front of it");
	if (r->words < (attends ? 1 : 2) + sizes || (!matrix && r->words > 4))
		return refuse(r, r->word[0], kind == FB_TENSOR_VECTOR ? "vector NAME ROWS"
					     : "a name, rows and columns behind it");
	if (attends && (!m->heads || !m->query))
		return refuse(r, r->word[0], "a line 'heads' in front of it");
	snprintf(t.name, sizeof(t.name), "%s", attends ? "attention" : r->word[1]);
	if (sizes > 0)
		err = number(r, r->word[2], UINT64_C(1) << 32, &t.rows);
	if (sizes > 1 && !err)
		err = number(r, r->word[3], UINT64_C(1) << 32, &t.columns);
	t.uses = matrix;
	t.inputs = matrix ? t.columns : kind == FB_TENSOR_VECTOR ? 0 : m->query;
	for (size_t i = 4; i < r->words && !err; i++)
		err = read_setting(r, r->word[i], &t);
	if (err)
		return err;
	if (!attends && (!t.rows || !t.columns))
		return refuse(r, t.name, "at least one row and one column");
	if (kind == FB_TENSOR_EXPERT && !m->experts)
		return refuse(r, t.name, "a line 'experts' in front of it");
	if (kind == FB_TENSOR_TABLE)
		t.inputs = 0;
	more = grown(m->tensors, m->ntensors, sizeof(*more));
	if (!more)
		return FB_ENOMEM;
	m->tensors = more;
	m->tensors[m->ntensors++] = t;
	m->layers[m->nlayers - 1].tensors++;
	return FB_OK;
}

static int begin_model(struct reader *r)
{
	struct fb_nn *m = r->model;

	if (r->words != 2 || strlen(r->word[1]) >= FB_NN_NAME)
		return refuse(r, r->word[0], "model and one name of at most 31 characters");
	r->inside = !r->found && (!*r->wanted || !strcmp(r->wanted, r->word[1]));
	r->found |= r->inside;
	if (r->inside)
		snprintf(m->name, sizeof(m->name), "%s", r->word[1]);
	return FB_OK;
}

static int read_line(struct reader *r)
{
	static const char *const kinds[] = {"tensor", "expert", "shared", "table", "vector",
					    "attention"};
	struct fb_nn *m = r->model;
	const struct {
		const char *word;
		uint64_t *to[4];
	} numbers[] = {
		{"sequence", {&m->sequence}}, {"hidden", {&m->hidden}}, {"ffn", {&m->ffn}},
		{"kv", {&m->kv}}, {"heads", {&m->heads, &m->query, &m->value}},
		{"experts", {&m->experts, &m->topk}},
	};

	if (!strcmp(r->word[0], "source"))
		return FB_OK;
	if (!strcmp(r->word[0], "model"))
		return begin_model(r);
	if (!r->inside && !r->found && !*r->wanted)
		return refuse(r, r->word[0], "a line 'model NAME' first");
	if (!r->inside)
		return FB_OK;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(r->word[0], numbers[i].word))
			return read_numbers(r, numbers[i].to);
	if (!strcmp(r->word[0], "layer"))
		return read_layer(r);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(r->word[0], kinds[i]))
			return read_tensor(r, (enum fb_tensor_kind)i);
	return refuse(r, r->word[0], "model, source, sequence, hidden, ffn, heads, kv, experts, "
		      "layer, tensor, expert, shared, table, vector or attention");
}

static int split_line(struct reader *r, char *line)
{
	char *at = line;

	line[strcspn(line, "#")] = '\0';
	r->words = 0;
	for (char *w = strtok_r(line, blanks, &at); w; w = strtok_r(NULL, blanks, &at)) {
		if (r->words < MOST_WORDS)
			r->word[r->words++] = w;
		else if (strcmp(r->word[0], "source"))
			return refuse(r, w, "the end of the line");
	}
	return r->words ? read_line(r) : FB_OK;
}

int fb_nn_read(struct fb_nn *model, const char *text, const char *file, const char *name,
		  char why[FB_NN_WHY])
{
	struct reader r = {.model = model, .file = file, .wanted = name, .why = why};
	const char *const whole = text;
	char line[MOST_LINE];
	int err = FB_OK;

	*model = (struct fb_nn){.sequence = 1};
	why[0] = '\0';
	while (*text && !err) {
		size_t n = strcspn(text, "\n");

		r.line++;
		snprintf(line, sizeof(line), "%.*s", n < MOST_LINE ? (int)n : MOST_LINE, text);
		err = n < MOST_LINE ? split_line(&r, line)
				    : refuse(&r, line, "at most 399 characters in a line");
		text += n + (text[n] == '\n');
	}
	if (!err && r.found && !model->ntensors)
		err = refuse(&r, model->name, "layers with tensors behind the model's name");
	if (!err && !r.found) {
		size_t used = (size_t)snprintf(why, FB_NN_WHY, "%s has no model '%.40s': "
					       "expected a file *.model, or ", file, name);

		fb_nn_names(whole, why + used, FB_NN_WHY - used);
		err = FB_EINPUT;
	}
	if (err)
		fb_nn_close(model);
	return err;
}

const char *fb_nn_names(const char *text, char *buf, size_t n)
{
	size_t used = 0;

	buf[0] = '\0';
	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, "model ", 6) && used < n)
			used += (size_t)snprintf(buf + used, n - used, "%s%.*s", used ? ", " : "",
						 (int)strcspn(at + 6, "\n"), at + 6);
	}
	return buf;
}

int fb_nn_open(struct fb_nn *model, const char *name, char why[FB_NN_WHY])
{
	size_t length = strlen(name), room = 0;
	char *text = NULL;
	FILE *f;
	int err;

	if (!strchr(name, '/') && (length < 6 || strcmp(name + length - 6, ".model")))
		return fb_nn_read(model, fb_nns_built_in(), "the built-in list", name, why);
	*model = (struct fb_nn){.sequence = 1};
	f = fopen(name, "r");
	if (!f || getdelim(&text, &room, '\0', f) < 0) {
		snprintf(why, FB_NN_WHY, "%.200s: %s: expected a file of lines as "
			 "'tensor NAME ROWS COLUMNS'", name,
			 f && !ferror(f) ? "it is empty" : strerror(errno));
		err = FB_EINPUT;
	} else {
		err = fb_nn_read(model, text, name, "", why);
	}
	if (f)
		(void)fclose(f);
	free(text);
	return err;
}

void fb_nn_close(struct fb_nn *model)
{
	free(model->layers);
	free(model->tensors);
	*model = (struct fb_nn){.sequence = 1};
}

/* --- parts and costs ------------------------------------------------------------------------- */

static uint64_t part(uint64_t n, uint64_t of)
{
	return (n + of - 1) / of;
}

struct fb_work fb_nn_work(const struct fb_nn *m, const struct fb_nn_tensor *t, uint64_t tokens,
			  bool backward)
{
	uint64_t all = m->experts ? m->experts : 1, keys = tokens;
	struct fb_work w;

	if (m->sequence < keys)
		keys = m->sequence;
	if (t->kind == FB_TENSOR_ATTENTION)
		w = fb_work_product(FB_WORK_ATTENTION, tokens, keys, m->heads * m->query);
	else if (t->kind > FB_TENSOR_SHARED || !t->uses)
		w = fb_work_pass(FB_WORK_MEMORY, tokens * (t->kind == FB_TENSOR_VECTOR
							   ? t->rows : t->columns));
	else
		w = fb_work_product(backward ? FB_WORK_BACKWARD : FB_WORK_GEMM, tokens * t->uses,
				    t->rows, t->columns);
	if (t->kind == FB_TENSOR_EXPERT) {
		w.m = part(tokens * m->topk, all);
		w.times = (uint32_t)all;
	}
	if (backward && w.kind != FB_WORK_BACKWARD)
		w.times *= 2;
	return w;
}

void fb_nn_cut(struct fb_nn *m, const struct fb_nn_parts *p)
{
	uint64_t *const sizes[] = {&m->hidden, &m->ffn, &m->kv, &m->query, &m->value};
	uint64_t experts = part(m->experts, p->expert);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		*sizes[i] = part(*sizes[i], p->shrink);
	m->heads = part(m->heads, p->tensor);
	for (size_t i = 0; i < m->nlayers; i++)
		m->layers[i].count = part(p->most && m->layers[i].count > p->most
					  ? p->most : m->layers[i].count, p->pipeline);
	for (size_t i = 0; i < m->ntensors; i++) {
		struct fb_nn_tensor *t = &m->tensors[i];

		/* A router has a row for each expert, of which there are as many. */
		if (t->kind <= FB_TENSOR_SHARED && t->rows != m->experts)
			t->rows = part(t->rows, p->shrink);
		if (t->kind >= FB_TENSOR_TABLE && t->kind != FB_TENSOR_ATTENTION)
			t->rows = part(t->rows, p->shrink);
		t->columns = part(t->columns, p->shrink);
		t->inputs = part(t->inputs, p->shrink);
		if (t->cut == FB_CUT_OUT)
			t->rows = part(t->rows, p->tensor);
		if (t->cut != FB_CUT_IN)
			continue;
		t->columns = part(t->columns, p->tensor);
		t->inputs = part(t->inputs, p->tensor);
	}
	m->experts = experts;
}

uint64_t fb_nn_elements(const struct fb_nn *m, const struct fb_nn_tensor *t)
{
	if (t->kind == FB_TENSOR_SHARED || t->kind == FB_TENSOR_ATTENTION)
		return 0;
	return t->rows * t->columns * (t->kind == FB_TENSOR_EXPERT ? m->experts : 1);
}

struct fb_nn_cost fb_nn_cost(const struct fb_nn *model,
				   const struct fb_nn_parts *parts, uint64_t batch,
				   uint64_t sequence)
{
	struct fb_nn m = *model;
	struct fb_nn_cost c = {0, 0, 0};
	struct fb_nn_parts cut = *parts;
	double tokens = (double)batch * (double)sequence / (double)parts->context;

	cut.pipeline = 1; /* divided below, as stages may have parts of a layer on the average */
	m.layers = malloc((m.nlayers + 1) * sizeof(*m.layers));
	m.tensors = malloc((m.ntensors + 1) * sizeof(*m.tensors));
	if (m.layers && m.tensors) {
		memcpy(m.layers, model->layers, m.nlayers * sizeof(*m.layers));
		memcpy(m.tensors, model->tensors, m.ntensors * sizeof(*m.tensors));
		fb_nn_cut(&m, &cut);
	}
	for (size_t l = 0; l < m.nlayers && m.layers && m.tensors; l++)
		for (size_t i = 0; i < m.layers[l].tensors; i++) {
			const struct fb_nn_tensor *t = &m.tensors[m.layers[l].first + i];
			double layers = (double)m.layers[l].count / (double)parts->pipeline;
			double copies = t->kind == FB_TENSOR_EXPERT ? (double)m.topk : 1;
			double each = 2 * (double)t->rows * (double)t->columns * (double)t->uses;

			if (t->kind == FB_TENSOR_ATTENTION)
				each = 2 * (double)sequence * (double)m.heads *
				       (double)(m.query + m.value);
			else if (t->kind > FB_TENSOR_SHARED)
				each = 0;
			c.parameters += layers * (double)fb_nn_elements(&m, t);
			c.forward += layers * tokens * copies * each;
			c.activations += layers * tokens * copies * (double)t->inputs *
					 (t->kind == FB_TENSOR_ATTENTION ? (double)m.heads : 1);
		}
	free(m.layers);
	free(m.tensors);
	return c;
}
