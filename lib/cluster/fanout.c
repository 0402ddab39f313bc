#include "lib/cluster/fanout.h"

#include "lib/cluster/errand.h"
#include "lib/cluster/job.h"
#include "lib/cluster/own_machine.h"
#include "lib/cluster/trouble.h"
#include "lib/cluster/way.h"
#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <poll.h>

enum {
	PARALLEL = 32,
	PARALLEL_MAX = 256, /* a few descriptors each, of the usual 1024 */
	DEADLINE_S = 30,
	OUTPUT_MAX = 16 << 20,
	STOP_STEPS = 100, /* of STEP_MS */
	STEP_MS = 5,
};

struct fanout;

/* Takes the next host when its job has ended. */
struct slot {
	struct fanout *f;
	struct job job;
	struct fanout_result *r;    /* NULL: idle, or: */
	struct fanout_result *away; /* was turned away, and is tried again by: */
	struct timer again;
	unsigned tried;
	uint64_t since_ns;
};

struct fanout {
	struct loop loop;
	struct fanout_opts o;
	const host_list *hosts;
	str_list argv;	     /* rsh's words, the host, the command, NULL */
	const char *here[4]; /* the same for the machine that we are at */
	struct rsh_way way;
	const char *program;
	struct fanout_result *results;
	size_t next, finished, nslots;
	struct slot *slots;
	struct arena *a;
};

static void report(struct fanout *f, struct fanout_result *r)
{
	f->finished++;
	if (f->o.done)
		f->o.done(r, f->finished, f->hosts->n, f->o.arg);
}

static bool is_unanswered(const struct fanout *f, const struct fanout_result *r)
{
	const char *answer = f->o.answer;

	if (f->o.errand)
		return !r->begun;
	return answer && !memmem(r->out, r->out_n, answer, strlen(answer));
}

static void explain(const struct fanout *f, struct fanout_result *r)
{
	static const struct rsh_way shell = {.name = "sh", .typed = "sh", .here = true};
	const struct rsh_way *way = r->here ? &shell : &f->way;
	struct trouble t = {0};

	if (!r->ended)
		t = fanout_trouble(r, way, f->program, f->o.deadline_ns, f->a);
	if (!t.said && is_unanswered(f, r))
		t = fanout_silence(r, way, f->program, f->a);
	r->trouble = t.said;
	r->fix = t.fix;
	r->missing = t.missing;
	r->away = t.away;
}

/* What was wrong was wrong here. */
static const char *way_to_start(const struct fanout *f, const char *why)
{
	if (!strstr(why, "No such file"))
		return "ulimit -n; ulimit -u; free -m   # from here: what is short?";
	if (streq(f->way.name, "ssh"))
		return "sudo apt-get install -y openssh-client || sudo dnf install -y "
		       "openssh-clients   # from here";
	return arena_printf(f->a, "command -v %s   # from here: is it installed?",
			    shell_quote(f->a, f->way.name));
}

static bool start(struct slot *s, size_t i)
{
	struct fanout *f = s->f;
	struct fanout_result *r = &f->results[i];
	const char **argv = r->here ? f->here : f->argv.v;
	struct err why = {0};

	f->argv.v[f->argv.n - 3] = r->host;
	if (job_start(&s->job, &f->loop, (char *const *)(void *)argv, f->a, &why) < 0) {
		r->trouble = arena_printf(f->a, "%s was not asked: %s; %s", r->host, why.msg,
					  *why.hint ? why.hint : "--rsh names another command");
		r->fix = way_to_start(f, why.msg);
		report(f, r);
		return false;
	}
	r->started = true;
	s->r = r;
	return true;
}

static void start_next(struct slot *s)
{
	struct fanout *f = s->f;

	s->tried = 0;
	s->since_ns = now_ns();
	while (f->next < f->hosts->n && !interrupt_pending())
		if (start(s, f->next++))
			break;
}

static void on_again(struct loop *l UNUSED, struct timer *t)
{
	struct slot *s = CONTAINER_OF(t, struct slot, again);
	struct fanout_result *r = s->away;

	s->away = NULL;
	if (!start(s, (size_t)(r - s->f->results)))
		start_next(s);
}

/* Nothing was run there. */
static bool comes_again(struct slot *s, struct fanout_result *r)
{
	struct err ignored;
	uint64_t pause_ns;

	if (!r->away || !way_turned_away(r->err) || interrupt_pending() ||
	    !way_may_try_again(s->tried, (size_t)(s - s->f->slots), s->since_ns,
			       s->f->o.deadline_ns, &pause_ns) ||
	    loop_arm(&s->f->loop, &s->again, pause_ns, &ignored) < 0)
		return false;
	s->tried++;
	s->away = r;
	return true;
}

/* What its login printed is no part of it; a way may bring both streams as one. */
static void hear_errand(struct fanout_result *r, struct text *said, char *err)
{
	char *out = errand_said(said->s, said->n);
	char *end = errand_end(err, strlen(err), &r->exit_status);

	r->begun = out;
	r->ended = end;
	if (!end && (end = errand_end(said->s, said->n, &r->exit_status))) {
		said->n = (size_t)(end - said->s);
		r->ended = true;
	}
	if (end)
		*end = '\0';
	r->out = out ?: said->s;
	r->out_n = said->n - (size_t)(r->out - said->s);
	r->err = errand_said(err, strlen(err)) ?: err;
}

