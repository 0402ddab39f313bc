#include "bench/plugin/nccl/log.h"

enum { PAIRS = 64 }; /* of one rank: what is beyond is as they are */

struct seen { /* travels as it is */
	int32_t from, to;
	uint8_t sent, received, send_gdr, receive_gdr;
	char via[28];
};
struct seen_by_rank {
	int32_t n;
	struct seen pairs[PAIRS];
};

static void pack(const transport_list *l, struct seen_by_rank *ret)
{
	for (size_t i = 0; i < l->n && i < PAIRS; i++) {
		const struct transport_pair *p = &l->v[i];
		struct seen *s = &ret->pairs[ret->n++];

		*s = (struct seen){p->from,	p->to,		p->sent, p->received,
				   p->send_gdr, p->receive_gdr, ""};
		(void)snprintf(s->via, sizeof(s->via), "%s", p->via);
	}
}

/* What all ranks saw, by who sends: no long list is looked through for each of many. */
struct merge {
	struct arena *a;
	transport_list *pairs;
	size_t *latest;	     /* by rank: its pair that came last, from 1; 0: it has none */
	LIST(size_t) before; /* by pair: the one of that rank that came before it, likewise */
	int size;
};

static struct transport_pair *pair_of(struct merge *m, const struct seen *s)
{
	struct transport_pair *p;

	for (size_t i = m->latest[s->from]; i; i = m->before.v[i - 1]) {
		p = &m->pairs->v[i - 1];
		if (p->to == s->to && strncmp(p->via, s->via, sizeof(s->via)) == 0)
			return p;
	}
	p = LIST_ADD(m->a, m->pairs);
	*p = (struct transport_pair){.from = s->from,
				     .to = s->to,
				     .via = arena_strndup(m->a, s->via, sizeof(s->via) - 1)};
	*LIST_ADD(m->a, &m->before) = m->latest[s->from];
	m->latest[s->from] = m->pairs->n;
	return p;
}

static void merge(struct merge *m, const struct seen *s)
{
	struct transport_pair *p;

	/* made up; who judges pairs bounds the other one above */
	if (s->from < 0 || s->from >= m->size || s->to < 0)
		return;
	p = pair_of(m, s);
	p->send_gdr |= s->sent && s->send_gdr;
	p->receive_gdr |= s->received && s->receive_gdr;
	p->sent |= s->sent;
	p->received |= s->received;
}

/* "Bootstrap : Using eth0:10.0.0.1<0>", without the blank before the colon since 2.19. */
static const char *meets_by(const char *text, size_t n, struct arena *a)
{
	static const char topic[] = "NCCL INFO Bootstrap", uses[] = ": Using ";
	const char *at = memmem(text, n, topic, strlen(topic)), *end = text + n, *stop;

	if (!at)
		return NULL;
	at += strlen(topic);
	at += at < end && *at == ' ';
	if ((size_t)(end - at) < strlen(uses) || strncmp(at, uses, strlen(uses)) != 0)
		return NULL;
	at += strlen(uses);
	for (stop = at; stop < end && !strchr("<\n", *stop); stop++)
		;
	return stop > at ? arena_strndup(a, at, (size_t)(stop - at)) : NULL;
}

const char *log_meets_by(struct arena *a)
{
	char *text;
	size_t n;

	return log_read(a, &text, &n) ? meets_by(text, n, a) : NULL;
}

int log_gather(struct nccl_comm *c, struct err *e)
{
	struct arena *a = &c->arena;
	size_t size = (size_t)c->comm.size, n;
	struct seen_by_rank mine = {0}, *all = arena_alloc(a, size * sizeof(*all));
	struct merge m = {.a = a, .pairs = &c->pairs, .size = c->comm.size};
	transport_list own = {0};
	char *text;

	if (log_read(a, &text, &n)) {
		transport_read(text, n, a, &own);
		transport_cards_read(text, n, a, &c->own_cards);
	}
	log_end();
	pack(&own, &mine);
	if (c->exchange(c->exchange_arg, &mine, sizeof(mine), all, e))
		return -1;
	c->pairs = (transport_list){0};
	m.latest = arena_alloc(a, size * sizeof(*m.latest));
	for (size_t r = 0; r < size; r++)
		for (int i = 0; i < all[r].n && i < PAIRS; i++)
			merge(&m, &all[r].pairs[i]);
	return 0;
}
