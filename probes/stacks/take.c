#include "probes/stacks/take.h"

#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "probes/stacks/process.h"
#include "probes/stacks/veil.h"

enum {
	LOOKS = 11,
	LAST_TRIES = 10, /* of the one that is told */
	APART_MS = 200,
	MOST_WORKERS = 16,
	WAKES = 20 /* in a second, at most, of one that waits */,
	SOURCE_MAX = 8 << 20,
	LINE_MOST = 4096,
	LINE_SHOWN = 120
};

/* What one look saw: all of it, and from the program's own call outwards. */
struct glance {
	uint64_t mark;
	uint32_t own;
};

/* One rank while it is looked at. */
struct watched {
	struct stand *s;
	struct py_process p;
	struct glance first;
	uint64_t ticks, below_ticks, switches;
	bool is_open, has_first;
	bool moves, own_moves; /* something differed from the first look */
	unsigned kernel;       /* looks that found it waiting there */
};

static const char *thread_path(struct arena *a, pid_t pid, const char *file)
{
	return arena_printf(a, "/proc/%d/task/%d/%s", (int)pid, (int)pid, file);
}

/* Not running, a thread is at some place in the kernel: "0" says nothing. */
static const char *wchan_of(struct arena *a, pid_t pid)
{
	const char *line = file_line(a, thread_path(a, pid, "wchan"));

	return line && !streq(line, "0") ? line : "";
}

static void unread(struct watched *w, struct arena *a, const struct err *e)
{
	w->s->unread = arena_strdup(a, e->msg);
	w->s->unread_fix = err_fix(e, a);
}

/* How often it went to sleep: a thread that waits for one thing does not wake up meanwhile. */
static uint64_t switches_of(struct arena *a, pid_t pid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	struct err ignored;
	char *text, *at;
	size_t n;

	if (file_read(thread_path(a, pid, "status"), 1 << 16, a, &text, &n, &ignored))
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static uint32_t own_mark(const struct stand *s)
{
	uint32_t h = 0;

	for (size_t i = s->own; i < s->n; i++) {
		char line[16];

		(void)snprintf(line, sizeof(line), "%d", s->frames[i].line);
		h = text_hash(text_hash(h, s->frames[i].file), line);
	}
	return h;
}

/* The last stack that was seen is the one that is told; what was seen before it only says whether
 * it moves. */
static void look(struct watched *w, struct arena *kept, bool is_last)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct arena *a = is_last ? kept : &scratch;
	struct stand seen = {0};
	struct py_stack stack;
	struct glance now;
	struct err e = {0};
	bool is_seen = false;

	if (!w->is_open || w->s->unread)
		return;
	for (int i = 0; i < (is_last ? LAST_TRIES : 1) && !is_seen; i++)
		is_seen = py_look(&w->p, a, &stack, &e) == 0;
	if (!is_seen) { /* which says nothing about whether it moves */
		if (is_last)
			unread(w, kept, &e);
		return;
	}
	seen.frames = stack.frames;
	seen.n = stack.n;
	stand_classify(&seen);
	now = (struct glance){.mark = stack.mark, .own = own_mark(&seen)};
	if (!w->has_first)
		w->first = now;
	w->has_first = true;
	w->moves |= now.mark != w->first.mark;
	w->own_moves |= now.own != w->first.own;
	if (is_last) {
		w->s->threads = stack.threads;
		w->s->frames = seen.frames;
		w->s->n = seen.n;
	}
}

static void begin(struct watched *w, struct stand *s, const struct processes *all, struct arena *a)
{
	struct process at = {0};
	struct err e = {0};

	*w = (struct watched){.s = s};
	if (process_stat(thread_path(a, s->pid, "stat"), &at))
		w->ticks = at.ticks;
	w->below_ticks = processes_below_ticks(all, s->pid);
	w->switches = switches_of(a, s->pid);
	w->is_open = py_open(s->pid, a, &w->p, &e) == 0;
	if (!w->is_open)
		unread(w, a, &e);
	s->python = w->is_open ? w->p.layout.version : 0;
}

static void note_state(struct watched *w, struct arena *a)
{
	struct process at = {0};

	if (process_stat(thread_path(a, w->s->pid, "stat"), &at)) {
		w->s->state = at.state;
		w->kernel += at.state == 'D';
	}
}

/* Who waits for others may look again and again whether they are there, and gets on only when it
 * leaves that; where groups are made, in Python's own code. */
static bool has_moved(const struct watched *w, bool wakes)
{
	switch (w->s->kind) {
	case STAND_MEETING:
	case STAND_LOCK:
		return w->own_moves;
	case STAND_COLLECTIVE:
	case STAND_DEVICE:
		return w->moves;
	default:
		return w->moves || wakes;
	}
}

/* Of one processor; one that left the tree meanwhile took its time along. */
static double busy(uint64_t before, uint64_t now, double seconds)
{
	return now > before && seconds > 0
		       ? (double)(now - before) / (double)sysconf(_SC_CLK_TCK) / seconds
		       : 0;
}

