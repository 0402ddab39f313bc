#include "lib/cluster/rdzv_core.h"

#include "lib/core/units.h"

enum { JOIN_S = 60, HEARTBEAT_S = 10 };
static const uint64_t SILENCE_MAX_NS = 24 * 3600 * NS_PER_S; /* that a rank may ask for */

void rdzv_core_init(struct rdzv_core *c, uint64_t now_ns)
{
	if (!c->join_deadline_ns)
		c->join_deadline_ns = JOIN_S * NS_PER_S;
	if (!c->heartbeat_ns)
		c->heartbeat_ns = HEARTBEAT_S * NS_PER_S;
	c->seats = arena_alloc(&c->a, (size_t)c->size * sizeof(*c->seats));
	for (int i = 0; i < c->size; i++)
		c->seats[i].m = (struct rdzv_member){
			.rank = i,
			.local_rank = -1,
			.host = c->hosts && c->hosts[i] ? arena_strdup(&c->a, c->hosts[i]) : "",
			.data_addr = "",
			.device = ""};
	c->run = c->run ? arena_strdup(&c->a, c->run) : "";
	c->hosts = NULL;
	c->meet.seq = 1;
	c->unjoined = -1;
	c->now_ns = now_ns;
	silence_begin(&c->still, c->join_deadline_ns, now_ns);
	c->due_ns = UINT64_MAX;
	rdzv_core_look_soon(c);
}

void rdzv_core_done(struct rdzv_core *c)
{
	rdzv_forget_keys(c);
	free(c->meet.data);
	free(c->met[0].data);
	free(c->met[1].data);
	arena_done(&c->a);
}

bool rdzv_core_finished(const struct rdzv_core *c)
{
	return (c->ready || c->failure[0]) && c->gone == c->joined;
}

bool rdzv_core_all_told(const struct rdzv_core *c)
{
	return c->failure[0] && c->gone == c->joined && c->joined + c->told == c->size;
}

void rdzv_send_text(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const char *s)
{
	unsigned char buf[RDZV_SAY_MAX + 8];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_bytes(&w, s, strnlen(s, RDZV_SAY_MAX));
	c->send(c, p, type, buf, w.n);
}

static void tell_failure(struct rdzv_core *c, struct rdzv_peer *p)
{
	unsigned char buf[RDZV_SAY_MAX + 16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_u32(&w, c->why);
	wire_put_bytes(&w, c->failure, strlen(c->failure));
	c->send(c, p, RDZV_FAILED, buf, w.n);
}

void rdzv_fail(struct rdzv_core *c, enum rdzv_why why, const char *fmt, ...)
{
	va_list ap;

	if (c->failure[0])
		return;
	va_start(ap, fmt);
	vsnprintf(c->failure, sizeof(c->failure), fmt, ap);
	va_end(ap);
	c->why = why;
	for (int i = 0; i < c->size; i++)
		if (c->seats[i].peer)
			tell_failure(c, c->seats[i].peer);
}

void rdzv_seat_gone(struct rdzv_core *c, struct rdzv_seat *s, const char *cause)
{
	s->m.gone = true;
	s->m.cause = cause;
	s->lost_ns = 0;
	rdzv_stop_waiting(s);
	c->gone++;
}

static void turn_away(struct rdzv_core *c, struct rdzv_peer *p)
{
	p->deaf = true;
	c->close(c, p);
}

static void refuse(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const char *why)
{
	rdzv_send_text(c, p, type, why);
	turn_away(c, p);
	if (type != RDZV_REFUSED)
		return; /* not one of ours, and none will be missed */
	c->refused++;
	snprintf(c->last_refusal, sizeof(c->last_refusal), "%s", why);
}

static int free_rank(struct rdzv_core *c)
{
	while (c->seats[c->first_free].m.joined)
		c->first_free++;
	return c->first_free;
}

/* Its place, and what is said of whoever has it. */
static struct rdzv_seat *take_seat(struct rdzv_core *c, const struct rdzv_join_msg *m)
{
	struct rdzv_seat *s = &c->seats[m->rank < 0 ? free_rank(c) : m->rank];

	s->m.local_rank = m->local_rank;
	s->m.joined = true;
	if (*m->host || !*s->m.host)
		s->m.host = arena_strdup(&c->a, m->host);
	s->m.data_addr = arena_strdup(&c->a, m->data_addr);
	s->m.device = arena_strdup(&c->a, m->device);
	c->joined++;
	return s;
}

/* A crowd on its own machine may keep it silent for longer than one on ours. */
static uint64_t silence_of(const struct rdzv_core *c, const struct rdzv_join_msg *m)
{
	uint64_t asked = m->silence_ns < SILENCE_MAX_NS ? m->silence_ns : SILENCE_MAX_NS;

	return asked > c->heartbeat_ns ? asked : c->heartbeat_ns;
}

static void seat(struct rdzv_core *c, struct rdzv_peer *p, const struct rdzv_join_msg *m)
{
	struct rdzv_seat *s = take_seat(c, m);
	unsigned char buf[16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	s->peer = p;
	silence_begin(&s->silence, silence_of(c, m), c->now_ns);
	rdzv_core_moved(c);
	rdzv_core_look_soon(c);
	p->rank = s->m.rank;
	wire_put_u32(&w, (uint32_t)p->rank);
	wire_put_u64(&w, c->heartbeat_ns);
	c->send(c, p, RDZV_WELCOME, buf, w.n);
	if (c->joined == c->size)
		rdzv_core_ready(c);
}

/* It came to say that it does not come: nobody has to wait for it. */
static void excuse(struct rdzv_core *c, struct rdzv_peer *p, const struct rdzv_join_msg *m)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct rdzv_seat *s = take_seat(c, m);

	rdzv_seat_gone(c, s, arena_strndup(&c->a, m->excuse, strnlen(m->excuse, RDZV_SAY_MAX)));
	rdzv_fail(c, RDZV_LOST, "%s" RDZV_EXCUSED "%s", rdzv_who(c, s->m.rank, &scratch),
		  s->m.cause);
	refuse(c, p, RDZV_REFUSED, c->failure);
}

/* Nothing is wrong with one that comes after the run had failed: it hears what the others heard. */
static void tell_late(struct rdzv_core *c, struct rdzv_peer *p, const struct rdzv_join_msg *m)
{
	struct rdzv_seat *s = m->rank >= 0 && m->rank < c->size ? &c->seats[m->rank] : NULL;

	tell_failure(c, p);
	turn_away(c, p);
	if (!s || s->m.joined || s->told)
		return;
	s->told = true;
	c->told++;
}

/* Where one run follows another at one place, a quick rank of the next finds this one ending. */
static bool is_ending(const struct rdzv_core *c) { return c->ready && c->gone && !c->failure[0]; }

static uint16_t how_to_refuse(const struct rdzv_core *c, const struct rdzv_join_msg *m,
			      uint32_t protocol)
{
	if (!rdzv_is_alike(m, protocol))
		return RDZV_REFUSED;
	return rdzv_is_other_run(c, m) ? RDZV_ELSEWHERE : is_ending(c) ? RDZV_LATER : RDZV_REFUSED;
}

static int on_join(struct rdzv_core *c, struct rdzv_peer *p, struct wire_in *w)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct rdzv_join_msg m;
	uint32_t protocol;
	const char *why;

	if (rdzv_read_join(w, &scratch, &protocol, &m) < 0)
		return -1;
	why = rdzv_objection(c, &m, protocol, &scratch);
	if (why && why == c->failure)
		tell_late(c, p, &m);
	else if (why)
		refuse(c, p, how_to_refuse(c, &m, protocol), why);
	else if (*m.excuse)
		excuse(c, p, &m);
	else
		seat(c, p, &m);
	return 0;
}

