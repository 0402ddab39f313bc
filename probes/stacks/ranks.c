#include "probes/stacks/ranks.h"

#include "lib/cluster/world.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/python/runtime.h"
#include "probes/stacks/spawned.h"

#include <errno.h>

enum { ENV_MAX = 4 << 20 };

/* A process that may be a rank. */
struct candidate {
	pid_t pid;
	bool is_python;
	struct world w;
	const char *job;
	const struct candidate *of; /* the one whose worker it is; NULL: none */
};

struct search {
	struct arena *a;
	struct processes all;
	LIST(struct candidate) found;
	struct rank_processes *ret;
};

struct environment {
	const char *text;
	size_t n;
};

static const char *get(const char *name, void *arg)
{
	const struct environment *e = arg;
	size_t len = strlen(name);

	for (size_t at = 0; at < e->n; at += strlen(e->text + at) + 1)
		if (starts_with(e->text + at, name) && e->text[at + len] == '=')
			return e->text + at + len + 1;
	return NULL;
}

static const char *job_of(struct arena *a, const struct world *w)
{
	if (w->run)
		return arena_printf(a, "%s %s", launcher_name(w->launcher), w->run);
	return arena_printf(a, "%s %s:%u", launcher_name(w->launcher),
			    w->master_addr ? w->master_addr : "", w->master_port);
}

static bool is_python(struct arena *a, pid_t pid)
{
	struct py_runtime r;

	py_find(pid, a, &r);
	return r.at != 0;
}

static void consider(struct search *s, pid_t pid)
{
	struct environment env = {0};
	struct candidate c = {.pid = pid};
	struct err e = {0};
	char *text;

	if (file_read(arena_printf(s->a, "/proc/%d/environ", (int)pid), ENV_MAX, s->a, &text,
		      &env.n, &e)) {
		s->ret->foreign += errno == EACCES || errno == EPERM;
		return;
	}
	env.text = text;
	world_from_env(get, &env, s->a, &c.w);
	if (c.w.launcher == LAUNCHER_NONE || c.w.rank < 0 || c.w.trouble)
		return;
	c.is_python = is_python(s->a, pid);
	c.job = job_of(s->a, &c.w);
	*LIST_ADD(s->a, &s->found) = c;
}

static bool is_same_rank(const struct candidate *p, const struct candidate *q)
{
	return p->w.rank == q->w.rank && p->w.size == q->w.size && streq(p->job, q->job);
}

/* A launcher that another one started has ranks of its own below it. */
static bool is_launcher(const struct search *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *o = &s->found.v[i];

		if (o != c && o->is_python && !is_same_rank(o, c) &&
		    process_is_below(&s->all, o->pid, c->pid))
			return true;
	}
	return false;
}

/* The first of a rank's processes that is Python is the rank, and the others work for it. */
static const struct candidate *owner(const struct search *s, const struct candidate *c)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *o = &s->found.v[i];

		if (o != c && o->is_python && is_same_rank(o, c) &&
		    process_is_below(&s->all, c->pid, o->pid) &&
		    (!best || process_is_below(&s->all, best->pid, o->pid)))
			best = o;
	}
	return best;
}

static void collect(struct search *s)
{
	LIST(struct rank_process) ranks = {0};

	for (size_t i = 0; i < s->found.n; i++)
		s->found.v[i].of = owner(s, &s->found.v[i]);
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *c = &s->found.v[i];
		LIST(pid_t) workers = {0};

		if (c->of || !c->is_python || is_launcher(s, c))
			continue;
		for (size_t k = 0; k < s->found.n; k++)
			if (s->found.v[k].of == c && s->found.v[k].is_python)
				*LIST_ADD(s->a, &workers) = s->found.v[k].pid;
		*LIST_ADD(s->a, &ranks) = (struct rank_process){.pid = c->pid,
								.job = c->job,
								.rank = c->w.rank,
								.size = c->w.size,
								.local_size = c->w.local_size,
								.workers = workers.v,
								.n_workers = workers.n};
	}
	s->ret->v = ranks.v;
	s->ret->n = ranks.n;
	s->ret->no_python = ranks.n ? 0 : s->found.n;
}

void ranks_find(pid_t below, struct arena *a, struct rank_processes *ret)
{
	struct search s = {.a = a, .ret = ret};

	*ret = (struct rank_processes){0};
	processes_read(a, &s.all);
	for (size_t i = 0; i < s.all.n && !interrupt_pending(); i++)
		if (!below || process_is_below(&s.all, s.all.v[i].pid, below))
			consider(&s, s.all.v[i].pid);
	collect(&s);
	if (!ret->n)
		ranks_spawned(&s.all, below, a, ret);
}
