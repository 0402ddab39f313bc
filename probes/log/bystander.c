/* Lines that are harmless alone and explain another one: a firewall's of a port that was asked for
 * in vain, a command's with names that Slurm does not know, a pod's end before mpirun's complaint,
 * the calls that a knock at NCCL's door went through, the frame in which a process lost its parent,
 * was not given a child, or lost the rendezvous that it had.
 */
#include "probes/log/explain.h"

#include "lib/core/text.h"

enum {
	MORE = 6, /* than what it explains */
	FAINT = 46,
};

/* Whether a line of @c asked for @port. */
static bool asked_for(const struct why *w, const struct cause *c, unsigned port)
{
	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++) {
		struct extract to = {0};

		endpoint_of(w, &c->record->events.v[i], &to);
		if (*to.port && (unsigned)strtoul(to.port, NULL, 10) == port)
			return true;
	}
	return false;
}

static unsigned dropped_port(const struct log_event *e)
{
	const char *p = strstr(e->text, " DPT=");

	return p ? (unsigned)strtoul(p + strlen(" DPT="), NULL, 10) : 0;
}

/* The kernel said that it dropped what somebody tried in vain. */
static void firewall(const struct why *w, struct explanation *x)
{
	static const char *const vain[] = {"PT-004",  "PT-030",	 "CON-001", "CON-002",
					   "CON-003", "CON-004", NULL};
	struct cause *c = explain_find(x, "CON-037");

	for (size_t i = 0; c && vain[i]; i++) {
		const struct cause *failed = explain_find(x, vain[i]);

		for (size_t j = 0; failed && j < c->record->events.n; j++)
			if (asked_for(w, failed, dropped_port(&c->record->events.v[j])))
				explain_reason(c, failed, failed->weight + MORE,
					       "a rank tried in vain to reach that very port");
	}
}

/* Who has nothing to do with Slurm knocks at its ports, too: it matters where its daemons miss each
 * other. */
static void firewall_of_slurm(struct explanation *x)
{
	static const char *const vain[] = {"SLM-003", "SLM-007", "SLM-027", "SLM-029", NULL};
	struct cause *c = explain_find(x, "SLM-045");

	for (size_t i = 0; c && vain[i]; i++) {
		const struct cause *failed = explain_find(x, vain[i]);

		if (failed && !failed->is_over)
			explain_reason(c, failed, failed->weight + MORE,
				       "so the daemons of Slurm do not hear each other");
	}
}

static void names_of_nodes(struct explanation *x)
{
	const struct cause *refused = explain_find(x, "SLM-005");
	struct cause *c = explain_find(x, "SLM-047");

	if (c && explain_says(refused, "node configuration is not available"))
		explain_reason(c, refused, refused->weight + MORE,
			       "and Slurm says that it has no such nodes for it");
}

/* What ended a pod ended mpirun's helper in it. */
static void pod_killed(struct explanation *x)
{
	static const char *const lost[] = {"MPI-005", "MPI-055", NULL};
	struct cause *c = explain_find(x, "SHM-004");

	for (size_t i = 0; c && !c->is_over && lost[i]; i++) {
		struct cause *e = explain_find(x, lost[i]);

		if (!e || e->is_over || c->first->file != e->first->file ||
		    !event_before(c->first, e->first) ||
		    !explain_says(c, "command terminated with exit code 137"))
			continue;
		explain_reason(c, e, e->weight + MORE, "so mpirun lost its helper in that pod");
		e->weight = FAINT;
		e->is_echo = true;
	}
}

/* The other end closed @closed while NCCL waited for its first words, as the calls between there
 * and the bootstrap show: on an open connection they are fewer. */
static bool is_greeting(const struct log_event *closed, const struct log_event *bootstrap)
{
	enum { CALLS = 4, APART = 16 /* lines; other ranks speak between them */ };

	return closed->file == bootstrap->file && strstr(closed->text, "closed by remote peer") &&
	       closed->line + CALLS <= bootstrap->line && bootstrap->line - closed->line <= APART;
}

/* Who closed its connection to the bootstrap so early, and is none of the ranks that are known. */
static const struct log_event *stranger_of(const struct why *w, const struct cause *c,
					   const struct cause *closed)
{
	for (size_t i = 0; i < closed->record->events.n; i++)
		for (size_t j = 0; j < c->record->events.n; j++) {
			const struct log_event *e = &closed->record->events.v[i];
			struct extract to = {0};

			if (!is_greeting(e, &c->record->events.v[j]))
				continue;
			endpoint_of(w, e, &to);
			if (*to.addr && !actors_offered(&w->actors, to.addr))
				return e;
		}
	return NULL;
}

