#include "probes/port/local.h"

#include "lib/report/json.h"
#include "probes/iface/facts.h"
#include "probes/port/fix.h"
#include "probes/port/listen.h"

#include <arpa/inet.h>
#include <netinet/icmp6.h>

enum { FEW_PORTS = 4096, PEER_PORTS = 40 };

void local_read(struct local *l, struct facts *f, const struct port_env *env, uint64_t deadline_ns)
{
	*l = (struct local){.f = f, .env = *env};
	suggest_by_rank(&f->in, &l->s);
	firewall_read(&l->fw, f->a, deadline_ns);
}

void local_done(struct local *l) { firewall_done(&l->fw); }

/* Rules may ask by which interface it comes or goes. */
static struct nft_packet here(const struct local *l, const struct nft_packet *asked)
{
	const union addr *own = asked->input ? &asked->to : &asked->from;
	const struct iface_addr *mine = inventory_by_addr(&l->f->inv, own);
	struct nft_packet p = *asked;

	p.iface = mine ? mine->iface->name : NULL;
	return p;
}

struct nft_answer local_rule(const struct local *l, bool input, bool udp, const union addr *from,
			     const union addr *to)
{
	const struct nft_packet p =
		here(l, &(struct nft_packet){.input = input, .udp = udp, .from = *from, .to = *to});

	return nft_judge(&l->fw.nft, &p);
}

size_t local_rules(const struct local *l, bool input, bool answer, const union addr *from,
		   const union addr *to, struct nft_answer *ret, size_t max)
{
	const struct nft_packet p = here(
		l,
		&(struct nft_packet){.input = input, .answer = answer, .from = *from, .to = *to});

	return nft_judge_all(&l->fw.nft, &p, ret, max);
}

/* Who asks us, and whom we ask: the peer, or where it is behind one, a router, by the only kind of
 * address that it is known to have. */
static union addr asker(const struct local *l, const union addr *mine, const union addr *peer)
{
	const struct iface_addr *own = inventory_by_addr(&l->f->inv, mine);
	union addr router = {.v6 = {.sin6_family = AF_INET6}};

	if (!own || addr_in_subnet(peer, mine, own->prefix))
		return *peer;
	(void)inet_pton(AF_INET6, "fe80::1", &router.v6.sin6_addr);
	return router;
}

bool local_stops_neighbours(const struct local *l, const union addr *mine, const union addr *peer,
			    struct nft_answer *ret)
{
	static const uint8_t types[] = {ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT};
	union addr other;

	if (mine->sa.sa_family != AF_INET6)
		return false;
	other = asker(l, mine, peer);
	for (size_t i = 0; i < 2 * ARRAY_LEN(types); i++) {
		bool input = i < ARRAY_LEN(types);
		const struct nft_packet p =
			here(l, &(struct nft_packet){.input = input,
						     .icmp6 = types[i % ARRAY_LEN(types)],
						     .from = input ? other : *mine,
						     .to = input ? *mine : other});

		*ret = nft_judge(&l->fw.nft, &p);
		if (ret->verdict != NFT_ACCEPT && !ret->perhaps)
			return true;
	}
	return false;
}

/* Some other host of our subnet: this host's rules are asked about it. */
static union addr made_up_peer(const struct iface_addr *x)
{
	union addr peer = x->addr;
	uint8_t *last = peer.sa.sa_family == AF_INET ? (uint8_t *)&peer.v4.sin_addr + 3
						     : &peer.v6.sin6_addr.s6_addr[15];

	*last ^= (*last & 3) == 1 ? 3 : 1; /* no network and no broadcast address in a /30 */
	addr_set_port(&peer, 0);
	return peer;
}

/* --- the firewall ------------------------------------------------------------- */
static struct nft_answer ask(const struct local *l, uint16_t port)
{
	union addr peer = made_up_peer(l->s.addr), mine = l->s.addr->addr;

	addr_set_port(&mine, port);
	return local_rule(l, true, false, &peer, &mine);
}

static const char *verb(enum nft_verdict v) { return v == NFT_REJECT ? "reject" : "drop"; }

static void blocked(const struct local *l, const char *ports, const struct nft_answer *x,
		    struct report *r)
{
	struct finding *f = report_find(r, "local.firewall", ports);
	const char *subnet = fix_subnet(l->s.addr, f->a);

	finding_set(f, ST_WARN, "this host's firewall %s%ss what comes from %s: %s",
		    x->perhaps ? "perhaps " : "", verb(x->verdict), subnet, nft_describe(x, f->a));
	finding_expect(f, "all TCP from the other nodes let in");
	finding_fix(f, "%s", firewall_fix(&l->fw, x, subnet, f->a));
	report_add(r, f);
}

