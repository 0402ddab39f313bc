/* What to type so that a firewall's owner lets something pass, in the owner's own words. */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/port/firewall.h"

static bool is_outward(const struct nft_answer *x)
{
	const struct nft_chain *c = x->base ? x->base : x->chain;

	return c->hook && (streq(c->hook, "output") || streq(c->hook, "postrouting") ||
			   streq(c->hook, "egress"));
}

static bool is_v6(const char *subnet) { return strchr(subnet, ':') != NULL; }

/* --- ufw -------------------------------------------------------------------------------- */
static bool same_tool(const struct nft_chain *x, const struct nft_chain *y)
{
	return streq(x->tool ? x->tool : "", y->tool ? y->tool : "");
}

/* Its own rules come after those of ufw-before-*, which are edited by hand. */
static bool is_ufws(const struct firewall *fw, const struct nft_chain *c)
{
	if (!fw->manager || !streq(fw->manager, "ufw") || !streq(c->table, "filter") ||
	    starts_with(c->name, "ufw-before") || starts_with(c->name, "ufw6-before"))
		return false;
	for (size_t i = 0; i < fw->nft.chains.n; i++)
		if (starts_with(fw->nft.chains.v[i].name, "ufw-") &&
		    same_tool(c, &fw->nft.chains.v[i]))
			return true;
	return false;
}

/* The same but for its verdict: ufw changes such a rule where it stands, and adds no other. */
static bool is_said(const struct nft_answer *x, const char *subnet, bool out, struct arena *a)
{
	const char *whole = strchr(subnet, '/') ? "" : is_v6(subnet) ? "/128" : "/32";

	return x->rule && x->rule->text &&
	       starts_with(x->rule->text, arena_printf(a, "-A %s %s %s%s -j ", x->chain->name,
						       out ? "-d" : "-s", subnet, whole));
}

static const char *ufw_fix(const struct nft_answer *x, const char *subnet, struct arena *a)
{
	bool out = is_outward(x);

	return arena_printf(a, "sudo ufw %sallow %s %s",
			    is_said(x, subnet, out, a) ? "" : "prepend ", out ? "out to" : "from",
			    subnet);
}

/* --- firewalld -------------------------------------------------------------------------- */
static bool is_firewallds(const struct nft_chain *c) { return starts_with(c->table, "firewalld"); }

/* As firewalld 2.5 calls the chains of a zone: "public_to_HOST", "HOST_to_public". */
static const char *without_host(const char *name, struct arena *a)
{
	static const char in[] = "_to_HOST", out[] = "HOST_to_";
	size_t n = strlen(name);

	if (starts_with(name, out))
		return name + strlen(out);
	return n > strlen(in) && streq(name + n - strlen(in), in)
		       ? arena_strndup(a, name, n - strlen(in))
		       : name;
}

/* "filter_IN_public_deny": the zone, "filter_IN_policy_NAME_pre": the policy; or NULL. */
static const char *owner_of(const struct nft_chain *c, struct arena *a, bool *ret_is_policy)
{
	static const char *const heads[] = {"filter_IN_", "filter_OUT_"};
	static const char *const parts[] = {"_pre", "_log", "_deny", "_allow", "_post"};
	const char *name = NULL;
	size_t n, part;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		if (starts_with(c->name, heads[i]))
			name = c->name + strlen(heads[i]);
	*ret_is_policy = name && starts_with(name, "policy_");
	if (!name)
		return NULL;
	name += *ret_is_policy ? strlen("policy_") : 0;
	n = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		part = strlen(parts[i]);
		if (n > part && streq(name + n - part, parts[i])) {
			name = arena_strndup(a, name, n - part);
			break;
		}
	}
	return without_host(name, a);
}

/* By source or card; "dispatch" since firewalld 2.5. */
static bool chooses_zone(const struct nft_chain *c)
{
	return starts_with(c->name, "filter_INPUT_ZONES") ||
	       starts_with(c->name, "filter_INPUT_dispatch");
}

