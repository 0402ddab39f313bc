/* What ranks do again, as a text of numbers, so that it fits into the environment of a process:
 *
 *	1 RANKS
 *	g FAMILY RANK-LAST RANK ...		a group, in its own order
 *	k AS COLL TYPE COUNT UNEVEN FAMILY TIMES GROUP-LAST ...
 *	m KIND [GROUP-LAST ...]			a move; without groups those of its kind
 */
#include "bench/replay/traffic.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

#include <math.h>

enum { NUMBERS_MAX = 1 << 20 };

/* --- there ------------------------------------------------------------------------------------ */

static void put_numbers(struct text *o, const uint32_t *v, size_t n)
{
	for (size_t i = 0, to; i < n; i = to + 1) {
		for (to = i; to + 1 < n && v[to + 1] == v[to] + 1;)
			to++;
		text_addf(o, to > i ? " %u-%u" : " %u", v[i], v[to]);
	}
	text_add(o, "\n");
}

static void put_kind(struct text *o, const struct traffic_kind *k)
{
	text_addf(o, "k %s %s %d %zu %d %u %.6g", k->as, k->coll->name, (int)k->type, k->count,
		  k->uneven, k->family, k->times);
	put_numbers(o, k->groups.v, k->groups.n);
}

static bool is_all(const struct traffic_kind *k, const struct traffic_move *m)
{
	return k->groups.n == m->n && !memcmp(k->groups.v, m->groups, m->n * sizeof(*m->groups));
}

static const char *pack(const struct traffic *t, struct arena *a)
{
	struct text o;

	text_init(&o, a);
	text_addf(&o, "1 %d\n", t->ranks);
	for (size_t i = 0; i < t->groups.n; i++) {
		const struct traffic_group *g = &t->groups.v[i];

		text_addf(&o, "g %u", g->family);
		put_numbers(&o, (const uint32_t *)(const void *)g->ranks, g->n);
	}
	for (size_t i = 0; i < t->kinds.n; i++)
		put_kind(&o, &t->kinds.v[i]);
	for (size_t i = 0; i < t->moves.n && o.n <= TRAFFIC_TEXT; i++) {
		const struct traffic_move *m = &t->moves.v[i];

		text_addf(&o, "m %u", m->kind);
		put_numbers(&o, m->groups, is_all(&t->kinds.v[m->kind], m) ? 0 : m->n);
	}
	return o.n <= TRAFFIC_TEXT ? o.s : NULL;
}

const char *traffic_pack(struct traffic *t)
{
	const char *text = pack(t, t->a);

	if (text || !t->moves.n)
		return text;
	t->moves.n = 0;
	return pack(t, t->a);
}

/* --- and back --------------------------------------------------------------------------------- */

struct reader {
	struct traffic *t;
	const char *at;
	bool bad;
	LIST(uint32_t) numbers;
};

static uint64_t number(struct reader *r, uint64_t max)
{
	char *end;
	unsigned long long v;

	r->at += strspn(r->at, " ");
	if (*r->at < '0' || *r->at > '9')
		r->bad = true;
	v = r->bad ? 0 : strtoull(r->at, &end, 10);
	if (!r->bad)
		r->at = end;
	r->bad |= v > max;
	return r->bad ? 0 : v;
}

static const char *word(struct reader *r)
{
	size_t n;

	r->at += strspn(r->at, " ");
	n = strcspn(r->at, " \n");
	r->at += n;
	return arena_strndup(r->t->a, r->at - n, n);
}

/* Up to the end of the line; each is below @below. */
static void numbers(struct reader *r, uint64_t below)
{
	r->numbers.n = 0;
	r->bad |= !below;
	while (!r->bad && *r->at == ' ') {
		uint64_t from = number(r, below - 1), to = from;

		if (*r->at == '-') {
			r->at++;
			to = number(r, below - 1);
		}
		r->bad |= to < from || r->numbers.n + (to - from) > NUMBERS_MAX;
		for (; !r->bad && from <= to; from++)
			*LIST_ADD(r->t->a, &r->numbers) = (uint32_t)from;
	}
}

static bool are_different(const struct reader *r)
{
	AUTO_FREE bool *seen = calloc((size_t)r->t->ranks + 1, sizeof(*seen));

	for (size_t i = 0; seen && i < r->numbers.n; i++) {
		if (seen[r->numbers.v[i]])
			return false;
		seen[r->numbers.v[i]] = true;
	}
	return seen;
}

