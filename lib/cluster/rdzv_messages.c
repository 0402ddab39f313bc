#include "lib/cluster/rdzv_messages.h"

#include "lib/cluster/hostlist.h"
#include "lib/cluster/rendezvous.h"

/* What a peer sends is no longer than we would send it. */
static const char *short_str(struct wire_in *w, struct arena *a)
{
	const char *s = wire_str(w, a);

	/* The copy may be longer than what was sent: broken UTF-8 was mended in it. */
	return strlen(s) <= RDZV_TEXT_MAX ? s : arena_strndup(a, s, RDZV_TEXT_MAX);
}

static void put_short(struct wire_out *w, const char *s)
{
	wire_put_bytes(w, s, s ? strnlen(s, RDZV_TEXT_MAX) : 0);
}

void rdzv_put_join(struct wire_out *w, const struct rdzv_join_msg *m)
{
	wire_put_u32(w, RDZV_PROTOCOL);
	put_short(w, m->version);
	put_short(w, m->run);
	wire_put_u32(w, (uint32_t)m->rank);
	wire_put_u32(w, (uint32_t)m->size);
	wire_put_u32(w, (uint32_t)m->local_rank);
	put_short(w, m->host);
	put_short(w, m->data_addr);
	put_short(w, m->device);
	wire_put_u64(w, m->silence_ns);
	wire_put_bytes(w, m->excuse, m->excuse ? strnlen(m->excuse, RDZV_SAY_MAX) : 0);
}

/* What no sane end sends, so that it can be computed with. */
static int small_int(struct wire_in *w)
{
	int v = (int)wire_u32(w);

	if (v < -1 || v > WORLD_MAX)
		w->bad = true;
	return v;
}

int rdzv_read_join(struct wire_in *w, struct arena *a, uint32_t *ret_protocol,
		   struct rdzv_join_msg *ret)
{
	*ret_protocol = wire_u32(w);
	*ret = (struct rdzv_join_msg){.version = short_str(w, a)};
	if (*ret_protocol != RDZV_PROTOCOL)
		return w->bad ? -1 : 0;
	ret->run = short_str(w, a);
	ret->rank = small_int(w);
	ret->size = small_int(w);
	ret->local_rank = small_int(w);
	ret->host = host_said(a, short_str(w, a));
	ret->data_addr = short_str(w, a);
	ret->device = short_str(w, a);
	ret->silence_ns = wire_u64(w);
	ret->excuse = wire_str(w, a);
	return wire_end(w) ? 0 : -1;
}

void rdzv_put_member(struct wire_out *w, const struct rdzv_member *m)
{
	wire_put_u32(w, (uint32_t)m->local_rank);
	put_short(w, m->host);
	put_short(w, m->data_addr);
	put_short(w, m->device);
}

size_t rdzv_member_size(const struct rdzv_member *m)
{
	return 4 * sizeof(uint32_t) + strnlen(m->host, RDZV_TEXT_MAX) +
	       strnlen(m->data_addr, RDZV_TEXT_MAX) + strnlen(m->device, RDZV_TEXT_MAX);
}

int rdzv_read_members(struct wire_in *w, struct arena *a, struct rdzv_member *ret, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct rdzv_member){.rank = (int)i, .joined = true};
		ret[i].local_rank = small_int(w);
		ret[i].host = host_said(a, short_str(w, a));
		ret[i].data_addr = short_str(w, a);
		ret[i].device = short_str(w, a);
	}
	return wire_end(w) ? 0 : -1;
}
