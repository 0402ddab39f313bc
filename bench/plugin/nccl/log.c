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

static void merge(const struct seen *s, struct arena *a, transport_list *ret)
{
	struct transport_pair *p = NULL;

	if (s->from < 0 || s->to < 0) /* made up; who judges pairs bounds them above */
		return;
	for (size_t i = 0; i < ret->n && !p; i++)
		if (ret->v[i].from == s->from && ret->v[i].to == s->to &&
		    strncmp(ret->v[i].via, s->via, sizeof(s->via)) == 0)
			p = &ret->v[i];
	if (!p) {
		p = LIST_ADD(a, ret);
		*p = (struct transport_pair){.from = s->from,
					     .to = s->to,
					     .via = arena_strndup(a, s->via, sizeof(s->via) - 1)};
	}
	p->send_gdr |= s->sent && s->send_gdr;
	p->receive_gdr |= s->received && s->receive_gdr;
	p->sent |= s->sent;
	p->received |= s->received;
}

int log_gather(struct nccl_comm *c, struct err *e)
{
	struct arena *a = &c->arena;
	size_t size = (size_t)c->comm.size, n;
	struct seen_by_rank mine = {0}, *all = arena_alloc(a, size * sizeof(*all));
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
	for (size_t r = 0; r < size; r++)
		for (int i = 0; i < all[r].n && i < PAIRS; i++)
			merge(&all[r].pairs[i], a, &c->pairs);
	return 0;
}
