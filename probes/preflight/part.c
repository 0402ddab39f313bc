#include "probes/preflight/part.h"

#include "lib/cluster/job.h"
#include "lib/core/compat.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/self.h"
#include "lib/core/term.h"
#include "lib/core/units.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"

#include <poll.h>
#include <sys/epoll.h>

enum {
	OUTPUT_MAX = 256 << 20, /* each of 512 hosts tells of 511 others */
	LARGE = 8 << 20,
	DEPTH_MAX = 64,
	STOP_STEPS = 200, /* of STEP_MS: a second to report what was finished */
	STEP_MS = 5,
	SAID_MAX = 160,
};

struct run {
	struct job job;
	struct loop loop;
	struct timer cap, tick;
	struct io over;
	bool cut, stopped; /* stopped: by us, after a signal */
	bool needless;
	const struct part_progress *shown;
	uint64_t start_ns, cap_ns;
};

void part_done(struct part *p)
{
	cJSON_Delete(p->doc);
	p->doc = NULL;
}

static const char *runnable(const char *path)
{
	return path && access(path, X_OK) == 0 ? path : NULL;
}

const char *part_find(struct arena *a, const char *command)
{
	return runnable(self_beside(a, command)) ?: file_on_path(a, command);
}

const char *part_places(struct arena *a)
{
	const char *self = self_path(a), *slash = self ? strrchr(self, '/') : NULL;

	return arena_printf(a, "not beside windsock (%.*s) and not on the PATH",
			    slash ? (int)(slash - self) : 7, slash ? self : "unknown");
}

static void on_ended(struct job *j)
{
	loop_disarm(j->loop, &CONTAINER_OF(j, struct run, job)->cap);
	loop_disarm(j->loop, &CONTAINER_OF(j, struct run, job)->tick);
	loop_del(j->loop, &CONTAINER_OF(j, struct run, job)->over);
}

/* What takes a minute says so every second. */
static void on_tick(struct loop *l, struct timer *t)
{
	struct run *r = CONTAINER_OF(t, struct run, tick);
	unsigned long long took = (now_ns() - r->start_ns) / NS_PER_S, most = r->cap_ns / NS_PER_S;
	struct err ignored;
	char text[96];

	(void)snprintf(text, sizeof(text), "%s, %llu s of at most %llu", r->shown->title, took,
		       most);
	log_progress(text, r->shown->done, r->shown->total);
	(void)!loop_arm(l, t, NS_PER_S, &ignored);
}

/* First a request, then an order. */
static void on_cap(struct loop *l, struct timer *t)
{
	struct run *r = CONTAINER_OF(t, struct run, cap);
	struct err ignored;

	r->cut = true;
	job_quit(&r->job);
	(void)!loop_arm(l, t, NS_PER_S, &ignored);
}

/* Nobody waits for what it finds any more. */
static void on_over(struct loop *l, struct io *io, uint32_t events UNUSED)
{
	struct run *r = CONTAINER_OF(io, struct run, over);
	struct err ignored;

	loop_del(l, io);
	r->needless = true;
	job_quit(&r->job);
	(void)!loop_arm(l, &r->cap, NS_PER_S, &ignored);
}

/* After a signal: it has a second to print what it finished. */
static void stop(struct run *r)
{
	r->stopped = true;
	job_quit(&r->job);
	for (int i = 0; i < STOP_STEPS && job_running(&r->job) && !job_collect(&r->job); i++)
		(void)poll(NULL, 0, STEP_MS);
	job_done(&r->job);
}

static void run_done(struct run *r)
{
	job_done(&r->job);
	loop_done(&r->loop);
}

static int start(struct run *r, const char *const *argv, uint64_t cap_ns, struct arena *a,
		 struct err *e)
{
	r->cap = (struct timer){.fire = on_cap};
	r->tick = (struct timer){.fire = on_tick};
	r->over = (struct io){.fd = r->shown && r->shown->over_fd ? r->shown->over_fd : -1,
			      .ready = on_over};
	r->start_ns = now_ns();
	r->cap_ns = cap_ns;
	r->job = (struct job){.deadline_ns = 2 * cap_ns + 60 * NS_PER_S, /* the cap is ours */
			      .max_output = OUTPUT_MAX,
			      .ended = on_ended};
	if (loop_init(&r->loop, e) ||
	    job_start(&r->job, &r->loop, (char *const *)(void *)argv, a, e))
		return -1;
	if (r->shown && r->shown->title && loop_arm(&r->loop, &r->tick, NS_PER_S, e))
		return -1;
	if (r->over.fd >= 0 && loop_add(&r->loop, &r->over, EPOLLIN, e))
		return -1;
	return loop_arm(&r->loop, &r->cap, cap_ns ? cap_ns : 1, e);
}

