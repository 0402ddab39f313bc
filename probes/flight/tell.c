/* What keeps the ranks waiting, in words. */
#include "probes/flight/chain.h"

#include "lib/core/quote.h"
#include "lib/core/text.h"

static const char *those(struct court *c, const view_list *l, rank_list *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < l->n; i++)
		*LIST_ADD(c->a, ret) = l->v[i]->d->rank;
	return say_ranks(c->a, ret->v, ret->n);
}

static const char *verb(size_t n, const char *one, const char *many) { return n == 1 ? one : many; }

/* "ranks 0-2 wait in all_reduce #118 of group "tp" (ranks 0-3) (train.py line 9, in step)" */
static const char *waiting(struct court *c, const struct knot *k)
{
	rank_list who = {0};

	return arena_printf(c->a, "%s %s in %s of %s%s", those(c, &k->waiting, &who),
			    verb(k->waiting.n, "waits", "wait"), say_op(c, k->sample),
			    say_group(c, k->group), say_at(c, k->sample));
}

static void ask_ranks(struct court *c, struct flight_cause *t)
{
	const char *who = say_ranks(c->a, t->ranks, t->nranks);

	tell_line(
		c, &t->confirm,
		"ncclwhy --stacks   # on the host of %s, while it hangs: what does it do instead?",
		who);
	tell_line(c, &t->confirm,
		  "the end of the log of %s: an exception, a signal, out of memory?", who);
}

static void tell_absent(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	rank_list who = {0};
	const char *names = those(c, &k->absent, &who);
	const struct view *first = k->absent.v[0];
	struct flight_cause *t = tell_new(c, v, "FR-001", 92, who.v, who.n);

	t->meaning = arena_printf(
		c->a, "%s never entered %s of %s, in which %s %s%s; %s%s%s", names,
		say_op(c, k->sample), say_group(c, k->group), those(c, &k->waiting, &who),
		verb(k->waiting.n, "waits", "wait"), say_at(c, k->sample),
		k->absent.n > 1 ? arena_printf(c->a, "of rank %d, ", first->d->rank) : "",
		say_last(c, first, k->group),
		k->missing.n ? arena_printf(c->a, "; and there is no dump of %s",
					    say_ranks(c->a, k->missing.v, k->missing.n))
			     : "");
	if (k->missing.n)
		tell_line(c, &t->causes, "it waits elsewhere for %s, of which nothing is known",
			  say_ranks(c->a, k->missing.v, k->missing.n));
	tell_line(c, &t->causes,
		  "it took another branch of the program, or its loop ended earlier (less data "
		  "there)");
	tell_line(c, &t->causes,
		  "it waits for data, for a file or in code of its own (one rank alone evaluates, "
		  "saves, logs)");
	tell_line(c, &t->causes, "it raised an exception, or its process is dead or stopped");
	ask_ranks(c, t);
	tell_line(c, &t->fix,
		  "- make every rank of the group come to %s%s, or leave it out on all of them",
		  say_op(c, k->sample), say_at(c, k->sample));
}

static void tell_unmet(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	const struct view *peer = k->absent.n ? k->absent.v[0] : k->elsewhere.v[0];
	int who[] = {peer->d->rank, k->waiting.v[0]->d->rank};
	bool is_send = starts_with(flight_said(c->f, k->unmet->op), "send ");
	struct flight_cause *t = tell_new(c, v, "FR-006", 92, who, 1);

	/* whose log says why it ended early explains it */
	t->is_programs = !k->absent.n;
	t->meaning = arena_printf(
		c->a, "rank %d waits in a %s rank %d of %s%s, and rank %d never called the %s; %s",
		who[1], is_send ? "send to" : "receive from", who[0], say_group(c, k->group),
		say_at(c, k->unmet), who[0], is_send ? "receive" : "send",
		say_last(c, peer, k->group));
	tell_line(c, &t->causes,
		  "the two ranks do not agree on how many messages go between them (a "
		  "pipeline's schedule, micro-batches that differ)");
	tell_line(c, &t->causes,
		  "the other rank ended, or waits for something else, before it came to it");
	ask_ranks(c, t);
	tell_line(c, &t->fix,
		  "- pair every send with a receive in the same order; batch_isend_irecv where "
		  "both sides do both");
}