/* MASTER_PORT and the sample, ports with one fate together. */
static size_t judge_rules(const struct local *l, struct report *r)
{
	struct arena *a = report_arena(r);
	port_list ports = {0}, same = {0};
	struct nft_answer last = {0};
	size_t bad = 0;

	ports_default(&l->env, a, &ports);
	for (size_t i = 0; i <= ports.n; i++) {
		struct nft_answer x = i < ports.n ? ask(l, ports.v[i])
						  : (struct nft_answer){.verdict = NFT_ACCEPT};

		if (same.n && (i == ports.n || x.rule != last.rule || x.chain != last.chain)) {
			blocked(l, ports_fold(same.v, same.n, 0, a), &last, r);
			same.n = 0;
		}
		last = x;
		if (x.verdict == NFT_ACCEPT)
			continue;
		*LIST_ADD(a, &same) = ports.v[i];
		bad++;
	}
	return bad;
}

/* Ranks of one machine meet over lo, and so do we. */
static void judge_loopback(const struct local *l, struct report *r)
{
	struct nft_answer x;
	struct finding *f;

	if (!firewall_stops_loopback(&l->fw, &x))
		return;
	f = report_find(r, "local.firewall", "lo");
	finding_set(f, ST_WARN, "this host's firewall %ss what it sends to itself over lo: %s",
		    verb(x.verdict), nft_describe(&x, f->a));
	finding_expect(f, "lo let through: ranks of one machine meet there");
	finding_fix(f, "%s", firewall_fix_loopback(&l->fw, &x, f->a));
	report_add(r, f);
}

/* Where all ports are open, and nobody finds the way to them. */
static bool judge_neighbours(const struct local *l, struct report *r)
{
	union addr peer = made_up_peer(l->s.addr);
	struct nft_answer x;
	struct finding *f;

	if (!local_stops_neighbours(l, &l->s.addr->addr, &peer, &x))
		return false;
	f = report_find(r, "local.firewall", "ICMPv6");
	finding_set(f, ST_WARN,
		    "this host's firewall %ss ICMPv6, by which IPv6 finds its neighbours: %s",
		    verb(x.verdict), nft_describe(&x, f->a));
	finding_expect(f, "neighbour solicitations and advertisements let through");
	finding_fix(f, "%s", firewall_fix_neighbours(&l->fw, &x, f->a));
	report_add(r, f);
	return true;
}

static void judge_firewall(const struct local *l, struct report *r)
{
	struct finding *f;

	judge_loopback(l, r);
	if (l->fw.known && l->s.addr && (judge_rules(l, r) || judge_neighbours(l, r)))
		return;
	f = report_find(r, "local.firewall", l->fw.manager ?: "nftables");
	if (!l->fw.known) {
		finding_set(f, l->fw.manager ? ST_WARN : ST_INFO, "was not looked at: %s%s%s",
			    l->fw.trouble, l->fw.manager ? "; running: " : "", l->fw.manager ?: "");
		if (l->fw.manager)
			finding_fix(f, "sudo portcheck   # shows its rules");
	} else if (!l->s.addr) {
		finding_set(f, ST_INFO,
			    "was not judged: this host has no address that peers could use");
	} else if (l->fw.unread) {
		finding_set(f, ST_INFO, "lets peers in as far as it was read: %s", l->fw.unread);
	} else if (!l->fw.nft.rules.n) {
		finding_set(f, ST_PASS, "no rules: this host itself keeps nothing out");
	} else {
		finding_set(f, ST_PASS, "its rules let peers of this subnet in");
	}
	report_add(r, f);
}

/* Into the report, or, when somebody else makes that, what is worth a warning into @warnings. */
static void put(struct report *r, cJSON *warnings, struct finding *f)
{
	if (!warnings)
		report_add(r, f);
	else if (f->status == ST_WARN)
		local_put(warnings, f);
}

/* --- ports ---------------------------------------------------------------------- */
/* What this process itself holds is a door of the mesh, and closed when that ends. */
static void others_at(const struct local *l, uint16_t port, holder_list *ret)
{
	holder_list all = {0};

	holders_read(port, l->f->a, &all);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].pid != getpid())
			*LIST_ADD(l->f->a, ret) = all.v[i];
}

static void judge_master(const struct local *l, struct report *r, cJSON *warnings)
{
	holder_list held = {0};
	struct finding *f;
	struct addr_text at;

	others_at(l, l->env.master, &held);
	f = report_find(r, "local.master_port", arena_printf(l->f->a, "%u", l->env.master));
	if (!held.n) {
		finding_set(f, ST_PASS, "is free: rank 0 can listen on it");
	} else {
		const struct port_holder *x = &held.v[0];

		finding_set(f, ST_WARN, "is taken: %s listens on %s%s",
			    x->command ? arena_printf(f->a, "%s (pid %d)", x->command, x->pid)
				       : arena_printf(f->a, "a process of user %u", x->uid),
			    addr_print_port(&x->at, &at),
			    addr_class(&x->at) == ADDR_LOOPBACK
				    ? ", where no other node can reach it"
				    : "");
		finding_expect(f, "a free port, or the job's own rank 0");
		if (x->command)
			finding_fix(f, "kill %d   # if it is left over from an earlier job",
				    x->pid);
		finding_fix(f, "export MASTER_PORT=%u   # on all nodes",
			    l->env.master < 65000 ? l->env.master + 1 : 29500);
	}
	put(r, warnings, f);
}

