#include "probes/tally/names.h"

#include "lib/core/text.h"

enum { FEWEST = 64, LONG = 160, FIRST = 8 };

/* Where @name is, or would be. */
static size_t place(const struct names *s, const char *name)
{
	size_t at = text_hash(0, name) & (s->size - 1);

	while (s->slots[at] && !streq(s->slots[at], name))
		at = (at + 1) & (s->size - 1);
	return at;
}

bool names_has(const struct names *s, const char *name) { return s->n && s->slots[place(s, name)]; }

static void grow(struct names *s, struct arena *a)
{
	struct names old = *s;

	s->size = old.size ? 2 * old.size : FEWEST;
	s->slots = arena_alloc(a, s->size * sizeof(*s->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i])
			s->slots[place(s, old.slots[i])] = old.slots[i];
}

void names_add(struct names *s, struct arena *a, const char *name)
{
	size_t at;

	if (2 * s->n >= s->size)
		grow(s, a);
	at = place(s, name);
	s->n += !s->slots[at];
	s->slots[at] = name;
}

static int by_version(const void *x, const void *y)
{
	return strverscmp(((const struct host *)x)->name, ((const struct host *)y)->name);
}

const char *names_fold(struct arena *a, host_list *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_version);
	return hostlist_fold(a, l);
}

const char *names_brief(struct arena *a, host_list *l)
{
	const char *all = names_fold(a, l);
	host_list first = {.v = l->v, .n = FIRST};

	if (strlen(all) <= LONG || l->n <= 2 * FIRST)
		return all;
	return arena_printf(a, "%s and %zu more", hostlist_fold(a, &first), l->n - FIRST);
}

const char *names_after(const char *said, const char *host)
{
	size_t n = strlen(host);

	if (!starts_with(said, host))
		return said;
	if (starts_with(said + n, ": "))
		return said + n + 2;
	return said[n] == ' ' ? said + n + 1 : said;
}
