/*
 * When EC2 forgets a TCP connection that is silent: as the interface was told to
 * (TcpEstablishedTimeout), else as its instance type does, which EC2 says itself. Instances since
 * Nitro v6 forget after 350 seconds (but for P6e-GB200), older ones after five days; NCCL asks for
 * no keepalive.
 */
#include "lib/core/units.h"
#include "probes/secgroup/audit.h"
#include "probes/secgroup/say.h"

#include <limits.h>

/* An hour is what a checkpoint or an evaluation takes; EC2 recommends less than its five days. */
enum { SHORT_S = 3600, LONG_S = 86400, MOST_NAMES = 4, MOST_LINES = 4 };

typedef LIST(const struct sg_node *) node_list;

struct alike {
	unsigned idle_s;
	const char *type; /* which does it of its own accord; NULL: somebody has set it */
	node_list nodes;
};
typedef LIST(struct alike) alike_list;

static bool has_tcp(const struct sg_node *n) { return !n->kind || !streq(n->kind, "efa-only"); }

static void add(const struct sg_training *t, alike_list *all, const struct sg_node *n)
{
	struct alike x = {.idle_s = sg_node_idle_s(t->m, n),
			  .type = n->idle_s ? NULL : n->instance_type};
	struct alike *known = NULL;

	for (size_t i = 0; i < all->n && !known; i++)
		if (all->v[i].idle_s == x.idle_s && streq(all->v[i].type ?: "", x.type ?: ""))
			known = &all->v[i];
	if (!known) {
		known = LIST_ADD(t->m->a, all);
		*known = x;
	}
	*LIST_ADD(t->m->a, &known->nodes) = n;
}

static const char *names_of(struct arena *a, const node_list *l)
{
	str_list names = {0};

	if (l->n > MOST_NAMES)
		return arena_printf(a, "%zu interfaces", l->n);
	for (size_t i = 0; i < l->n; i++)
		cloud_add_once(a, &names, l->v[i]->name);
	return cloud_join(a, &names, ", ");
}

#define MODIFY                                                                                     \
	"aws ec2 modify-network-interface-attribute --connection-tracking-specification "          \
	"TcpEstablishedTimeout=%d --network-interface-id"

static void fix(const struct alike *x, struct finding *f)
{
	struct text ids;

	if (x->nodes.n <= MOST_LINES) {
		for (size_t i = 0; i < x->nodes.n; i++)
			finding_fix(f, MODIFY " %s", LONG_S, x->nodes.v[i]->eni ?: "ENI");
		return;
	}
	text_init(&ids, f->a);
	for (size_t i = 0; i < x->nodes.n; i++)
		text_addf(&ids, "%s ", x->nodes.v[i]->eni ?: "ENI");
	finding_fix(f, "echo %s| xargs -n 1 " MODIFY, ids.s, LONG_S);
}

static void say_short(const struct alike *x, struct report *r)
{
	struct finding *f = report_find(r, "cloud.idle", names_of(report_arena(r), &x->nodes));
	const char *why = x->type ? arena_printf(f->a, "as %s does where nothing is set", x->type)
				  : "as its TcpEstablishedTimeout is set";

	finding_set(f, ST_WARN,
		    "EC2 forgets a TCP connection that is silent for %u s, %s: NCCL's have no "
		    "keepalive, so a job that says nothing for longer, at a checkpoint, finds them "
		    "dead",
		    x->idle_s, why);
	finding_expect(f, "an hour or more");
	fix(x, f);
	report_add(r, f);
}

static void say_long(unsigned least_s, struct report *r)
{
	struct finding *f = report_find(r, "cloud.idle", NULL);
	struct unit_buf b;

	finding_set(f, ST_PASS, "a TCP connection may be silent for %s",
		    format_duration(&b, least_s * NS_PER_S));
	report_add(r, f);
}

/* From files that do not have it. */
static void say_unknown(const struct alike *x, struct report *r)
{
	struct finding *f = report_find(r, "cloud.idle", x->type);

	finding_set(f, ST_INFO,
		    "when EC2 forgets its silent TCP connections stands in no document here: types "
		    "since Nitro v6, but for P6e-GB200, after 350 s");
	finding_fix(f,
		    "aws ec2 describe-instance-types --instance-types %s   # and its document, too",
		    x->type);
	report_add(r, f);
}

void sg_say_idle(const struct sg_training *t, struct report *r)
{
	unsigned least_s = UINT_MAX;
	alike_list all = {0};
	bool any_short = false;

	for (size_t i = 0; i < t->classes.n; i++)
		for (size_t k = 0; k < t->classes.v[i].nodes.n; k++)
			if (has_tcp(t->classes.v[i].nodes.v[k]))
				add(t, &all, t->classes.v[i].nodes.v[k]);
	for (size_t i = 0; i < all.n; i++) {
		const struct alike *x = &all.v[i];

		least_s = x->idle_s < least_s ? x->idle_s : least_s;
		any_short |= x->idle_s && x->idle_s < SHORT_S;
		if (x->idle_s && x->idle_s < SHORT_S)
			say_short(x, r);
		else if (!x->idle_s && x->type && !t->m->types_asked)
			say_unknown(x, r);
	}
	if (all.n && least_s && !any_short)
		say_long(least_s, r);
}
