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

void meeting(struct why *w, struct arena *a, struct explanation *x)
{
	store(x);
	came_late(x);
	if (!absentee(w, a, x))
		dropped(x);
}
