/* What a judge knows to type because of this very log goes before the entry's own advice. */
#include "probes/log/explain.h"

#include "lib/core/quote.h"

const char *explain_word(struct arena *a, const char *word)
{
	return *word && *word != '-' && streq(shell_quote(a, word), word) ? word : NULL;
}

/* "sudo ip link set eth0 mtu 1420" and "sudo ip link set DEV mtu 1500": typed one after the other
 * the second undoes the first. */
static bool is_same_command(const char *one, const char *other)
{
	enum { WORDS = 4 };
	int words = 0;

	for (; words < WORDS && *one && *one == *other; one++, other++)
		words += *one == ' ';
	return words == WORDS;
}

void explain_cure(struct arena *a, struct cause *c)
{
	str_list fix = {0};

	if (!c->cure)
		return;
	*LIST_ADD(a, &fix) = c->cure;
	for (size_t i = 0; i < c->fix.n; i++)
		if (!is_same_command(c->fix.v[i], c->cure))
			*LIST_ADD(a, &fix) = c->fix.v[i];
	c->fix = fix;
}
