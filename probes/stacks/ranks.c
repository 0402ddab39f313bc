#include "probes/stacks/ranks.h"

#include "lib/cluster/world.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/lineage.h"
#include "lib/python/runtime.h"
#include "lib/python/stack.h"
#include "probes/stacks/spawned.h"
#include "probes/stacks/titled.h"

#include <errno.h>

enum { ENV_MAX = 4 << 20 };

/* A process that may be a rank. */
struct candidate {
	pid_t pid;
	bool is_python, hands_over;
	struct world w; /* its numbers; its texts are gone */
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

	return environ_find(e->text, e->n, name);
}

/* Its network, for a job that meets on loopback: containers of one host may each have one. */
static const char *network_of(struct arena *a, pid_t pid, const struct world *w)
{
	char name[64];
	ssize_t n;

	if (!w->master_addr || !job_is_at_home(w->master_addr))
		return "";
	n = readlink(arena_printf(a, "/proc/%d/ns/net", (int)pid), name, sizeof(name) - 1);
	return n > 0 ? arena_printf(a, " %.*s", (int)n, name) : "";
}

static const char *job_of(struct arena *a, pid_t pid, const struct world *w)
{
	return arena_printf(a, "%s %s%s%s:%u%s", launcher_name(w->launcher), w->run ? w->run : "",
			    w->run ? " " : "", w->master_addr ? w->master_addr : "", w->master_port,
			    network_of(a, pid, w));
}

bool job_is_at_home(const char *job)
{
	return strstr(job, "127.0.0.") || strstr(job, "localhost") || strstr(job, "::1");
}

/* False: they say of no rank. */
static bool read_world(const char *text, size_t n, struct arena *scratch, struct world *ret)
{
	struct environment env = {.text = text, .n = n};

	world_from_env(get, &env, scratch, ret);
	return ret->launcher != LAUNCHER_NONE && ret->rank >= 0 && !ret->trouble;
}

/* What it was started with; or, of a Python, what it has now: setproctitle overwrites the one, and
 * ranks that were forked get theirs in os.environ. */
static void consider(struct search *s, pid_t pid)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct candidate c = {.pid = pid};
	struct err e = {0};
	const char *now;
	char *text;
	size_t n;

	if (file_read(arena_printf(&scratch, "/proc/%d/environ", (int)pid), ENV_MAX, &scratch,
		      &text, &n, &e)) {
		s->ret->foreign += errno == EACCES || errno == EPERM;
		return;
	}
	if (!read_world(text, n, &scratch, &c.w)) {
		if (!process_holds(pid, "maps", "python"))
			return;
		now = py_environ(pid, &scratch, &n);
		c.w = (struct world){0};
		if (!read_world(now, n, &scratch, &c.w))
			return;
	}
	c.is_python = process_is_python(pid);
	c.job = job_of(s->a, pid, &c.w);
	*LIST_ADD(s->a, &s->found) = c;
}

static bool is_same_rank(const struct candidate *p, const struct candidate *q)
{
	return p->w.rank == q->w.rank && p->w.size == q->w.size && streq(p->job, q->job);
}

/* torchrun's agent, accelerate's or DeepSpeed's: whatever it is a rank of, a step of Slurm's, say.
 */
static bool launches(pid_t pid)
{
	static const char *const parts[] = {
		"/torch/distributed/elastic/", "/torch/distributed/launcher/",
		"/torch/distributed/run.py", "/accelerate/commands/", "/deepspeed/launcher/"};
	AUTO(arena_done) struct arena a = {0};
	struct py_stack stack;

	if (!py_glance(pid, &a, &stack))
		return false;
	for (size_t i = 0; i < stack.n; i++)
		for (size_t k = 0; k < ARRAY_LEN(parts); k++)
			if (strstr(stack.frames[i].file, parts[k]))
				return true;
	return false;
}

/* A launcher that another one started has ranks of its own below it, and no fewer than it is one
 * of, or is a known one: a rank may begin a small job of its own. */
