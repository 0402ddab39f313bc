/* What a rank knows of its own part in pairs that failed: its rules, its routes and
 * reverse-path filters, answers of its own that never arrived; and names that mislead. */
#include "probes/port/mesh_self.h"

#include "lib/core/units.h"
#include "lib/host/hostname.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/port/listen.h"

enum { MOST_PEERS = 8, NAME_PATIENCE_S = 2 };

/* Packets that a reverse-path filter dropped; 0 where the kernel does not count them. */
uint64_t mesh_rp_drops(void)
{
	AUTO_FILE FILE *f = fopen("/proc/net/netstat", "re");
	char *names = NULL, *values = NULL, *n, *v, *save_n, *save_v;
	size_t names_cap = 0, values_cap = 0;
	unsigned long long drops = 0;

	while (f && getline(&names, &names_cap, f) > 0 && getline(&values, &values_cap, f) > 0) {
		n = strtok_r(names, " \n", &save_n);
		v = strtok_r(values, " \n", &save_v);
		for (; n && v;
		     n = strtok_r(NULL, " \n", &save_n), v = strtok_r(NULL, " \n", &save_v))
			if (streq(n, "IPReversePathFilter") && sscanf(v, "%llu", &drops) != 1)
				drops = 0;
	}
	free(names);
	free(values);
	return drops;
}

/* --- rules ------------------------------------------------------------------------ */
/* Any port that @rank would ask from: the middle of where it takes them from. */
static union addr asking(const struct mesh_self *s, size_t rank)
{
	const struct mesh_card *c = &s->cards[rank];
	union addr at = s->addrs[rank];

	addr_set_port(&at, (uint16_t)(c->first + (c->last - c->first) / 2));
	return at;
}

static size_t find_rules(struct mesh_self *s, enum mesh_hook hook, size_t from,
			 const union addr *to, cJSON **ret)
{
	union addr asker = asking(s, from);

	if (hook == MESH_IN || hook == MESH_OUT)
		return mesh_rules(&s->local, hook, &s->addrs[from], to, ret);
	return mesh_rules(&s->local, hook, to, &asker, ret);
}

static bool is_known(const str_list *fixes, const char *fix)
{
	for (size_t i = 0; i < fixes->n; i++)
		if (streq(fixes->v[i], fix))
			return true;
	return false;
}

/* What rules of ours stop a question for any port of @to, or its answer; of what one fix mends,
 * one.
 */
static bool put_rule(struct mesh_self *s, enum mesh_hook hook, size_t from, size_t to, cJSON *list)
{
	union addr at = s->addrs[to];
	str_list fixes = {0};

	for (size_t i = 0; i < s->ports[to].n && fixes.n < MESH_MOST_RULES; i++) {
		cJSON *found[MESH_MOST_RULES];
		size_t n;

		addr_set_port(&at, s->ports[to].v[i]);
		n = find_rules(s, hook, from, &at, found);
		for (size_t k = 0; k < n; k++) {
			const char *fix = json_get_str(found[k], "fix") ?: "";

			if (is_known(&fixes, fix)) {
				cJSON_Delete(found[k]);
				continue;
			}
			*LIST_ADD(s->a, &fixes) = fix;
			json_num(found[k], "from", (double)from);
			json_num(found[k], "to", (double)to);
			cJSON_AddItemToArray(list, found[k]);
		}
	}
	return fixes.n;
}

static void put_neighbour(struct mesh_self *s, enum mesh_hook hook, size_t from, size_t to,
			  cJSON *list)
{
	size_t peer = hook == MESH_FOUND ? from : to;
	cJSON *rule = mesh_neighbour_rule(&s->local, hook, &s->addrs[s->me], &s->addrs[peer]);

	if (!rule)
		return;
	json_num(rule, "from", (double)from);
	json_num(rule, "to", (double)to);
	cJSON_AddItemToArray(list, rule);
}

/* The way to a router is found by the same questions. Behind the rules, which say more. */
static void put_neighbours(struct mesh_self *s, cJSON *list)
{
	for (size_t i = 0; i < s->n; i++) {
		if (i == s->me || s->addrs[i].sa.sa_family != AF_INET6)
			continue;
		if (mesh_lost(s, i, s->me))
			put_neighbour(s, MESH_FOUND, i, s->me, list);
		if (mesh_lost(s, s->me, i))
			put_neighbour(s, MESH_FINDS, s->me, i, list);
	}
}

