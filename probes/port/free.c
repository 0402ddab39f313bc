#include "probes/port/free.h"

#include "lib/core/log.h"
#include "lib/host/free_port.h"
#include "lib/report/json.h"
#include "probes/iface/fleet.h"

enum { OFFERED = 512 /* ports that one host names */, ANSWER_MOST = 64, UNPRIVILEGED = 1024 };

/* MASTER_PORT itself where it is free, or reserved for whoever names it; else those behind it. */
static void offer(const struct port_env *env, struct arena *a, port_list *ret)
{
	unsigned from = env->master;
	struct free_ports f;

	free_ports_read(&f, a);
	if (free_ports_keeps(&f, env->master))
		*LIST_ADD(a, ret) = (uint16_t)from++;
	for (uint16_t port; ret->n < OFFERED; from = port + 1u) {
		port = from > UINT16_MAX ? 0 : free_ports_next(&f, (uint16_t)from);
		if (!port || port < from) /* it began again */
			break;
		*LIST_ADD(a, ret) = port;
	}
	if (!ret->n && (from = free_ports_next(&f, env->master)))
		*LIST_ADD(a, ret) = (uint16_t)from;
}

/* Somebody's shell takes it for sure: not while a part of it could not be looked at. */
static bool is_sure(const struct report *r)
{
	return !report_count(r, ST_FAIL) && !report_count(r, ST_ERROR);
}

static void answer(uint16_t port, const char *where, bool is_proven, struct report *r)
{
	char line[ANSWER_MOST];
	int n = snprintf(line, sizeof(line), "MASTER_PORT=%u\n", port);

	report_answer(r, line, (size_t)n);
	log_say("%u is free %s%s", port, where, is_proven ? ", and open between them" : "");
}

/* Of ports that the kernel hands out none is free, whoever has them. */
static void none(const char *where, bool is_here, const struct port_env *env, struct finding *f)
{
	const struct port_range *g = &env->range;

	finding_set(f, ST_FAIL, "no port from %u on is free %s", env->master, where);
	if (is_here && g->first <= UNPRIVILEGED && g->last == UINT16_MAX) {
		finding_expect(f, "ports that the kernel does not hand out, which %u-%u all are",
			       g->first, g->last);
		finding_fix(f, "sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999'");
		return;
	}
	finding_expect(f, "a port that nobody has, outside ip_local_port_range");
	finding_fix(f, is_here ? "ss -ltnp   # who has them"
			       : "ss -ltnp; sysctl net.ipv4.ip_local_port_range   # on each");
}

static void tell(const char *where, bool is_here, const port_list *ports,
		 const struct port_env *env, struct report *r)
{
	struct arena *a = report_arena(r);
	cJSON *o = json_object(report_data(r), "free");
	struct finding *f;

	f = report_find(r, "port.free", ports->n ? arena_printf(a, "%u", ports->v[0]) : NULL);
	if (ports->n) {
		finding_set(f, ST_PASS, "is free %s, and the kernel hands it to nobody", where);
		json_num(o, "port", ports->v[0]);
		json_str(o, "ports", ports_fold(ports->v, ports->n, 0, a));
	} else {
		none(where, is_here, env, f);
	}
	report_add(r, f);
}

/* --- on several hosts ------------------------------------------------------------------------ */
static bool has(const port_list *l, uint16_t port)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == port)
			return true;
	return false;
}

/* What a host offered, of those that all before it did. */
static void keep_common(const struct answer *from, bool is_first, const struct port_env *env,
			struct arena *a, port_list *common)
{
	const char *text = json_get_str(json_get(from->data, "free"), "ports");
	struct err ignored = {0};
	port_list its = {0};
	size_t n = 0;

	if (text && ports_parse(text, env, a, &its, &ignored))
		its.n = 0;
	if (is_first) {
		*common = its;
		return;
	}
	for (size_t i = 0; i < common->n; i++)
		if (has(&its, common->v[i]))
			common->v[n++] = common->v[i];
	common->n = n;
}

/* Each is asked, as a firewall may open one port only. */
static int prove(const struct mesh_opts *o, uint16_t port, const struct port_env *env,
		 struct arena *a, struct report *r, struct err *e)
{
	port_list one = {0};
	struct mesh_opts m = *o;

	*LIST_ADD(a, &one) = port;
	m.ports = &one;
	return mesh_launch(&m, env, a, r, e);
}

/* 1: a host is missing, of which nothing is known. */
static int find_among(const struct mesh_opts *o, const char *given, const struct port_env *env,
		      struct arena *a, struct report *r, port_list *common, struct err *e)
{
	const struct carry_opts copy = {
		.hosts = &o->hosts, .rsh = o->rsh, .keep = o->keep, .deadline_ns = o->deadline_ns};
	AUTO(answers_done) struct answers all = {0};
	AUTO(carry_done) struct carry carry = {0};
	struct fleet f = {.command = "portcheck",
			  .mode = " --free",
			  .carry = &carry,
			  .given = given,
			  .hosts = o->hosts,
			  .rsh = o->rsh,
			  .deadline_ns = o->deadline_ns,
			  .set = arena_printf(a, "MASTER_PORT=%u", env->master),
			  .a = a,
			  .report = r};
	str_list args = {0};
	bool any = false;

	*LIST_ADD(a, &args) = "--free";
	if (o->copy_self && carry_begin(&copy, a, &carry, e))
		return -1;
	if (fleet_ask(&f, &args, false, &all, e))
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		if (!all.v[i].doc)
			continue;
		keep_common(&all.v[i], !any, env, a, common);
		any = true;
	}
	return f.lost.n != 0;
}

int free_find(const struct mesh_opts *o, const char *given, const struct port_env *env,
	      struct arena *a, struct report *r, struct err *e)
{
	port_list ports = {0};
	const char *where = "here";
	int failed;

	if (o->hosts.n) {
		failed = find_among(o, given, env, a, r, &ports, e);
		if (failed)
			return failed < 0 ? -1 : 0;
		where = o->hosts.n == 1 ? arena_printf(a, "on %s", o->hosts.v[0].name)
					: arena_printf(a, "on %zu hosts", o->hosts.n);
	} else {
		offer(env, a, &ports);
	}
	tell(where, !o->hosts.n, &ports, env, r);
	if (!ports.n)
		return 0;
	if (o->hosts.n > 1 && prove(o, ports.v[0], env, a, r, e))
		return -1;
	if (is_sure(r))
		answer(ports.v[0], where, o->hosts.n > 1, r);
	report_covers(r, "a port for rank 0 %s", where);
	return 0;
}
