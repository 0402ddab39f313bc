#include "probes/log/apart.h"

#include "lib/host/leads.h"
#include "lib/net/addr.h"
#include "probes/log/explain.h"
#include "probes/log/machine.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	MORE = 6, /* than what it explains */
	MOST = 95,
};

/* Why nodes did not come together. */
static const char *const unmet[] = {"PT-005", "PT-004", "PT-012",  "PT-013",  "PT-022", "PT-023",
				    "PT-030", "PT-094", "CON-001", "CON-004", NULL};

/* --- what is heard ------------------------------------------------------------------------ */
/* What each shell that is given it makes another value of. */
static bool is_random(const char *id)
{
	static const char *const all[] = {"$RANDOM", "${RANDOM", "$(date",   "$(uuid", "`date",
					  "`uuid",   "$$",	 "$SRANDOM", NULL};

	return said_any(id, strlen(id), all);
}

void apart_hear_start(struct why *w, struct why_stream *s, const struct log_line *l)
{
	static const char *const keys[] = {"--rdzv_id", "--rdzv-id",   "run_id ", "rdzv_id:",
					   "rdzv-id:",	"\"rdzv_id\"", "'run_id'"};
	char by[64], id[64], value[64 + sizeof(by) + 4];
	const char *p = "";

	for (size_t i = 0; i < ARRAY_LEN(keys) && !*p; i++)
		p = said_after(l, keys[i]);
	said_word(id, sizeof(id), p + strspn(p, " \t:=\"'"), " \t\r\"',;}\\");
	machine_of(s, l, by, sizeof(by));
	if (!*w->apart.host)
		memcpy(w->apart.host, by, sizeof(by));
	if (is_random(id))
		(void)snprintf(value, sizeof(value), "%s of %s", id, by);
	else
		(void)snprintf(value, sizeof(value), "%s", id);
	if (*id != '-' && (*id != '$' || is_random(id)))
		contrast_note(&w->apart.ids, by, value);
}

void apart_hear_member(struct apart *t, long which, long total)
{
	if (t->members != total)
		t->firsts = t->lasts = 0;
	t->members = total;
	t->firsts += which == 1;
	t->lasts += which == total;
}

/* "global_step=4000", "checkpoint-3500", "at iteration 900": the number behind the first of these;
 * -1: there is none. */
static long step_of(const char *text)
{
	static const char *const keys[] = {"global_step", "global step", "checkpoint-",
					   "checkpoint_", "iteration",	 "iter_",
					   "step",	  "ckpt-"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (const char *p = text; (p = strstr(p, keys[i]));) {
			p += strlen(keys[i]);
			p += strspn(p, " =:_-");
			if (isdigit((unsigned char)*p))
				return strtol(p, NULL, 10);
		}
	return -1;
}

void apart_hear_step(struct why *w, struct why_stream *s, const struct log_line *l)
{
	static const char *const none[] = {"from scratch", "o checkpoint found", NULL};
	char by[64], value[64];
	long step = step_of(l->text);

	machine_of(s, l, by, sizeof(by));
	if (!*by && l->who.rank >= 0)
		(void)snprintf(by, sizeof(by), "rank %d", l->who.rank);
	if (step >= 0)
		(void)snprintf(value, sizeof(value), "step %ld", step);
	else
		(void)snprintf(value, sizeof(value), "%s",
			       said_any(l->text, strlen(l->text), none) ? "the beginning" : "");
	contrast_note(&w->apart.steps, by, value);
}

/* --- what it means ------------------------------------------------------------------------ */
static void ids(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-240");
	const struct cause *e = c ? explain_surest(x, unmet, 0) : NULL;
	const struct contrasted *one, *two;

	if (!e || w->healthy || why_has_worked(w) || !contrast_find(&w->apart.ids, &one, &two))
		return;
	explain_reason(c, e, explain_above(e, MORE, MOST),
		       arena_printf(a, "%s on %s, but %s on %s", one->value, one->by, two->value,
				    two->by));
}

static void steps(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"PT-014", "PT-006",  "PT-111",  "PT-112", "PT-123",
					      "PT-222", "CON-024", "CON-010", NULL};
	struct cause *c = explain_find(x, "PT-241");
	const struct cause *e = c ? explain_surest(x, effects, CONFIDENT) : NULL;
	const struct contrasted *one, *two;

	if (!e || !contrast_find(&w->apart.steps, &one, &two))
		return;
	explain_reason(c, e, explain_above(e, MORE, MOST),
		       arena_printf(a, "%s goes on from %s, but %s from %s", one->by, one->value,
				    two->by, two->value));
	kin_adopt(c, explain_find(x, "PT-006") ? explain_find(x, "PT-006") : e);
}

