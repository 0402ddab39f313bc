/*
 * Hosts with IPv4 alone among hosts with IPv6 alone: each is well, and nothing connects them.
 * And the address that a host lacks, where its name and the others tell it.
 */
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/check/check.h"
#include "probes/preflight/drift.h"

enum { V4, V6, FAMILIES };

static const char *const words[] = {"IPv4", "IPv6"};

struct speaker {
	const struct answer *a;
	const char *address; /* what others reach it by */
	bool has[FAMILIES], publishes[FAMILIES];
};
struct speakers {
	LIST(struct speaker) l;
	size_t reached[FAMILIES], having[FAMILIES];
};

static int family_of(const char *address) { return strchr(address, ':') ? V6 : V4; }

static void add_speaker(struct preflight *p, const struct answer *a, struct speakers *ret)
{
	struct speaker s = {.a = a, .address = a->doc ? answer_address(a) : NULL};
	const char *nccl = answer_published(a);
	str_list own;

	if (!s.address)
		return;
	answer_addresses(p->a, a, &own);
	for (size_t i = 0; i < own.n; i++) {
		s.has[family_of(own.v[i])] = true;
		s.publishes[family_of(own.v[i])] |= nccl && streq(nccl, own.v[i]);
	}
	s.has[family_of(s.address)] = true;
	ret->reached[family_of(s.address)]++;
	for (int i = 0; i < FAMILIES; i++)
		ret->having[i] += s.has[i];
	*LIST_ADD(p->a, &ret->l) = s;
}

static const struct speaker *first_of(const struct speakers *s, int family)
{
	for (size_t i = 0; i < s->l.n; i++)
		if (family_of(s->l.v[i].address) == family)
			return &s->l.v[i];
	return NULL;
}

/* An address may be given only where its family is not switched off. */
static const char *adding(struct arena *a, const char *address, unsigned prefix, const char *card)
{
	const char *on = family_of(address) == V6
				 ? arena_printf(a,
						"sudo sysctl -qw net/ipv6/conf/%s/disable_ipv6=0 "
						"&& ",
						card)
				 : "";

	return arena_printf(a, "%ssudo ip address add %s/%u dev %s", on, address, prefix, card);
}

static void advise(struct preflight *p, const struct answers *all, struct finding *f,
		   const struct speaker *odd, const struct speaker *usual)
{
	const char *card = answer_card_word(p->a, odd->a, odd->address);
	unsigned prefix = answer_prefix(usual->a, usual->address);
	const char *own = p->alone.n <= DRIFT_LOOKUPS
				  ? drift_vacant(p, all, odd->a, usual->a, usual->address)
				  : NULL;

	if (own)
		finding_fix(f, "%s", adding(p->a, own, prefix, card));
	else
		finding_fix(f, "%s   # ADDRESS: one that no host has, in the network of %s",
			    adding(p->a, "ADDRESS", prefix, card), usual->address);
}

/* NCCL takes IPv4 first on a host that has both, whatever the others have. */
static void advise_family(struct finding *f, int family, bool all_have)
{
	if (all_have)
		finding_fix(f, "export NCCL_SOCKET_FAMILY=%s   # on all hosts: each has %s then",
			    family == V6 ? "AF_INET6" : "AF_INET", words[family]);
}

static void tell_alone(struct preflight *p, const struct answers *all, const struct speakers *s,
		       const struct speaker *odd, const struct speaker *usual)
{
	int want = family_of(usual->address), has = family_of(odd->address);
	struct finding *f = drift_note(p, "family", odd->address, odd->a->host);

	names_add(&p->alone, p->a, odd->a->host);
	if (odd->has[want])
		finding_set(f, ST_FAIL,
			    "is the %s address that it is reached by, and %zu of %zu hosts have "
			    "none: no connection between them",
			    words[has], s->l.n - s->having[has], s->l.n);
	else
		finding_set(f, ST_FAIL,
			    "is %s, all that it has, and %zu of %zu hosts are reached by %s: no "
			    "connection between them",
			    words[has], s->reached[want], s->l.n, words[want]);
	finding_expect(f, "one family of addresses for all hosts");
	if (!odd->has[want])
		advise(p, all, f, odd, usual);
	advise_family(f, odd->has[want] || want == V6 ? want : has,
		      odd->has[want] || want == V6 || s->having[has] == s->l.n);
}

