#include "bench/sweep/groups.h"

#include "lib/cluster/world.h"
#include "lib/core/text.h"

#include <ctype.h>
#include <errno.h>

enum { WORD_MAX = 64, LIST_MAX = 1 << 16 /* characters */ };

/* --- words ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum groups_how how;
} words[] = {{"mod", GROUPS_MOD}, {"div", GROUPS_DIV}, {"mask", GROUPS_AND},
	     {"and", GROUPS_AND}, {"or", GROUPS_OR},   {"%", GROUPS_MOD},
	     {"/", GROUPS_DIV},	  {"&", GROUPS_AND},   {"|", GROUPS_OR}};

static const char *skip_spaces(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* *ret_end: behind it, and behind the spaces there. */
static int number(const char *s, int *ret, const char **ret_end)
{
	bool binary = !strncasecmp(s, "0b", 2);
	const char *digits = binary ? s + 2 : s;
	unsigned long v;
	char *end;

	if (!isxdigit((unsigned char)*digits))
		return -1;
	errno = 0;
	v = strtoul(digits, &end, binary ? 2 : 0);
	if (end == digits || errno || v > INT32_MAX)
		return -1;
	*ret = (int)v;
	*ret_end = skip_spaces(end);
	return 0;
}

/* " each 8", or nothing. */
static int each_of(const char *s, struct groups_spec *ret)
{
	if (!*s)
		return 0;
	if (strncasecmp(s, "each", 4))
		return -1;
	return number(skip_spaces(s + 4), &ret->each, &s) || *s || ret->each < 1 ? -1 : 0;
}

static int rule(const char *text, struct groups_spec *ret, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i].name);
		const char *s = text + n;

		if (strncasecmp(text, words[i].name, n))
			continue;
		ret->how = words[i].how;
		if (number(skip_spaces(s), &ret->value, &s) || each_of(s, ret))
			break;
		if (!ret->value && (ret->how == GROUPS_MOD || ret->how == GROUPS_DIV))
			return err_set(e, ERR_USAGE, "--groups: '%.*s' divides by nothing",
				       WORD_MAX, text);
		return 0;
	}
	err_set(e, ERR_USAGE, "--groups: '%.*s' is no way to make groups", WORD_MAX, text);
	return err_hint(e, "--groups 'mod 8', 'div 8', 'mask 0x7', 'or 0x7', or the ranks of each: "
			   "'0-3;4-7'");
}

/* --- lists ------------------------------------------------------------------------------- */

static int bad_list(const char *at, struct err *e)
{
	err_set(e, ERR_USAGE, "--groups: at '%.*s' there should be ranks, as in 0-3;4-7", WORD_MAX,
		at);
	return err_hint(e, "; is between groups, a comma between ranks of one: '0,8;1,9'");
}

static int rank_at(const char **s, int *ret)
{
	const char *at = skip_spaces(*s);
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)*at))
		return -1;
	v = strtoul(at, &end, 10);
	if (v >= WORLD_MAX)
		return -1;
	*ret = (int)v;
	*s = skip_spaces(end);
	return 0;
}

static int list(const char *text, struct arena *a, struct groups_spec *ret, struct err *e)
{
	struct groups_range r = {0};

	ret->how = GROUPS_LIST;
	if (strlen(text) > LIST_MAX)
		return err_set(e, ERR_USAGE, "--groups: more than %d characters", LIST_MAX);
	for (const char *s = text, *at = text;; at = ++s) {
		if (rank_at(&s, &r.first))
			return bad_list(at, e);
		r.last = r.first;
		if (*s == '-' && (s++, rank_at(&s, &r.last)))
			return bad_list(at, e);
		if (r.last < r.first)
			return err_set(e, ERR_USAGE, "--groups: %d-%d ends before it begins",
				       r.first, r.last);
		*LIST_ADD(a, &ret->ranges) = r;
		if (!*s)
			return 0;
		if (*s != ',' && *s != ';')
			return bad_list(at, e);
		r.group += *s == ';';
	}
}

int groups_parse(const char *text, struct arena *a, struct groups_spec *ret, struct err *e)
{
	*ret = (struct groups_spec){.each = 1};
	text = skip_spaces(text);
	return isdigit((unsigned char)*text) ? list(text, a, ret, e) : rule(text, ret, e);
}

