/* What a line about torch means beside others: a SyncBatchNorm where there are no ranks, a buffer
 * that DDP changed, models that did not arrive, one rank that works on, or saves, when the others
 * have gone, and why NCCL cannot start CUDA. */
#include "probes/log/explain.h"

enum {
	MORE = 4,    /* than what it explains */
	FAINT = 40,  /* said better by another */
	LIKELY = 66, /* more than an error of the program itself */
	ALONE = 62,
	PERHAPS = 52,
	NEAR = 24, /* lines of one traceback */
};

/* The latest line of @c in the traceback that ends with @e. */
static const struct log_event *shortly_before(const struct cause *c, const struct log_event *e)
{
	const struct log_event *found = NULL;

	for (size_t i = 0; c && e && i < c->record->events.n; i++) {
		const struct log_event *o = &c->record->events.v[i];

		if (o->file == e->file && o->line < e->line && e->line - o->line <= NEAR)
			found = o;
	}
	return found;
}

static void norm_of_one(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-124"), *none = explain_find(x, "PT-018");
	const struct log_event *e = explain_event(none, "has not been initialized");

	if (!c)
		return;
	c->weight = 0;
	if (!shortly_before(c, e))
		return;
	explain_instead(c, none, e, none->weight + MORE, "it was raised in the model's BatchNorm");
}

/* A state that was saved for other shards meets the first gradients. */
static void state_of_others(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-129"), *any = explain_find(x, "APP-001");
	const struct log_event *e = explain_event(any, "must match the size of tensor b (");

	if (!c)
		return;
	c->weight = 0;
	if (!e || !shortly_before(c, e) || any->is_over)
		return;
	explain_instead(c, any, e, LIKELY, "it was raised in the optimizer's step");
}

/* There is DDP, or a launcher of ranks. */
static bool is_distributed(const struct why *w, const struct cause *c)
{
	return w->has_ddp || c->record->nranks > 0;
}

/* What was changed is a BatchNorm's: its buffers, or weights that were stepped. */
static bool is_of_norm(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-131");

	if (c)
		c->weight = 0;
	return c && !c->is_over;
}

/* Else it is an error of the program, as others are. */
static void buffers(struct why *w, struct arena *a, struct explanation *x)
{
	const struct log_event *e;
	struct cause *c = explain_find(x, "PT-125");

	if (!c)
		return;
	c->weight = 0;
	e = c->first;
	if (c->is_over)
		return;
	if (is_distributed(w, c) || is_of_norm(x)) {
		explain_suspect(c, LIKELY, NULL);
		return;
	}
	c = explain_add(w, a, x, "APP-001");
	c->first = c->first ? c->first : e;
	explain_suspect(c, c->sig->weight, NULL);
}

/* Something of NCCL or a rank failed behind @e, or may be said to have been outlived only because
 * the training had come to its end. */
static const struct cause *failed_after(struct explanation *x, const struct log_event *e)
{
	static const char *const ids[] = {"PT-006", "PT-011", "PT-015", "CON-020", "CON-010"};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		const struct cause *c = explain_find(x, ids[i]);

		if (c && c->first && c->first->file == e->file && event_before(e, c->first))
			return c;
	}
	return NULL;
}

static void works_on_alone(struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-127");
	const struct log_progress *p = c ? &w->progress.v[c->first->file] : NULL;

	if (!c)
		return;
	c->weight = 0;
	if ((!p->finish && !p->ending.well) || explain_has_reason(x) || !failed_after(x, c->first))
		return;
	explain_suspect(c, ALONE,
			p->ending.well > c->first->line
				? "others ended well, and NCCL failed behind that line"
				: "the training was over, and NCCL failed behind that line");
}

/* The parts of a model are gathered by all ranks, or by none. Its peers may have ended well. */
static void saves_alone(struct explanation *x)
{
	static const char *const lost[] = {"CON-020", "CON-010", "PT-011"};
	struct cause *c = explain_find(x, "PT-203");

	if (!c)
		return;
	c->weight = 0;
	if (explain_has_reason(x))
		return;
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		const struct cause *failed = explain_find(x, lost[i]);

		for (size_t j = 0; failed && j < failed->record->events.n; j++)
			if (shortly_before(c, &failed->record->events.v[j]))
				explain_suspect(c, ALONE, "a peer was gone when NCCL gathered it");
	}
}

/* A NCCL that is newer than the driver finds no CUDA to start. Elsewhere a process that forked may
 * be why; nccl-tests forks nothing. */
static void nccl_and_driver(const struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "GPU-105"), *any = explain_find(x, "GPU-050");
	long cuda = w->cuda_of_nccl, driver = w->cuda_of_driver;
	bool is_older = driver && driver < cuda;
	bool is_test = w->worlds.together || w->worlds.most_headers;

	if (!c)
		return;
	c->weight = 0;
	if (!any || !cuda || (!is_older && (driver || !is_test)))
		return;
	explain_instead(c, any, any->first, any->weight + MORE,
			is_older ? arena_printf(a, "CUDA %ld.%ld, and the driver serves %ld.%ld",
						cuda / 1000, cuda % 1000 / 10, driver / 1000,
						driver % 1000 / 10)
				 : arena_printf(a,
						"CUDA %ld.%ld: does nvidia-smi say at least that?",
						cuda / 1000, cuda % 1000 / 10));
	any = explain_find(x, "GPU-031");
	if (any && any->first && event_shares_line(any->first, c->first))
		any->weight = FAINT;
}

