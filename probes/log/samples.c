#include "probes/log/samples.h"

#include "lib/flight/frame.h"
#include "probes/log/explain.h"
#include "probes/log/said.h"

#include <ctype.h>

enum { ELSEWHERE = 74 /* while others wait in a collective */, APART = 62 /* ... in one place */ };

void samples_begin(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct sample *m;

	if (!starts_with(l->body, "Thread ") || w->samples.v.n == SAMPLES_MAX)
		return;
	m = LIST_ADD(&w->a, &w->samples.v);
	*m = (struct sample){.file = s->file, .rank = l->who.rank};
	m->pid = isdigit((unsigned char)l->body[7]) ? strtol(l->body + 7, NULL, 0) : 0;
	sequel_begin(s, SEQUEL_SAMPLE, l);
}

/* What py-spy leaves the folder out of: Python's own modules, and packages. */
static const char *const not_the_program[] = {"threading.py",
					      "queue.py",
					      "selectors.py",
					      "socket.py",
					      "ssl.py",
					      "subprocess.py",
					      "runpy.py",
					      "contextlib.py",
					      "multiprocessing/",
					      "asyncio/",
					      "concurrent/",
					      "importlib/",
					      "torch/",
					      "deepspeed/",
					      "megatron/",
					      "transformers/",
					      "accelerate/",
					      "lightning/",
					      "pytorch_lightning/",
					      "horovod/",
					      "jax/",
					      "numpy/",
					      NULL};

static bool is_of_program(const char *path, size_t n)
{
	for (size_t i = 0; not_the_program[i]; i++)
		if (n >= strlen(not_the_program[i]) &&
		    memcmp(path, not_the_program[i], strlen(not_the_program[i])) == 0)
			return false;
	return !frame_is_library(path, n);
}

/* What carries the collectives, or waits for the GPU; and what runs beside the ranks. */
static const char *const of_waiting[] = {"torch/distributed/distributed_c10d.py",
					 "torch/distributed/_functional_collectives",
					 "torch/cuda/streams.py",
					 "torch/cuda/__init__.py",
					 "deepspeed/comm/",
					 "horovod/",
					 NULL};
static const char *const of_helpers[] = {"data/_utils/worker.py",
					 "elastic/agent/",
					 "multiprocessing/pool.py",
					 "resource_tracker.py",
					 "_inductor/compile_worker",
					 "concurrent/futures/process.py",
					 NULL};

bool samples_call(struct why_stream *s, const struct log_line *l)
{
	struct sample *m = &s->w->samples.v.v[s->w->samples.v.n - 1];
	const char *name = l->body + strspn(l->body, " "), *open = strstr(name, " (");
	const char *colon = open ? strrchr(open, ':') : NULL, *path, *base;
	size_t n;

	if (!open)
		return false;
	if (!colon || !isdigit((unsigned char)colon[1])) /* a library's own: "poll (libc.so.6)" */
		return true;
	path = open + strlen(" (");
	n = (size_t)(colon - path);
	m->waits |= said_any(path, n, of_waiting);
	m->is_helper |= said_any(path, n, of_helpers);
	if (m->place || !is_of_program(path, n))
		return true;
	base = memrchr(path, '/', n);
	base = base ? base + 1 : path;
	m->place = actors_text(&s->w->actors,
			       arena_printf(&s->w->a, "%.*s line %ld, in %.*s", (int)(colon - base),
					    base, strtol(colon + 1, NULL, 10), (int)(open - name),
					    name));
	return true;
}

static const char *place_of(const struct sample *m) { return m->place ? m->place : "a library"; }

/* Its rank, its file where each dump has one, or its number. */
static const char *name_of(const struct why *w, struct arena *a, const struct sample *m)
{
	if (m->rank >= 0)
		return arena_printf(a, "rank %d", m->rank);
	if (w->files.n > 1)
		return arena_printf(a, "the process of %s", w->files.v[m->file]);
	return m->pid ? arena_printf(a, "process %ld", m->pid) : "a process";
}

static bool stand_together(const struct sample *p, const struct sample *q)
{
	return p->place == q->place && p->waits == q->waits;
}

static size_t company(const struct samples *t, const struct sample *m)
{
	size_t n = 0;

	for (size_t i = 0; i < t->v.n; i++)
		n += stand_together(&t->v.v[i], m);
	return n;
}

/* Where the most of them stand; @only_waiting: of those that wait. */
static const struct sample *commonest(const struct samples *t, bool only_waiting)
{
	const struct sample *best = NULL;

	for (size_t i = 0; i < t->v.n; i++)
		if ((t->v.v[i].waits || !only_waiting) &&
		    (!best || company(t, &t->v.v[i]) > company(t, best)))
			best = &t->v.v[i];
	return best;
}

/* The first that does not wait where others do, or else the first in another place than @most. */
static const struct sample *find_odd(const struct samples *t, const struct sample *most,
				     bool are_split)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (are_split ? !t->v.v[i].waits : !stand_together(&t->v.v[i], most))
			return &t->v.v[i];
	return NULL;
}

/* Of each rank where it stood last; a process may have been dumped twice. */
static struct samples of_ranks(struct arena *a, const struct samples *all)
{
	struct samples ret = {0};

	for (size_t i = 0; i < all->v.n; i++) {
		const struct sample *m = &all->v.v[i];
		bool is_latest = true;

		for (size_t k = i + 1; k < all->v.n && m->pid; k++)
			is_latest &= all->v.v[k].pid != m->pid || all->v.v[k].file != m->file;
		if (is_latest && !m->is_helper)
			*LIST_ADD(a, &ret.v) = *m;
	}
	return ret;
}

void samples_judge(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-111");
	const struct samples ranks = of_ranks(a, &w->samples), *t = &ranks;
	const struct sample *most, *odd;
	size_t waiting = 0;
	bool are_split;

	for (size_t i = 0; i < t->v.n; i++)
		waiting += t->v.v[i].waits;
	are_split = waiting && waiting < t->v.n;
	most = commonest(t, are_split);
	odd = find_odd(t, most, are_split);
	/* of two that both compute, who could say which is late */
	if (!c || !odd || (!are_split && company(t, most) * 2 <= t->v.n))
		return;
	explain_raise(c, are_split ? ELSEWHERE : APART,
		      arena_printf(a, "%s stands in %s, and %zu of %zu in %s%s", name_of(w, a, odd),
				   place_of(odd), company(t, most), t->v.n, place_of(most),
				   most->waits ? ", where they wait for the others" : ""));
}
