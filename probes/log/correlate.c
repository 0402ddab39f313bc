/* What comparing the ranks shows, that no single line says. */
#include "probes/log/chain.h"
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "probes/log/astray.h"
#include "probes/log/busy.h"
#include "probes/log/gid.h"
#include "probes/log/hidden.h"
#include "probes/log/loner.h"
#include "probes/log/room.h"
#include "probes/log/said.h"

/* Two processes that differ in the text at @off; both must have said something. */
static bool differ(const struct actors *t, size_t off, const struct actor **ret_a,
		   const struct actor **ret_b)
{
	const struct actor *one = NULL;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct actor *x = &t->v.v[i];
		const char *s = (const char *)x + off;

		if (!*s)
			continue;
		if (one && !streq(s, (const char *)one + off)) {
			*ret_a = one;
			*ret_b = x;
			return true;
		}
		one = one ? one : x;
	}
	return false;
}

/* The plug-in that failed on one of the two explains that they differ. */
static void failed_plugin(struct explanation *x, const char *host, const char *said)
{
	static const char *const ids[] = {"EFA-001", "EFA-003", "EFA-006", "EFA-008", NULL};
	const struct cause *effect = explain_find(x, "CON-008");

	for (size_t i = 0; ids[i]; i++) {
		struct cause *c = explain_find(x, ids[i]);

		if (c && !c->is_over && streq(c->first->who.host, host))
			explain_reason(c, effect, effect->weight + 4, said);
	}
}

static void transports(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *p, *q;
	const char *said;

	if (!differ(&w->actors, offsetof(struct actor, network), &p, &q))
		return;
	said = arena_printf(a, "%s uses network %s, but %s uses %s", who_text(a, &p->who),
			    p->network, who_text(a, &q->who), q->network);
	*LIST_ADD(a, &x->notes) = said;
	explain_raise(explain_add(w, a, x, "CON-008"),
		      x->in_trouble ? 88
		      : w->healthy  ? 45
				    : 66,
		      said);
	failed_plugin(x, p->who.host, said);
	failed_plugin(x, q->who.host, said);
}

static void versions(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *p, *q;
	const char *said;

	if (!differ(&w->actors, offsetof(struct actor, version), &p, &q) ||
	    streq(p->who.host, q->who.host))
		return;
	said = arena_printf(a, "%s runs %s %s, but %s runs %s", who_text(a, &p->who),
			    p->is_rccl ? "RCCL" : "NCCL", p->version, who_text(a, &q->who),
			    q->version);
	*LIST_ADD(a, &x->notes) = said;
	explain_raise(explain_add(w, a, x, "CON-016"), x->in_trouble ? 80 : 45, said);
	explain_raise(explain_find(x, "CON-015"), 0, said);
}

static void interfaces(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *p, *q;

	if (!differ(&w->actors, offsetof(struct actor, boot), &p, &q) ||
	    streq(p->who.host, q->who.host))
		return;
	*LIST_ADD(a, &x->notes) =
		arena_printf(a, "%s bootstraps over %s, but %s over %s", who_text(a, &p->who),
			     p->boot, who_text(a, &q->who), q->boot);
}

static bool any_of(const struct explanation *x, const char *const *ids)
{
	for (size_t i = 0; ids[i]; i++)
		for (size_t j = 0; j < x->causes.n; j++)
			if (!x->causes.v[j].is_settled &&
			    starts_with(x->causes.v[j].sig->id, ids[i]))
				return true;
	return false;
}

/* torch says that a call of the system failed in NCCL, or NCCL that one of its sockets did, and the
 * line that says how is not there. */
static bool lacks_reason(struct explanation *x)
{
	const struct cause *torch = explain_find(x, "PT-011"), *nccl = explain_find(x, "LOG-002");

	return (explain_says(torch, "system error") || explain_says(torch, "ncclSystemError") ||
		explain_says(nccl, "socket.cc:")) &&
	       !explain_has_reason(x);
}

