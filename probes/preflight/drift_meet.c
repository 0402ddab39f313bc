/*
 * The networks that hosts meet in. Alone a host chooses by rank, so that a better card which leads
 * elsewhere, to storage, comes first; the others' addresses tell which one leads to them.
 */
#include "lib/net/addr.h"
#include "probes/preflight/drift.h"

struct net {
	const char *text;
	union addr at;
	unsigned prefix;
};
struct member {
	const struct answer *a;
	LIST(struct net) nets;
};
typedef LIST(struct member) member_list;

static void survey(struct preflight *p, const struct answers *all, member_list *ret)
{
	*ret = (member_list){0};
	for (size_t i = 0; i < all->n; i++) {
		struct member m = {.a = &all->v[i]};
		str_list own;

		answer_addresses(p->a, m.a, &own);
		for (size_t k = 0; k < own.n; k++) {
			struct net x = {.text = own.v[k], .prefix = answer_prefix(m.a, own.v[k])};

			if (!addr_parse(x.text, &x.at))
				*LIST_ADD(p->a, &m.nets) = x;
		}
		if (m.nets.n)
			*LIST_ADD(p->a, ret) = m;
	}
}

static const struct net *net_of(const struct member *m, const char *address)
{
	for (size_t i = 0; address && i < m->nets.n; i++)
		if (streq(m->nets.v[i].text, address))
			return &m->nets.v[i];
	return NULL;
}

static bool is_in(const struct net *x, const struct net *net)
{
	return addr_in_subnet(&x->at, &net->at, net->prefix);
}

/* So many others have an address in this network of @m. */
static size_t meets(const member_list *all, const struct member *m, const struct net *net)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct member *x = &all->v[i];
		bool has = false;

		for (size_t k = 0; x != m && k < x->nets.n && !has; k++)
			has = is_in(&x->nets.v[k], net);
		n += has;
	}
	return n;
}

/* What others reach it by: the best one, unless nobody is in its network and some are in
 * another's. */
static const char *address_among(const member_list *all, const struct member *m)
{
	const char *best = answer_address(m->a);
	const struct net *own = net_of(m, best);
	size_t most = own ? meets(all, m, own) : 0;

	if (most)
		return best;
	for (size_t i = 0; i < m->nets.n; i++) {
		size_t n = meets(all, m, &m->nets.v[i]);

		if (n > most) {
			most = n;
			best = m->nets.v[i].text;
		}
	}
	return best;
}

const char *drift_peer_args(struct preflight *p, const struct answers *all)
{
	enum { ENOUGH = 2 }; /* of which one at least is not who asks */
	member_list l;
	struct text t;

	survey(p, all, &l);
	text_init(&t, p->a);
	for (size_t i = 0, n = 0; l.n > 1 && i < l.n && n < ENOUGH; i++) {
		const char *at = address_among(&l, &l.v[i]);

		if (at)
			text_addf(&t, " --peer %s", at);
		n += at != NULL;
	}
	return t.s ?: "";
}

/* Every other one chose an address in this network: no rank says more. */
static bool all_chose(const member_list *all, const struct member *m, const struct net *net)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct member *x = &all->v[i];
		const struct net *own = net_of(x, answer_address(x->a));

		if (x != m && (!own || !is_in(own, net)))
			return false;
	}
	return all->n > 1;
}

/* NCCL there takes what leads to the others, and ranks the one that leads to none above it. */
static void accept_choice(struct preflight *p, const struct member *m, size_t from)
{
	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;
		const char *better = answer_address(m->a);

		if (f->status != ST_WARN || !streq(f->host ?: "", m->a->host) ||
		    !streq(f->check, "nccl.choice"))
			continue;
		finding_set(f, ST_INFO,
			    "NCCL uses %s, where all others are, and not %s with %s: no other host "
			    "is in that network",
			    f->subject, answer_card_word(p->a, m->a, better), better);
		f->fix.n = 0;
	}
}

void drift_accept_meeting(struct preflight *p, const struct answers *all, size_t from)
{
	member_list l;

	survey(p, all, &l);
	for (size_t i = 0; i < l.n; i++) {
		const struct member *m = &l.v[i];
		const struct net *nccl = net_of(m, answer_published(m->a)),
				 *best = net_of(m, answer_address(m->a));

		if (nccl && best && nccl != best && !meets(&l, m, best) && all_chose(&l, m, nccl))
			accept_choice(p, m, from);
	}
}
