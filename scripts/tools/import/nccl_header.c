/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of nccl-tests' rows whose header lines were taken out; see nccl.h. */
#include "scripts/tools/import/nccl.h"

#include <stdio.h>
#include <string.h>

bool fb_nccl_header(const struct fb_words *row, char *header, size_t chars)
{
	size_t n = row->count, lead, half;
	const char *wrong, *more;
	bool redop, root;
	uint64_t whole;
	double number;

	if (n < 11 || !fb_word_u64(row->word[0], &whole) || !fb_word_u64(row->word[1], &whole) ||
	    !fb_nccl_is_type(row->word[2]))
		return false;
	if (strchr(row->word[n - 1], ':') && strchr(row->word[n - 2], '-'))
		n -= 2;
	redop = strspn(row->word[3], "-0123456789.") == 0;
	lead = redop ? 4 : 3;
	/* Both halves have as many columns, so the root makes the rest odd. */
	root = (n - lead) % 2 == 1;
	lead += root ? 1 : 0;
	half = (n - lead) / 2;
	for (size_t i = lead; i < n; i++)
		if (!fb_word_number(row->word[i], &number) && strcmp(row->word[i], "N/A") != 0)
			return false;
	if (half != 4 && half != 8)
		return false;
	/* Before 2.10 this column had the greatest difference, not the number of wrong elements. */
	wrong = strchr(row->word[lead + 3], 'e') ? "error" : "#wrong";
	more = half == 8 ? "i_min i_max i_p99 i_cv%" : "";
	snprintf(header, chars,
		 "# size count type %s %s time algbw busbw %s %s time algbw busbw %s %s",
		 redop ? "redop" : "", root ? "root" : "", wrong, more, wrong, more);
	return true;
}
