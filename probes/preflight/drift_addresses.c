/* Two machines with one address. */
#include "lib/cluster/on_each.h"
#include "lib/host/nat.h"
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

struct holder {
	const struct answer *a;
	const char *address;
	bool chosen; /* what others reach it by */
};
typedef LIST(struct holder) holder_list;

static int by_address(const void *px, const void *py)
{
	const struct holder *x = px, *y = py;
	int d = strcmp(x->address, y->address);

	d = d ? d : y->chosen - x->chosen;
	return d ? d : (x->a > y->a) - (x->a < y->a);
}

static void collect(struct preflight *p, const struct answer *a, holder_list *ret)
{
	const char *own = answer_address(a);
	str_list texts;

	answer_addresses(p->a, a, &texts);
	for (size_t i = 0; i < texts.n; i++)
		*LIST_ADD(p->a, ret) =
			(struct holder){a, texts.v[i], own && streq(own, texts.v[i])};
}

/* No other address in this network: no two hosts meet there. */
static bool is_nobodys(const holder_list *l, const struct holder *x)
{
	unsigned prefix = answer_prefix(x->a, x->address);
	union addr net, at;

	if (addr_parse(x->address, &net))
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (!streq(l->v[i].address, x->address) && !addr_parse(l->v[i].address, &at) &&
		    addr_in_subnet(&at, &net, prefix))
			return false;
	return true;
}

/* ---- what to do: nobody is told to take away what his machine is reached by ---- */

struct shared {
	const struct answers *all;
	const struct holder *keeps, *odd;
	const char *card;
	unsigned prefix, odd_prefix; /* of the one that keeps it, and the odd one's */
	bool nobodys, looks_up;
};

/* Its own address first, and then away with the other one: with which the kernel takes what was
 * added after it in its network, unless it is told to keep that. */
static bool advise_own(struct preflight *p, struct finding *f, const struct shared *s)
{
	const char *address = s->odd->address;
	const char *own =
		s->looks_up ? drift_vacant(p, s->all, s->odd->a, s->keeps->a, address) : NULL;
	const char *keep = strchr(address, ':')
				   ? ""
				   : arena_printf(p->a,
						  "sudo sysctl -qw "
						  "net/ipv4/conf/%s/promote_secondaries=1 && ",
						  s->card);

	if (own)
		finding_fix(f,
			    "%ssudo ip address add %s/%u dev %s && sudo ip address del %s/%u dev "
			    "%s",
			    keep, own, s->prefix, s->card, address, s->odd_prefix, s->card);
	return own != NULL;
}

/* An address of the odd one in another network, in which the first has one, too. */
static const char *elsewhere(struct preflight *p, const struct shared *s)
{
	str_list theirs, its;
	union addr x, y;

	answer_addresses(p->a, s->odd->a, &theirs);
	answer_addresses(p->a, s->keeps->a, &its);
	for (size_t i = 0; i < theirs.n; i++)
		for (size_t k = 0; k < its.n; k++)
			if (!streq(theirs.v[i], its.v[k]) && !addr_parse(theirs.v[i], &x) &&
			    !addr_parse(its.v[k], &y) &&
			    addr_in_subnet(&x, &y, answer_prefix(s->keeps->a, its.v[k])))
				return theirs.v[i];
	return NULL;
}

/* Where nobody else is: what is lacking is a network in common, or that it is used. */
static void advise_meeting(struct preflight *p, struct finding *f, const struct shared *s)
{
	const char *other = elsewhere(p, s);

	if (other)
		finding_fix(f, "export NCCL_SOCKET_IFNAME='='%s   # on all: they meet there, too",
			    answer_card_word(p->a, s->odd->a, other));
	else
		finding_fix(f, NAT_NETWORK_FIX);
}

/* The others remember whom they found at it. */
static void advise_forgetting(struct preflight *p, struct finding *f, const char *address)
{
	const char *line = arena_printf(p->a, "sudo ip neigh flush to %s", address);
	const char *all = p->t.way ? on_each(p->a, p->t.way, &p->hosts, line) : NULL;

	finding_fix(f, "%s   # %s: they remember it", all ?: line,
		    all ? "from here, then: of all hosts" : "on all other hosts, then");
}

static void advise_shared(struct preflight *p, struct finding *f, const struct shared *s)
{
	if (!s->odd->chosen)
		finding_fix(f, "sudo ip address del %s/%u dev %s", s->odd->address, s->odd_prefix,
			    s->card);
	else if (!advise_own(p, f, s) && !s->nobodys)
		finding_fix(f,
			    "sudo dhclient -r %s; sudo dhclient %s   # on its console, for an "
			    "address of its own; or one in its network settings",
			    s->card, s->card);
	if (s->nobodys)
		advise_meeting(p, f, s);
	else
		advise_forgetting(p, f, s->odd->address);
}

static void tell_shared(struct preflight *p, const struct shared *s)
{
	const struct holder *odd = s->odd;
	struct finding *f = drift_note(p, "address", odd->address, odd->a->host);

	finding_set(f, ST_FAIL,
		    s->nobodys ? "is here and on %s, and no host has another one of this network: "
				 "the translated network (NAT) that each virtual machine has for "
				 "itself, or copies of one machine"
			       : "is here and on %s: what is sent there arrives at the one or the "
				 "other",
		    s->keeps->a->host);
	finding_expect(f, "an address of its own for each host");
	advise_shared(p, f, s);
}

/* One machine that was named twice has all its addresses twice; copies have one name, too. */
static bool is_one_machine(const struct holder *x, const struct holder *y)
{
	const char *one = json_get_str(x->a->data, "boot"),
		   *other = json_get_str(y->a->data, "boot");

	return streq(x->a->hostname, y->a->hostname) && (!one || !other || streq(one, other));
}

/* The first keeps it, one of those that others reach by it. */
static void tell_group(struct preflight *p, const struct answers *all, const holder_list *l,
		       size_t from, size_t n)
{
	struct shared s = {.all = all, .keeps = &l->v[from]};

	s.prefix = answer_prefix(s.keeps->a, s.keeps->address);
	s.nobodys = is_nobodys(l, s.keeps);
	for (size_t i = from + 1; i < from + n; i++) {
		s.odd = &l->v[i];
		s.odd_prefix = answer_prefix(s.odd->a, s.odd->address);
		s.card = answer_card_word(p->a, s.odd->a, s.odd->address);
		s.looks_up = i - from <= DRIFT_LOOKUPS;
		if (!is_one_machine(s.keeps, s.odd))
			tell_shared(p, &s);
	}
}

void drift_addresses(struct preflight *p, const struct answers *all)
{
	holder_list l = {0};

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc)
			collect(p, &all->v[i], &l);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_address);
	for (size_t i = 0, k; i < l.n; i = k) {
		for (k = i + 1; k < l.n && streq(l.v[k].address, l.v[i].address);)
			k++;
		if (k - i > 1 && l.v[i].chosen)
			tell_group(p, all, &l, i, k - i);
	}
}