static void put_rules(struct mesh_self *s, cJSON *line)
{
	cJSON *list = json_array(line, "rules");
	size_t in = 0, out = 0;

	json_bool(line, "rules_known", !s->local.fw.unread);
	json_str(line, "rules_trouble", s->local.fw.unread);
	for (size_t i = 0; i < s->n && in + out < (size_t)2 * MOST_PEERS; i++) {
		if (i == s->me || !s->addrs[i].sa.sa_family || !s->addrs[s->me].sa.sa_family)
			continue;
		if (mesh_lost(s, i, s->me) && in++ < MOST_PEERS &&
		    !put_rule(s, MESH_IN, i, s->me, list))
			(void)put_rule(s, MESH_ANSWER_OUT, i, s->me, list);
		if (mesh_lost(s, s->me, i) && out++ < MOST_PEERS &&
		    !put_rule(s, MESH_OUT, s->me, i, list))
			(void)put_rule(s, MESH_ANSWER_IN, s->me, i, list);
	}
	put_neighbours(s, list);
}

/* They could not be read; who manages them can be known all the same. */
static void put_blind(struct mesh_self *s, cJSON *line)
{
	const char *peer = "ADDRESS";

	json_str(line, "rules_trouble", s->local.fw.trouble);
	json_str(line, "rules_fix", firewall_fix_blind(&s->local.fw, peer, s->a));
}

/* --- ways back --------------------------------------------------------------------- */
/* Does what goes to @peer leave through another interface than what comes from it enters? */
static bool goes_elsewhere(struct mesh_self *s, size_t peer)
{
	const struct iface_addr *mine = s->local.s.addr;
	struct err ignored = {0};
	struct route route;

	return mine && !netlink_route(&s->f->nl, &s->addrs[peer], 0, NULL, &route, &ignored) &&
	       route.reachable && route.oif && route.oif != mine->iface->index;
}

/* A filter drops the question for a hardware address just so, and does not count it. */
static bool is_strict(struct mesh_self *s, const char *iface)
{
	enum { STRICT = 1 };
	const char *names[] = {"all", iface};
	long most = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *v =
			sysroot_line(s->a, "/proc/sys/net/ipv4/conf/%s/rp_filter", names[i]);
		long n = v ? strtol(v, NULL, 10) : 0;

		most = n > most ? n : most;
	}
	return most == STRICT;
}

static void put_filters(struct mesh_self *s, cJSON *line)
{
	const struct inventory *inv = &s->f->inv;
	const struct iface *mine = s->local.s.iface;

	if (!mine || s->addrs[s->me].sa.sa_family != AF_INET)
		return;
	json_bool(line, "strict", is_strict(s, mine->name));
	for (size_t i = 0; i < inv->ifaces.n; i++) {
		const struct iface *x = &inv->ifaces.v[i];

		if (x->index == mine->index || x->kind == IFACE_LOOPBACK || !is_strict(s, x->name))
			continue;
		json_str(line, "strict_other", x->name);
		return;
	}
}

static bool is_in(const addr_list *l, const union addr *a)
{
	for (size_t i = 0; i < l->n; i++)
		if (addr_equal(&l->v[i], a))
			return true;
	return false;
}

static void put_ways(struct mesh_self *s, cJSON *line)
{
	cJSON *half = json_array(line, "half"), *elsewhere = json_array(line, "elsewhere");
	addr_list answered = {0};

	if (s->door)
		half_open_read(talk_port(s->door), s->a, &answered);
	for (size_t i = 0; i < s->n; i++) {
		bool lost = mesh_lost(s, i, s->me) || mesh_lost(s, s->me, i);

		if (i == s->me || !s->addrs[i].sa.sa_family || !lost)
			continue;
		if (is_in(&answered, &s->addrs[i]))
			cJSON_AddItemToArray(half, cJSON_CreateNumber((double)i));
		if (goes_elsewhere(s, i))
			cJSON_AddItemToArray(elsewhere, cJSON_CreateNumber((double)i));
	}
	if (s->rp_now > s->rp_before)
		json_str(line, "rp_filter", s->local.s.iface ? s->local.s.iface->name : "all");
}