static void end(struct watched *w, double seconds, const struct processes *all, struct arena *a)
{
	struct stand *s = w->s;
	struct process at = {0};

	if (process_stat(thread_path(a, s->pid, "stat"), &at))
		s->busy = busy(w->ticks, at.ticks, seconds);
	else if (!s->unread)
		s->unread = arena_printf(a, "process %d has ended", (int)s->pid);
	s->busy_below = busy(w->below_ticks, processes_below_ticks(all, s->pid), seconds);
	s->seconds = seconds;
	s->moved = has_moved(w, switches_of(a, s->pid) - w->switches > WAKES * seconds);
	s->wchan = wchan_of(a, s->pid);
	if (w->kernel < LOOKS && s->state == 'D')
		s->state = 'S'; /* for a moment: it reads or writes, and gets on */
}

/* --- what its source says ------------------------------------------------------- */

static const char *source_line(struct arena *a, pid_t pid, const struct py_frame *f)
{
	AUTO(arena_done) struct arena scratch = {0};
	const char *at, *end;
	struct err ignored;
	char *text;
	size_t n;

	if (*f->file != '/' || !f->line ||
	    file_read(arena_printf(&scratch, "/proc/%d/root%s", (int)pid, f->file), SOURCE_MAX,
		      &scratch, &text, &n, &ignored))
		return NULL;
	at = text;
	for (int i = 1; i < f->line && at; i++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return NULL;
	at += strspn(at, " \t");
	end = at + strcspn(at, "\r\n");
	end = end > at + LINE_MOST ? at + LINE_MOST : end;
	return end > at ? arena_printf(
				  a, "%.*s", LINE_SHOWN,
				  veil(&scratch, arena_strndup(&scratch, at, (size_t)(end - at))))
			: NULL;
}

static void add_workers(struct stand *s, const struct rank_process *r, struct arena *a)
{
	s->n_workers = r->n_workers < MOST_WORKERS ? r->n_workers : MOST_WORKERS;
	s->workers = arena_alloc(a, s->n_workers * sizeof(*s->workers) + 1);
	for (size_t i = 0; i < s->n_workers; i++) {
		struct stand_worker *w = &s->workers[i];
		struct process at = {0};
		struct py_stack stack;
		struct stand its = {0};

		w->pid = r->workers[i];
		w->wchan = wchan_of(a, w->pid);
		if (process_stat(thread_path(a, w->pid, "stat"), &at))
			w->state = at.state;
		if (!py_glance(w->pid, a, &stack))
			continue;
		its.frames = stack.frames;
		its.n = stack.n;
		stand_classify(&its);
		w->own = its.frames[its.own < its.n ? its.own : 0];
	}
}

static bool pause_for(const struct meanwhile *m, int ms)
{
	if (m)
		return m->serve(ms, m->arg);
	if (ms)
		(void)interrupt_poll(-1, 0, ms);
	return true;
}

/* Once at all ranks. */
static bool look_round(struct watched *all, size_t n, const struct meanwhile *m, bool is_last,
		       struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		note_state(&all[i], a);
		look(&all[i], a, is_last);
		if (!pause_for(m, 0))
			return false;
	}
	return true;
}

static bool look_often(struct watched *all, size_t n, const struct meanwhile *m, struct arena *a)
{
	for (int k = 0;; k++) {
		bool is_last = k + 1 == LOOKS || interrupt_pending();

		if (!look_round(all, n, m, is_last, a))
			return false;
		if (is_last)
			return true;
		if (!pause_for(m, APART_MS))
			return false;
	}
}

bool stands_take(const struct rank_processes *ranks, const struct meanwhile *m, struct arena *a,
		 stand_list *ret)
{
	struct watched *all = arena_alloc(a, ranks->n * sizeof(*all) + 1);
	struct processes before, after;
	uint64_t began = now_ns();
	double seconds;

	for (size_t i = 0; i < ranks->n; i++)
		*LIST_ADD(a, ret) = (struct stand){.job = ranks->v[i].job,
						   .rank = ranks->v[i].rank,
						   .size = ranks->v[i].size,
						   .local_size = ranks->v[i].local_size,
						   .present = ranks->v[i].present,
						   .is_guessed = ranks->v[i].is_guessed,
						   .pid = ranks->v[i].pid,
						   .wchan = ""};
	processes_read(a, &before);
	for (size_t i = 0; i < ranks->n; i++) {
		begin(&all[i], &ret->v[i], &before, a);
		if (!pause_for(m, 0))
			return false;
	}
	if (!look_often(all, ranks->n, m, a))
		return false;
	processes_read(a, &after);
	seconds = (double)(now_ns() - began) / (double)NS_PER_S;
	for (size_t i = 0; i < ranks->n; i++) {
		struct stand *s = &ret->v[i];

		stand_classify(s);
		if (s->own < s->n)
			s->line = source_line(a, s->pid, &s->frames[s->own]);
		if (s->n)
			s->inner = source_line(a, s->pid, s->frames);
		stand_classify(s); /* the lines may say more */
		end(&all[i], seconds, &after, a);
		add_workers(s, &ranks->v[i], a);
	}
	return true;
}