static bool is_launcher(const struct search *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *o = &s->found.v[i];

		if (o != c && o->is_python && !is_same_rank(o, c) &&
		    process_is_below(&s->all, o->pid, c->pid) &&
		    (o->w.size >= c->w.size || launches(c->pid)))
			return true;
	}
	return false;
}

/* It started another program and waits for its end: conda run, accelerate launch, a script. */
static bool hands_over(pid_t pid)
{
	static const char *const waits[] = {"wait", "_wait", "_try_wait", "communicate",
					    "_communicate"};
	AUTO(arena_done) struct arena a = {0};
	struct py_stack stack;

	return py_glance(pid, &a, &stack) && ends_with(stack.frames->file, "/subprocess.py") &&
	       is_among(py_bare_name(stack.frames->function), waits, ARRAY_LEN(waits));
}

/* The first of a rank's processes that is Python is the rank, and the others work for it. */
static const struct candidate *owner(const struct search *s, const struct candidate *c)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *o = &s->found.v[i];

		if (o != c && o->is_python && !o->hands_over && is_same_rank(o, c) &&
		    process_is_below(&s->all, c->pid, o->pid) &&
		    (!best || process_is_below(&s->all, best->pid, o->pid)))
			best = o;
	}
	return best;
}

/* Python processes of the same rank below it. */
static bool has_others(const struct search *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *o = &s->found.v[i];

		if (o != c && c->is_python && o->is_python && is_same_rank(o, c) &&
		    process_is_below(&s->all, o->pid, c->pid))
			return true;
	}
	return false;
}

/* How many there are of each job; then only those of @below are kept. */
static void select_below(struct search *s, pid_t below)
{
	struct rank_process *v = s->ret->v;
	size_t n = 0;

	for (size_t i = 0; i < s->ret->n; i++)
		for (size_t k = 0; k < s->ret->n; k++)
			v[i].present += streq(v[i].job, v[k].job) && v[i].size == v[k].size;
	for (size_t i = 0; i < s->ret->n; i++)
		if (!below || process_is_below(&s->all, v[i].pid, below))
			v[n++] = v[i];
	s->ret->n = n;
}

static void collect(struct search *s)
{
	LIST(struct rank_process) ranks = {0};

	for (size_t i = 0; i < s->found.n; i++)
		s->found.v[i].hands_over =
			has_others(s, &s->found.v[i]) && hands_over(s->found.v[i].pid);
	for (size_t i = 0; i < s->found.n; i++)
		s->found.v[i].of = owner(s, &s->found.v[i]);
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *c = &s->found.v[i];
		LIST(pid_t) workers = {0};

		if (c->of || !c->is_python || c->hands_over || is_launcher(s, c))
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

bool ranks_have(const struct rank_processes *r, const struct processes *all, pid_t pid)
{
	for (size_t i = 0; i < r->n; i++)
		if (process_is_below(all, pid, r->v[i].pid))
			return true;
	return false;
}

void ranks_add(struct rank_processes *r, struct arena *a, const struct rank_process *more, size_t n)
{
	struct rank_process *v = arena_alloc(a, (r->n + n) * sizeof(*v) + 1);

	if (r->n)
		memcpy(v, r->v, r->n * sizeof(*v));
	if (n)
		memcpy(v + r->n, more, n * sizeof(*v));
	r->v = v;
	r->n += n;
}

void ranks_find(pid_t below, struct arena *a, struct rank_processes *ret)
{
	struct search s = {.a = a, .ret = ret};

	*ret = (struct rank_processes){0};
	processes_read(a, &s.all);
	for (size_t i = 0; i < s.all.n && !interrupt_pending(); i++)
		consider(&s, s.all.v[i].pid);
	collect(&s);
	select_below(&s, below);
	ranks_titled(&s.all, below, a, ret);
	ranks_spawned(&s.all, below, a, ret);
}
