/* Deaths, silence, and the join deadline. */
#include "lib/cluster/rdzv_core.h"
#include "lib/core/units.h"

/* A closed connection is known at once, the signal behind it when the agent has spoken. */
static const uint64_t BETTER_CAUSE_NS = 300 * NS_PER_MS;

static void look_by(struct rdzv_core *c, uint64_t at_ns)
{
	if (at_ns < c->due_ns)
		c->due_ns = at_ns;
}

/* Both signs there: nothing to wait for. */
static uint64_t judged_at(const struct rdzv_seat *s)
{
	return s->lost_ns + (!s->peer && s->reported ? 0 : BETTER_CAUSE_NS);
}

static void sign_of_death(struct rdzv_core *c, struct rdzv_seat *s)
{
	if (!s->lost_ns)
		s->lost_ns = c->now_ns ? c->now_ns : 1;
	look_by(c, judged_at(s));
}

void rdzv_core_closed(struct rdzv_core *c, struct rdzv_peer *p, uint64_t now_ns)
{
	struct rdzv_seat *s = p->rank >= 0 ? &c->seats[p->rank] : NULL;

	rdzv_core_now(c, now_ns);
	if (!s || s->peer != p)
		return;
	s->peer = NULL;
	if (!s->m.gone)
		sign_of_death(c, s);
}

void rdzv_core_report_exit(struct rdzv_core *c, int rank, const char *cause, uint64_t now_ns)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct rdzv_seat *s;

	if (rank < 0 || rank >= c->size)
		return;
	s = &c->seats[rank];
	c->now_ns = now_ns;
	s->reported = cause ? arena_strdup(&c->a, cause) : "exit code 0, without a word";
	if (!s->m.joined) {
		s->m.cause = s->reported;
		if (!c->failure[0])
			c->unjoined = rank;
		rdzv_fail(c, RDZV_LOST, "%s ended before it joined: %s",
			  rdzv_who(c, rank, &scratch), cause ? cause : "exit code 0");
	} else if (!s->m.gone) {
		sign_of_death(c, s);
	} else if (cause && !c->failure[0]) {
		s->m.cause = s->reported;
	}
}

static void died(struct rdzv_core *c, struct rdzv_seat *s)
{
	AUTO(arena_done) struct arena scratch = {0};
	const char *cause = s->reported ? s->reported : "connection lost";

	rdzv_seat_gone(c, s, cause);
	rdzv_fail(c, RDZV_LOST, "%s died: %s", rdzv_who(c, s->m.rank, &scratch), cause);
}

/* Its connection stays open: when it wakes up it reads why the run is over. */
static void silent(struct rdzv_core *c, struct rdzv_seat *s)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct unit_buf b;

	s->m.silent = true;
	rdzv_seat_gone(c, s, "silent");
	rdzv_fail(c, RDZV_LOST, "%s has been silent for %s", rdzv_who(c, s->m.rank, &scratch),
		  format_duration(&b, s->silence.most_ns));
}

static void look_at(struct rdzv_core *c, struct rdzv_seat *s)
{
	uint64_t until_ns = s->silence.since_ns + s->silence.most_ns;

	if (!s->m.joined || s->m.gone)
		return;
	if (s->lost_ns) {
		if (c->now_ns >= judged_at(s))
			died(c, s);
		else
			look_by(c, judged_at(s));
	} else if (c->now_ns >= until_ns) {
		silent(c, s);
	} else {
		look_by(c, until_ns);
	}
}

static void look_at_joins(struct rdzv_core *c)
{
	AUTO(arena_done) struct arena scratch = {0};
	uint64_t until_ns = c->still.since_ns + c->join_deadline_ns;

	if (c->ready || c->failure[0])
		return;
	if (c->now_ns >= until_ns)
		rdzv_fail(c, RDZV_LOST, "%s", rdzv_missing(c, c->join_deadline_ns, &scratch));
	else
		look_by(c, until_ns);
}

/* Where a look that was due is too late for that, we have not listened ourselves: that look is for
 * now, so that what is heard before it forgives nothing more. */
static void forgive(struct rdzv_core *c)
{
	if (!silence_overslept(c->due_ns, c->heartbeat_ns, c->now_ns))
		return;
	for (int i = 0; i < c->size; i++)
		silence_forgive(&c->seats[i].silence, c->due_ns, c->now_ns);
	if (c->deadline_given)
		c->slept_ns += c->now_ns - c->due_ns;
	else
		silence_forgive(&c->still, c->due_ns, c->now_ns);
	c->due_ns = c->now_ns;
}

void rdzv_core_now(struct rdzv_core *c, uint64_t now_ns)
{
	c->now_ns = now_ns;
	forgive(c);
}

void rdzv_core_moved(struct rdzv_core *c)
{
	silence_heard(&c->still, c->now_ns);
	c->slept_ns = 0;
}

void rdzv_core_look_soon(struct rdzv_core *c)
{
	look_by(c, c->now_ns + c->heartbeat_ns / SILENCE_LOOKS);
}

void rdzv_core_tick(struct rdzv_core *c, uint64_t now_ns)
{
	rdzv_core_now(c, now_ns);
	c->due_ns = UINT64_MAX;
	look_at_joins(c);
	for (int i = 0; i < c->size; i++)
		look_at(c, &c->seats[i]);
	rdzv_core_look_soon(c);
}
