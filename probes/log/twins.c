#include "probes/log/twins.h"

#include "probes/log/explain.h"
#include "probes/log/machine.h"
#include "probes/log/said.h"

enum {
	SURE = 84,   /* two of one number, another number that nobody has, and they did not meet */
	LONELY = 46, /* ... and nothing says so, or they are files: of other runs, perhaps */
	MORE = 5,
};

/* The lines in which a node says its number. */
enum kind { AGENT, CONFIGURATION, LAUNCHER, COMMAND, RANK, KINDS };

/* "rank=4 local_rank=0 world=8", as programs say it of themselves: a machine's first rank. */
static bool first_of_machine(const struct log_line *l)
{
	long local;

	return (said_number(l, "local_rank=", &local) || said_number(l, "LOCAL_RANK=", &local)) &&
	       !local;
}

static bool rank_of(const struct log_line *l, long *ret)
{
	const char *p = l->text;

	while ((p = strcasestr(p, "rank="))) {
		bool is_word = p == l->text || !strchr("_-", p[-1]);

		p += strlen("rank=");
		if (is_word && *p >= '0' && *p <= '9') {
			*ret = strtol(p, NULL, 10);
			return true;
		}
	}
	return said_number(l, "global_rank=", ret);
}

static long world_of(const struct log_line *l)
{
	static const char *const keys[] = {"world_size=", "world=", "WORLD_SIZE=", "WORLD="};
	long n = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys) && !n; i++)
		(void)said_number(l, keys[i], &n);
	return n;
}

/* Which number it has in such a line; false: not such a line. */
static bool number_of(const struct log_line *l, enum kind kind, long *ret)
{
	switch (kind) {
	case AGENT:
		return !strstr(l->text, "_group_rank=") && said_number(l, "group_rank=", ret);
	case CONFIGURATION:
		return strstr(l->text, "rdzv_configs") && said_number(l, "'rank'", ret);
	case LAUNCHER:
		return !strstr(l->text, "--") && said_number(l, "node_rank=", ret);
	case COMMAND: /* other backends number the nodes themselves */
		return !strstr(l->text, "rdzv") &&
		       (said_number(l, "machine_rank", ret) || said_number(l, "--node_rank", ret) ||
			said_number(l, "--node-rank", ret) || said_number(l, "NODE_RANK=", ret));
	case RANK:
		return first_of_machine(l) && rank_of(l, ret);
	default:
		return false;
	}
}

static bool are_one(const struct twin *p, const struct twin *q)
{
	return p->by_file == q->by_file &&
	       (p->by_file ? p->file == q->file : log_hosts_fit(p->name, q->name));
}

void twins_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct twins *t = &w->twins;
	struct twin one = {.file = s->file};
	char host[64];
	long nodes;

	if ((said_number(l, "group_world_size=", &nodes) || said_number(l, "nnodes=", &nodes) ||
	     said_number(l, "num_machines:", &nodes)) &&
	    nodes > t->nodes)
		t->nodes = nodes;
	while (one.kind < KINDS && !number_of(l, one.kind, &one.number))
		one.kind++;
	t->typed += one.kind == COMMAND;
	if (one.kind == KINDS || t->n == TWINS_MAX)
		return;
	if (one.kind == RANK)
		one.world = world_of(l);
	machine_of(s, l, host, sizeof(host));
	if (!*host && one.kind != COMMAND)
		machine_label(l, host, sizeof(host));
	one.name = host;
	one.by_file = !*host;
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].kind == one.kind && are_one(&t->v[i], &one))
			return;
	one.name = one.by_file ? w->files.v[s->file] : arena_strdup(&w->a, one.name);
	t->v[t->n++] = one;
}

