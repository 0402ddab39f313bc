/* How ranks find each other: at torch's store, and then in Gloo's mesh; and who of them did not
 * come. */
#include "probes/log/explain.h"

#include "probes/log/said.h"

#include <ctype.h>

enum {
	ABSENT = 72,   /* a rank whose address others waited for in vain */
	DISAGREE = 76, /* ... and not all did */
	FAINT = 46,
	DROPPED = 68,
	BETTER = 6, /* more than what it explains */
};

static bool all_say(const struct cause *c, const char *words)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, words))
			return false;
	return c->first != NULL;
}

static const struct log_event *says(const struct cause *c, const char *words)
{
	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++)
		if (strstr(c->record->events.v[i].text, words))
			return &c->record->events.v[i];
	return NULL;
}

/* "No route to host" at the store: the address is nobody's, or a firewall rejects. */
static void store(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-004"), *route = explain_find(x, "CON-002");

	if (!c || !route || c->is_over || route->is_over || !all_say(route, "client socket"))
		return;
	explain_raise(c, route->weight + 2,
		      "the answer was 'No route to host': nobody has that address, its host is "
		      "down, or a firewall rejects");
	route->weight = FAINT;
	route->is_echo = true;
}

/* 172.17.0.2 and so on, which docker's bridge gives to its containers. */
static bool is_of_bridge(const char *addr) { return starts_with(addr, "172.17.0."); }

/* Asked in vain for a store at docker's bridge, and is not known to sit there too. */
static const struct log_event *asked_bridge(const struct why *w, const struct cause *c,
					    struct extract *ret_to)
{
	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];

		endpoint_of(w, e, ret_to);
		if (is_of_bridge(ret_to->addr) && !is_of_bridge(e->who.host) &&
		    !actors_offered(&w->actors, ret_to->addr) && strstr(e->text, "timed out"))
			return e;
	}
	return NULL;
}

/* Whoever asks from another network cannot reach a container behind docker's bridge. */
static void behind_bridge(struct why *w, struct arena *a, struct explanation *x)
{
	struct extract to = {0};
	const struct cause *met = explain_find(x, "PT-004");
	const struct log_event *e = asked_bridge(w, met, &to);
	struct cause copy, *c;

	if (!e)
		return;
	copy = *met; /* the list may grow */
	c = explain_add(w, a, x, "IF-008");
	if (isdigit((unsigned char)*e->who.host) && !starts_with(e->who.host, "172."))
		explain_reason(
			c, &copy, copy.weight + BETTER,
			arena_printf(a, "%s looked for the store at %s, and is not on that bridge",
				     who_text(a, &e->who), to.addr));
	else
		explain_suspect(c, copy.weight - 1, "docker gives such addresses to containers");
	c->first = c->first ? c->first : e;
}

/* Of one log that was written while both went on; what each says by itself may be in any order. */
static bool is_told_after(const struct log_event *late, const struct log_event *early)
{
	bool are_named =
		*late->who.host && *early->who.host && !streq(late->who.host, early->who.host);

	return late->file == early->file && are_named && event_before(early, late);
}

/* Rank 0 had given up before the others came: they find nobody. */
static void came_late(struct explanation *x)
{
	struct cause *waited = explain_find(x, "PT-013"), *c = explain_find(x, "PT-004");

	if (!waited || !c || waited->is_over || c->is_over ||
	    !is_told_after(c->first, waited->first))
		return;
	explain_raise(waited, c->weight + 2,
		      "rank 0 had given up when another tried to reach it: it came too late");
}

/* The rank of which Gloo's address was waited for: "keys: /default_pg/0//cpu//0/2"; -1: it is no
 * such key. */
static long awaited(const struct log_event *e)
{
	const char *p = strstr(e->text, "//cpu//"), *q;

	if (!p)
		return -1;
	p += strlen("//cpu//");
	q = p + strspn(p, "0123456789");
	return q > p && *q == '/' && isdigit((unsigned char)q[1]) ? strtol(q + 1, NULL, 10) : -1;
}

/* Who waited for a rank that did not come, and whether others, who waited for nobody, began to
 * connect. */
static bool absentee(struct why *w, struct arena *a, struct explanation *x)
{
	const struct log_event *e = says(explain_find(x, "PT-023"), "//cpu//"), *other = NULL;
	const struct cause *mesh = explain_find(x, "CON-033");
	long rank = e ? awaited(e) : -1;
	struct cause *c;

	if (rank < 0)
		return false;
	for (size_t i = 0; mesh && i < mesh->record->events.n; i++)
		if (is_told_after(&mesh->record->events.v[i], e))
			other = &mesh->record->events.v[i];
	c = explain_add(w, a, x, "PT-012");
	explain_raise(c, ABSENT,
		      arena_printf(a, "%s waited for the address of rank %ld, which never came",
				   who_text(a, &e->who), rank));
	c->first = c->first ? c->first : e;
	if (!other)
		return true;
	c = explain_add(w, a, x, "CON-014");
	explain_raise(c, DISAGREE,
		      arena_printf(a,
				   "%s waited for rank %ld, but %s for nobody: it counts a smaller "
				   "world",
				   who_text(a, &e->who), rank, who_text(a, &other->who)));
	c->first = c->first ? c->first : e;
	return true;
}

/* Several hosts, and nobody was refused: what Gloo sends between them is dropped. */
static void dropped(struct explanation *x)
{
	struct cause *c = explain_find(x, "CON-033");

	for (size_t i = 1; c && i < c->record->events.n; i++) {
		const struct log_who *p = &c->record->events.v[0].who,
				     *q = &c->record->events.v[i].who;

		if (*p->host && *q->host && !streq(p->host, q->host)) {
			explain_raise(
				c, DROPPED,
				"several hosts say so: what they send to each other is dropped");
			return;
		}
	}
}

/* Behind the last time all came together, or ended well, as somebody who may know says. */
static bool was_let_in(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = &w->progress.v[c->record->last_file];
	uint64_t last = c->record->last_line;

	return (p->met > last && ending_is_of(&p->meeter, &c->first->who)) ||
	       (p->ending.well > last && ending_is_of(&p->ending.who, &c->first->who));
}

/* Rank 0 that never comes is retried in silence until somebody gives up. */
static void still_knocking(struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-030");

	if (c && !c->is_over && !w->healthy && c->record->count >= 3 && !was_let_in(w, c))
		explain_raise(c, 58, "it never came during this log");
}

void meeting(struct why *w, struct arena *a, struct explanation *x)
{
	still_knocking(w, x);
	store(x);
	came_late(x);
	behind_bridge(w, a, x);
	if (!absentee(w, a, x))
		dropped(x);
}