/* Some zone has this source already: it would not come into another one. */
static bool has_zone(const struct firewall *fw, const char *subnet, struct arena *a)
{
	const char *at = arena_strndup(a, subnet, strcspn(subnet, "/"));
	struct nft_packet p = {.input = true};

	if (addr_parse(at, &p.from))
		return false;
	p.to = p.from;
	for (size_t i = 0; i < fw->nft.rules.n; i++) {
		const struct nft_rule *r = &fw->nft.rules.v[i];

		if (!is_firewallds(r->chain) || !chooses_zone(r->chain))
			continue;
		for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next) {
			const cJSON *m = json_get(s, "match");
			const cJSON *field = json_get(json_get(m, "left"), "payload");

			if (streq(json_text(field, "field"), "saddr") &&
			    nft_match(&fw->nft, r, m, &p) != NO)
				return true;
		}
	}
	return false;
}

static const char panic_off[] = "sudo firewall-cmd --panic-off";

static const char *firewalld_trust(const char *subnet, struct arena *a)
{
	return arena_printf(a,
			    "sudo firewall-cmd --permanent --zone=trusted --add-source=%s "
			    "&& sudo firewall-cmd --reload",
			    subnet);
}

/* @owner NULL: to the zone that is the default. */
static const char *firewalld_add(const char *owner, bool is_policy, const char *what,
				 struct arena *a)
{
	return arena_printf(
		a, "sudo firewall-cmd --permanent %s%s%s--add-%s && sudo firewall-cmd --reload",
		!owner	    ? ""
		: is_policy ? "--policy="
			    : "--zone=",
		owner ? owner : "", owner ? " " : "", what);
}

/* Before whatever else that zone or policy has. */
static const char *firewalld_fix(const struct firewall *fw, const struct nft_answer *x,
				 const char *subnet, struct arena *a)
{
	bool is_policy, out = is_outward(x);
	const char *owner = owner_of(x->chain, a, &is_policy);

	if (strstr(x->chain->table, "policy_drop"))
		return panic_off;
	if (!is_policy && !has_zone(fw, subnet, a))
		return firewalld_trust(subnet, a);
	return firewalld_add(owner, is_policy,
			     arena_printf(a,
					  "rich-rule='rule priority=\"-32768\" family=\"%s\" %s "
					  "address=\"%s\" accept'",
					  is_v6(subnet) ? "ipv6" : "ipv4",
					  out ? "destination" : "source", subnet),
			     a);
}

static const char *firewalld_fix_neighbours(const struct nft_chain *c, struct arena *a)
{
	bool is_policy;
	const char *owner = owner_of(c, a, &is_policy);

	if (strstr(c->table, "policy_drop"))
		return panic_off;
	return firewalld_add(owner, is_policy, "protocol=ipv6-icmp", a);
}

/* --- Mullvad ---------------------------------------------------------------------------- */
/* What its own word for local networks means; all else is but for rules that it takes away when it
 * connects anew. */
static bool is_mullvads(const struct nft_chain *c, const char *subnet, struct arena *a)
{
	static const struct {
		const char *net;
		unsigned prefix;
	} local[] = {{"10.0.0.0", 8},	  {"172.16.0.0", 12}, {"192.168.0.0", 16},
		     {"169.254.0.0", 16}, {"fc00::", 7},      {"fe80::", 10}};
	union addr at, net;

	if (!nft_is_mullvads(c) || addr_parse(arena_strndup(a, subnet, strcspn(subnet, "/")), &at))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if (!addr_parse(local[i].net, &net) && net.sa.sa_family == at.sa.sa_family &&
		    addr_in_subnet(&at, &net, local[i].prefix))
			return true;
	return false;
}

/* --- a rule in front of the others --------------------------------------------------------- */
static const char *insert(const struct nft_chain *c, const char *match, struct arena *a)
{
	const char *table;

	if (!c->tool)
		return arena_printf(a, "sudo nft insert rule %s %s %s %s accept", c->family,
				    c->table, c->name, match);
	table = streq(c->table, "filter") ? "" : arena_printf(a, " -t %s", c->table);
	return arena_printf(a, "sudo %s%s -I %s %s -j ACCEPT", c->tool, table, c->name, match);
}