/* Before 2.27.3 NCCL gives up when somebody knocks who is no rank. With one host's log it is not
 * certain that it was none. */
static void stranger(const struct why *w, struct arena *a, struct explanation *x)
{
	enum {
		STRANGER = 84,
		PERHAPS = 56 /* that it closed so early is sure, who it was is not */
	};
	struct extract to = {0};
	const struct cause *closed = explain_find(x, "CON-010");
	struct cause *c = explain_find(x, "CON-038");
	const struct log_event *e;

	if (!c)
		return;
	c->weight = 0;
	e = closed && !closed->is_over ? stranger_of(w, c, closed) : NULL;
	if (!e)
		return;
	c->first = e;
	endpoint_of(w, e, &to);
	if (w->actors.nhosts > 1 && w->actors.offers.n > 1)
		explain_raise(
			c, STRANGER,
			arena_printf(a, "it came from %s, and no rank of this log has that address",
				     to.addr));
	else
		explain_reason(
			c, closed, PERHAPS,
			arena_printf(a, "it came from %s: is that a host of the job?", to.addr));
}

/* Said right behind the call in @frame, or, where others speak between them, with no line of the
 * program itself: pickled bytes that end too early, or are none. */
static bool is_read_in(const struct cause *frame, const struct log_event *e)
{
	static const char *const said[] = {"pickle data was truncated", "Ran out of input",
					   "invalid load key"};
	enum { NEXT = 2, NEAR = 8 /* lines */ };
	bool is_of_pickle = false;

	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		is_of_pickle |= strstr(e->text, said[i]) != NULL;
	for (size_t i = 0; is_of_pickle && i < frame->record->events.n; i++) {
		const struct log_event *f = &frame->record->events.v[i];

		if (f->file == e->file && e->line > f->line &&
		    e->line - f->line <= (e->frame ? NEXT : NEAR))
			return true;
	}
	return false;
}

/* Such words are a damaged file's elsewhere. How many of them were said in the call of @c, and so
 * are none. */
static size_t no_files(const struct cause *c, struct cause *file)
{
	const struct log_event *first = NULL;
	size_t n = 0;

	for (size_t i = 0; file && i < file->record->events.n; i++)
		if (is_read_in(c, &file->record->events.v[i]))
			n++;
		else if (!first)
			first = &file->record->events.v[i];
	if (n && first)
		file->first = first;
	else if (n)
		file->weight = 0;
	return n;
}

/* What a process that is just being started reads from its parent ends too early: that is the
 * parent's end, which has a cause of its own. */
static void orphans(struct explanation *x)
{
	enum { ORPHAN = 56, BESIDE = 44 };
	struct cause *c = explain_find(x, "PT-103");
	bool others = false;

	if (!c)
		return;
	c->weight = 0;
	if (!no_files(c, explain_find(x, "PT-035")))
		return;
	for (size_t i = 0; i < x->causes.n; i++)
		others |= explain_is_real(&x->causes.v[i]) && !x->causes.v[i].is_over &&
			  x->causes.v[i].weight >= CONFIDENT;
	c->weight = others ? BESIDE : ORPHAN;
}

/* What a rank unpickles from a collective came from another rank. */
static void misunderstood(struct explanation *x)
{
	enum { MISREAD = 72 };
	struct cause *c = explain_find(x, "PT-107"), *file = explain_find(x, "PT-035");
	bool is_over = file && file->is_over;

	if (!c)
		return;
	c->weight = 0;
	if (no_files(c, file) && !is_over)
		c->weight = MISREAD;
}

/* At most @near lines behind one of @r. */
static bool is_behind(const struct record *r, const struct log_event *e, uint64_t near)
{
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].file == e->file && r->events.v[i].line < e->line &&
		    e->line - r->events.v[i].line <= near)
			return true;
	return false;
}