/* Whoever waits at a meeting would wait for ever for one who left. */
static int on_leave(struct rdzv_core *c, struct rdzv_seat *s, struct rdzv_peer *p,
		    struct wire_in *w)
{
	AUTO(arena_done) struct arena scratch = {0};
	uint32_t why = wire_u32(w);
	const char *reason = wire_str(w, &scratch), *who = rdzv_who(c, s->m.rank, &scratch);

	if (!wire_end(w) || why > RDZV_INTERRUPTED)
		return -1;
	s->peer = NULL;
	turn_away(c, p);
	if (s->m.gone)
		return 0;
	rdzv_seat_gone(
		c, s, *reason ? arena_strndup(&c->a, reason, strnlen(reason, RDZV_SAY_MAX)) : NULL);
	if (*reason)
		rdzv_fail(c, (enum rdzv_why)why, "%s: %s", who, reason);
	else if (why != RDZV_INTERRUPTED)
		why = RDZV_LOST; /* without a word */
	if (!c->ready)
		rdzv_fail(c, (enum rdzv_why)why, "%s has left before all had joined", who);
	else if (c->arrived)
		rdzv_fail(c, (enum rdzv_why)why, "%s has left and others wait for it at a barrier",
			  who);
	return 0;
}

static int on_seated(struct rdzv_core *c, struct rdzv_seat *s, uint16_t type, struct wire_in *w)
{
	static int (*const on[])(struct rdzv_core *, struct rdzv_seat *, struct wire_in *) = {
		[RDZV_SET] = rdzv_on_set,   [RDZV_GET] = rdzv_on_get, [RDZV_MEET] = rdzv_on_meet,
		[RDZV_PULL] = rdzv_on_pull, [RDZV_ASK] = rdzv_on_ask,
	};

	if (type >= ARRAY_LEN(on) || !on[type] || (!c->ready && type != RDZV_ASK))
		return -1;
	return c->failure[0] ? 0 : on[type](c, s, w); /* it is being told */
}

int rdzv_core_message(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const void *data,
		      size_t n, uint64_t now_ns)
{
	struct wire_in w = {.p = data, .n = n};
	struct rdzv_seat *s;

	rdzv_core_now(c, now_ns);
	if (p->deaf)
		return 0;
	if (p->rank < 0)
		return type == RDZV_JOIN ? on_join(c, p, &w) : -1;
	s = &c->seats[p->rank];
	silence_heard(&s->silence, now_ns);
	if (type == RDZV_BEAT) {
		c->send(c, p, RDZV_BEAT, NULL, 0);
		return 0;
	}
	return type == RDZV_LEAVE ? on_leave(c, s, p, &w) : on_seated(c, s, type, &w);
}