static void take_group(struct reader *r)
{
	struct traffic *t = r->t;
	uint32_t family = (uint32_t)number(r, t->families.n), at = (uint32_t)t->groups.n;
	int *ranks;

	numbers(r, (uint64_t)t->ranks);
	r->bad = r->bad || r->numbers.n < 2 || !are_different(r);
	if (r->bad)
		return;
	if (family == t->families.n)
		*LIST_ADD(t->a, &t->families) =
			(struct traffic_family){"", (uint32_t)r->numbers.n, at};
	r->bad = t->families.v[family].n != r->numbers.n;
	ranks = arena_alloc(t->a, r->numbers.n * sizeof(*ranks));
	memcpy(ranks, r->numbers.v, r->numbers.n * sizeof(*ranks));
	*LIST_ADD(t->a, &t->groups) = (struct traffic_group){ranks, (uint32_t)r->numbers.n, family};
}

static bool are_of(const struct reader *r, uint32_t family)
{
	for (size_t i = 0; i < r->numbers.n; i++)
		if (r->t->groups.v[r->numbers.v[i]].family != family)
			return false;
	return r->numbers.n > 0;
}

static void take_kind(struct reader *r)
{
	struct traffic *t = r->t;
	struct traffic_kind k = {.as = word(r), .then_us = NAN, .waited_us = NAN};

	k.coll = coll_find(word(r));
	k.type = (enum dtype)number(r, DT_COUNT - 1);
	k.count = (size_t)number(r, UINT64_C(1) << TRAFFIC_COUNT_BITS);
	k.uneven = number(r, 1);
	k.family = (uint32_t)number(r, t->families.n ? t->families.n - 1 : 0);
	r->bad |= parse_double(word(r), &k.times) || !(k.times > 0) || !k.coll || !k.count;
	numbers(r, t->groups.n);
	r->bad = r->bad || !are_of(r, k.family) || t->kinds.n >= TRAFFIC_KINDS;
	for (size_t i = 0; !r->bad && i < r->numbers.n; i++)
		*LIST_ADD(t->a, &k.groups) = r->numbers.v[i];
	*LIST_ADD(t->a, &t->kinds) = k;
}

static void take_move(struct reader *r)
{
	struct traffic *t = r->t;
	struct traffic_move m = {.kind = (uint32_t)number(r, t->kinds.n ? t->kinds.n - 1 : 0)};
	uint32_t *groups;

	r->bad |= !t->kinds.n || t->moves.n >= TRAFFIC_MOVES;
	numbers(r, t->groups.n);
	if (r->bad)
		return;
	m.n = (uint32_t)r->numbers.n;
	m.groups = groups = arena_alloc(t->a, (m.n + 1) * sizeof(*groups));
	if (m.n)
		memcpy(groups, r->numbers.v, m.n * sizeof(*groups));
	r->bad = m.n && !are_of(r, t->kinds.v[m.kind].family);
	if (!m.n) {
		m.groups = t->kinds.v[m.kind].groups.v;
		m.n = (uint32_t)t->kinds.v[m.kind].groups.n;
	}
	*LIST_ADD(t->a, &t->moves) = m;
}

static void take_line(struct reader *r)
{
	char what = *r->at;

	r->at += what != '\0';
	if (what == 'g')
		take_group(r);
	else if (what == 'k')
		take_kind(r);
	else if (what == 'm')
		take_move(r);
	else
		r->bad = true;
	r->bad |= *r->at != '\n';
	r->at += !r->bad;
}

int traffic_unpack(const char *text, size_t n, struct arena *a, struct traffic *ret)
{
	struct reader r = {.t = ret};

	*ret = (struct traffic){.a = a, .source = "", .step_s = NAN};
	r.at = arena_strndup(a, text, n);
	r.bad = number(&r, 1) != 1;
	ret->ranks = (int)number(&r, 1 << 20);
	r.bad |= ret->ranks < 2 || *r.at != '\n';
	r.at += !r.bad;
	while (!r.bad && *r.at)
		take_line(&r);
	return r.bad || !ret->kinds.n ? -1 : 0;
}