/* The second of two with one number, where another number has nobody; NULL: none. */
static const struct twin *second(const struct twins *t, enum kind kind, long nodes,
				 const struct twin **ret_first)
{
	const struct twin *found = NULL;
	long numbers = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct twin *p = NULL;

		for (size_t j = 0; j < i && t->v[i].kind == kind && !p; j++)
			if (t->v[j].kind == kind && t->v[j].number == t->v[i].number &&
			    t->v[j].by_file == t->v[i].by_file)
				p = &t->v[j];
		numbers += t->v[i].kind == kind && !p;
		if (p && !found) {
			found = &t->v[i];
			*ret_first = p;
		}
	}
	return numbers < nodes ? found : NULL;
}

bool twins_typed(const struct twins *t, const struct twin **ret_one, const struct twin **ret_other)
{
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = 0; j < i; j++) {
			if (t->v[i].kind != COMMAND || t->v[j].kind != COMMAND || t->v[i].by_file ||
			    t->v[j].by_file || t->v[i].number == t->v[j].number)
				continue;
			*ret_one = &t->v[j];
			*ret_other = &t->v[i];
			return true;
		}
	return false;
}

/* Of two machines that both have the first rank. */
static const struct twin *first_twice(const struct twins *t, const struct twin **ret_first)
{
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = 0; j < i; j++) {
			const struct twin *p = &t->v[j], *q = &t->v[i];

			if (p->kind != RANK || q->kind != RANK || p->by_file || q->by_file ||
			    p->number || q->number || p->world < 2 || p->world != q->world)
				continue;
			*ret_first = p;
			return q;
		}
	return NULL;
}

long twins_world(const struct twins *t)
{
	const struct twin *p, *q = first_twice(t, &p);

	return q ? q->world : 0;
}

/* Why nodes did not come together. */
static const struct cause *apart(struct explanation *x)
{
	static const char *const ids[] = {"PT-004", "PT-013", "PT-012", "PT-022",
					  "PT-023", "PT-030", "PT-005", NULL};

	return explain_surest(x, ids, 0);
}

/* Two of one communicator that count different ranks. */
static void sizes_differ(struct why *w, struct arena *a, struct explanation *x)
{
	enum { SIZES = 84 };
	const struct actors *t = &w->actors;

	for (size_t i = 0; i < t->v.n && !w->healthy; i++)
		for (size_t j = 0; j < i && j < RANKS_KEPT; j++) {
			const struct actor *p = &t->v.v[j], *q = &t->v.v[i];

			if (!p->comm || p->comm != q->comm || p->nranks == q->nranks ||
			    !p->nranks || !q->nranks)
				continue;
			explain_raise(explain_add(w, a, x, "CON-014"), SIZES,
				      arena_printf(a, "%s counts %d ranks, and %s %d",
						   who_text(a, &p->who), p->nranks,
						   who_text(a, &q->who), q->nranks));
			return;
		}
}

void twins(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *effect;
	struct cause *c;
	long nodes = w->nodes > w->twins.nodes ? w->nodes : w->twins.nodes;
	const struct twin *p = NULL, *q = NULL, *one, *two;

	sizes_differ(w, a, x);
	effect = apart(x);
	c = explain_find(x, "CON-046");
	if (!c)
		return;
	c->weight = 0;
	for (enum kind kind = 0; kind < RANK && !q; kind++)
		q = second(&w->twins, kind, nodes, &p);
	if (!q && !twins_typed(&w->twins, &one, &two))
		q = first_twice(&w->twins, &p);
	if (!q || w->healthy || why_has_worked(w))
		return;
	explain_raise(c,
		      !effect || q->by_file	     ? LONELY
		      : effect->weight + MORE > SURE ? effect->weight + MORE
						     : SURE,
		      q->kind == RANK
			      ? arena_printf(a,
					     "%s and %s both have rank 0 of %ld: nobody is the "
					     "second machine",
					     p->name, q->name, q->world)
			      : arena_printf(a, "%s and %s both say that they are node %ld of %ld",
					     p->name, q->name, q->number, nodes));
}
