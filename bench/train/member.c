#include "bench/train/member.h"

#include "bench/ranks/mpirun_child.h"
#include "bench/ranks/reason.h"
#include "bench/ranks/relay.h"
#include "bench/train/hear.h"
#include "bench/train/job.h"
#include "bench/train/verdict.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"

#include <signal.h>

struct member {
	const struct member_opts *o;
	const struct where_role *role;
	struct train_opts *train;
	struct arena *a;
	struct report *r;
	struct engine_loaded engine;
	struct world_run w;
	int rank;
	const char *lost; /* the sentence about a rank that was lost; NULL */
};

/* --- to the others ------------------------------------------------------------------------ */

/* What it lacks to compute with all hear of, once they have met; but our launcher reads it here. */
static int load_engine(struct member *m, struct err *e)
{
	m->train->loaded = &m->engine;
	if (!engine_load(&m->o->ask->engine, m->train->model, m->train->deadline_ns, m->a,
			 &m->engine, e))
		return 0;
	if (m->role->ours)
		return -1;
	*e = (struct err){0};
	return 0;
}

static int join(struct member *m, struct err *e)
{
	struct world_opts o = where_world(m->o->where);

	if (load_engine(m, e))
		return -1;
	o.device = m->engine.device ? m->engine.device : "cpu";
	if (world_start(&o, m->a, &m->w, e))
		return -1;
	m->rank = rdzv_rank(m->w.rdzv);
	return 0;
}

/* Of ranks of our launcher rank 0 says it, as the launcher's own: also what this machine lacks, and
 * so all ranks that are on it. */
static bool is_said_by_first(const struct member *m)
{
	bool all_lack = m->engine.lacks.kind == ERR_ABSENT && where_is_here(m->o->where);

	return m->role->ours && (!m->role->rank || all_lack);
}

/* What it lacks itself is a better reason than that it did not meet the others. */
static int stay_alone(struct member *m, struct err *e)
{
	const struct err *lacks = &m->engine.lacks;

	if (is_said_by_first(m))
		relay_hush();
	if (lacks->kind) {
		*e = *lacks;
		return engine_failed_check(&m->engine) ? verdict_sick(m->r, m->role->rank, e) : -1;
	}
	return m->w.missing && !m->role->ours && !m->role->relayed
		       ? verdict_missing(m->r, m->role->rank, e)
		       : -1;
}

/* --- with them ---------------------------------------------------------------------------- */

static bool stands_alone(const struct member *m) { return launcher_is_person(m->w.world.launcher); }

static void take_place(const struct member *m)
{
	if (m->rank) {
		/* a launcher's Ctrl-C reaches all: rank 0 decides what it means, and tells them */
		if (!stands_alone(m))
			(void)signal(SIGINT, SIG_IGN);
		return;
	}
	mpirun_heed(hear_fd());
	if (m->role->relayed)
		hear_tell_ranks(m->w.rdzv);
	for (size_t i = 0; m->w.notes[i]; i++)
		log_say("%s", m->w.notes[i]);
}

static int train(struct member *m, struct err *e)
{
	train_tell *tell = m->role->ours ? hear_tell : log_progress;

	if (train_ask_share(m->o->ask, (uint64_t)m->w.world.size, e) ||
	    train_job(m->train, &m->w, m->rank ? NULL : tell, m->r, &m->lost, e))
		return -1;
	return m->lost ? 0 : verdict_share(&m->w, m->r, &m->lost, e);
}

/* --- and away ------------------------------------------------------------------------------ */

/* What all ranks come to know together, rank 0 says, where they have one terminal. */
static bool is_common(const struct member *m, const struct err *e)
{
	bool interrupted = interrupt_pending() || rdzv_why(m->w.rdzv) == RDZV_INTERRUPTED;

	return (e->kind == ERR_ABSENT || e->kind == ERR_USAGE || interrupted) && !stands_alone(m);
}

static void leave(struct member *m, int result, const struct err *e)
{
	struct err why = *e;
	const char *told;
	bool hush = result && (m->rank ? is_common(m, e) : m->role->ours);

	(void)interrupt_err(&why); /* not what came of it here */
	world_stop(&m->w, result ? why.msg : m->lost);
	if (m->rank && m->role->relayed && m->lost)
		hear_tell_lost(m->lost); /* who else would? */
	if (m->rank && !result && m->lost && stands_alone(m)) {
		(void)reason_check(m->a, m->lost, &told);
		log_say("%s", told);
	}
	if (!m->rank && result && e->kind == ERR_USAGE)
		hear_tell_error(e); /* no report has it */
	if (hush)
		relay_hush();
}

/* Its exit code is known when all is written, and the others end with that. */
static bool has_to_tell(const struct member *m, int result)
{
	return !result && !m->lost && !m->rank && stands_alone(m);
}

int member_run(const struct member_opts *o, struct arena *a, struct report *r,
	       struct member **ret_first, struct err *e)
{
	struct member *m = arena_alloc(a, sizeof(*m));
	int result;

	*ret_first = NULL;
	*m = (struct member){.o = o, .role = o->role, .train = &o->ask->train, .a = a, .r = r};
	mpirun_shelter(hear_fd());
	if (o->role->rank >= 0)
		fault_process(&m->train->fault, o->role->rank, FAULT_STEP(FAULT_AT_START));
	if (join(m, e))
		return stay_alone(m, e);
	take_place(m);
	result = train(m, e);
	if (has_to_tell(m, result))
		*ret_first = m;
	else
		leave(m, result, e);
	return result;
}

void member_end(struct member *first, const struct verdict *v)
{
	verdict_tell(&first->w, v);
	world_stop(&first->w, NULL);
}