static void tell_message_sizes(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	int who[] = {k->waiting.v[0]->d->rank, k->peer->d->rank};
	struct flight_cause *t = tell_new(c, v, "FR-003", 92, who, 2);

	t->is_programs = true;
	t->meaning =
		arena_printf(c->a, "%s of %s on rank %d has the sizes %s%s, but %s on rank %d %s%s",
			     flight_said(c->f, k->mine->op), say_group(c, k->group), who[0],
			     flight_said(c->f, k->mine->in), say_at(c, k->mine),
			     flight_said(c->f, k->theirs->op), who[1],
			     flight_said(c->f, k->theirs->in), say_at(c, k->theirs));
	tell_line(c, &t->causes, "the receiver's tensor has another shape than what is sent");
	tell_line(c, &t->fix, "- send the shape first, or pad to one shape");
}

/* The others lie on their hosts as these did on theirs. */
static const char *pattern(const struct court *c)
{
	const char *path = c->f->dumps.v[0].path, *colon = strstr(path, ":/");
	size_t n;

	path = colon ? colon + 1 : path; /* "HOST:/PATH" */
	n = strlen(path);
	while (n && path[n - 1] >= '0' && path[n - 1] <= '9')
		n--;
	if (*path != '/' || !path[n])
		return "'/tmp/nccl_trace_rank_*'";
	return shell_quote(c->a, arena_printf(c->a, "%.*s*", (int)n, path));
}

/* Where few are away they are dead or did not dump; where most are, they were not handed over. */
static void tell_missing(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	bool few = k->missing.n <= k->waiting.n;
	const char *names = say_ranks(c->a, k->missing.v, k->missing.n);
	struct flight_cause *t =
		tell_new(c, v, "FR-009", few ? 72 : 45, k->missing.v, k->missing.n);
	rank_list cut = {0};

	for (size_t i = 0; i < k->missing.n; i++)
		for (size_t n = 0; n < c->ncut; n++)
			if (c->cut[n] == k->missing.v[i])
				*LIST_ADD(c->a, &cut) = c->cut[n];
	t->meaning = arena_printf(c->a,
				  "%s, and there is no dump of %s%s%s%s: it died, did not dump, or "
				  "its file is not here",
				  waiting(c, k), names, cut.n ? " (that of " : "",
				  cut.n ? say_ranks(c->a, cut.v, cut.n) : "",
				  cut.n ? " is cut short)" : "");
	tell_line(c, &t->causes,
		  "%s ended before the others gave up waiting: its log has the reason", names);
	tell_line(c, &t->causes, "it runs on another host, where its dump still lies");
	tell_line(c, &t->causes,
		  "it was started without TORCH_NCCL_DUMP_ON_TIMEOUT=1, or was ended while it "
		  "dumped");
	tell_line(c, &t->confirm, "the end of the log of %s", names);
	tell_line(c, &t->confirm, "dmesg -T | grep -E 'oom|Xid|segfault'   # on its host");
	tell_line(c, &t->fix,
		  "ncclwhy --hosts ALL %s /PATH/train.log   # what all hosts have, read where it "
		  "lies",
		  pattern(c));
}

/* As many as the buffer must have: as far back as it is, by what the group's collectives took;
 * where nothing of the group is left, all that the rank ever recorded, or ten times as many as now.
 */
static size_t enough(const struct view *v, const struct track *t, uint32_t seq)
{
	size_t n = v->d->entries.n * 2;
	uint64_t all = view_entry(v, (uint32_t)v->d->entries.n - 1)->record + 1;
	double each;

	if (!t)
		n = all < n * 5 ? (size_t)all : n * 5;

	if (t && t->last > t->first && seq < t->last) {
		each = (double)v->d->entries.n / (t->last - t->first + 1);
		if (each * (t->last - seq) * 1.25 > (double)n)
			n = (size_t)(each * (t->last - seq) * 1.25);
	}
	return (n + 999) / 1000 * 1000;
}