static void on_ended(struct job *j)
{
	struct slot *s = CONTAINER_OF(j, struct slot, job);
	struct fanout_result *r = s->r;
	char *err = arena_strdup(s->f->a, j->tail);

	r->timed_out = j->timed_out;
	r->truncated = j->truncated;
	r->endless = j->endless;
	r->lingers = j->lingers;
	r->asks = j->asks;
	r->exit_status = j->status;
	r->signal = j->signal;
	r->out = j->out.s;
	r->out_n = j->out.n;
	r->err = err;
	if (s->f->o.errand)
		hear_errand(r, &j->out, err);
	r->took_ns = j->took_ns;
	r->interrupted &= !r->ended && j->status != 0; /* it may have finished just before */
	explain(s->f, r);
	s->r = NULL;
	if (comes_again(s, r))
		return;
	report(s->f, r);
	start_next(s);
}

/* Ends what still runs: all are told at once, then given half a second together. */
static void stop_all(struct fanout *f)
{
	size_t left = f->nslots;

	for (int step = 0; step < STOP_STEPS && left; step++) {
		left = 0;
		for (struct slot *s = f->slots; s < f->slots + f->nslots; s++) {
			if (!s->r)
				continue;
			s->r->interrupted = true;
			if (step == 0 || step + 2 == STOP_STEPS)
				job_quit(&s->job);
			left += !job_collect(&s->job);
		}
		if (left)
			(void)poll(NULL, 0, STEP_MS);
	}
}

/* What nobody started, and what would not even die, has no answer either. */
static void mark_unfinished(struct fanout *f)
{
	for (size_t i = 0; i < f->hosts->n; i++) {
		struct fanout_result *r = &f->results[i];

		if (r->trouble || r->took_ns)
			continue;
		r->interrupted = true;
		explain(f, r);
	}
}

static void list_results(struct fanout *f)
{
	const bool named = rsh_is_named(f->o.rsh);
	struct own_machine own;

	own_machine_init(&own, f->o.rsh, f->hosts->n, f->a);
	f->results = arena_alloc(f->a, f->hosts->n * sizeof(*f->results));
	for (size_t i = 0; i < f->hosts->n; i++)
		f->results[i] = (struct fanout_result){
			.host = f->hosts->v[i].name,
			.alone = f->hosts->n == 1,
			.here = !named && own_machine_is(&own, f->hosts->v[i].name),
			.exit_status = -1,
			.out = "",
			.err = ""};
}

static int prepare(struct fanout *f, const struct fanout_opts *o, const char *const *argv,
		   struct err *e)
{
	const char *command;

	if (o)
		f->o = *o;
	f->o.parallel = f->o.parallel ? f->o.parallel : PARALLEL;
	f->o.deadline_ns = f->o.deadline_ns ? f->o.deadline_ns : DEADLINE_S * NS_PER_S;
	f->o.max_output = f->o.max_output ? f->o.max_output : OUTPUT_MAX;
	f->o.max_output += f->o.errand ? sizeof("\n" ERRAND_BEGINS "\n") - 1 : 0;
	f->program = f->o.program ? f->o.program : argv[0];
	if (rsh_words(f->o.rsh, f->o.deadline_ns, f->a, &f->argv, &f->way, e))
		return -1;
	command = f->o.errand ? errand_script(f->a, argv[2]) : shell_quote_words(f->a, argv);
	*LIST_ADD(f->a, &f->argv) = NULL; /* the host's place */
	*LIST_ADD(f->a, &f->argv) = command;
	*LIST_ADD(f->a, &f->argv) = NULL;
	f->here[0] = "sh";
	f->here[1] = "-c";
	f->here[2] =
		arena_printf(f->a, "cd 2>/dev/null; %s%s", f->o.errand ? "" : "exec ", command);
	list_results(f);
	return 0;
}

static int make_slots(struct fanout *f, struct err *e)
{
	size_t n = f->o.parallel < PARALLEL_MAX ? f->o.parallel : PARALLEL_MAX;

	f->nslots = n < f->hosts->n ? n : f->hosts->n;
	f->slots = calloc(f->nslots + 1, sizeof(*f->slots));
	if (!f->slots)
		return err_sys(e, "cannot run %zu commands at once", f->nslots);
	for (size_t i = 0; i < f->nslots; i++) {
		f->slots[i].f = f;
		f->slots[i].again.fire = on_again;
		f->slots[i].job.deadline_ns = f->o.deadline_ns;
		f->slots[i].job.is_way = true;
		f->slots[i].job.held_by = f->o.errand ? ERRAND_GO : NULL;
		f->slots[i].job.over = f->o.errand ? "\n" ERRAND_ENDED : NULL;
		f->slots[i].job.max_output = f->o.max_output;
		f->slots[i].job.ended = on_ended;
	}
	return 0;
}

static void fanout_done(struct fanout *f)
{
	for (size_t i = 0; f->slots && i < f->nslots; i++)
		job_done(&f->slots[i].job);
	free(f->slots);
	loop_done(&f->loop);
}

int fanout_run(const host_list *hosts, const char *const *argv, const struct fanout_opts *o,
	       struct arena *a, struct fanout_result **ret, struct err *e)
{
	AUTO(fanout_done)
	struct fanout f = {.hosts = hosts, .a = a, .loop.epfd = -1};

	if (prepare(&f, o, argv, e) < 0 || make_slots(&f, e) < 0 || loop_init(&f.loop, e) < 0)
		return -1;
	for (size_t i = 0; i < f.nslots; i++)
		start_next(&f.slots[i]);
	if (loop_run(&f.loop, e) < 0)
		return -1;
	stop_all(&f);
	mark_unfinished(&f);
	*ret = f.results;
	return 0;
}