/* Doubtful interfaces matter where ranks could not connect, or hang. */
static void doubtful_interfaces(struct why *w, struct explanation *x)
{
	static const char *const all[] = {"IF-004", "IF-005", "IF-006", "IF-008", "IF-020", NULL};
	static const char *const connect[] = {"CON-00", "CON-010", "CON-021", "IF-01", "PT-006",
					      "PT-012", "PT-023",  "PT-099",  NULL};
	bool stuck = any_of(x, connect), far = w->actors.nhosts > 1;
	struct cause *loopback = explain_find(x, "IF-007");

	if (loopback && !x->in_trouble && actors_alone(&w->actors))
		loopback->weight = 0; /* nobody else is there to connect to it */
	else if (far)
		explain_raise(explain_find(x, "IF-007"), stuck || !w->healthy ? 80 : 45,
			      "several hosts take part, and none reaches another's loopback");
	else if (stuck)
		explain_raise(explain_find(x, "IF-007"), 60, NULL);
	for (size_t i = 0; lacks_reason(x) && all[i]; i++)
		explain_raise(explain_find(x, all[i]), 56,
			      "a connection failed, and nothing else in the log is doubtful");
	if (far && stuck) {
		explain_raise(explain_find(x, "IF-008"), 76, "several hosts take part");
		explain_raise(explain_find(x, "IF-006"), 74, "several hosts take part");
		explain_raise(explain_find(x, "IF-005"), 54, "several hosts take part");
		explain_raise(explain_find(x, "IF-004"), 54, "several hosts take part");
		explain_raise(explain_find(x, "IF-020"), 54, "several hosts take part");
	}
}

/* The file that is not there was to be removed, by the line before it, or renamed: "'a' -> 'b'". */
static void removed_twice(struct explanation *x)
{
	enum {
		SURE = 84,
		NEAR = 3 /* lines, with their carets */,
		OF_TREE = 14 /* rmtree's own */
	};
	const struct cause *gone = explain_find(x, "DAT-001");
	struct cause *c = explain_find(x, "DAT-005");

	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];
		uint64_t near = strstr(e->text, "rmtree(") ? OF_TREE : NEAR;

		if (strstr(e->text, "' -> '"))
			explain_raise(c, SURE, "what was to be renamed had gone");
		else if (gone && e->file == gone->first->file && gone->first->line > e->line &&
			 gone->first->line - e->line <= near)
			explain_raise(c, SURE, "the error came from the call that removes it");
	}
}

/* NCCL saw it, in a benchmark: no defect of a program. Kernels that the GPU has too little shared
 * memory for go wrong by themselves. */
static void in_a_benchmark(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *met = explain_find(x, "GPU-012");
	const struct log_event *first;
	struct cause *c;
	int weight;

	if (!met || met->is_over || !explain_find(x, "NT-003"))
		return;
	first = met->first; /* the list may grow */
	weight = met->weight;
	c = explain_add(w, a, x, "GPU-075");
	explain_raise(c, weight + 5, NULL);
	c->first = c->first ? c->first : first;
	explain_reason(explain_find(x, "GPU-059"), c, weight + 14,
		       "and then a kernel of NCCL's touched memory it must not");
}

/* Harmless alone: NCCL asks for less. It is the reason where a launch then fails. */
static void too_little_shared_memory(struct explanation *x)
{
	struct cause *c = explain_find(x, "GPU-059"), *failed = explain_find(x, "GPU-031");

	if (c && failed && !failed->is_over)
		explain_raise(c, 86, "the launch that failed asked for more than this GPU gives");
}

/* What a data worker could not write is said of no folder. */
static void shared_memory_is_full(struct explanation *x)
{
	const struct cause *disk = explain_find(x, "LIM-004");
	struct cause *c = explain_find(x, "SHM-003");

	if (disk && !disk->is_over && !explain_says(disk, "/") && explain_says(c, "shared memory"))
		explain_reason(c, disk, disk->weight + 6, "the disk that is full is /dev/shm");
}

/* More memory that is free than there is: the kernel cannot pin what it lost count of. */
static void lost_pages(struct explanation *x)
{
	struct cause *c = explain_find(x, "LIM-010");
	const struct cause *failed = explain_find(x, "LIM-001");
	long total = -1, spare = -1;

	for (size_t i = 0; c && i < c->record->events.n; i++) {
		total = said_in(c->record->events.v[i].text, "CmaTotal:", total);
		spare = said_in(c->record->events.v[i].text, "CmaFree:", spare);
	}
	if (total < 0 || spare < 0)
		return;
	if (spare <= total)
		c->weight = 0;
	else if (failed && !failed->is_over)
		explain_reason(c, failed, failed->weight + 6, "CmaFree is more than CmaTotal");
}

/* A barrier that counts more than there are, counts another run's. */
static void counted_twice(struct explanation *x)
{
	enum { SURE = 88 };
	struct cause *c = explain_find(x, "PT-078");
	const struct log_event *more = NULL;

	for (size_t i = 0; c && i < c->record->events.n && !more; i++) {
		const struct log_event *e = &c->record->events.v[i];

		if (said_in(e->text, "worker_count=", 0) > said_in(e->text, "world_size=", 0))
			more = e;
	}
	if (!c || (more && c->is_over))
		return;
	c->first = more;
	c->weight = more ? SURE : 0;
}

