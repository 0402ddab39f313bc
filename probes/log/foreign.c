/* What a rank should listen on: an address, and whose it is; one of this host's links alone; or a
 * port that somebody chose for NCCL. */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "lib/net/addr.h"
#include "probes/log/extract.h"

enum { BOTH_KNOWN = 90, CHOSEN = 90, MORE = 6 };

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

/* NCCL listens on the address of the interface that it has just named. */
static void link_local(struct explanation *x)
{
	static const char *const named[] = {"IF-006", "IF-005"};
	const struct cause *failed = explain_find(x, "IF-011");
	const struct log_event *e = explain_event(failed, "NCCL WARN Call to bind");

	for (size_t i = 0; e && i < ARRAY_LEN(named); i++) {
		struct cause *c = explain_find(x, named[i]);

		if (c && !c->is_over && streq(c->first->who.host, e->who.host))
			explain_reason(c, failed, failed->weight + MORE,
				       "NCCL could not listen on it");
	}
}

/* NCCL takes any free port, but where NCCL_COMM_ID names one. */
static void chosen_port(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *used_up = explain_find(x, "CON-040"), *c;
	const struct cause *chosen = explain_find(x, "CON-042");
	const struct log_event *first;

	if (!used_up || !chosen || used_up->is_over)
		return;
	first = chosen->first;
	used_up->weight = 0;
	c = explain_add(w, a, x, "PT-001"); /* the list may grow */
	c->first = c->first ? c->first : first;
	explain_raise(c, CHOSEN, "NCCL_COMM_ID names it, and NCCL could not listen on it");
}

/* Ray's workers say the address of their node with each line: it is another one. */
static void another_hosts(struct why *w, struct arena *a, struct explanation *x)
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

void foreign(struct why *w, struct arena *a, struct explanation *x)
{
	link_local(x);
	chosen_port(w, a, x);
	another_hosts(w, a, x);
}