static bool is_concerned(const struct mesh_self *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (mesh_lost(s, i, s->me) || mesh_lost(s, s->me, i))
			return true;
	return false;
}

void mesh_part(struct mesh_self *s, cJSON *line)
{
	if (!is_concerned(s))
		return;
	put_ways(s, line);
	put_filters(s, line);
	firewall_read(&s->local.fw, s->a, s->o->deadline_ns);
	if (s->local.fw.known)
		put_rules(s, line);
	else
		put_blind(s, line);
}

/* --- names ------------------------------------------------------------------------- */
static struct finding *name_finding(struct mesh_self *s, const char *name)
{
	return report_find(s->report, "mesh.name", name);
}

/* What a rank publishes when it asks for its own name, as Gloo does. */
static void judge_own(struct mesh_self *s, cJSON *findings)
{
	const char *name = s->f->inv.hostname, *addr = s->cards[s->me].addr;
	struct name_answer got = {0};
	struct addr_text at;
	struct finding *f;

	name_resolve(name, NAME_PATIENCE_S * NS_PER_S, s->a, &got);
	if (!got.addrs.n || addr_class(&got.addrs.v[0]) != ADDR_LOOPBACK)
		return;
	f = name_finding(s, name);
	finding_set(f, ST_WARN,
		    "means %s on itself: a rank there that publishes its name's address, as Gloo "
		    "does, is found by no other node",
		    addr_print(&got.addrs.v[0], &at));
	finding_expect(f, "%s", addr);
	finding_fix(f, "sudo sed -i '/^127\\./s/\\b%s\\b//; $a %s %s' /etc/hosts   # on %s", name,
		    addr, name, name);
	local_put(findings, f);
}

/* An address of rank 0's name that nobody answers at while its other one works. */
static void judge_dead(struct mesh_self *s, const union addr *dead, cJSON *findings)
{
	const char *name = s->cards[0].host;
	struct finding *f = name_finding(s, name);
	struct addr_text at;

	finding_set(f, ST_WARN,
		    "means %s first on %s, which does not answer: with MASTER_ADDR=%s ranks there "
		    "wait for that address before they try %s",
		    addr_print(dead, &at), s->f->inv.hostname, name, s->cards[0].addr);
	finding_expect(f, "%s first", s->cards[0].addr);
	finding_fix(f, "export MASTER_ADDR=%s   # on all nodes", s->cards[0].addr);
	local_put(findings, f);
}

static void judge_loopback(struct mesh_self *s, const union addr *to, cJSON *findings)
{
	const char *name = s->cards[0].host;
	struct finding *f = name_finding(s, name);
	struct addr_text at;

	finding_set(f, ST_WARN,
		    "means %s on %s: with MASTER_ADDR=%s ranks there look for rank 0 on their own "
		    "host",
		    addr_print(to, &at), s->f->inv.hostname, name);
	finding_expect(f, "%s", s->cards[0].addr);
	finding_fix(f, "export MASTER_ADDR=%s   # on all nodes", s->cards[0].addr);
	local_put(findings, f);
}

/* Rank 0's name as MASTER_ADDR: what do the others take it for? */
static void judge_master(struct mesh_self *s, cJSON *findings)
{
	struct name_answer got = {0};
	struct scan_probe p = {0};
	const struct scan_opts o = {.patience_ns = NAME_PATIENCE_S * NS_PER_S};
	struct err ignored;

	name_resolve(s->cards[0].host, NAME_PATIENCE_S * NS_PER_S, s->a, &got);
	if (!got.addrs.n)
		return; /* nobody who gives addresses needs names */
	p.to = got.addrs.v[0];
	if (addr_class(&p.to) == ADDR_LOOPBACK) {
		judge_loopback(s, &p.to, findings);
		return;
	}
	if (addr_equal(&p.to, &s->addrs[0]) || mesh_lost(s, s->me, 0) || !s->cards[0].talk_port)
		return;
	addr_set_port(&p.to, s->cards[0].talk_port);
	if (scan_tcp(&p, 1, &o, &ignored) || p.state == TCP_OPEN || p.state == TCP_PENDING)
		return;
	judge_dead(s, &got.addrs.v[0], findings);
}

void mesh_names(struct mesh_self *s, cJSON *findings)
{
	judge_own(s, findings);
	if (s->me && s->addrs[0].sa.sa_family)
		judge_master(s, findings);
}
