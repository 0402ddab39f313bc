/* What a rank knows of its own part in pairs that failed: its rules (mesh_stops.c), its routes and
 * reverse-path filters, answers of its own that never arrived. */
#include "probes/port/mesh_self.h"

#include "lib/host/listen.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"

uint64_t mesh_counted(const char *name)
{
	AUTO_FILE FILE *f = fopen("/proc/net/netstat", "re");
	char *names = NULL, *values = NULL, *n, *v, *save_n, *save_v;
	size_t names_cap = 0, values_cap = 0;
	unsigned long long count = 0;

	while (f && getline(&names, &names_cap, f) > 0 && getline(&values, &values_cap, f) > 0) {
		n = strtok_r(names, " \n", &save_n);
		v = strtok_r(values, " \n", &save_v);
		for (; n && v;
		     n = strtok_r(NULL, " \n", &save_n), v = strtok_r(NULL, " \n", &save_v))
			if (streq(n, name) && sscanf(v, "%llu", &count) != 1)
				count = 0;
	}
	free(names);
	free(values);
	return count;
}

/* --- ways back --------------------------------------------------------------------- */
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

/* Of a host with two cards in one network the question may come from either. */
static bool is_of(const struct mesh_self *s, size_t peer, const union addr *a)
{
	bool is = addr_equal(a, &s->addrs[peer]);

	for (size_t i = 0; i < MESH_NETS && !is; i++)
		is = addr_equal(a, &s->cards[peer].nets[i].at);
	return is;
}

static bool has_answered(const struct mesh_self *s, const addr_list *answered, size_t peer)
{
	for (size_t i = 0; i < answered->n; i++)
		if (is_of(s, peer, &answered->v[i]))
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
		if (has_answered(s, &answered, i))
			cJSON_AddItemToArray(half, cJSON_CreateNumber((double)i));
		if (mesh_goes_elsewhere(s, i))
			cJSON_AddItemToArray(elsewhere, cJSON_CreateNumber((double)i));
	}
	if (mesh_twin(s))
		json_str(line, "twin", mesh_twin(s));
	json_str(line, "astray", s->astray);
	json_str(line, "told", s->astray ? s->local.s.why : NULL);
	if (s->rp_now <= s->rp_before)
		return;
	json_str(line, "rp_filter", s->local.s.iface ? s->local.s.iface->name : "all");
	json_num(line, "rp_drops", (double)(s->rp_now - s->rp_before));
}

static void put_routed(struct mesh_self *s, cJSON *line)
{
	cJSON *list = json_array(line, "routed"), *o;

	for (size_t i = 0; i < s->targets.n; i++) {
		size_t peer = s->target_rank[i];

		if (!s->reach.ways[i].router || s->reach.ways[i].paths ||
		    !(mesh_lost(s, peer, s->me) || mesh_lost(s, s->me, peer)))
			continue;
		o = json_push_object(list);
		json_num(o, "to", (double)peer);
		json_str(o, "by", s->reach.ways[i].router);
	}
}

static void put_paths(struct mesh_self *s, cJSON *line)
{
	cJSON *list = json_array(line, "paths"), *o;

	for (size_t i = 0; i < s->targets.n; i++) {
		if (!s->reach.ways[i].paths)
			continue;
		o = json_push_object(list);
		json_num(o, "to", (double)s->target_rank[i]);
		json_str(o, "said", s->reach.ways[i].paths);
		if (s->reach.ways[i].undo)
			json_bool(o, "own", true);
	}
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
	put_routed(s, line);
	put_paths(s, line);
	mesh_put_strays(s, line);
	mesh_put_rival(s, line);
	mesh_put_own(s, line);
	mesh_put_undo(s, line);
	put_filters(s, line);
	firewall_read(&s->local.fw, s->a, s->o->deadline_ns);
	mesh_stops(s, line);
}
