/* Meetings (the join, barriers, all-gathers) and the pages of what they leave. */
#include "lib/cluster/rdzv_core.h"
#include "lib/core/units.h"

static void send_page(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type,
		      const struct rdzv_table *t, uint64_t second, size_t at, size_t n)
{
	unsigned char buf[RDZV_PAGE_MAX + 16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_u32(&w, t->seq);
	wire_put_u64(&w, second);
	wire_put_bytes(&w, n ? t->data + at : NULL, n);
	c->send(c, p, type, buf, w.n);
}

/* A table of one page comes with the news; a longer one is read when it is wanted. */
static void send_met(struct rdzv_core *c, const struct rdzv_table *t)
{
	for (int i = 0; i < c->size; i++)
		if (c->seats[i].peer)
			send_page(c, c->seats[i].peer, RDZV_MET, t, t->n, 0,
				  t->n <= RDZV_PAGE_MAX ? t->n : 0);
}

void rdzv_core_ready(struct rdzv_core *c)
{
	struct wire_out w = {0};

	for (int i = 0; i < c->size; i++)
		w.cap += rdzv_member_size(&c->seats[i].m);
	w.p = malloc(w.cap);
	if (!w.p) {
		rdzv_fail(c, RDZV_UNABLE, "the rendezvous has no memory left");
		return;
	}
	for (int i = 0; i < c->size; i++)
		rdzv_put_member(&w, &c->seats[i].m);
	c->met[0] = (struct rdzv_table){.data = w.p, .n = w.n};
	c->ready = true;
	send_met(c, &c->met[0]);
}

/* The first to come says how much everybody brings. */
static int meeting_begins(struct rdzv_core *c, size_t n)
{
	uint64_t total = (uint64_t)n * (unsigned)c->size;

	c->blob_n = n;
	c->meet.n = 0;
	c->meet.data = total <= RDZV_STORE_MAX ? malloc(total ? total : 1) : NULL;
	if (!c->meet.data) {
		rdzv_fail(c, RDZV_UNABLE,
			  "an all-gather of %zu bytes from each of %d ranks is too large", n,
			  c->size);
		return -1;
	}
	c->meet.n = total;
	return 0;
}

static void meeting_ends(struct rdzv_core *c)
{
	free(c->met[1].data);
	c->met[1] = c->meet;
	c->meet = (struct rdzv_table){.seq = c->met[1].seq + 1};
	c->arrived = 0;
	send_met(c, &c->met[1]);
}

/* Why this meeting cannot be. */
static void meeting_fails(struct rdzv_core *c, const struct rdzv_seat *s, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	const char *who = rdzv_who(c, s->m.rank, &a);

	if (n != c->blob_n)
		rdzv_fail(c, RDZV_GAVE_UP,
			  "%s brings %zu bytes where others bring %zu: "
			  "the ranks do not run the same program, or not with the same options",
			  who, n, c->blob_n);
	for (int i = 0; c->gone && i < c->size; i++)
		if (c->seats[i].m.gone)
			rdzv_fail(c, RDZV_LOST, "%s has left and others wait for it at a barrier",
				  rdzv_who(c, i, &a));
}

int rdzv_on_meet(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w)
{
	uint32_t seq = wire_u32(w);
	size_t n;
	const void *blob = wire_bytes(w, &n);

	if (!wire_end(w) || seq != c->meet.seq || s->meets == seq)
		return -1;
	s->meets = seq;
	if (!c->arrived && meeting_begins(c, n) < 0)
		return 0;
	if (n != c->blob_n || c->gone) {
		meeting_fails(c, s, n);
		return 0;
	}
	if (n)
		memcpy(c->meet.data + (size_t)s->m.rank * n, blob, n);
	rdzv_core_moved(c);
	if (++c->arrived == c->size)
		meeting_ends(c);
	return 0;
}

int rdzv_on_pull(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w)
{
	uint32_t seq = wire_u32(w);
	uint64_t at = wire_u64(w);
	const struct rdzv_table *t = &c->met[seq != 0];

	if (!wire_end(w) || t->seq != seq || !t->data || at > t->n)
		return -1;
	send_page(c, s->peer, RDZV_PAGE, t, at, at,
		  t->n - at < RDZV_PAGE_MAX ? t->n - at : RDZV_PAGE_MAX);
	return 0;
}

/* ---- who are we waiting for? ---- */
static bool has_not_come(const struct rdzv_core *c, int rank)
{
	return c->seats[rank].meets != c->meet.seq;
}

int rdzv_on_ask(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w)
{
	AUTO(arena_done) struct arena a = {0};
	uint32_t seq = wire_u32(w);
	unsigned char buf[RDZV_SAY_MAX + 32];
	struct wire_out out = {.p = buf, .cap = sizeof(buf)};
	bool open = seq ? seq == c->meet.seq && c->arrived : !c->ready;
	uint64_t idle = open ? c->now_ns - c->still.since_ns : 0;
	const char *text = "";

	if (!wire_end(w))
		return -1;
	if (open)
		text = seq ? arena_printf(&a, "%s missing at a barrier: nobody has come for %s",
					  rdzv_which(c, has_not_come, &a), rdzv_idle(c, idle, &a))
			   : rdzv_missing(c, idle, &a);
	wire_put_u32(&out, seq);
	wire_put_u64(&out, idle);
	wire_put_bytes(&out, text, strnlen(text, RDZV_SAY_MAX));
	c->send(c, s->peer, RDZV_STATUS, buf, out.n);
	return 0;
}
