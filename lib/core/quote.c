#include "lib/core/quote.h"

#include "lib/core/text.h"

#include <ctype.h>

char *shell_quote(struct arena *a, const char *s)
{
	bool plain = *s;
	struct text t;

	for (const char *p = s; *p && plain; p++)
		plain = isalnum((unsigned char)*p) || strchr("_@%+:,./-", *p);
	if (plain)
		return arena_strdup(a, s);
	text_init(&t, a);
	text_add(&t, "'");
	for (; *s; s++) {
		if (*s == '\'')
			text_add(&t, "'\\''");
		else
			text_addn(&t, s, 1);
	}
	text_add(&t, "'");
	return t.s;
}