/* Nothing was left for a fork, in a job whose network keeps its buffers in huge pages. */
static void forked(const struct why *w, struct explanation *x)
{
	enum { NEAR = 8 /* lines from the call to the error */ };
	struct cause *c = explain_find(x, "EFA-022");
	struct cause *oom = explain_find(x, "LIM-008");

	if (!c)
		return;
	c->weight = 0;
	if (!w->uses_efa || !oom || oom->is_over)
		return;
	for (size_t i = 0; i < oom->record->events.n; i++) {
		const struct log_event *e = &oom->record->events.v[i];

		if (!strstr(e->text, "Errno 12]") || !is_behind(c->record, e, NEAR))
			continue;
		c->first = e;
		explain_reason(c, oom, oom->weight + MORE, "the job uses EFA");
		oom->weight = FAINT;
		return;
	}
}

/* Semaphores and shared memory lie in /dev/shm: it is no disk that is full. */
static void in_memory(struct explanation *x)
{
	enum { NEAR = 8 /* lines from the call to the error */ };
	struct cause *c = explain_find(x, "SHM-017"), *disk = explain_find(x, "LIM-004");

	if (!c)
		return;
	c->weight = 0;
	if (disk && !disk->is_over && disk->first && is_behind(c->record, disk->first, NEAR))
		explain_instead(c, disk, disk->first, disk->weight + MORE,
				"it was raised where one is made");
}

/* A torchrun whose ranks run asks now and then how many nodes wait to join, and learns so that who
 * serves the rendezvous is gone: it had reached that one before. */
static void left_behind(struct explanation *x)
{
	enum { NEAR = 24 /* lines from that call to the error */ };
	const struct cause *c = explain_find(x, "PT-118");
	struct cause *lost = explain_find(x, "PT-005");

	if (!c || !lost || lost->is_over)
		return;
	for (size_t i = 0; i < lost->record->events.n; i++)
		if (!is_behind(c->record, &lost->record->events.v[i], NEAR))
			return;
	lost->weight = FAINT;
}

/* A rank looks up its group of a mesh in a list; other errors than that list's end are raised below
 * that call, too. */
static void elsewhere_in_mesh(struct explanation *x)
{
	enum { NEAR = 4 /* lines, with their carets */ };
	struct cause *c = explain_find(x, "PT-113");

	for (size_t i = 0; c && i < x->causes.n; i++) {
		const struct log_event *e = x->causes.v[i].first;

		if (&x->causes.v[i] == c || !e || x->causes.v[i].is_over ||
		    !explain_is_real(&x->causes.v[i]) || e->file != c->first->file ||
		    e->who.rank != c->first->who.rank || e->line <= c->first->line ||
		    e->line - c->first->line > NEAR)
			continue;
		if (!strstr(e->text, "IndexError") && !strstr(e->text, "Error: None"))
			c->weight = FAINT;
	}
}

/* A pod of Ray that stands in its init container waits there for the head, and for nothing else. */
static void waits_for_head(struct explanation *x)
{
	struct cause *c = explain_find(x, "RAY-037");
	const struct cause *pods = explain_find(x, "K8S-032");

	if (!c || c->is_over || !pods || pods->is_over)
		return;
	for (size_t i = 0; i < pods->record->events.n; i++)
		if (!strstr(pods->record->events.v[i].text, " Init:"))
			return;
	explain_reason(c, pods, pods->weight + MORE, "so that pod stays at its beginning");
}

/* A launcher passes on the signal with which Slurm ends a step, often before Slurm says so. */
static void passed_on(struct explanation *x)
{
	static const struct {
		const char *id;
		uint64_t near; /* lines: the launchers of all nodes speak first */
	} ends[] = {{"SLM-038", 40}, {"SLM-001", 200}};
	struct cause *c = explain_find(x, "PT-038");

	for (size_t i = 0; c && c->first && i < ARRAY_LEN(ends); i++) {
		const struct cause *end = explain_find(x, ends[i].id);

		if (!end || !end->first || end->is_over || c->first->file != end->first->file ||
		    c->first->line > end->first->line)
			continue;
		if (c->first->line + ends[i].near >= end->first->line)
			c->weight = FAINT;
	}
}

void bystanders(const struct why *w, struct arena *a, struct explanation *x)
{
	firewall(w, x);
	firewall_of_slurm(x);
	names_of_nodes(x);
	pod_killed(x);
	stranger(w, a, x);
	orphans(x);
	misunderstood(x);
	forked(w, x);
	in_memory(x);
	left_behind(x);
	waits_for_head(x);
	passed_on(x);
	elsewhere_in_mesh(x);
}