/* Of what size the world is that begun on each machine where somebody typed a command, once; 0:
 * there is none. */
static long each_world(const struct why *w)
{
	const struct apart *t = &w->apart;

	return t->members > 1 && t->firsts == 2 && t->lasts == 2 && w->twins.typed == 2
		       ? t->members
		       : twins_world(&w->twins);
}

/* Machines that were given different numbers, and each has all of a world to itself. */
static void worlds(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"DAT-001", "DAT-005", "DAT-006",
					      "PT-047",	 "PT-044",  NULL};
	enum { LONELY = 46 };
	const struct twin *one, *two;
	struct cause *c = explain_find(x, "PT-242");
	const struct cause *e = c ? explain_surest(x, effects, CONFIDENT) : NULL;
	long world = each_world(w);

	if (!c || !world || !twins_typed(&w->twins, &one, &two))
		return;
	explain_reason(c, e ? e : c, e ? explain_above(e, MORE, MOST) : LONELY,
		       arena_printf(a,
				    "%s was started as node %ld and %s as node %ld, and each has "
				    "ranks 0 to %ld of a world of %ld",
				    one->name, one->number, two->name, two->number, world - 1,
				    world));
}

/* --- an address that no machine has ------------------------------------------------------- */
static bool is_public(const char *text)
{
	union addr at;

	return !addr_parse(text, &at) && at.sa.sa_family == AF_INET &&
	       addr_class(&at) == ADDR_PUBLIC;
}

/* A private address of a machine that the log shows; NULL: none. */
static const struct owned *inside(const struct why *w)
{
	for (unsigned i = 0; i < w->asides.nowned; i++) {
		const struct owned *o = &w->asides.owned[i];

		if (!is_public(o->addr) && !leads_nowhere_by_name(o->iface))
			return o;
	}
	return NULL;
}

/* The address in the name that AWS gives a machine, "ip-172-31-24-6". */
static bool address_in(const char *host, char *ret, size_t size)
{
	unsigned v[4];
	int n = 0;

	if (sscanf(host, "ip-%3u-%3u-%3u-%3u%n", &v[0], &v[1], &v[2], &v[3], &n) != 4 || !n)
		return false;
	(void)snprintf(ret, size, "%u.%u.%u.%u", v[0], v[1], v[2], v[3]);
	return true;
}

/* A public address that the ranks were to meet at, and that no machine of the log has. */
static const struct extract *outside_address(const struct why *w)
{
	for (unsigned i = 0; i < w->endpoints.n; i++) {
		const char *addr = w->endpoints.v[i].said.addr;

		if (is_public(addr) && !asides_owner(&w->asides, addr) &&
		    !actors_offered(&w->actors, addr))
			return &w->endpoints.v[i].said;
	}
	return NULL;
}

static void outside(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-243");
	const struct cause *e = c ? explain_surest(x, unmet, 0) : NULL;
	const struct extract *to = e ? outside_address(w) : NULL;
	const char *host = w->apart.host;
	const struct owned *o = inside(w);
	char named[16];

	if (!to || w->healthy || why_has_worked(w))
		return;
	if (o) {
		(void)snprintf(named, sizeof(named), "%.15s", o->addr);
		host = *o->host ? o->host : "a machine of the log";
	} else if (!address_in(host, named, sizeof(named)) || streq(named, to->addr)) {
		return;
	}
	c->cure = arena_printf(a,
			       "torchrun --rdzv-endpoint=%s:%s ...   # or MASTER_ADDR=%s, "
			       "--master-addr: the address that %s itself has, where it is node 0; "
			       "the same on every node",
			       named, *to->port ? to->port : "29400", named, host);
	explain_reason(c, e, explain_above(e, MORE, MOST),
		       arena_printf(a, "%s is an address of the internet, and %s has %s", to->addr,
				    host, named));
}

void apart_judge(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const all[] = {"PT-240", "PT-241", "PT-242", "PT-243"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (explain_find(x, all[i]))
			explain_find(x, all[i])->weight = 0;
	ids(w, a, x);
	steps(w, a, x);
	worlds(w, a, x);
	outside(w, a, x);
}