/* Runs it; -1 with @e filled when it could not even be started. */
static int run(struct run *r, const char *path, const char *const *args, uint64_t cap_ns,
	       struct arena *a, struct err *e)
{
	str_list argv = {0};

	*LIST_ADD(a, &argv) = path;
	for (; *args; args++)
		*LIST_ADD(a, &argv) = *args;
	*LIST_ADD(a, &argv) = NULL;
	if (start(r, argv.v, cap_ns, a, e) || loop_run(&r->loop, e))
		return -1;
	if (job_running(&r->job))
		stop(r);
	return 0;
}

/* The last line that it said on stderr, for a person; not the advice below it. */
static const char *last_words(const struct job *j, struct arena *a)
{
	char *s = arena_strdup(a, j->tail), *line;
	size_t n = strlen(s);

	do {
		while (n && (s[n - 1] == '\n' || s[n - 1] == '\r' || s[n - 1] == ' '))
			s[--n] = '\0';
		line = strrchr(s, '\n');
		line = line ? line + 1 : s;
		n = (size_t)(line - s);
	} while (n && starts_with(line, "  -> "));
	term_tame(line);
	line[term_fit(line, SAID_MAX)] = '\0';
	return line;
}

/* What was wrong with the run itself; NULL when nothing was. */
static const char *trouble(const char *command, const struct run *r, const struct part *p,
			   uint64_t cap_ns, const struct err *unread, struct arena *a)
{
	const struct job *j = &r->job;
	const char *said = last_words(j, a), *colon = *said ? ": " : "";
	struct unit_buf b;

	if (p->interrupted)
		return arena_printf(a, "%s was interrupted", command);
	if (p->needless)
		return arena_printf(a, "%s was stopped", command);
	if (p->cut)
		return arena_printf(a, "%s did not end within %s and was stopped%s%s", command,
				    format_duration(&b, cap_ns), colon, said);
	if (j->signal)
		return arena_printf(a, "%s crashed: killed by SIG%s%s%s", command,
				    sigabbrev_np(j->signal) ?: "?", colon, said);
	if (p->doc)
		return NULL;
	return j->out.n ? arena_printf(a, "%s (exit code %d)", unread->msg, j->status)
			: arena_printf(a, "%s ended with exit code %d and no report%s%s", command,
				       j->status, colon, said);
}

/* What a host far away may send is bounded more tightly than a command of ours here. */
static cJSON *read_answer(const char *command, const char *text, size_t n, struct err *e)
{
	cJSON *doc;

	if (n < LARGE)
		return envelope_read(command, command, text, n, e);
	doc = json_parse(text, n, DEPTH_MAX, e);
	if (doc && json_get_num(doc, "schema", 0) == 1 && streq(json_text(doc, "command"), command))
		return doc;
	cJSON_Delete(doc);
	err_set(e, ERR_SYS, "%s printed %zu MB that are no report of it", command, n / 1000000);
	return NULL;
}

void part_run(const char *command, const char *const *args, uint64_t cap_ns,
	      const struct part_progress *shown, struct arena *a, struct part *ret)
{
	AUTO(arena_done) struct arena own = {0}; /* what it prints, until it is read */
	AUTO(run_done) struct run r = {.loop.epfd = -1, .shown = shown};
	const char *path = part_find(a, command);
	struct err e = {0};

	*ret = (struct part){.code = -1};
	if (!path) {
		ret->missing = true;
		ret->trouble = arena_printf(a, "%s is not there: %s", command, part_places(a));
		return;
	}
	if (run(&r, path, args, cap_ns, &own, &e)) {
		ret->trouble = arena_strdup(a, e.msg);
		return;
	}
	ret->interrupted = interrupt_pending() && !interrupt_by_budget();
	ret->needless = r.needless;
	ret->cut = (r.cut && !r.needless) || (r.stopped && interrupt_by_budget());
	ret->code = r.job.status;
	ret->took_ns = now_ns() - r.start_ns;
	if (r.job.out.n)
		ret->doc = read_answer(command, r.job.out.s, r.job.out.n, &e);
	ret->trouble = trouble(command, &r, ret, cap_ns, &e, a);
}

bool part_knows(const char *command, const char *option, uint64_t cap_ns, struct arena *a)
{
	static const char *const help[] = {"--help", NULL};
	AUTO(run_done) struct run r = {.loop.epfd = -1};
	const char *path = part_find(a, command);
	const char *spaced = arena_printf(a, " %s ", option);
	struct err e = {0};

	return path && !run(&r, path, help, cap_ns, a, &e) && r.job.status == 0 && r.job.out.s &&
	       strstr(r.job.out.s, spaced);
}
