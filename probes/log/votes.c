#include "probes/log/votes.h"

#include "lib/core/text.h"
#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

enum { NAMED = 4 /* of more it says how many there are */ };

/* "epoch 2", "Epoch: 2", "step=400"; -1: it names none. */
static long number_in(const char *text)
{
	static const char *const words[] = {"epoch", "step", "iter", NULL};

	for (size_t i = 0; words[i]; i++) {
		const char *p = said_anyhow(text, words[i]);

		if (!p)
			continue;
		p += strlen(words[i]);
		p += strspn(p, "ation :=[#");
		if (isdigit((unsigned char)*p))
			return strtol(p, NULL, 10);
	}
	return -1;
}

static enum vote_kind kind_of(const struct log_line *l)
{
	static const char *const stop[] = {"early stopping", "stopping early",
					   "signaling trainer to stop", NULL};
	static const char *const worse[] = {"no improvement", "not improve", "not better", NULL};
	static const char *const better[] = {"new best", "improved", NULL};

	if (said_any_anyhow(l->body, stop))
		return VOTE_STOP;
	if (said_any_anyhow(l->body, worse))
		return VOTE_NOT_BETTER;
	return said_any_anyhow(l->body, better) ? VOTE_BETTER : VOTE_KINDS;
}

void votes_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct votes *t = &w->votes;
	struct vote one = {l->who.rank, kind_of(l), number_in(l->body)};
	unsigned i = 0;

	if (one.rank < 0 || one.kind == VOTE_KINDS)
		return;
	while (i < t->n && t->v[i].rank != one.rank)
		i++;
	if (i == VOTES_MAX)
		return;
	if (one.of < 0)
		one.of = i < t->n ? t->v[i].of + 1 : 0;
	t->v[i] = one;
	t->n += i == t->n;
}

static unsigned count(const struct votes *t, long of, enum vote_kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		n += t->v[i].of == of && t->v[i].kind == kind;
	return n;
}

static void add(struct text *s, const struct votes *t, long of, enum vote_kind kind)
{
	static const char *const what[] = {"better", "not better", "the end"};
	unsigned all = count(t, of, kind), n = 0;

	text_addf(s, "%s%s", s->n ? "; " : "", all == 1 ? "rank" : "ranks");
	for (unsigned i = 0; i < t->n && n < NAMED; i++)
		if (t->v[i].of == of && t->v[i].kind == kind) {
			n++;
			text_addf(s, "%s%d",
				  n == 1     ? " "
				  : n == all ? " and "
					     : ", ",
				  t->v[i].rank);
		}
	text_more(s, "", all, NAMED);
	text_addf(s, ": %s", what[kind]);
}

const char *votes_split(const struct votes *t, struct arena *a)
{
	long latest = 0;
	unsigned kinds = 0;
	struct text s;

	for (unsigned i = 0; i < t->n; i++)
		latest = t->v[i].of > latest ? t->v[i].of : latest;
	for (int k = 0; k < VOTE_KINDS; k++)
		kinds += count(t, latest, k) > 0;
	if (kinds < 2)
		return NULL;
	text_init(&s, a);
	for (int k = 0; k < VOTE_KINDS; k++)
		if (count(t, latest, k))
			add(&s, t, latest, k);
	return s.s;
}