/* What one rank alone does behind the training, the others wait for or time out in. */
static void after_the_end(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-076");
	const struct cause *timeout = explain_find(x, "PT-006");

	if (!c)
		return;
	c->weight = 0;
	if (timeout && !timeout->is_over && c->first->file == timeout->first->file &&
	    event_before(c->first, timeout->first))
		explain_reason(c, timeout, timeout->weight + 6, "a collective timed out behind it");
}

static bool offers_it(const struct actors *t, const struct actor *who, const char *addr)
{
	for (size_t i = 0; i < t->offers.n; i++)
		if (&t->v.v[t->offers.v[i].actor] == who &&
		    (!addr || streq(t->offers.v[i].addr, addr)))
			return true;
	return false;
}

/* Each has addresses, and none is the other's: clones of one host, with one name. */
static bool are_apart(const struct actors *t, const struct actor *p, const struct actor *q)
{
	for (size_t i = 0; i < t->offers.n; i++)
		if (&t->v.v[t->offers.v[i].actor] == p && offers_it(t, q, t->offers.v[i].addr))
			return false;
	return offers_it(t, p, NULL) && offers_it(t, q, NULL);
}

/* Two ranks of one communicator, host and GPU: NCCL refuses that, also where the line that says
 * so is missing. */
static void same_gpu(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *v = w->actors.v.v, *p = NULL, *q = NULL;
	size_t n = w->actors.v.n < 1024 ? w->actors.v.n : 1024;

	for (size_t i = 0; i < n && !w->healthy; i++)
		for (size_t j = 0; j < i && v[i].gpu && v[i].comm && !p; j++)
			if (v[i].gpu == v[j].gpu && v[i].comm == v[j].comm &&
			    v[i].who.rank != v[j].who.rank && *v[i].who.host &&
			    streq(v[i].who.host, v[j].who.host) &&
			    !streq(v[i].who.host, "localhost") &&
			    !are_apart(&w->actors, &v[i], &v[j])) {
				p = &v[j];
				q = &v[i];
			}
	if (p)
		explain_raise(explain_add(w, a, x, "GPU-001"), x->in_trouble ? 90 : 70,
			      arena_printf(a, "ranks %d and %d of %s say the same busId",
					   p->who.rank, q->who.rank, p->who.host));
}

/* The calls of a CollNet that could not be set up are all that failed: NCCL does without. */
static void without_collnet(struct explanation *x)
{
	struct cause *c = explain_find(x, "LOG-002");

	if (!c || !explain_says(explain_find(x, "IB-018"), "using point-to-point"))
		return;
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, " transport.cc:"))
			return;
	c->weight = 0;
}

/* A plug-in that was asked for and has no card: harmless where the job went on without it. */
static void absent_cards(struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "NET-006");

	if (c && !c->is_over && !w->healthy)
		explain_raise(c, 62, "nothing in the log shows that NCCL went on without it");
}

void correlate(struct why *w, struct arena *a, struct explanation *x)
{
	same_gpu(w, a, x);
	counted_twice(x);
	reasons(w, a, x);
	room_judge(a, x);
	without_collnet(x);
	bystanders(w, a, x);
	chains(x);
	absent_cards(w, x);
	wire(w, a, x);
	beside(w, a, x);
	removed_twice(x);
	too_little_shared_memory(x);
	shared_memory_is_full(x);
	in_a_benchmark(w, a, x);
	lost_pages(x);
	after_the_end(x);
	transports(w, a, x);
	versions(w, a, x);
	interfaces(w, a, x);
	gdr(w, a, x);
	doubtful_interfaces(w, x);
	offers(w, a, x);
	docker(w, a, x);
	meeting(w, a, x);
	waits(w, a, x);
	samples_judge(w, a, x);
	settings_judge(w, a, x);
	came(w, a, x);
	loner(w, a, x);
	busy_judge(w, a, x);
	astray(w, a, x);
	foreign(w, a, x);
	wholes(w, a, x);
	rails(w, a, x);
	unlike(w, a, x);
	asides_judge(w, a, x);
	beside_job(w, a, x);
	shown_judge(w, a, x);
	zones(w, a, x);
	unplaced(w, a, x);
	gid_judge(w, a, x);
	uneven(w, a, x);
	hidden(w, a, x);
	apart_judge(w, a, x);
	generated_judge(w, a, x);
}
