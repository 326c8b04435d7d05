/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of every type from a command line, sizes, lists and tags. */
#include "common/record/variant.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/option_example.h"

static void try_lists(const char *text)
{
	const char *at = text;
	char item[32], why[64], buffer[256];
	struct fb_sizes sizes;
	uint64_t size;

	if (!fb_size_parse(text, &size))
		fb_size_text(size, item);
	fb_sizes_parse(text, &sizes, why, sizeof(why));
	while (fb_option_next_item(&at, item, sizeof(item)) > 0)
		;
	fb_option_names(text, "host");
	fb_variant_good(text);
	fb_variant_check(text, buffer, sizeof(buffer));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct values values;
	struct own more;
	const struct fb_option_chain second = {own, &more, NULL},
				     chain = {common, &values, &second};
	char *text = fuzz_text(bytes, n), buffer[1024], why[128];

	try_lists(text);
	if (n < 512)
		parse(&chain, text, buffer, sizeof(buffer));
	for (const struct fb_option *o = common; o->type != FB_OPT_END; o++)
		if (o->type != FB_OPT_GROUP && !fb_option_set(o, text, &values, why, sizeof(why)))
			fb_option_text(o, &values, buffer, sizeof(buffer));
	free(text);
	return 0;
}
