#include "probes/port/own.h"

#include "probes/port/fix.h"

enum { MOST_STEPS = 20000000, ICMP_BURST = 5 };

static bool may_be_ours(const struct reach_result *x)
{
	return x->addr &&
	       (x->cause == CAUSE_DROPPED || x->cause == CAUSE_OWN_FIREWALL ||
		x->cause == CAUSE_UDP || x->cause == CAUSE_NOBODY || x->cause == CAUSE_DOWN ||
		x->cause == CAUSE_NOT_SEEN || x->cause == CAUSE_NOT_SEEN6 ||
		x->cause == CAUSE_NEIGHBOURS); /* dropped before anybody is asked for */
}

static size_t count(const struct reach *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += may_be_ours(&r->v[i]);
	return n;
}

/* Nobody answered our question for a neighbour; did it leave, and may an answer come in? */
static void judge_neighbour(struct reach *r, struct reach_result *x, const struct iface_addr *from,
			    const struct local *l)
{
	struct nft_answer rule;

	if ((x->cause != CAUSE_NOT_SEEN6 && x->cause != CAUSE_DOWN) ||
	    !local_stops_neighbours(l, &from->addr, x->addr, &rule))
		return;
	x->cause = CAUSE_OWN_ND;
	if (r->own_rule)
		return;
	r->own_rule = nft_describe(&rule, l->f->a);
	r->own_fix = firewall_fix_neighbours(&l->fw, &rule, l->f->a);
}

/* It was given a mark, by which it goes nowhere, or it is IPsec's. */
static bool judge_marked(struct reach *r, struct reach_result *x, const struct iface_addr *from,
			 const union addr *to, const struct local *l, const struct xfrm *ipsec)
{
	const char *fix, *rule = local_throws_away(l, false, &from->addr, to, &fix)
					 ?: local_ipsec_stops(l, ipsec, true, &from->addr, to, &fix)
					 ?: local_ipsec_stops(l, ipsec, false, to, &from->addr,
							      &fix);

	if (!rule)
		return false;
	if (x->state == PORT_SILENT)
		x->state = PORT_FILTERED;
	x->cause = CAUSE_OWN_FIREWALL;
	if (!r->own_rule) {
		r->own_rule = rule;
		r->own_fix = fix;
	}
	return true;
}

/* The network that it is in with us, or it alone. */
static const char *beyond(const struct iface_addr *from, const union addr *to, struct arena *a)
{
	struct addr_text at;

	if (addr_in_subnet(to, &from->addr, from->prefix) && has_others_subnet(from))
		return fix_subnet(from, a);
	return arena_strdup(a, addr_print(to, &at));
}

static void judge(struct reach *r, struct reach_result *x, const struct iface_addr *from,
		  const struct local *l, const struct xfrm *ipsec)
{
	union addr to = *x->addr;
	struct nft_answer rule;

	addr_set_port(&to, x->port);
	rule = local_rule(l, false, r->udp, &from->addr, &to);
	/* where the kernel has said that it was a rule of ours, it is that one */
	if (rule.verdict == NFT_ACCEPT || (rule.perhaps && x->cause != CAUSE_OWN_FIREWALL)) {
		if (!judge_marked(r, x, from, &to, l, ipsec))
			judge_neighbour(r, x, from, l);
		return;
	}
	if (x->state == PORT_SILENT)
		x->state = PORT_FILTERED; /* it never left: now that is known */
	x->cause = CAUSE_OWN_FIREWALL;
	if (r->own_rule)
		return;
	r->own_rule = nft_describe(&rule, l->f->a);
	r->own_fix = firewall_fix(&l->fw, &rule, beyond(from, &to, l->f->a), l->f->a);
}

