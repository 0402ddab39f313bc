/*
 * Cards beside the one that hosts are reached by: NCCL sends over each that it sees, and where most
 * hosts use a network and one is not on it, that one breaks the job or is slower. A card is known
 * by its network: names differ between machines on one LAN.
 */
#include "lib/core/quote.h"
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

/* A card that NCCL would use, by the address that it would give to others. */
struct use {
	const struct answer *a;
	const cJSON *card;
	const char *address, *network; /* "10.78.0.0/16" */
};
typedef LIST(struct use) use_list;

/* What most hosts use, and the hosts that were asked. */
struct usual {
	const struct answers *all;
	const struct use *v;
	size_t n, asked; /* hosts: that use it; that answered */
};

static const cJSON *interface_of(const struct answer *a)
{
	return json_get(json_get(a->data, "parts"), "interface");
}

static const char *network_of(struct arena *a, const struct answer *of, const char *address)
{
	unsigned prefix = answer_prefix(of, address);
	union addr at, net;
	struct addr_text t;

	if (addr_parse(address, &at) || addr_class(&at) == ADDR_LINKLOCAL)
		return NULL;
	net = addr_network(&at, prefix);
	return arena_printf(a, "%s/%u", addr_print(&net, &t), prefix);
}

/* A bridge is a host's own: containers and virtual machines hang on it. */
static void collect(struct arena *a, const struct answer *of, use_list *ret)
{
	const cJSON *address;

	cJSON_ArrayForEach (
		address,
		json_get(json_get(json_get(interface_of(of), "predict"), "nccl"), "addresses")) {
		const char *text = cJSON_GetStringValue(address) ?: "";
		const cJSON *card = answer_card(of, text);
		const char *network = card ? network_of(a, of, text) : NULL;

		if (network && !streq(json_text(card, "kind"), "bridge"))
			*LIST_ADD(a, ret) = (struct use){of, card, text, network};
	}
}

static int by_network(const void *px, const void *py)
{
	const struct use *x = px, *y = py;
	int d = strcmp(x->network, y->network);

	return d ? d : (x->a > y->a) - (x->a < y->a);
}

static bool is_in(const char *address, const struct use *x)
{
	union addr at, net;

	return !addr_parse(address, &at) && !addr_parse(x->address, &net) &&
	       addr_in_subnet(&at, &net, answer_prefix(x->a, x->address));
}

/* The network that hosts are reached by is everybody's to test. */
static bool is_main(const struct answers *all, const struct use *x)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const char *own = all->v[i].doc ? answer_address(&all->v[i]) : NULL;

		n += own && is_in(own, x);
	}
	return 2 * n > all->n;
}

/* What each host has for itself has one address everywhere, or some of a few. */
static bool are_distinct(const struct use *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i].a == v[i - 1].a || streq(v[i].address, v[0].address))
			return false;
	return true;
}

static double mtu_of(const struct use *x) { return json_get_num(x->card, "mtu", 0); }

/* What most have; 0: no such. */
static double usual_mtu(const struct usual *u)
{
	for (size_t i = 0; i < u->n; i++) {
		size_t alike = 0;

		for (size_t k = 0; k < u->n; k++)
			alike += (unsigned)mtu_of(&u->v[i]) == (unsigned)mtu_of(&u->v[k]);
		if (2 * alike > u->n)
			return mtu_of(&u->v[i]);
	}
	return 0;
}

static void judge_mtus(struct preflight *p, const struct usual *u)
{
	double usual = usual_mtu(u);

	for (size_t i = 0; usual > 0 && i < u->n; i++) {
		const struct use *x = &u->v[i];
		double own = mtu_of(x);
		struct finding *f;

		if (!(own < usual || own > usual))
			continue;
		f = drift_note(p, "cards", json_text(x->card, "name"), x->a->host);
		finding_set(f, ST_WARN, "MTU %.0f here, %.0f on most hosts, in %s", own, usual,
			    x->network);
		finding_expect(f, "the same everywhere");
		finding_fix(f, "sudo ip link set dev %s mtu %.0f%s",
			    answer_card_word(p->a, x->a, x->address), usual,
			    own < usual ? "   # if the network takes it" : "");
	}
}

