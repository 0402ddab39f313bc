#include "probes/log/chain.h"

#include "lib/core/text.h"

enum {
	DEEP = 60, /* lines of the outer traceback */
	INNER = 46 /* seen, and told better by the outer one */
};

/* Without a word about whom it was to reach. */
static bool is_bare(const struct log_event *e)
{
	const char *p = strstr(e->body, "rror: [Errno ");

	return e->after_traceback && p && !strpbrk(p, "(<'");
}

static bool is_in_download(const struct explanation *x, const struct log_event *e)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (c->is_over || !starts_with(c->sig->id, "HUB-"))
			continue;
		for (size_t j = 0; j < c->record->events.n; j++) {
			const struct log_event *outer = &c->record->events.v[j];

			if (outer->file == e->file && outer->line > e->line &&
			    outer->line - e->line <= DEEP)
				return true;
		}
	}
	return false;
}

void chains(struct explanation *x)
{
	static const char *const links[] = {"CON-002", "CON-003", "CON-004", "CON-021", "PT-002"};

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		struct cause *c = explain_find(x, links[i]);
		size_t n = 0;

		for (size_t j = 0; c && j < c->record->events.n; j++)
			n += is_bare(&c->record->events.v[j]) &&
			     is_in_download(x, &c->record->events.v[j]);
		if (n && n == c->record->events.n)
			c->weight = c->weight < INNER ? c->weight : INNER;
	}
}