void own_rules(struct reach *r, const target_list *targets, struct facts *f, uint64_t deadline_ns)
{
	AUTO(local_done) struct local l = {.f = f};
	struct xfrm ipsec;
	size_t n = count(r);

	if (!n)
		return;
	xfrm_read(&ipsec, f->a);
	firewall_read(&l.fw, f->a, deadline_ns);
	if (!l.fw.known || n > MOST_STEPS / (l.fw.nft.rules.n + 1))
		return;
	for (size_t i = 0; i < r->n; i++) {
		const struct iface_addr *from = r->ways[r->v[i].target - targets->v].source;

		if (from && may_be_ours(&r->v[i]) &&
		    from->addr.sa.sa_family == r->v[i].addr->sa.sa_family)
			judge(r, &r->v[i], from, &l, &ipsec);
	}
}

/* The addresses in /proc/net/arp, resolved or being asked for. */
struct arp {
	uint32_t *v;
	size_t n, cap;
};

static void arp_done(struct arp *t) { free(t->v); }

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool arp_add(struct arp *t, uint32_t address)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 256;
		uint32_t *v = reallocarray(t->v, cap, sizeof(*v));

		if (!v)
			return false;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = address;
	return true;
}

/* False when it cannot be read. */
static bool arp_read(struct arp *t)
{
	AUTO_FILE FILE *f = fopen("/proc/net/arp", "re");
	char line[256], word[64];
	union addr addr;

	if (!f || !fgets(line, sizeof(line), f))
		return false;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s", word) == 1 && !addr_parse(word, &addr) &&
		    addr.sa.sa_family == AF_INET && !arp_add(t, addr.v4.sin_addr.s_addr))
			return false;
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), compare);
	return true;
}

void own_neighbours(struct reach *r, const target_list *targets)
{
	AUTO(arp_done) struct arp table = {0};

	if (!count(r) || !arp_read(&table))
		return;
	for (size_t i = 0; i < r->n; i++) {
		struct reach_result *x = &r->v[i];

		if (x->cause == CAUSE_DROPPED && r->ways[x->target - targets->v].on_link &&
		    x->addr == x->target->addrs.v &&
		    !(table.n && bsearch(&x->addr->v4.sin_addr.s_addr, table.v, table.n,
					 sizeof(*table.v), compare)))
			x->cause = CAUSE_NEIGHBOURS;
	}
}

/* The results of one address stand together. */
static size_t of_address(const struct reach *r, size_t from, size_t *ret_said_no)
{
	size_t end = from;

	*ret_said_no = 0;
	for (; end < r->n && r->v[end].addr == r->v[from].addr; end++)
		*ret_said_no += r->v[end].cause == CAUSE_HOST_FIREWALL;
	return end - from;
}

void own_limits(struct reach *r)
{
	for (size_t i = 0, n; i < r->n; i += n) {
		size_t said_no;

		n = of_address(r, i, &said_no);
		for (size_t k = i; k < i + n && said_no >= ICMP_BURST; k++)
			if (r->v[k].cause == CAUSE_DROPPED)
				r->v[k].cause = CAUSE_LIMITED;
	}
}

/* So many of these @n answers, of which @ret_all there are, are to a question that was asked again.
 */
static size_t late_of(const struct reach_result *v, size_t n, size_t *ret_all)
{
	size_t late = 0;

	*ret_all = 0;
	for (size_t k = 0; k < n; k++) {
		bool is_answer = port_state_is_reached(v[k].state);

		*ret_all += is_answer;
		late += is_answer && v[k].ms >= PORT_LATE_MS;
	}
	return late;
}

/* A few late ones among many are accidents, whoever drops the others. */
void own_counted(struct reach *r)
{
	enum { LEAST = 2, PART = 4 };

	for (size_t i = 0, n; i < r->n; i += n) {
		size_t late, all;

		n = reach_of_address(r, i);
		late = late_of(&r->v[i], n, &all);
		for (size_t k = i; k < i + n && late >= LEAST && late * PART >= all; k++)
			if (r->v[k].cause == CAUSE_DROPPED)
				r->v[k].cause = CAUSE_COUNTED;
	}
}