/* --- SYNPROXY, which is to stay in force ------------------------------------------------------ */
static bool has_statement(const struct nft_rule *r, const char *what)
{
	for (const cJSON *s = r && r->expr ? r->expr->child : NULL; s; s = s->next)
		if (json_get(s, what))
			return true;
	return false;
}

/* Answers to what this host asks are not its: where they are kept from being tracked, they are to
 * be told from questions. */
static const char *fix_proxy(const struct firewall *fw, const struct nft_answer *x, struct arena *a)
{
	const struct nft_chain *at = x->chain;

	for (size_t i = 0; i < fw->nft.rules.n && at == x->chain; i++)
		if (has_statement(&fw->nft.rules.v[i], "notrack"))
			at = fw->nft.rules.v[i].chain;
	return insert(at, "'tcp flags & (syn | ack) == (syn | ack)'", a);
}

const char *firewall_fix(const struct firewall *fw, const struct nft_answer *x, const char *subnet,
			 struct arena *a)
{
	const struct nft_chain *c = x->chain;
	bool out;

	if (!c)
		return firewall_fix_blind(fw, subnet, a) ?: FIREWALL_LIST;
	if (!c->tool && has_statement(x->rule, "synproxy"))
		return fix_proxy(fw, x, a);
	out = is_outward(x);
	if (is_ufws(fw, c))
		return ufw_fix(x, subnet, a);
	if (is_firewallds(c))
		return firewalld_fix(fw, x, subnet, a);
	if (is_mullvads(c, subnet, a))
		return "mullvad lan set allow";
	if (c->tool)
		return insert(c, arena_printf(a, "%s %s", out ? "-d" : "-s", subnet), a);
	return insert(c,
		      arena_printf(a, "%s %s %s", is_v6(subnet) ? "ip6" : "ip",
				   out ? "daddr" : "saddr", subnet),
		      a);
}

const char *firewall_fix_neighbours(const struct firewall *fw, const struct nft_answer *x,
				    struct arena *a)
{
	const struct nft_chain *c = x->chain;

	if (!c)
		return firewall_fix_blind(fw, "ADDRESS", a) ?: FIREWALL_LIST;
	if (is_firewallds(c))
		return firewalld_fix_neighbours(c, a);
	return insert(c, c->tool ? "-p ipv6-icmp" : "meta l4proto icmpv6", a);
}

const char *firewall_fix_blind(const struct firewall *fw, const char *subnet, struct arena *a)
{
	if (fw->manager && streq(fw->manager, "ufw"))
		return arena_printf(a, "sudo ufw prepend allow from %s", subnet);
	return fw->manager ? firewalld_trust(subnet, a) : NULL;
}

/* --- loopback ------------------------------------------------------------------------------ */
const char *firewall_fix_loopback(const struct firewall *fw, const struct nft_answer *x,
				  struct arena *a)
{
	const struct nft_chain *c = x->chain;
	bool out = is_outward(x);

	if (is_ufws(fw, c))
		return arena_printf(a, "sudo ufw prepend allow %s on lo", out ? "out" : "in");
	if (is_firewallds(c) && strstr(c->table, "policy_drop"))
		return panic_off;
	if (is_firewallds(c) && !out)
		return "sudo firewall-cmd --permanent --zone=trusted --add-interface=lo && sudo "
		       "firewall-cmd --reload";
	if (c->tool)
		return insert(c, out ? "-o lo" : "-i lo", a);
	return insert(c, out ? "oif lo" : "iif lo", a);
}

bool firewall_stops_loopback(const struct firewall *fw, struct nft_answer *ret)
{
	/* any port: what a rank meets there is one that the kernel chose */
	struct nft_packet p = {.iface = "lo"};

	if (!fw->known || addr_parse("127.0.0.1", &p.from))
		return false;
	p.to = p.from;
	addr_set_port(&p.to, 40000);
	for (unsigned i = 0; i < 4; i++) {
		p.input = i & 1;
		p.answer = i & 2;
		*ret = nft_judge(&fw->nft, &p);
		if (ret->verdict != NFT_ACCEPT && !ret->perhaps)
			return true;
	}
	return false;
}
