/* Any text as --rsh, any text as one word that must survive quoting, and any text as what ssh, or
 * another way to a host, printed before it failed. */
#include "lib/cluster/trouble.h"

#include "lib/core/quote.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

/* Whatever it printed, why there was no answer is one sentence. */
static void fail_with(char *said, unsigned how, struct arena *a)
{
	static const int codes[] = {255, 1, 126, 127, -1, 137, 0};
	static const char *const ways[] = {"ssh", "docker", "kubectl", "srun"};
	const char *name = ways[how % ARRAY_LEN(ways)];
	const struct rsh_way rsh = {.name = name, .typed = name};
	const struct fanout_result r = {.host = "node0",
					.started = how % 16 != 15,
					.timed_out = how % 5 == 4,
					.asks = how % 10 == 9,
					.exit_status = codes[how % ARRAY_LEN(codes)],
					.signal = how % ARRAY_LEN(codes) == 4 ? 9 : 0,
					.out = how % 3 ? "" : said,
					.out_n = how % 3 ? 0 : strlen(said),
					.err = said};
	struct trouble t = fanout_trouble(&r, &rsh, "windsock", 1000000000, a);

	expect(!t.said || (*t.said && !strchr(t.said, '\n')));
	if (r.exit_status < 0 || !r.started || r.timed_out)
		return;
	t = fanout_silence(&r, &rsh, "windsock", a);
	expect(!t.said || (*t.said && !strchr(t.said, '\n')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	char *s = arena_strndup(&a, (const char *)data, n);
	str_list words;
	struct err e;

	for (unsigned how = 0; n && how < 8; how++)
		fail_with(s, data[0] + how, &a);
	(void)!split_words(s, &a, &words, &e);
	expect(split_words(shell_quote(&a, s), &a, &words, &e) == 0);
	expect(words.n == 1 && streq(words.v[0], s));
	return 0;
}
