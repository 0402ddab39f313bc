#include "bench/plugin/transport.h"

#include "lib/core/text.h"
#include "lib/host/nccl_channel.h"

static struct transport_pair *pair_of(transport_list *l, struct arena *a, int from, int to,
				      const char *via)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].from == from && l->v[i].to == to && streq(l->v[i].via, via))
			return &l->v[i];
	*LIST_ADD(a, l) = (struct transport_pair){.from = from, .to = to, .via = via};
	return &l->v[l->n - 1];
}

static void read_line(const char *line, struct arena *a, transport_list *ret)
{
	struct nccl_channel c;
	struct transport_pair *p;

	if (!nccl_channel_read(line, &c))
		return;
	p = pair_of(ret, a, c.from, c.to, arena_strndup(a, c.name, c.kind_n));
	if (c.end == NCCL_END_RECEIVE) {
		p->receive_gdr = p->received ? p->receive_gdr && c.is_direct : c.is_direct;
		p->received = true;
	} else {
		p->send_gdr = p->sent ? p->send_gdr && c.is_direct : c.is_direct;
		p->sent = true;
	}
}

void transport_read(const char *text, size_t n, struct arena *a, transport_list *ret)
{
	const char *end = text + n;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop ? stop : end;
		read_line(arena_strndup(a, text, (size_t)(stop - text)), a, ret);
		text = stop + 1;
	}
}

static void name_card(struct transport_cards *c, struct arena *a, const char *number,
		      const char *name, size_t n)
{
	long k = strtol(number, NULL, 10);

	if (k >= 0 && k < TRANSPORT_CARDS && n)
		c->names[k] = arena_strndup(a, name, n);
}

/* "mlx5_2:1" of "[0] mlx5_2:1/RoCE": behind @at. Returns what stands behind that; NULL: none. */
static const char *card_name(const char *at, const char **ret, size_t *ret_n)
{
	const char *name = strchr(at, ']');

	if (!name)
		return NULL;
	name += 1 + strspn(name + 1, " ");
	*ret = name;
	*ret_n = strcspn(name, "/ ;,}");
	return *ret_n ? name + *ret_n : NULL;
}

/* "{[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE}": two cards, or ports, that are one. */
static const char *merged_name(const char *at, struct arena *a)
{
	const char *end = strchr(at, '}'), *all = NULL, *name;
	size_t n;

	while (end && (at = strchr(at, '[')) && at < end) {
		at = card_name(at, &name, &n);
		if (!at)
			return NULL;
		all = arena_printf(a, "%s%s%.*s", all ? all : "", all ? "+" : "", (int)n, name);
	}
	return all;
}

/* Where cards are merged a single one is listed by its own number, and channels go by the place of
 * what is listed. */
static void read_merged(const char *list, struct arena *a, struct transport_cards *ret)
{
	const char *name;
	size_t n;

	for (size_t k = 0; k < TRANSPORT_CARDS && (list = strchr(list, '[')); k++) {
		if (list[1] < '0' || list[1] > '9')
			return; /* [RO] */
		list += 1 + strspn(list + 1, "0123456789");
		if (strncmp(list, "]={", 3) == 0) {
			ret->names[k] = merged_name(list + 3, a);
			list = strchr(list, '}');
		} else if ((list = card_name(list, &name, &n))) {
			ret->names[k] = arena_strndup(a, name, n);
		}
		if (!list)
			return;
	}
}

/* Of "NET/IB/1", "NET/IBext_v8/1" (HPC-X has NCCL's own code as a plug-in): 1; -1: none. */
static long card_of_channel(const char *line)
{
	const char *via = strstr(line, " via NET/IB");

	if (!via || !strstr(line, "NCCL INFO Channel "))
		return -1;
	via += strlen(" via NET/");
	via += strcspn(via, "/ ");
	return *via == '/' ? strtol(via + 1, NULL, 10) : -1;
}

static void read_cards(const char *line, struct arena *a, struct transport_cards *ret)
{
	const char *list = strstr(line, "NET/IB : Using "), *name;
	const char *both = strstr(line, "NET/IB : Made virtual device [");
	long k = card_of_channel(line);

	if (list && strstr(list, "]={")) {
		read_merged(list, a, ret);
		list = NULL;
	}
	for (list = list ? strchr(list, '[') : NULL; list; list = strchr(list + 1, '[')) {
		name = strchr(list, ']');
		if (name && name[1] != ' ' && name[1] && list[1] >= '0' && list[1] <= '9')
			name_card(ret, a, list + 1, name + 1, strcspn(name + 1, "/ ;"));
	}
	name = both ? strstr(both, "] name=") : NULL;
	if (name)
		name_card(ret, a, strchr(both, '[') + 1, name + 7, strcspn(name + 7, " "));
	if (k >= 0 && k < TRANSPORT_CARDS)
		ret->used |= 1ull << k;
}

void transport_cards_read(const char *text, size_t n, struct arena *a, struct transport_cards *ret)
{
	for (const char *end = text + n, *stop; text < end; text = stop + 1) {
		stop = memchr(text, '\n', (size_t)(end - text)) ?: end;
		read_cards(arena_strndup(a, text, (size_t)(stop - text)), a, ret);
	}
}

const char *transport_cards_text(const struct transport_cards *c, struct arena *a)
{
	struct text t;

	text_init(&t, a);
	for (size_t k = 0; k < TRANSPORT_CARDS; k++) {
		if (!c->names[k] && c->used >> k & 1)
			return NULL; /* some of them would be too few */
		if (c->names[k] && (!c->used || c->used >> k & 1))
			text_addf(&t, " %s", c->names[k]);
	}
	return t.n ? arena_printf(a, "cards%s%s", c->used ? "" : " listed", t.s) : NULL;
}

enum transport_trouble transport_judge(const transport_list *l, bool rdma,
				       const struct transport_pair **ret_pair)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct transport_pair *p = *ret_pair = &l->v[i];

		if (p->sent && p->received && p->send_gdr != p->receive_gdr)
			return TRANSPORT_ONE_SIDED;
	}
	for (size_t i = 0; i < l->n && rdma; i++) {
		*ret_pair = &l->v[i];
		if (streq(l->v[i].via, "NET/Socket"))
			return TRANSPORT_SOCKETS;
	}
	*ret_pair = NULL;
	return TRANSPORT_FINE;
}

static bool has_gdr(const struct transport_pair *p)
{
	return (!p->sent || p->send_gdr) && (!p->received || p->receive_gdr);
}

const char *transport_text(const transport_list *l, struct arena *a)
{
	const char *text = NULL;

	for (size_t i = 0; i < l->n; i++) {
		size_t same = 0, before = 0;

		for (size_t k = 0; k < l->n; k++) {
			bool is = streq(l->v[k].via, l->v[i].via) &&
				  has_gdr(&l->v[k]) == has_gdr(&l->v[i]);

			same += is;
			before += is && k < i;
		}
		if (before)
			continue;
		text = arena_printf(a, "%s%s%s%s (%zu pair%s)", text ? text : "", text ? ", " : "",
				    l->v[i].via, has_gdr(&l->v[i]) ? " with GPUDirect" : "", same,
				    same == 1 ? "" : "s");
	}
	return text;
}
