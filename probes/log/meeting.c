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

/* Addresses that a host, or what runs on it, has for itself alone. */
static const struct own_net {
	const char *prefix, *id, *what;
} own_nets[] = {
	{"172.17.0.", "IF-008", "docker gives such addresses to containers"},
	{"169.254.", "IF-020", "every host has such addresses for itself"},
	{"192.168.122.", "IF-004", "libvirt gives such addresses to its virtual machines"},
	{"10.88.0.", "IF-004", "podman gives such addresses to containers"},
	{"127.", "PT-004", "that is loopback, and each host finds itself there"},
	{"localhost", "PT-004", "that is loopback, and each host finds itself there"},
};

static const struct own_net *own_net_of(const char *addr)
{
	for (size_t i = 0; i < ARRAY_LEN(own_nets); i++)
		if (starts_with(addr, own_nets[i].prefix))
			return &own_nets[i];
	return NULL;
}

/* Of such an address, if the line of @e, or where it names none the nearest that does, is about it.
 */
static const struct own_net *asked_own(const struct why *w, const struct log_event *e,
				       struct extract *ret_to)
{
	const struct own_net *net;

	endpoint_of(w, e, ret_to);
	for (unsigned i = 0; !*ret_to->addr && i < w->endpoints.n; i++)
		*ret_to = w->endpoints.v[i].said;
	net = own_net_of(ret_to->addr);
	if (!net || starts_with(e->who.host, net->prefix) ||
	    actors_offered(&w->actors, ret_to->addr))
		return NULL;
	return net;
}

/* Speaks from an address of another network, or there are several hosts. */
static bool is_elsewhere(const struct why *w, const struct log_event *e, const struct own_net *net)
{
	if (isdigit((unsigned char)*e->who.host))
		return !starts_with(net->prefix, "172.") || !starts_with(e->who.host, "172.");
	return w->actors.nhosts > 1 || w->nodes > 1;
}

/* Whoever asks from elsewhere cannot reach what one host has for itself. */
static void behind_bridge(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *met = explain_find(x, "PT-004");
	const struct own_net *net = NULL;
	const struct log_event *e = NULL;
	struct extract to = {0};
	struct cause copy, *c;

	for (size_t i = 0; met && !met->is_over && i < met->record->events.n && !net; i++) {
		e = &met->record->events.v[i];
		net = asked_own(w, e, &to);
	}
	if (!net || (!is_elsewhere(w, e, net) &&
		     (!strstr(e->text, "timed out") || !streq(net->id, "IF-008"))))
		return;
	copy = *met; /* the list may grow */
	c = explain_add(w, a, x, net->id);
	if (is_elsewhere(w, e, net))
		explain_reason(c, &copy, copy.weight + BETTER,
			       arena_printf(a, "%s looked for the store at %s: %s",
					    who_text(a, &e->who), to.addr, net->what));
	else
		explain_suspect(c, copy.weight - 1, net->what);
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
	const struct log_event *e = explain_event(explain_find(x, "PT-023"), "//cpu//"),
			       *other = NULL;
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

/* A rendezvous that was closed before anybody of this log had worked is an earlier one's, by the
 * same id. In etcd it outlives its job; the c10d store mostly does not. */
static void closed_before(const struct why *w, struct explanation *x)
{
	enum { OF_ETCD = 88, MORE = 6 };
	const struct cause *failed = explain_find(x, "PT-022");
	const struct log_event *closed = explain_event(failed, "RendezvousClosedError");
	struct cause *c = explain_find(x, "PT-121");
	bool same, lasts;

	if (!c)
		return;
	same = explain_event(c, ": none") != NULL;
	lasts = explain_event(c, ": etcd") != NULL;
	c->weight = 0;
	if (!same || !closed || w->healthy || w->progress.v[closed->file].steps)
		return;
	c->first = closed;
	explain_reason(c, failed, lasts ? OF_ETCD : failed->weight + MORE,
		       lasts ? "its run_id is none, as that of every job without --rdzv-id, and "
			       "etcd remembers it"
			     : "its run_id is none, as that of every job without --rdzv-id");
}

void meeting(struct why *w, struct arena *a, struct explanation *x)
{
	still_knocking(w, x);
	store(x);
	came_late(x);
	closed_before(w, x);
	behind_bridge(w, a, x);
	if (!absentee(w, a, x))
		dropped(x);
}
