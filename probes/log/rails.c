/* Hosts that do not have the same RDMA ports: one of them is down, gone, or left out by a setting.
 */
#include "probes/log/explain.h"

#include "lib/core/text.h"

enum {
	FAILED = 72,  /* the job failed, and no line says why */
	BEGINS = 62,  /* it did not get past its start, as far as the log goes */
	BESIDE = 46,  /* something else says why it failed, or it had worked */
	OTHERS = 40,  /* as many ports, with other names */
	SETTING = 44, /* NCCL_IB_HCA differs */
	LISTS = 8     /* different ones that are compared */
};

/* Who said a list of ports first. */
struct said {
	const struct actor *by[LISTS];
	size_t n;
};

static void collect(const struct actors *t, struct said *ret)
{
	for (size_t i = 0; i < t->v.n && ret->n < LISTS; i++) {
		const struct actor *y = &t->v.v[i];
		bool is_new = y->ports && *y->who.host;

		for (size_t j = 0; j < ret->n; j++)
			is_new &= ret->by[j]->ports != y->ports;
		if (is_new)
			ret->by[ret->n++] = y;
	}
}

/* Processes of one host that list different ports were told so, each by itself. */
static bool has_also(const struct actors *t, const struct actor *y)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i].ports && t->v.v[i].ports != y->ports &&
		    streq(t->v.v[i].who.host, y->who.host))
			return true;
	return false;
}

static size_t count(const char *ports)
{
	size_t n = 0;

	for (; *ports; ports++)
		n += *ports == ' ';
	return n;
}

static bool has(const char *ports, const char *port, size_t n)
{
	for (const char *p = ports; *p; p += strcspn(p, " ") + 1)
		if (strncmp(p, port, n) == 0 && p[n] == ' ')
			return true;
	return false;
}

/* Those of @all that @ports has not, "mlx5_6:1, mlx5_7:1"; "" where it has all. */
static const char *missing(struct arena *a, const char *ports, const char *all)
{
	struct text t;

	text_init(&t, a);
	for (const char *p = all; *p; p += strcspn(p, " ") + 1) {
		size_t n = strcspn(p, " ");

		if (has(ports, p, n))
			continue;
		text_add(&t, *t.s ? ", " : "");
		text_addn(&t, p, n);
	}
	return t.s;
}

static int trouble(const struct why *w, const struct explanation *x)
{
	if (w->healthy || explain_has_reason(x))
		return BESIDE;
	return x->in_trouble ? FAILED : BEGINS;
}

/* The line of that host where it was kept, else none: another host's shows nothing. */
static const struct log_event *line_of(const struct cause *c, const struct actor *y)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (streq(c->record->events.v[i].who.host, y->who.host))
			return &c->record->events.v[i];
	return NULL;
}

static void blame(struct why *w, struct arena *a, struct explanation *x, const struct actor *few,
		  const struct actor *more)
{
	const char *lacks = missing(a, few->ports, more->ports);
	const char *has_more = missing(a, more->ports, few->ports), *tail = "";
	int weight = *has_more ? OTHERS : trouble(w, x);
	struct cause *c = explain_find(x, "IB-050");

	if (!c)
		return;
	if (few->hca != more->hca) {
		weight = SETTING;
		tail = arena_printf(a, "; NCCL_IB_HCA differs: %s on %s, %s on %s",
				    few->hca ? few->hca : "not set", few->who.host,
				    more->hca ? more->hca : "not set", more->who.host);
	} else if (*has_more) {
		tail = arena_printf(a, ", and %s has not %s", more->who.host, has_more);
	}
	explain_raise(c, weight,
		      arena_printf(a, "%s uses %zu RDMA ports, %s %zu: %s has not %s%s",
				   few->who.host, count(few->ports), more->who.host,
				   count(more->ports), few->who.host, lacks, tail));
	c->first = line_of(c, few);
}

/* A host whose list is another's but for some; failing that, two with other names. */
static bool pair(const struct actors *t, struct arena *a, const struct said *s,
		 const struct actor **ret_few, const struct actor **ret_more)
{
	*ret_few = NULL;
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < s->n; j++) {
			const struct actor *p = s->by[i], *q = s->by[j];
			bool is_less = count(p->ports) < count(q->ports);

			if (i == j || streq(p->who.host, q->who.host) || has_also(t, p) ||
			    has_also(t, q))
				continue;
			if (!*missing(a, q->ports, p->ports)) {
				*ret_few = p;
				*ret_more = q;
				return true;
			}
			if (!*ret_few || is_less) {
				*ret_few = p;
				*ret_more = q;
			}
		}
	return *ret_few;
}

/* A container without the library meets others that have it, or its host was shown to have a card.
 */
static void without_verbs(struct explanation *x)
{
	static const char *const effects[] = {"CON-008", "PT-112", "PT-006", "CON-004"};
	enum { ABOVE = 5, MOST = 97 };
	struct cause *c = explain_find(x, "IB-008"), *card = explain_find(x, "IB-072");
	bool has_card = card != NULL;

	if (card)
		card->weight = 0;
	for (size_t i = 0; c && i < ARRAY_LEN(effects); i++) {
		const struct cause *e = explain_find(x, effects[i]);

		if (!e || e->is_over || (i && !has_card))
			continue;
		explain_reason(c, e, e->weight + ABOVE < MOST ? e->weight + ABOVE : MOST,
			       i ? "its host has an RDMA card, and NCCL took sockets"
				 : "so it took sockets, and another host RDMA");
		return;
	}
}

void rails(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "IB-050");
	const struct actor *few, *more;
	struct said s = {.n = 0};

	without_verbs(x);
	if (!c)
		return;
	c->weight = 0;
	collect(&w->actors, &s);
	if ((!w->healthy || x->in_trouble) && pair(&w->actors, a, &s, &few, &more))
		blame(w, a, x, few, more);
}
