#include "probes/log/uneven.h"

#include "lib/core/text.h"
#include "probes/log/explain.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	OF_STEPS, /* "step 40/1198": all of an epoch's */
	OF_BATCHES,
	OF_ITERATIONS,
	OF_PARTS, /* "1198 batches", "161 shards" */
	MOST = 100000000,
	MORE = 5 /* than what it explains */
};

/* The number behind the slash of "40/1198"; 0: it is another word. */
static long of_all(const char *p)
{
	size_t n = strspn(p, "0123456789");
	char *end;
	long all;

	if (!n || p[n] != '/' || !isdigit((unsigned char)p[n + 1]))
		return 0;
	all = strtol(p + n + 1, &end, 10);
	return isalnum((unsigned char)*end) || *end == '/' ? 0 : all;
}

/* The number before the word: "1198 batches". */
static long number_before(const char *text, const char *word)
{
	const char *p = word;

	while (p > text && isdigit((unsigned char)p[-1]))
		p--;
	return p == word || (p > text && !strchr(" =:(", p[-1])) ? 0 : strtol(p, NULL, 10);
}

/* Of training, and of validation, which one rank may do alone, programs say different words. */
static long all_of(const char *text, const char *word)
{
	const char *p = said_anyhow(text, word);

	if (!p) {
		char first[16];

		(void)snprintf(first, sizeof(first), "[%s", word + 1);
		p = said_anyhow(text, first);
	}
	return p ? of_all(said_spaces(p + strlen(word))) : 0;
}

static long parts_of(const char *text)
{
	static const char *const words[] = {" batches", " shards", " minibatches"};
	long n = 0;

	for (size_t i = 0; !n && i < ARRAY_LEN(words); i++) {
		const char *p = strstr(text, words[i]);

		n = p ? number_before(text, p) : 0;
	}
	return n;
}

/* "[rank3] ...", or what the message itself begins with: "rank 3: 161 shards". */
static int rank_of(const struct log_line *l)
{
	const char *p = l->body;

	if (l->who.rank >= 0 ||
	    (strncasecmp(p, "rank ", 5) != 0 && strncasecmp(p, "rank=", 5) != 0))
		return l->who.rank;
	return isdigit((unsigned char)p[5]) ? (int)strtol(p + 5, NULL, 10) : -1;
}

void uneven_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	int rank = rank_of(l);
	const long n[UNEVEN_KINDS] = {all_of(l->body, " step "), all_of(l->body, " batch "),
				      all_of(l->body, " iter "), parts_of(l->body)};

	for (size_t k = 0; k < UNEVEN_KINDS && rank >= 0 && rank < UNEVEN_RANKS; k++) {
		uint32_t *all = &w->uneven.all[k][rank];

		if (n[k] > 0 && n[k] < MOST)
			*all = !*all || *all == (uint32_t)n[k] ? (uint32_t)n[k] : UNEVEN_VARIES;
	}
}

/* Who has the least of a kind, and one that has more; NULL: all are alike. */
static const char *differ(const struct uneven *u, size_t kind, struct arena *a)
{
	static const char *const things[] = {"steps", "batches", "iterations", "of them"};
	int least = -1, most = -1;

	for (int r = 0; r < UNEVEN_RANKS; r++) {
		if (!u->all[kind][r] || u->all[kind][r] == UNEVEN_VARIES)
			continue;
		least = least < 0 || u->all[kind][r] < u->all[kind][least] ? r : least;
		most = most < 0 || u->all[kind][r] > u->all[kind][most] ? r : most;
	}
	if (least < 0 || u->all[kind][least] == u->all[kind][most])
		return NULL;
	return arena_printf(a, "rank %d has %u %s, and rank %d has %u", least, u->all[kind][least],
			    things[kind], most, u->all[kind][most]);
}

void uneven(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"PT-014",	 "PT-123",  "PT-112", "PT-006",
					      "CON-024", "CON-010", NULL};
	struct cause *c = explain_find(x, "PT-222");
	const struct cause *e = explain_surest(x, effects, 0);
	const char *said = NULL;

	for (size_t k = 0; !said && k < UNEVEN_KINDS; k++)
		said = differ(&w->uneven, k, a);
	if (c)
		c->weight = 0;
	if (!c || !e || !said)
		return;
	explain_reason(c, e, e->weight + MORE, said);
	if (explain_find(x, "PT-006"))
		kin_adopt(c, explain_find(x, "PT-006"));
}
