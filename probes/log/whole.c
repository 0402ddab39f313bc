/* Parts of a job that know nothing of each other: each task of a launcher starts the whole job, so
 * that all but one find the port of its store taken; each is a job of its own; or each waits in
 * another place. */
#include "probes/log/explain.h"
#include "probes/log/said.h"

enum {
	SURE = 97,    /* more than a port that is merely taken, and said first */
	PERHAPS = 72, /* ... which it may be, again and again */
	SHARED = 5,   /* more than the memory that they take from each other */
	ALONE = 46,   /* it may be meant so */
	ASTRAY = 88,  /* they cannot meet */
	STRAYED = 60, /* ... or can, where both are one host's */
	CROWD = 3,    /* as many say so: a process says it twice at the most */
	NEAR = 60,    /* lines between two that began together */
};

/* Different ones, by the launcher's number or their host, of those that are kept. */
static size_t speakers(const struct record *r)
{
	size_t hosts = 0;

	for (size_t i = 0; i < r->events.n; i++) {
		const char *host = r->events.v[i].who.host;
		bool again = !*host;

		for (size_t j = 0; j < i && !again; j++)
			again = streq(r->events.v[j].who.host, host);
		hosts += !again;
	}
	return hosts > r->nranks ? hosts : r->nranks;
}

/* All ranks of one world are clients of one store: its server is refused once. */
static void refused(const struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-108"), *port = explain_find(x, "PT-001");
	size_t n;

	if (!c)
		return;
	c->weight = 0;
	if (!port || c->is_over)
		return;
	n = speakers(c->record);
	if (n > 1 || (w->launches.together > 1 && c->record->count > 1))
		explain_reason(c, port, SURE,
			       n > 1 ? arena_printf(a,
						    "%zu tasks found the port taken: each of "
						    "them is to serve the store",
						    n)
				     : arena_printf(a,
						    "%u launchers began together, and %llu "
						    "times the port was taken",
						    w->launches.together,
						    (unsigned long long)c->record->count));
	else if (c->record->count >= CROWD)
		explain_suspect(c, PERHAPS, "the port was taken again and again");
}

/* "--ntasks-per-node=4", "--ntasks-per-node 4"; 0: not said. */
static long tasks_per_node(const char *text)
{
	static const char key[] = "--ntasks-per-node";
	const char *p = strstr(text, key);

	return p ? strtol(p + strlen(key) + strspn(p + strlen(key), " ="), NULL, 10) : 0;
}

/* "srun -N2 -n8": more tasks than nodes. */
static bool has_more_tasks(const char *text)
{
	long nodes = said_in(text, " -N", said_in(text, "--nodes=", 0));
	long tasks = said_in(text, " -n", said_in(text, "--ntasks=", 0));

	return nodes > 0 && tasks > nodes;
}

/* What starts a process for each GPU itself. */
static bool has_launcher(const char *text)
{
	static const char *const names[] = {"torchrun", "torch.distributed", "accelerate launch",
					    "deepspeed ", NULL};

	return said_any(text, strlen(text), names);
}

/* Of what the script asks for, the line by which several tasks are on a node, and one starts a
 * launcher; NULL: there is none. */
static const struct log_event *tasks_asked(const struct cause *c)
{
	const struct log_event *asks = NULL, *starts = NULL;

	for (size_t i = 0; i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];
		const char *srun = strstr(e->text, "srun ");

		if (srun && has_launcher(srun) && tasks_per_node(srun) != 1)
			starts = e;
		if (tasks_per_node(e->text) > 1 || (srun && has_more_tasks(srun)))
			asks = e;
	}
	return starts ? asks : NULL;
}

/* Each of several tasks on a node starts a launcher. */
static void each_task(struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"PT-001", "PT-108",  "GPU-001", "PT-005", "PT-012",
					      "PT-022", "CON-014", "PT-004",  NULL};
	struct cause *c = explain_find(x, "PT-231");
	const struct cause *e = explain_surest(x, effects, ALONE);

	if (!c)
		return;
	c->weight = 0;
	if (!tasks_asked(c) || !e)
		return;
	c->first = tasks_asked(c);
	explain_reason(c, e, SURE, arena_printf(a, "the log shows '%.70s'", c->first->body));
}

static bool began_together(const struct record *r)
{
	const struct log_event *p = &r->events.v[0], *q = &r->events.v[1];

	return r->events.n > 1 && p->file == q->file && q->line > p->line + 1 &&
	       q->line - p->line <= NEAR;
}

/* Eight of them share the memory of the first GPU. */
static void alone(struct arena *a, struct explanation *x)
{
	static const char *const used_up[] = {"GPU-017", "GPU-009", "GPU-033"};
	struct cause *c = explain_find(x, "PT-109");
	size_t n;

	if (!c)
		return;
	c->weight = 0;
	n = speakers(c->record);
	if (c->is_over || (n < 2 && !began_together(c->record)))
		return;
	explain_suspect(c, ALONE,
			n > 1 ? arena_printf(a, "%zu tasks say so", n)
			      : "it is said again before anything else happened");
	for (size_t i = 0; n > 1 && i < ARRAY_LEN(used_up); i++) {
		const struct cause *full = explain_find(x, used_up[i]);

		if (full && !full->is_over)
			explain_raise(c, full->weight + SHARED,
				      arena_printf(a,
						   "%zu tasks say so, and the memory of a GPU "
						   "was used up: they share the first one",
						   n));
	}
}

/* It may work out, where both places are node 0's own. */
static void apart(struct why *w, struct arena *a, struct explanation *x)
{
	const struct summons *s = &w->summons;
	enum summons_differ differ = summons_judge(s);
	struct cause *c = explain_find(x, "PT-110");

	if (!c)
		return;
	c->weight = 0;
	if (differ == SUMMONS_ONE || w->healthy || why_has_worked(w))
		return;
	explain_raise(c, differ == SUMMONS_PORTS ? ASTRAY : STRAYED,
		      arena_printf(a, "node %ld was told %s, and node %ld %s", s->first.node,
				   s->first.place, s->other.node, s->other.place));
}

void wholes(struct why *w, struct arena *a, struct explanation *x)
{
	refused(w, a, x);
	each_task(a, x);
	alone(a, x);
	apart(w, a, x);
}