/* Members are missing where Lightning left their start to Slurm. */
static void without_srun(const struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-128");
	const struct muster *m = &w->muster[MEMBERS];

	if (!c)
		return;
	c->weight = 0;
	if (muster_lacks(m) && !why_has_worked(w))
		explain_suspect(c, LIKELY,
				arena_printf(a, "members of a job of %ld are missing", m->total));
}

static const struct log_event *said_by(const struct cause *c, long rank)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (c->record->events.v[i].who.rank == rank)
			return &c->record->events.v[i];
	return NULL;
}

/* Who failed by itself sent nothing: no network lost it. */
static void sent_nothing(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-126"), *models = explain_find(x, "PT-009"), *own;
	const char *named = c && c->first ? strstr(c->first->text, "while rank ") : NULL;
	long rank = named ? strtol(named + strlen("while rank "), NULL, 10) : -1;

	for (size_t i = 0; named && i < x->causes.n; i++) {
		const struct log_event *e;

		own = &x->causes.v[i];
		e = own == c || own == models || own->is_over ? NULL : said_by(own, rank);
		if (!e || (own->sig->tier != TIER_ROOT && !streq(own->sig->id, "APP-001")))
			continue;
		own->first = e;
		explain_raise(own, LIKELY, "so the others got nothing of its model");
		c->weight = FAINT;
		if (models)
			models->weight = FAINT;
		return;
	}
}

/* Python shows the line that did not hold right above a bare AssertionError. */
static const struct log_event *did_not_hold(const struct cause *c, const struct cause *any)
{
	enum { BELOW = 3, AMONG_RANKS = 8 };

	for (size_t i = 0; i < any->record->events.n; i++) {
		const struct log_event *o = &any->record->events.v[i], *e = shortly_before(c, o);
		long below = e ? o->line - e->line : 0;

		if (e && ends_with(o->text, "AssertionError") && o->who.rank == e->who.rank &&
		    below <= (o->who.rank < 0 ? BELOW : AMONG_RANKS))
			return e;
	}
	return NULL;
}

static void asserted(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-130"), *any = explain_find(x, "APP-001");
	const struct log_event *e;

	if (!c)
		return;
	c->weight = 0;
	e = any && !any->is_over ? did_not_hold(c, any) : NULL;
	if (!e)
		return;
	if (strstr(e->text, "is_available"))
		c = explain_add(w, a, x, "GPU-021");
	any = explain_find(x, "APP-001"); /* what was added may have moved them */
	explain_instead(c, any, e, LIKELY, NULL);
}

/* bitsandbytes warns of what it lacks when it is imported. That is why something fails where this
 * is of it, and not where another call says what is wrong. */
static void warned_of_bits(struct explanation *x)
{
	struct cause *c = explain_find(x, "LIB-014");

	for (size_t i = 0; c && i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, "compiled without GPU support"))
			return;
	for (size_t i = 0; c && i < x->causes.n; i++) {
		const struct cause *o = &x->causes.v[i];

		if (o == c || o->is_over || o->sig->tier != TIER_ROOT || o->weight < CONFIDENT ||
		    !o->first || !o->first->after_traceback ||
		    strstr(o->first->text, "bitsandbytes") || event_before(o->first, c->first))
			continue;
		c->weight = FAINT;
		c->because = "a warning, and another call says what is wrong";
	}
}

/* Ranks that come later wait for the one that builds: without it they wait for a lock that was
 * left.
 */
static void left_lock(const struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-230");
	const struct log_event *e = explain_event(c, "torch/utils/file_baton.py");

	if (!c)
		return;
	c->weight = 0;
	if (!e)
		e = explain_event(c, "Waited on lock file ");
	if (explain_says(c, "_run_ninja_build") || (!e && explain_says(c, " extension module ")) ||
	    explain_says(c, "Emitting ninja"))
		return;
	if (!e && why_was_interrupted(w) && !explain_has_reason(x))
		explain_suspect(c, PERHAPS,
				"it was ended by hand behind that line, and nothing was "
				"built or loaded");
	if (!e)
		return;
	c->first = e;
	explain_raise(c, LIKELY, "no process of the log builds it");
}

void beside_torch(struct why *w, struct arena *a, struct explanation *x)
{
	norm_of_one(x);
	warned_of_bits(x);
	state_of_others(x);
	sent_nothing(x);
	buffers(w, a, x);
	works_on_alone(w, x);
	saves_alone(x);
	nccl_and_driver(w, a, x);
	without_srun(w, a, x);
	asserted(w, a, x);
	left_lock(w, x);
}