static void judge_range(const struct local *l, struct report *r, cJSON *warnings)
{
	const struct port_range *g = &l->env.range;
	unsigned size = g->last - g->first + 1u;
	struct finding *f;

	if (!g->known)
		return;
	f = report_find(r, "local.port_range", arena_printf(l->f->a, "%u-%u", g->first, g->last));
	if (size < FEW_PORTS) {
		finding_set(f, ST_WARN,
			    "only %u ephemeral ports: NCCL alone takes several per rank and peer",
			    size);
		finding_expect(f, "at least %d", FEW_PORTS);
		finding_fix(f, "sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999'");
	} else {
		finding_set(f, ST_INFO,
			    "NCCL, Gloo and MPI listen on any of these: all must be open between "
			    "nodes, not MASTER_PORT alone");
	}
	put(r, warnings, f);
	if (l->env.master < g->first || l->env.master > g->last)
		return;
	f = report_find(r, "local.master_port", arena_printf(l->f->a, "%u", l->env.master));
	finding_set(f, ST_WARN,
		    "lies in the range that the kernel hands out (%u-%u): some other "
		    "connection may hold it when the job starts",
		    g->first, g->last);
	finding_expect(f, "a port outside that range, or a reserved one");
	finding_fix(f, "sudo sysctl -w net.ipv4.ip_local_reserved_ports=%u", l->env.master);
	put(r, warnings, f);
}

static void judge_address(const struct local *l, struct report *r)
{
	struct finding *f = report_find(r, "local.address", l->s.iface ? l->s.iface->name : "-");
	struct addr_text at;

	if (l->s.addr) {
		finding_set(f, ST_INFO, "peers should use %s", addr_print(&l->s.addr->addr, &at));
	} else {
		finding_set(f, ST_WARN, "no interface has an address that peers could use");
		finding_expect(f, "an interface that is up, with an address");
		finding_fix(f, "ifprobe   # shows what each one lacks");
	}
	report_add(r, f);
}

/* What to type on the peer: its answers are the proof that this host alone cannot give. */
static const char *peer_line(const struct local *l)
{
	struct arena *a = l->f->a;
	port_list ports = {0};
	struct addr_text at;

	if (!l->s.addr)
		return NULL;
	ports_default(&l->env, a, &ports);
	(void)addr_print(&l->s.addr->addr, &at);
	return arena_printf(a, strchr(at.s, ':') ? "portcheck [%s]:%s" : "portcheck %s:%s", at.s,
			    ports_fold(ports.v, ports.n, PEER_PORTS, a));
}

void local_judge(const struct local *l, struct report *r)
{
	const char *line = peer_line(l);

	judge_address(l, r);
	judge_firewall(l, r);
	judge_master(l, r, NULL);
	judge_range(l, r, NULL);
	if (line)
		report_remark(r, "On every other node type:  %s", line);
}

void local_put(cJSON *list, const struct finding *f)
{
	cJSON *o = json_push_object(list), *fix = json_array(o, "fix");

	json_str(o, "check", f->check);
	json_str(o, "subject", f->subject);
	json_str(o, "status", status_name(f->status));
	json_str(o, "message", f->message);
	json_str(o, "expected", f->expected);
	for (size_t i = 0; i < f->fix.n; i++)
		json_push_str(fix, f->fix.v[i]);
}

void local_warnings(const struct local *l, struct report *r, cJSON *list)
{
	judge_master(l, r, list);
	judge_range(l, r, list);
}

static void firewall_data(const struct local *l, cJSON *data)
{
	cJSON *fw = json_object(data, "firewall");

	json_bool(fw, "read", l->fw.known);
	json_str(fw, "trouble", l->fw.trouble);
	json_str(fw, "manager", l->fw.manager);
	if (l->fw.known)
		json_num(fw, "rules", (double)l->fw.nft.rules.n);
}

void local_data(const struct local *l, cJSON *data)
{
	cJSON *o = json_object(data, "local"), *range;
	struct addr_text at;

	json_str(o, "interface", l->s.iface ? l->s.iface->name : NULL);
	json_str(o, "address", l->s.addr ? addr_print(&l->s.addr->addr, &at) : NULL);
	json_str(o, "subnet", l->s.addr ? fix_subnet(l->s.addr, l->f->a) : NULL);
	json_num(o, "master_port", l->env.master);
	range = json_array(o, "port_range");
	cJSON_AddItemToArray(range, cJSON_CreateNumber(l->env.range.first));
	cJSON_AddItemToArray(range, cJSON_CreateNumber(l->env.range.last));
	json_bool(o, "rdma", l->f->rdma.n > 0);
	firewall_data(l, o);
	json_str(o, "peer_line", peer_line(l));
}
