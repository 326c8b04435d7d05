/* SPDX-License-Identifier: BSD-3-Clause */
/* See number.h. */
#include "scripts/tools/lib/number.h"

#include <math.h>

const char *fb_number_text(double x, char buf[FB_NUMBER_CHARS])
{
	double size = fabs(x);
	int decimals = size < 0.99995  ? 4
		       : size < 9.9995 ? 3
		       : size < 99.995 ? 2
		       : size < 999.95 ? 1
				       : 0;

	if (!isfinite(x))
		snprintf(buf, FB_NUMBER_CHARS, "-");
	else if (size >= 1e9)
		snprintf(buf, FB_NUMBER_CHARS, "%.3e", x);
	else
		snprintf(buf, FB_NUMBER_CHARS, "%.*f", decimals, x);
	return buf;
}

const char *fb_own_text(double x, char buf[FB_NUMBER_CHARS])
{
	if (!(fabs(x) < 1e7) || trunc(x) < x || trunc(x) > x)
		return fb_number_text(x, buf);
	snprintf(buf, FB_NUMBER_CHARS, "%.0f", x);
	return buf;
}

const char *fb_percent_text(double x, char buf[FB_NUMBER_CHARS])
{
	if (!isfinite(x))
		snprintf(buf, FB_NUMBER_CHARS, "-");
	else if (x >= 9.995)
		snprintf(buf, FB_NUMBER_CHARS, ">999%%");
	else
		snprintf(buf, FB_NUMBER_CHARS, "%.*f%%", x < 0.0995 ? 1 : 0, 100 * x);
	return buf;
}

void fb_put_number(FILE *out, double x)
{
	fputc(',', out);
	if (isfinite(x))
		fprintf(out, "%.6g", x);
}
