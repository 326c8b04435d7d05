/* SPDX-License-Identifier: BSD-3-Clause */
/* handoff knows each form of each mover by its name: a new one has to come into its list. */
#include <string.h>

#include "kvtransfer/handoff/handoff.h"
#include "tests/unit/check.h"

int main(void)
{
	for (int m = 0; fb_movers[m]; m++)
		for (int f = 0; fb_movers[m]->forms && fb_movers[m]->forms[f]; f++) {
			const char *form = fb_movers[m]->forms[f];
			int k = 0;

			while (fb_handoff_forms[k] && strcmp(fb_handoff_forms[k], form))
				k++;
			/* What copy calls auto is its usual form. */
			CHECK_STR(fb_handoff_forms[k] || !strcmp(form, "auto") ? "known" : form,
				  "known");
		}
	return check_done("forms");
}