/* Its card in that network; else the one that has no address, named as most others' are. */
static const cJSON *card_in(const struct usual *u, const struct answer *a)
{
	const cJSON *card, *at, *named = NULL;

	cJSON_ArrayForEach (card, json_get(interface_of(a), "interfaces")) {
		cJSON_ArrayForEach (at, json_get(card, "addresses"))
			if (is_in(json_text(at, "address"), u->v))
				return card;
		if (streq(json_text(card, "name"), json_text(u->v->card, "name")) &&
		    !cJSON_GetArraySize(json_get(card, "addresses")))
			named = card;
	}
	return named;
}

static void tell_off(struct preflight *p, const struct usual *u, const struct answer *a,
		     const cJSON *card)
{
	bool down = streq(json_text(card, "state"), "down");
	const char *name = shell_quote(p->a, json_text(card, "name"));
	struct finding *f = drift_note(p, "cards", json_text(card, "name"), a->host);

	finding_set(f, ST_FAIL,
		    "is %s here, up on %zu of %zu hosts: NCCL sends over it there (%s), and to "
		    "this host not",
		    down ? "down" : "without a link", u->n, u->asked, u->v->network);
	finding_expect(f, "up, as on the others");
	if (down)
		finding_fix(f, "sudo ip link set %s up", name);
	else
		finding_fix(f, "ip -s link show %s   # its cable, its switch port", name);
	finding_fix(f, "export NCCL_SOCKET_IFNAME='='%s   # on all hosts, to do without it",
		    answer_card_word(p->a, a, answer_address(a)));
}

static void tell_lack(struct preflight *p, const struct usual *u, const struct answer *a)
{
	struct finding *f = drift_note(p, "cards", u->v->network, a->host);

	finding_set(f, ST_WARN,
		    "no address in this network, which NCCL uses on %zu of %zu hosts: what they "
		    "send there may not reach this one",
		    u->n, u->asked);
	finding_expect(f, "a card in it, as on the others");
	finding_fix(f, "ip -br address   # which card was it to be?");
}

static bool uses(const struct usual *u, const struct answer *a)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->v[i].a == a)
			return true;
	return false;
}

/* Where it is well and NCCL does not use it, somebody has said so. */
static void judge_host(struct preflight *p, const struct usual *u, const struct answer *a)
{
	const cJSON *card = card_in(u, a);

	if (uses(u, a) || !answer_address(a))
		return;
	if (!card)
		tell_lack(p, u, a);
	else if (!cJSON_IsTrue(json_get(card, "running")))
		tell_off(p, u, a, card);
}

static bool judge_network(struct preflight *p, const struct usual *u)
{
	if (2 * u->n <= u->asked || !are_distinct(u->v, u->n) || is_main(u->all, u->v))
		return false;
	judge_mtus(p, u);
	for (size_t i = 0; i < u->all->n; i++)
		if (u->all->v[i].doc)
			judge_host(p, u, &u->all->v[i]);
	return true;
}

bool drift_cards(struct preflight *p, const struct answers *all)
{
	struct usual u = {.all = all};
	use_list l = {0};
	bool any = false;

	for (size_t i = 0; i < all->n; i++) {
		if (!all->v[i].doc || !interface_of(&all->v[i]))
			continue;
		u.asked++;
		collect(p->a, &all->v[i], &l);
	}
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_network);
	for (size_t i = 0; i < l.n; i += u.n) {
		u.v = &l.v[i];
		for (u.n = 1; i + u.n < l.n && streq(u.v[u.n].network, u.v->network);)
			u.n++;
		any |= u.asked > 2 && judge_network(p, &u);
	}
	return any;
}