static void tell_lost(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	rank_list who = {0};
	const char *names = those(c, &k->lost, &who);
	struct flight_cause *t = tell_new(c, v, "FR-010", 60, who.v, who.n);
	bool is_adrift = false;
	size_t want = 0;

	for (size_t i = 0; i < k->lost.n; i++) {
		const struct track *track = view_track(k->lost.v[i], k->group);
		bool counts = track && !track->is_adrift;
		size_t n = enough(k->lost.v[i], counts ? track : NULL, k->sample->seq);

		is_adrift |= track && track->is_adrift;
		want = n > want ? n : want;
	}
	t->meaning =
		arena_printf(c->a,
			     "%s; whether %s entered it has fallen off its buffer of %zu entries: "
			     "the dumps cannot say more",
			     waiting(c, k), names, k->lost.v[0]->d->entries.n);
	tell_line(c, &t->causes,
		  "TORCH_NCCL_TRACE_BUFFER_SIZE (TORCH_FR_BUFFER_SIZE) is too small for what "
		  "a rank calls until the others give up");
	if (is_adrift)
		tell_line(c, &t->causes,
			  "PyTorch before 2.6 counts messages among the collectives: one's number "
			  "is known only where the group's first is still there");
	ask_ranks(c, t);
	tell_line(c, &t->fix,
		  "export TORCH_NCCL_TRACE_BUFFER_SIZE=%zu   # on all ranks, then run again", want);
}

static void tell_unbegun(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	rank_list who = {0};
	const char *names = those(c, &k->unbegun, &who);
	bool all = k->unbegun.n == k->waiting.n;
	struct flight_cause *t = tell_new(c, v, "FR-007", 84, who.v, who.n);

	t->meaning =
		arena_printf(c->a,
			     "all ranks entered %s of %s%s, and on %s the GPU never began it: its "
			     "stream is stuck in something before it",
			     say_op(c, k->sample), say_group(c, k->group), say_at(c, k->sample),
			     all && k->waiting.n > 1 ? "none of them" : names);
	if (all && k->waiting.n > 1)
		t->meaning = arena_printf(
			c->a,
			"all ranks entered %s of %s%s, and on none of them the GPU began it: their "
			"streams are stuck in something before it",
			say_op(c, k->sample), say_group(c, k->group), say_at(c, k->sample));
	tell_line(c, &t->causes,
		  "a kernel before it never ends, or waits for another stream (an event that is "
		  "never recorded)");
	tell_line(c, &t->causes,
		  "an operation of another communicator runs on the GPU and waits for its peers");
	tell_line(c, &t->causes, "the GPU is gone or hangs (Xid)");
	tell_line(c, &t->confirm, "dmesg -T | grep Xid   # on the hosts of %s", names);
	tell_line(c, &t->confirm,
		  "nvidia-smi   # while it hangs: 100 %% at low power is a kernel that waits");
	tell_line(c, &t->fix,
		  "CUDA_LAUNCH_BLOCKING=1 COMMAND   # then it stops in the kernel that never ends");
}

