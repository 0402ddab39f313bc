#include "probes/iface/suggest.h"

#include "lib/core/units.h"
#include "lib/host/leads.h"
#include "lib/host/nat.h"
#include "lib/report/json.h"
#include "probes/rules/names.h"
#include "probes/rules/nccl.h"

void suggest_env(struct suggestion *s, const char *name, const char *comment, const char *fmt, ...)
{
	struct env_line *l = LIST_ADD(s->a, &s->env);
	va_list ap;

	va_start(ap, fmt);
	*l = (struct env_line){name, arena_vprintf(s->a, fmt, ap), comment};
	va_end(ap);
}

bool suggest_can_say(const char *name, const char *value)
{
	static const char *const set[] = {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY",
					  "NCCL_IB_HCA",	"GLOO_SOCKET_IFNAME",
					  "TP_SOCKET_IFNAME",	"OMPI_MCA_btl_tcp_if_include",
					  "UCX_NET_DEVICES"};

	for (size_t i = 0; name && value && i < ARRAY_LEN(set); i++)
		if (streq(name, set[i]))
			return !value[strcspn(value, " \t\n\v\f\r")];
	return false;
}

void suggest_left_out(struct suggestion *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*LIST_ADD(s->a, &s->left_out) = arena_vprintf(s->a, fmt, ap);
	va_end(ap);
}

void suggest_choose(const struct rules_input *in, const struct candidate *c, struct suggestion *s)
{
	s->iface = c->iface;
	s->addr = c->addr;
	if (!s->why)
		s->why = c->why;
	for (size_t i = 0; i < rules_count; i++)
		if (rules_all[i]->suggest)
			rules_all[i]->suggest(in, s);
}

/* Nearly every name can: only the odd ones are tried. */
static bool can_be_named(const struct rules_input *in, const struct candidate *c)
{
	const char *name = c->iface->name;
	struct nccl_naming n;

	return (streq(c->addr->label, name) && !strpbrk(name, ",:")) ||
	       nccl_naming_for(in, c->iface, c->addr, &n);
}

static int family_told(const struct rules_input *in)
{
	return nccl_family_parse(nccl_value(in, "NCCL_SOCKET_FAMILY"));
}

void suggest_rank(const struct rules_input *in, struct suggestion *s)
{
	candidate_list *all = &s->candidates;
	int told = family_told(in);
	size_t usable = 0;

	rank_ifaces(in->inv, told, all);
	if (told && !(all->n && all->v[0].usable)) /* then the setting is what is wrong */
		rank_ifaces(in->inv, 0, all);
	for (size_t i = 0; i < all->n && all->v[i].usable; i++) {
		struct candidate c = all->v[i];

		if (can_be_named(in, &c)) {
			memmove(&all->v[usable + 1], &all->v[usable], (i - usable) * sizeof(c));
			all->v[usable++] = c;
			continue;
		}
		if (i == 0)
			s->unnamed = c.iface;
		all->v[i].usable = false;
		all->v[i].why = "no value of NCCL_SOCKET_IFNAME means it alone: NCCL cuts its list "
				"at commas, and takes names for prefixes";
	}
}

void suggest_by_rank(const struct rules_input *in, struct suggestion *ret)
{
	*ret = (struct suggestion){.a = in->inv->a};
	suggest_rank(in, ret);
	if (ret->candidates.n && ret->candidates.v[0].usable)
		suggest_choose(in, &ret->candidates.v[0], ret);
}

void suggest_by_family(const struct rules_input *in, int family, struct suggestion *s)
{
	candidate_list all;

	rank_ifaces(in->inv, family, &all);
	if (all.n && all.v[0].usable) {
		s->iface = all.v[0].iface;
		s->addr = all.v[0].addr;
		s->why = all.v[0].why;
	}
}

bool suggest_as_told(const struct rules_input *in, struct suggestion *s)
{
	const struct iface_addr *at;
	struct prediction p;

	rules_find("nccl")->predict(in, &p);
	at = p.outcome == OUTCOME_OK && !starts_with(p.rule, "automatic")
		     ? predict_told(in->inv, &p)
		     : NULL;
	if (!at || leads_nowhere(in->inv, at->iface, &at->addr))
		return false;
	s->iface = at->iface;
	s->addr = at;
	s->why = p.why;
	return true;
}

bool suggest_leader(const struct rules_input *in, const candidate_list *ranked,
		    struct suggestion *ret)
{
	*ret = (struct suggestion){.a = in->inv->a};
	if (family_told(in) || !can_be_named(in, &ranked->v[0]))
		return false;
	suggest_choose(in, &ranked->v[0], ret);
	return true;
}

/* Mirrored cards have the addresses of Windows' own, and its firewall for virtual machines before
 * them, which lets nothing in by itself. */
