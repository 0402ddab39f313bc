#include "probes/log/twins.h"

#include "probes/log/explain.h"
#include "probes/log/said.h"
#include "probes/log/shell.h"

enum {
	SURE = 84,   /* two of one number, another number that nobody has, and they did not meet */
	LONELY = 46, /* ... and nothing says so, or they are files: of other runs, perhaps */
	MORE = 5,
};

/* The lines in which a node says its number. */
enum kind { AGENT, CONFIGURATION, LAUNCHER, COMMAND, KINDS };

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
		       (said_number(l, "--machine_rank", ret) ||
			said_number(l, "--node_rank", ret) || said_number(l, "--node-rank", ret));
	default:
		return false;
	}
}

/* The host of "user@host:~$ COMMAND --rank ..."; "": no such prompt. */
static void prompt_host(const struct log_line *l, char *ret, size_t size)
{
	const char *option = strstr(l->text, "--");

	*ret = '\0';
	if (option)
		shell_host(l->text, option, ret, size);
}

/* The label of "main-node: ...", which has no number as most hosts' names have; "": none. */
static void label(const struct log_line *l, char *ret, size_t size)
{
	size_t n = strcspn(l->text, " \t[]()=$#@");

	*ret = '\0';
	if (n > 1 && l->text[n - 1] == ':' && l->text[n] == ' ')
		said_word(ret, size, l->text, ":");
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

	if ((said_number(l, "group_world_size=", &nodes) || said_number(l, "nnodes=", &nodes)) &&
	    nodes > t->nodes)
		t->nodes = nodes;
	while (one.kind < KINDS && !number_of(l, one.kind, &one.number))
		one.kind++;
	if (one.kind == KINDS || t->n == TWINS_MAX)
		return;
	(one.kind == COMMAND ? prompt_host : label)(l, host, sizeof(host));
	one.name = *l->who.host ? l->who.host : host;
	one.by_file = !*one.name;
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
	const struct twin *p = NULL, *q = NULL;

	sizes_differ(w, a, x);
	effect = apart(x);
	c = explain_find(x, "CON-046");
	if (!c)
		return;
	c->weight = 0;
	for (enum kind kind = 0; kind < KINDS && !q; kind++)
		q = second(&w->twins, kind, nodes, &p);
	if (!q || w->healthy || why_has_worked(w))
		return;
	explain_raise(c,
		      !effect || q->by_file	     ? LONELY
		      : effect->weight + MORE > SURE ? effect->weight + MORE
						     : SURE,
		      arena_printf(a, "%s and %s both say that they are node %ld of %ld", p->name,
				   q->name, q->number, nodes));
}
