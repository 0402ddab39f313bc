/* What the dumps have in common, kept once: texts, and groups. */
#include "lib/core/hash.h"
#include "lib/flight/flight.h"

static void slot_in(struct flight *f, uint32_t word)
{
	size_t at = f->words.v[word].hash & (f->nslots - 1);

	while (f->slots[at])
		at = (at + 1) & (f->nslots - 1);
	f->slots[at] = word + 1;
}

static void grow(struct flight *f)
{
	free(f->slots);
	f->nslots = f->nslots ? f->nslots * 2 : 1024;
	f->slots = calloc(f->nslots, sizeof(*f->slots));
	if (!f->slots) {
		f->nslots = 0; /* then nothing is found again, and kept once more */
		return;
	}
	for (size_t i = 0; i < f->words.n; i++)
		slot_in(f, (uint32_t)i);
}

flight_word flight_keep(struct flight *f, const char *s, size_t n)
{
	struct flight_text *t;
	uint32_t h;

	n = strnlen(s, n);
	h = hash32_add(HASH32, s, n);
	for (size_t at = h & (f->nslots - 1); f->nslots && f->slots[at];
	     at = (at + 1) & (f->nslots - 1)) {
		t = &f->words.v[f->slots[at] - 1];
		if (t->hash == h && strncmp(t->s, s, n) == 0 && !t->s[n])
			return f->slots[at] - 1;
	}
	t = LIST_ADD(&f->a, &f->words);
	*t = (struct flight_text){.s = arena_strndup(&f->a, s, n), .hash = h};
	if (f->words.n * 2 > f->nslots)
		grow(f);
	else
		slot_in(f, (uint32_t)f->words.n - 1);
	return (uint32_t)f->words.n - 1;
}

struct flight *flight_new(void)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (f)
		(void)flight_keep(f, "", 0);
	return f;
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->dumps.n; i++)
		free(f->dumps.v[i].entries.v);
	free(f->slots);
	arena_done(&f->a);
	free(f);
}

/* "[0, 1, 2]" */
static void parse_ranks(struct flight *f, struct flight_group *g, const char *s)
{
	enum { RANK_MAX = 1 << 24 };
	LIST(int) ranks = {0};

	while (*s) {
		char *end;
		long rank = strtol(s, &end, 10);

		if (end == s) {
			s++;
			continue;
		}
		s = end;
		if (rank >= 0 && rank < RANK_MAX)
			*LIST_ADD(&f->a, &ranks) = (int)rank;
	}
	g->ranks = ranks.v;
	g->n = ranks.n;
	g->is_told = ranks.n > 0;
}

uint32_t flight_group_of(struct flight *f, const char *name, const char *desc, const char *ranks)
{
	flight_word as = flight_keep(f, name, strlen(name));
	flight_word of = ranks ? flight_keep(f, ranks, strlen(ranks)) : 0;
	struct flight_group *g;

	/* groups of one name but other ranks are others: splitting makes such */
	for (size_t i = f->groups.n; i-- > 0;)
		if (f->groups.v[i].as == as && f->groups.v[i].of == of)
			return (uint32_t)i;
	g = LIST_ADD(&f->a, &f->groups);
	*g = (struct flight_group){.as = as, .of = of, .name = flight_said(f, as)};
	g->desc = arena_strdup(&f->a, desc ? desc : "");
	parse_ranks(f, g, flight_said(f, of));
	return (uint32_t)f->groups.n - 1;
}
