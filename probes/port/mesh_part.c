/* What a rank knows of its own part in pairs that failed: its rules, its routes and
 * reverse-path filters, answers of its own that never arrived. */
#include "probes/port/mesh_self.h"

#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/port/listen.h"

enum { MOST_PEERS = 8 };

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

/* --- IPv6's questions for neighbours ----------------------------------------------- */
/* A rule that stops them, and of whom: of all others, mostly, where it stops any. */
struct stopped {
	struct nft_answer by;
	cJSON *ranks;
};

static cJSON *ranks_of(struct mesh_self *s, enum mesh_hook hook, const struct nft_answer *by,
		       cJSON *list)
{
	cJSON *rule = mesh_neighbour_rule(&s->local, hook, by);
	bool found = hook == MESH_FOUND;

	cJSON_AddItemToArray(list, rule);
	json_num(rule, found ? "to" : "from", (double)s->me);
	return json_array(rule, found ? "from" : "to");
}

/* Says each rule once, and no more than MESH_MOST_RULES of them; false: there are more. */
static bool put_neighbours(struct mesh_self *s, enum mesh_hook hook, cJSON *list)
{
	struct stopped known[MESH_MOST_RULES];
	struct nft_answer by;
	size_t n = 0;
	bool all = true;

	for (size_t i = 0; i < s->n; i++) {
		bool lost = hook == MESH_FOUND ? mesh_lost(s, i, s->me) : mesh_lost(s, s->me, i);
		size_t k = 0;

		if (!lost || i == s->me || s->addrs[i].sa.sa_family != AF_INET6 ||
		    !local_stops_neighbours(&s->local, &s->addrs[s->me], &s->addrs[i], &by))
			continue;
		while (k < n && (known[k].by.rule != by.rule || known[k].by.chain != by.chain))
			k++;
		all &= k < MESH_MOST_RULES;
		if (k == n && n < MESH_MOST_RULES)
			known[n++] = (struct stopped){by, ranks_of(s, hook, &by, list)};
		if (k < n)
			cJSON_AddItemToArray(known[k].ranks, cJSON_CreateNumber((double)i));
	}
	return all;
}

/* The way to a router is found by the same questions. Behind the rules, which say more. */
void mesh_neighbours(struct mesh_self *s, cJSON *line)
{
	cJSON *list = cJSON_GetObjectItem(line, "rules");
	bool found = put_neighbours(s, MESH_FOUND, list),
	     finds = put_neighbours(s, MESH_FINDS, list);

	if (!found || !finds)
		json_bool(line, "rules_cut", true);
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
	mesh_neighbours(s, line);
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