/* The family that most are reached by. */
static int survey(struct preflight *p, const struct answers *all, struct speakers *ret)
{
	*ret = (struct speakers){0};
	for (size_t i = 0; i < all->n; i++)
		add_speaker(p, &all->v[i], ret);
	return ret->reached[V6] > ret->reached[V4] ? V6 : V4;
}

/* NCCL there passes over its best interface, and takes one that has what the others have. */
static bool passes_over(const struct speaker *x, int family)
{
	return family_of(x->address) != family && x->publishes[family];
}

/* Who has both can be reached by either, as long as all others have what it is reached by. */
void drift_families(struct preflight *p, const struct answers *all)
{
	struct speakers s;
	int family = survey(p, all, &s);
	const struct speaker *usual = first_of(&s, family);

	for (size_t i = 0; usual && i < s.l.n; i++) {
		const struct speaker *x = &s.l.v[i];
		int own = family_of(x->address);

		if (own != family && !passes_over(x, family) &&
		    (!x->has[family] || s.having[own] < s.l.n))
			tell_alone(p, all, &s, x, usual);
	}
}

/* What it said of NCCL's choice, without knowing what the others have. */
static void accept_choice(struct preflight *p, const struct speaker *x, size_t from)
{
	int own = family_of(x->address);

	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (f->status != ST_WARN || !f->host || !streq(f->host, x->a->host) ||
		    !streq(f->check, "nccl.choice"))
			continue;
		finding_set(f, ST_INFO,
			    "NCCL uses %s, not %s with %s: that is %s, but the other hosts are "
			    "reached by %s",
			    f->subject, answer_card_word(p->a, x->a, x->address), x->address,
			    words[own], words[!own]);
		f->fix.n = 0;
	}
}

static void accept_choices(struct preflight *p, const struct answers *all, size_t from)
{
	struct speakers s;
	int family = survey(p, all, &s);

	for (size_t i = 0; first_of(&s, family) && i < s.l.n; i++)
		if (passes_over(&s.l.v[i], family))
			accept_choice(p, &s.l.v[i], from);
}

/* ---- a host without any address ---- */

static const struct answer *answer_of(const struct answers *all, const char *host)
{
	for (size_t i = 0; i < all->n; i++)
		if (streq(all->v[i].host, host))
			return &all->v[i];
	return NULL;
}

static const struct answer *any_with_address(const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && answer_address(&all->v[i]))
			return &all->v[i];
	return NULL;
}

/* What it was advised by itself has a blank, which it cannot fill. */
static bool fill(struct preflight *p, const struct answers *all, struct finding *f,
		 const struct answer *usual)
{
	const struct answer *a = answer_of(all, f->host);
	const char *like = answer_address(usual), *own, *card;

	if (!a || !f->fix.n || !starts_with(f->fix.v[0], CHECK_ADD_ADDRESS))
		return false;
	own = drift_vacant(p, all, a, usual, like);
	card = f->fix.v[0] + strlen(CHECK_ADD_ADDRESS);
	card = arena_strndup(p->a, card, strcspn(card, " "));
	if (own)
		f->fix.v[0] = adding(p->a, own, answer_prefix(usual, like), card);
	return true;
}

void drift_advise_address(struct preflight *p, const struct answers *all, size_t from)
{
	const struct answer *usual = any_with_address(all);
	size_t filled = 0;

	for (size_t i = from; usual && i < p->t.items.n && filled < DRIFT_LOOKUPS; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (f->status == ST_FAIL && f->host && streq(f->check, "addr.usable"))
			filled += fill(p, all, f, usual);
	}
	accept_choices(p, all, from);
}
