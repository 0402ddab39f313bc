/* What a judge knows to type because of this very log goes before the entry's own advice. */
#include "probes/log/explain.h"

#include "lib/core/quote.h"

const char *explain_word(struct arena *a, const char *word)
{
	return *word && *word != '-' && streq(shell_quote(a, word), word) ? word : NULL;
}

void explain_cure(struct arena *a, struct cause *c)
{
	str_list fix = {0};

	if (!c->cure)
		return;
	*LIST_ADD(a, &fix) = c->cure;
	for (size_t i = 0; i < c->fix.n; i++)
		*LIST_ADD(a, &fix) = c->fix.v[i];
	c->fix = fix;
}
