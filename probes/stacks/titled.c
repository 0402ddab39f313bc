#include "probes/stacks/titled.h"

#include "lib/core/file.h"
#include "lib/core/interrupt.h"

enum { TITLE_MAX = 4096, AXES = 3 };

/* A class of processes that are ranks. */
static const struct kind {
	const char *title; /* it begins so */
	const char *engine;
	bool is_numbered; /* "_DP0_PP1_TP2" follows */
} kinds[] = {
	{"VLLM::Worker", "vLLM", true},
	{"VLLM::EngineCore", "vLLM", true}, /* is its own worker where it needs one */
	{"sglang::scheduler", "SGLang", true},
	{"ray::", "Ray", false},
};

struct titled {
	const struct process *process;
	const struct kind *kind;
	const char *name; /* "ray::RayTrainWorker" */
	long at[AXES];	  /* DP, PP, TP; -1: not said */
	pid_t of;	  /* who started the engine */
};
typedef LIST(struct titled) titled_list;

/* "VLLM::Worker_DP0_PP1_TP2_EP5": which of the axes it is at. */
static void read_axes(const char *title, struct titled *ret)
{
	static const char *const names[AXES] = {"_DP", "_PP", "_TP"};
	char *end;

	for (size_t i = 0; i < AXES; i++) {
		const char *at = strstr(title, names[i]);

		ret->at[i] = at ? strtol(at + strlen(names[i]), &end, 10) : -1;
		if (at &&
		    (end == at + strlen(names[i]) || ret->at[i] < 0 || ret->at[i] > INT16_MAX))
			ret->at[i] = -1;
	}
}

static const struct kind *kind_of(const char *title)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (starts_with(title, kinds[i].title))
			return &kinds[i];
	return NULL;
}

static const char *title_of(pid_t pid, struct arena *a)
{
	struct err ignored;
	char *text;
	size_t n;

	return file_read(arena_printf(a, "/proc/%d/cmdline", (int)pid), TITLE_MAX, a, &text, &n,
			 &ignored)
		       ? ""
		       : text;
}

/* An actor's title goes on with the method that it is in. */
static const char *class_of(const char *title, struct arena *a)
{
	return arena_printf(a, "%.*s", (int)strcspn(title, ".( "), title);
}

static void consider(const struct process *p, struct arena *a, titled_list *found)
{
	const char *title = title_of(p->pid, a);
	struct titled t = {.process = p, .kind = kind_of(title), .of = p->parent};

	/* what a Ray actor that does not train or serve is, nobody waits for in a collective */
	if (!t.kind || (!t.kind->is_numbered && !process_has_torch(p->pid)) ||
	    !process_is_python(p->pid))
		return;
	t.name = class_of(title, a);
	read_axes(title, &t);
	*LIST_ADD(a, found) = t;
}

static bool has_child(const titled_list *found, pid_t pid)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->v[i].process->parent == pid)
			return true;
	return false;
}

/* Cores that have workers are none, and who started the core started the engine. */
static void leave_cores_out(const struct processes *all, titled_list *found)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->n; i++) {
		const struct process *parent = process_find(all, found->v[i].of);

		for (size_t k = 0; parent && k < found->n; k++)
			if (found->v[k].process == parent)
				found->v[i].of = parent->parent;
	}
	for (size_t i = 0; i < found->n; i++)
		if (!has_child(found, found->v[i].process->pid))
			found->v[kept++] = found->v[i];
	found->n = kept;
}

static int by_place(const void *x, const void *y)
{
	const struct titled *p = x, *q = y;

	for (size_t i = 0; i < AXES; i++)
		if (p->at[i] != q->at[i])
			return p->at[i] < q->at[i] ? -1 : 1;
	return (p->process->pid > q->process->pid) - (p->process->pid < q->process->pid);
}

static bool is_together(const struct titled *p, const struct titled *q)
{
	return p->of == q->of && (p->kind->is_numbered || streq(p->name, q->name));
}

/* Where one axis alone is used, the number on it is the rank: the first may be on another host. */
static int rank_of(const struct titled *t, size_t place)
{
	long only = -1;
	int used = 0;

	for (size_t i = 0; i < AXES; i++)
		if (t->at[i] >= 0) {
			only = t->at[i];
			used++;
		}
	return used == 1 ? (int)only : (int)place;
}

static void add_engine(const titled_list *found, const struct titled *first, struct arena *a,
		       struct rank_processes *ret)
{
	struct rank_process *v = arena_alloc(a, found->n * sizeof(*v));
	size_t n = 0;
	int size = 0;

	for (size_t i = 0; i < found->n; i++) {
		const struct titled *t = &found->v[i];
		bool is_ray = !t->kind->is_numbered;

		if (!is_together(first, t))
			continue;
		v[n] = (struct rank_process){.pid = t->process->pid,
					     .job = arena_printf(a, "%s of process %d",
								 is_ray ? t->name : t->kind->engine,
								 (int)t->of),
					     .rank = rank_of(t, n),
					     .local_size = -1,
					     .is_guessed = is_ray};
		size = v[n].rank >= size ? v[n].rank + 1 : size;
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		v[i].size = size;
		v[i].present = (int)n;
	}
	ranks_add(ret, a, v, n);
}

void ranks_titled(const struct processes *all, pid_t below, struct arena *a,
		  struct rank_processes *ret)
{
	titled_list found = {0};

	for (size_t i = 0; i < all->n && !interrupt_pending(); i++)
		if ((!below || process_is_below(all, all->v[i].pid, below)) &&
		    !ranks_have(ret, all, all->v[i].pid))
			consider(&all->v[i], a, &found);
	leave_cores_out(all, &found);
	if (!found.n)
		return;
	qsort(found.v, found.n, sizeof(*found.v), by_place);
	for (size_t i = 0; i < found.n; i++) {
		bool is_first = true;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !is_together(&found.v[k], &found.v[i]);
		if (is_first)
			add_engine(&found, &found.v[i], a, ret);
	}
}