/* --- of so many ranks ---------------------------------------------------------------------- */

static int colour(const struct groups_spec *s, int rank)
{
	int process = rank / s->each;

	switch (s->how) {
	case GROUPS_MOD:
		return process % s->value;
	case GROUPS_DIV:
		return process / s->value;
	case GROUPS_AND:
		return process & s->value;
	case GROUPS_OR:
		return process | s->value;
	case GROUPS_LIST:
		break;
	}
	return -1;
}

static int of_list(const struct groups_spec *s, int size, int *ids, struct err *e)
{
	for (int i = 0; i < size; i++)
		ids[i] = -1;
	for (size_t i = 0; i < s->ranges.n; i++) {
		const struct groups_range *r = &s->ranges.v[i];

		if (r->last >= size)
			return err_set(e, ERR_USAGE, "--groups: %d is not one of %d ranks", r->last,
				       size);
		for (int k = r->first; k <= r->last; k++) {
			if (ids[k] >= 0)
				return err_set(e, ERR_USAGE, "--groups: rank %d is there twice", k);
			ids[k] = r->group;
		}
	}
	return 0;
}

int groups_of(const struct groups_spec *s, int size, struct arena *a, struct groups *ret,
	      struct err *e)
{
	int *ids = arena_alloc(a, (size_t)size * sizeof(*ids));

	for (int i = 0; i < size && s->how != GROUPS_LIST; i++)
		ids[i] = colour(s, i);
	if (s->how == GROUPS_LIST && of_list(s, size, ids, e))
		return -1;
	return groups_from_ids(ids, size, a, ret)
		       ? 0
		       : err_set(e, ERR_USAGE, "--groups: no rank is in a group");
}

struct place { /* a rank, for sorting */
	int id, rank;
};

static int by_id(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return a->id != b->id ? (a->id > b->id) - (a->id < b->id) : a->rank - b->rank;
}

bool groups_from_ids(const int *ids, int size, struct arena *a, struct groups *ret)
{
	struct place *all = arena_alloc(a, ((size_t)size + 1) * sizeof(*all));
	int *ranks = arena_alloc(a, ((size_t)size + 1) * sizeof(*ranks));
	int *of = arena_alloc(a, ((size_t)size + 1) * sizeof(*of));
	int n = 0;

	for (int i = 0; i < size; i++) {
		of[i] = -1;
		if (ids[i] >= 0)
			all[n++] = (struct place){ids[i], i};
	}
	qsort(all, (size_t)n, sizeof(*all), by_id);
	*ret = (struct groups){.size = size, .of = of, .members = n, .least = n};
	ret->v = arena_alloc(a, ((size_t)n + 1) * sizeof(*ret->v));
	for (int i = 0; i < n; i++) {
		if (!i || all[i].id != all[i - 1].id)
			ret->v[ret->n++] = (struct group){.id = all[i].id, .ranks = &ranks[i]};
		ranks[i] = all[i].rank;
		of[all[i].rank] = ret->n - 1;
		ret->v[ret->n - 1].n++;
	}
	for (int i = 0; i < ret->n; i++)
		ret->least = ret->v[i].n < ret->least ? ret->v[i].n : ret->least;
	for (int i = size; i-- > 0;)
		ret->lead = of[i] >= 0 ? of[i] : ret->lead;
	return n > 0;
}

/* --- words for people ------------------------------------------------------------------------ */

const char *group_ranks_text(const struct group *g, struct arena *a)
{
	enum { MANY = 60 /* characters */ };
	struct text t;

	text_init(&t, a);
	text_add(&t, g->n == 1 ? "rank " : "ranks ");
	for (int i = 0, to; i < g->n; i = to + 1) {
		for (to = i; to + 1 < g->n && g->ranks[to + 1] == g->ranks[to] + 1;)
			to++;
		if (to == i + 1 && to + 1 < g->n)
			to = i; /* two of a list are no range */
		if (t.n > MANY) {
			text_more(&t, "", (size_t)g->n, (size_t)i);
			break;
		}
		text_addf(&t, to > i ? "%s%d-%d" : "%s%d", i ? ", " : "", g->ranks[i],
			  g->ranks[to]);
	}
	return t.s;
}