static void tell_all_there(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	rank_list who = {0};
	bool known = !k->unsaid && k->begun;
	struct flight_cause *t;

	const char *names = those(c, &k->waiting, &who);

	t = tell_new(c, v, "FR-008", known ? 80 : 70, k->over ? who.v : NULL, k->over ? who.n : 0);
	t->meaning = arena_printf(
		c->a,
		"%s %s of %s%s, %s, and %s: the network "
		"between them, or a GPU, does not move the data",
		k->is_message ? "both ranks entered" : "all ranks entered", say_op(c, k->sample),
		say_group(c, k->group), say_at(c, k->sample),
		known ? "their GPUs began it" : "alike (whether the GPUs began it is not recorded)",
		k->over ? arena_printf(c->a, "%s did not complete it", names)
			: "none of them completed it");
	tell_line(c, &t->causes,
		  "a connection between two of the ranks is broken or blocked, or drops packets of "
		  "full size");
	tell_line(c, &t->causes, "a GPU hangs or has fallen off the bus (Xid)");
	if (!known)
		tell_line(c, &t->causes,
			  "a kernel before it never ended, on the GPU of one of them: "
			  "TORCH_NCCL_ENABLE_TIMING=1 would tell");
	tell_line(c, &t->confirm, "dmesg -T | grep -E 'Xid|mlx5|AER'   # on every host");
	tell_line(c, &t->fix,
		  "ncclbench --hosts ALL   # do the same hosts hang without the program?");
	tell_line(c, &t->fix, "portcheck --hosts ALL");
}

void tell_knot(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	bool other_begun = k->begun || k->unbegun.n == k->waiting.n;

	if (k->unmet && (k->absent.n || k->elsewhere.n))
		tell_unmet(c, v, k);
	else if (k->mine)
		tell_message_sizes(c, v, k);
	else if (k->absent.n)
		tell_absent(c, v, k);
	else if (k->missing.n)
		tell_missing(c, v, k);
	else if (k->lost.n)
		tell_lost(c, v, k);
	else if (k->unbegun.n && other_begun)
		tell_unbegun(c, v, k);
	else
		tell_all_there(c, v, k);
}

/* --- a ring ------------------------------------------------------------------------------- */
static void advise_ring(struct court *c, struct flight_cause *t, bool has_message)
{
	if (has_message) {
		tell_line(c, &t->causes,
			  "a message and a collective, or two messages, come in another order on "
			  "the two sides");
		tell_line(c, &t->fix,
			  "- pair every send with a receive in the same order on both ranks; "
			  "batch_isend_irecv where both sides do both");
		return;
	}
	tell_line(c, &t->causes,
		  "collectives of two process groups come in another order on different ranks");
	tell_line(c, &t->causes, "a rank passed the wrong group (group=None is the default group)");
	tell_line(c, &t->fix, "- call the collectives of the two groups in one order on all ranks");
	tell_line(c, &t->fix,
		  "- torch.cuda.synchronize() between them   # shows whether the order is it");
}

/* Those that wait there, but for whom they wait for. */
static void waits_for(struct court *c, const struct knot *k, const struct view *by, rank_list *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < k->waiting.n; i++)
		if (k->waiting.v[i] != by)
			*LIST_ADD(c->a, ret) = k->waiting.v[i]->d->rank;
}

void tell_ring(struct court *c, struct flight_verdict *v, const struct ring *r)
{
	rank_list who = {0}, in = {0};
	bool has_message = false;
	struct flight_cause *t;
	struct text s;

	text_init(&s, c->a);
	for (size_t i = 0; i < r->links.n; i++) {
		struct knot k;

		knot_see(c, r->links.v[i].node, &k);
		has_message |= k.is_message;
		if (r->links.v[i].by)
			*LIST_ADD(c->a, &who) = r->links.v[i].by->d->rank;
		waits_for(c, &k, r->links.v[i].by, &in);
		text_addf(&s, "%s%s %s in %s of %s%s", i ? ", " : "", say_ranks(c->a, in.v, in.n),
			  verb(in.n, "waits", "wait"), say_op(c, k.sample), say_group(c, k.group),
			  say_at(c, k.sample));
		if (r->links.v[i].by)
			text_addf(&s, " for rank %d", r->links.v[i].by->d->rank);
	}
	t = tell_new(c, v, has_message ? "FR-006" : "FR-005", 94, who.v, who.n);
	t->is_programs = true;
	t->meaning = arena_printf(c->a, "ranks wait for each other: %s", s.s);
	advise_ring(c, t, has_message);
	ask_ranks(c, t);
}