static void fix_windows(struct finding *f)
{
	finding_fix(f,
		    "- in Windows (11 22H2 or later): networkingMode=mirrored under [wsl2] in "
		    "%%UserProfile%%\\.wslconfig, then wsl --shutdown; older ones let nobody in: "
		    "netsh portproxy takes single ports, and those of NCCL are random");
	finding_fix(f,
		    "- then in PowerShell, as administrator: Set-NetFirewallHyperVVMSetting -Name "
		    "'{40E0AC32-46A5-438A-A0B2-2B479E8F2E90}' -DefaultInboundAction Allow");
}

bool suggest_warn_of_nat(const struct rules_input *in, const struct suggestion *s,
			 struct finding *f)
{
	struct addr_text at;

	if (!s->iface || !nat_is_own(in->inv, s->iface))
		return false;
	finding_set(f, ST_WARN, "%s is in %s", addr_print(&s->addr->addr, &at), NAT_WORDS);
	finding_expect(f, "an address that the other hosts can connect to");
	if (nat_is_windows(s->a))
		fix_windows(f);
	else
		finding_fix(f, NAT_NETWORK_FIX);
	return true;
}

/* A NIC with an IPv4 link-local address and no other; one of another kind has no device. */
static bool is_idle_link(struct inventory *inv, const struct iface_addr *x)
{
	if (!addr_is_linklocal4(&x->addr) || !iface_is_running(x->iface) || x->iface->master ||
	    iface_best_addr(inv, x->iface, 0))
		return false;
	inventory_detail(inv, x->iface);
	return x->iface->device && x->iface->speed_mbps > 0;
}

void suggest_remark_linklocal(const struct rules_input *in, const struct suggestion *s,
			      struct report *r)
{
	struct iface *own = s->iface;

	for (size_t k = 0; k < in->inv->addrs.n; k++) {
		const struct iface_addr *x = &in->inv->addrs.v[k];
		struct finding *f;
		struct unit_buf b;

		if (!is_idle_link(in->inv, x))
			continue;
		inventory_detail(in->inv, own);
		if (!own->wireless &&
		    (own->speed_mbps <= 0 || x->iface->speed_mbps / RANK_SLOWER < own->speed_mbps))
			continue;
		f = report_find(r, "suggest.linklocal", x->iface->name);
		finding_set(f, ST_INFO,
			    "is a link of %s with a link-local address alone: where it leads to "
			    "the other host, name that one by its address there",
			    format_mbps(&b, (uint64_t)x->iface->speed_mbps));
		finding_fix(f, "ifprobe --suggest --peer 169.254.X.Y");
		report_add(r, f);
	}
}

static void address_data(const struct iface_addr *x, cJSON *o)
{
	union addr net = addr_network(&x->addr, x->prefix);
	struct addr_text t;

	json_str(o, "address", addr_print(&x->addr, &t));
	json_num(o, "prefix", x->prefix);
	json_str(o, "network", addr_print(&net, &t));
}

static void candidate_data(const struct candidate *c, cJSON *all)
{
	cJSON *o = json_push_object(all);

	json_str(o, "interface", c->iface->name);
	if (c->addr)
		address_data(c->addr, o);
	if (c->other)
		address_data(c->other, json_object(o, "other"));
	json_bool(o, "usable", c->usable);
	json_bool(o, "nccl_sees", c->iface->naddrs && iface_is_running(c->iface));
	json_str(o, "why", c->why);
}

static void proof_data(const struct proof_row *p, cJSON *all)
{
	cJSON *o = json_push_object(all);

	json_str(o, "peer", p->peer);
	json_str(o, "address", p->address);
	json_str(o, "interface", p->iface->name);
	json_str(o, "state", p->state);
	json_num(o, "ms", p->ms);
}

void suggest_data(const struct suggestion *s, cJSON *data)
{
	cJSON *o = json_object(data, "suggest"), *env, *all;
	struct addr_text t;

	if (s->iface) {
		json_str(o, "interface", s->iface->name);
		json_str(o, "address", addr_print(&s->addr->addr, &t));
		json_num(o, "mtu", s->iface->mtu);
		json_str(o, "why", s->why);
	}
	json_bool(o, "proven", s->proven);
	env = json_object(o, "env");
	for (size_t i = 0; i < s->env.n; i++)
		json_str(env, s->env.v[i].name, s->env.v[i].value);
	all = json_array(o, "candidates");
	for (size_t i = 0; i < s->candidates.n; i++)
		candidate_data(&s->candidates.v[i], all);
	if (!s->proof.n)
		return;
	all = json_array(o, "proof");
	for (size_t i = 0; i < s->proof.n; i++)
		proof_data(&s->proof.v[i], all);
}
