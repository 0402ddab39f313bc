/* What is harmless alone and says why a job failed beside what did: an mpirun of another MPI than
 * the program's, memory that a card cannot register, a way over NVLink that was ruled out, data for
 * fewer ranks than there are, ranks that decide each by themselves, a host that was still being
 * made ready, a pod that sees another's cards, keys of a cache that differ. */
#include "probes/log/explain.h"

enum {
	MORE = 6, /* than what it explains */
	MOST = 98,
	ALONE = 76, /* where nothing else failed: the job is only slow */
};

/* The strongest of @effects, a list of ids. */
static const struct cause *strongest(struct explanation *x, const char *const *effects)
{
	const struct cause *found = NULL;

	for (size_t i = 0; effects[i]; i++) {
		const struct cause *e = explain_find(x, effects[i]);

		if (e && e->first && !e->is_over && (!found || e->weight > found->weight))
			found = e;
	}
	return found;
}

/* Raises @c, which counts for nothing alone, above the strongest of @effects. */
static void above(struct explanation *x, struct cause *c, const char *const *effects,
		  const char *because)
{
	const struct cause *e = strongest(x, effects);

	if (e)
		explain_reason(c, e, explain_above(e, MORE, MOST), because);
}

/* Made to count for nothing until something shows more; NULL: no line has it. */
static struct cause *hint(struct explanation *x, const char *id)
{
	struct cause *c = explain_find(x, id);

	if (c)
		c->weight = 0;
	return c;
}

static void registered(struct explanation *x)
{
	static const char *const effects[] = {"IB-011", "IB-034", "IB-056", "PT-085", NULL};
	struct cause *c = hint(x, "IB-068");

	if (c)
		above(x, c, effects, "so the card could not register that memory");
}

static void ruled_out(struct explanation *x)
{
	static const char *const effects[] = {"NVS-006", "GPU-012", "NVS-001", NULL};
	struct cause *c = hint(x, "NVS-018");

	if (c)
		above(x, c, effects, "what was taken instead failed");
}

static const char *const mismatched[] = {"PT-006", "PT-014", "PT-123", NULL};

static void fewer_shards(struct explanation *x)
{
	struct cause *c = hint(x, "DAT-039");

	if (c)
		above(x, c, mismatched, "so the ranks did not run the same collectives");
}

static void disagree(const struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = hint(x, "PT-218");
	const char *said = c ? votes_split(&w->votes, a) : NULL;

	if (said)
		above(x, c, mismatched, arena_printf(a, "their latest words (%s)", said));
}

/* @c has a line in the traceback that ends with @e. */
static bool is_shortly_before(const struct cause *c, const struct log_event *e)
{
	enum { NEAR = 16 /* lines */ };

	for (size_t i = 0; i < c->record->events.n; i++) {
		const struct log_event *o = &c->record->events.v[i];

		if (o->file == e->file && o->line < e->line && e->line - o->line <= NEAR)
			return true;
	}
	return false;
}

/* A call of CUDA that failed as another rank's memory was opened: the frame says so alone. */
static void handed_over(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const failed[] = {"GPU-091", "GPU-003", "GPU-031"};
	struct cause *c, *e;

	if (!hint(x, "GPU-139") || explain_find(x, "GPU-138"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(failed); i++) {
		e = explain_find(x, failed[i]);
		if (!e || !e->first || e->is_over ||
		    !is_shortly_before(explain_find(x, "GPU-139"), e->first))
			continue;
		c = explain_add(w, a, x, "GPU-138");
		e = explain_find(x, failed[i]); /* the list may have moved */
		explain_instead(c, e, e->first, explain_above(e, MORE, MOST),
				"cudaIpcOpenMemHandle failed");
		return;
	}
}

/* Open MPI's library says that nobody of its own started it, and another's launcher speaks; or
 * Intel's does, and Open MPI's launcher. */
static void another_mpi(struct explanation *x)
{
	static const char *const effects[] = {"MPI-009", NULL};
	struct cause *c = hint(x, "MPI-099");
	const struct cause *e = strongest(x, effects);
	bool is_open = explain_says(e, "OMPI was not built") || explain_says(e, "OPAL ERROR");
	bool by_hydra = explain_says(c, "hydra") || explain_says(c, "BAD TERMINATION") ||
			explain_says(c, "/intel") || explain_says(c, "/impi") ||
			explain_says(c, "/mpich") || explain_says(c, "/oneapi");
	bool by_open = explain_says(c, "run noticed") || explain_says(c, "run detected") ||
		       explain_says(c, "orterun") || explain_says(c, "prterun") ||
		       explain_says(c, "ompi/") || explain_says(c, "openmpi");

	if (c && is_open && by_hydra)
		above(x, c, effects,
		      "the program has Open MPI in it, and Intel MPI's or MPICH's mpirun started "
		      "it");
	else if (c && by_open && explain_says(e, "I_MPI_PMI_LIBRARY"))
		above(x, c, effects,
		      "the program has Intel MPI in it, and Open MPI's mpirun started it");
}

/* Which task @e is of: its rank, or the number in "[task1]", "train-worker-1"; -1: not said. */
static int task_of(const struct log_event *e)
{
	static const char *const words[] = {"[task", "task-", "task ", "worker-"};

	for (size_t i = 0; e->who.rank < 0 && i < ARRAY_LEN(words); i++) {
		const char *p = strstr(e->text, words[i]);
		int task;

		if (p && sscanf(p + strlen(words[i]), "%5d", &task) == 1)
			return task;
	}
	return e->who.rank;
}

/* A task that the coordinator misses was still fetching what it needs. */
static void in_the_making(const struct why *w, struct explanation *x)
{
	static const char *const effects[] = {"JAX-001", NULL};
	struct cause *c = hint(x, "K8S-062");
	const struct cause *e = strongest(x, effects);

	if (!c || !e || explain_has_reason(x))
		return;
	for (size_t i = c->record->events.n; i-- > 0;) { /* the latest */
		const struct log_event *o = &c->record->events.v[i];

		if (!tasks_is_late(&w->tasks, task_of(o)) || !event_before(o, e->first))
			continue;
		c->first = o;
		explain_reason(c, e, e->weight + MORE, "the others waited for it");
		return;
	}
}

/* Whether the job went on after it or not. */
static bool has(const struct cause *c, const char *words)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (strstr(c->record->events.v[i].text, words))
			return true;
	return false;
}

/* A pod that was given EFA's devices, and has the host's whole folder of RDMA devices as well. */
static void whole_folder(struct explanation *x)
{
	struct cause *c = hint(x, "EFA-034");
	const struct cause *none = explain_find(x, "EFA-001");

	if (!c || !none || !has(c, "ath: /dev/infiniband") || !has(c, "vpc.amazonaws.com/efa"))
		return;
	c->is_over = false; /* it is slow, and goes on */
	explain_raise(c, none->weight + MORE > ALONE ? none->weight + MORE : ALONE,
		      "libfabric shows no EFA device there, and NCCL went over sockets");
}

static void unlike_keys(const struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-219");

	if (cachekeys_never_fit(&w->cachekeys))
		explain_raise(c, ALONE,
			      "NONE_HASH differs between the processes, and no request "
			      "found what was stored");
}

void beside_job(struct why *w, struct arena *a, struct explanation *x)
{
	registered(x);
	ruled_out(x);
	fewer_shards(x);
	disagree(w, a, x);
	another_mpi(x);
	handed_over(w, a, x);
	in_the_making(w, x);
	whole_folder(x);
	unlike_keys(w, x);
}
