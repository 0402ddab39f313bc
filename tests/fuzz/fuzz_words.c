/* Any text as --rsh, and any text as one word that must survive quoting. */
#include "lib/cluster/child.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	char *s = arena_strndup(&a, (const char *)data, n);
	str_list words;
	struct err e;

	(void)!split_words(s, &a, &words, &e);
	expect(split_words(shell_quote(&a, s), &a, &words, &e) == 0);
	expect(words.n == 1 && streq(words.v[0], s));
	return 0;
}
