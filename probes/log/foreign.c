/* An address that a rank should listen on, and whose it is. */
#include "probes/log/explain.h"

#include "lib/net/addr.h"
#include "probes/log/extract.h"

enum { BOTH_KNOWN = 90 };

/* The host that offered @addr; NULL: nobody did, or @who itself. */
static const struct actor *owner_of(const struct why *w, const char *addr,
				    const struct log_who *who)
{
	const struct offer *o = actors_offered(&w->actors, addr);
	const struct actor *y = o ? &w->actors.v.v[o->actor] : NULL;

	return y && *y->who.host && !streq(y->who.host, who->host) ? y : NULL;
}

static bool is_address(const char *host)
{
	union addr a;

	return *host && addr_parse(host, &a) == 0;
}

/* Ray's workers say the address of their node with each line: it is another one. */
void foreign(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "IF-011");

	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];
		const struct actor *owner;
		struct extract at = {0};

		extract_line(e->body, &at); /* e->text begins with the worker's own */
		if (!is_address(at.addr) || streq(at.addr, e->who.host))
			continue;
		owner = owner_of(w, at.addr, &e->who);
		if (!owner && !is_address(e->who.host))
			continue;
		c->first = e;
		explain_raise(c, BOTH_KNOWN,
			      owner ? arena_printf(a, "%s is %s's address, and %s wanted it",
						   at.addr, owner->who.host, who_text(a, &e->who))
				    : arena_printf(a, "the worker runs on %s, and was told %s",
						   e->who.host, at.addr));
		return;
	}
}
