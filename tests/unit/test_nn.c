/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models: the parameters and operations of those that are built in are the published ones, a part
 * is the whole divided, and every kind of broken line is refused with file, line and what is
 * expected.
 */
#include "overlap/model/model.h"

#include <string.h>

#include "common/base/error.h"
#include "tests/unit/check.h"

static const struct fb_nn_parts whole = {1, 1, 1, 1, 0, 1};

static void test_totals(void)
{
	static const struct {
		const char *name;
		double parameters, forward; /* of one token, without attention; 0: not published */
	} known[] = {
		{"resnet-50", 25557032, 2 * 4089184256.0},
		{"bert-large", 335141888, 0}, {"gpt2-xl", 1557611200, 0},
		{"llama3-8b", 8030261248, 2 * (8030261248.0 - 128256.0 * 4096 - 65 * 4096)},
		{"llama3-70b", 70553706496, 0}, {"llama3-405b", 405853388800, 0},
		{"mixtral-8x7b", 46702792704, 0}, {"deepseek-v3", 671026419200, 0},
	};
	char names[FB_NN_WHY], why[FB_NN_WHY];
	size_t listed = 1;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct fb_nn m;
		struct fb_nn_cost c;

		if (!CHECK_INT(fb_nn_open(&m, known[i].name, why), FB_OK)) {
			printf("\t%s\n", why);
			continue;
		}
		c = fb_nn_cost(&m, &whole, 1, 1);
		CHECK_NEAR(c.parameters, known[i].parameters, 0.5);
		if (m.heads) /* one token attends to itself */
			c.forward -= 2.0 * (double)m.heads * (double)(m.query + m.value) *
				     (double)m.layers[1].count;
		if (known[i].forward > 0)
			CHECK_NEAR(c.forward, known[i].forward, 0.5);
		CHECK(c.activations > 0);
		fb_nn_close(&m);
	}
	fb_nn_names(fb_nns_built_in(), names, sizeof(names));
	for (const char *at = names; (at = strchr(at, ',')); at++)
		listed++;
	CHECK_INT(listed, sizeof(known) / sizeof(known[0]));
}

static void test_parts(void)
{
	const struct fb_nn_parts tensor = {8, 1, 1, 1, 0, 1}, pipeline = {1, 4, 1, 1, 0, 1};
	const struct fb_nn_parts expert = {1, 1, 8, 1, 0, 1}, context = {1, 1, 1, 2, 0, 1};
	const struct fb_nn_parts few = {1, 1, 1, 1, 2, 1}, small = {1, 1, 1, 1, 0, 64};
	char why[FB_NN_WHY];
	struct fb_nn m;
	struct fb_nn_cost all, some;

	CHECK_INT(fb_nn_open(&m, "mixtral-8x7b", why), FB_OK);
	all = fb_nn_cost(&m, &whole, 2, 4096);
	some = fb_nn_cost(&m, &tensor, 2, 4096);
	CHECK_NEAR(some.forward / all.forward, 1.0 / 8, 1e-3);
	some = fb_nn_cost(&m, &pipeline, 2, 4096);
	CHECK_NEAR(some.forward / all.forward, 1.0 / 4, 1e-9);
	CHECK_NEAR(some.parameters / all.parameters, 1.0 / 4, 1e-9);
	some = fb_nn_cost(&m, &expert, 2, 4096);
	CHECK_NEAR(some.forward / all.forward, 1, 1e-9);
	CHECK_NEAR(all.parameters - some.parameters, 32 * 7 * 3 * 14336.0 * 4096, 1);
	some = fb_nn_cost(&m, &context, 2, 4096);
	CHECK_NEAR(some.forward / all.forward, 0.5, 1e-9);
	CHECK_NEAR(some.activations / all.activations, 0.5, 1e-9);
	some = fb_nn_cost(&m, &few, 1, 1);
	CHECK_NEAR(some.parameters, 2 * (46702792704.0 - 2 * 32000 * 4096 - 4096) / 32 +
		   2 * 32000 * 4096 + 4096, 1);
	some = fb_nn_cost(&m, &small, 1, 1);
	CHECK(some.parameters < all.parameters / 3000);
	fb_nn_close(&m);
}

static void refused(const char *text, const char *says)
{
	char why[FB_NN_WHY];
	struct fb_nn m;

	CHECK_INT(fb_nn_read(&m, text, "f.model", "", why), FB_EINPUT);
	if (!check_that(strstr(why, says) != NULL, says, __FILE__, __LINE__))
		printf("\tsaid: %s\n", why);
	CHECK(!m.layers && !m.tensors);
}

static void test_refusals(void)
{
	char why[FB_NN_WHY], big[600];
	struct fb_nn m;

	refused("hidden 8\n", "f.model:1: 'hidden': expected a line 'model NAME' first");
	refused("model\n", "f.model:1: 'model': expected model and one name");
	refused("model a\n", "'a': expected layers with tensors");
	refused("model a\nlayer b\n", "f.model:2: 'layer': expected layer NAME COUNT");
	refused("model a\nlayer b x\n", "'x': expected a whole number");
	refused("model a\nlayer b 1\ntensor t 3\n", "f.model:3: 'tensor': expected a name, rows");
	refused("model a\nlayer b 1\ntensor t 3 -1\n", "'-1': expected a whole number");
	refused("model a\nlayer b 1\ntensor t 0 4\n", "'t': expected at least one row");
	refused("model a\nlayer b 1\ntensor t 3 4 cut=no\n", "'cut=no': expected uses=N");
	refused("model a\nlayer b 1\nexpert t 3 4\n", "'t': expected a line 'experts'");
	refused("model a\nlayer b 1\nattention\n", "expected a line 'heads'");
	refused("model a\nlayer b 1\nvector v\n", "expected vector NAME ROWS");
	refused("model a\ntensor t 3 4\n", "'tensor': expected a line 'layer'");
	refused("model a\nheads 3\n", "'heads': expected more numbers");
	refused("model a\nwidth 3\n", "'width': expected model, source");
	refused("model a\nlayer b 1\ntensor t 3 4 uses=1 uses=1 uses=1 uses=1 uses=1\n",
		"expected the end of the line");
	refused("model a\nsequence 99999999999999999999\n", "expected a whole number");
	refused("", "f.model has no model ''");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	refused(big, "at most 399 characters");
	CHECK_INT(fb_nn_open(&m, "llama", why), FB_EINPUT);
	if (!CHECK(strstr(why, "no model 'llama'") && strstr(why, "llama3-8b")))
		printf("\t%s\n", why);
	CHECK_INT(fb_nn_open(&m, "/nowhere/x.model", why), FB_EINPUT);
	CHECK(strstr(why, "/nowhere/x.model: No such file") != NULL);
	CHECK_INT(fb_nn_read(&m, "# c\n\nmodel a # b\nlayer l 2\ntensor t 3 4\n", "f", "", why),
		  FB_OK);
	CHECK_INT(m.ntensors, 1);
	CHECK_INT(m.layers[0].count, 2);
	fb_nn_close(&m);
}

int main(void)
{
	test_totals();
	test_parts();
	test_refusals();
	return check_done("models");
}
