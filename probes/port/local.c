#include "probes/port/local.h"

#include "lib/host/free_port.h"
#include "lib/host/listen.h"
#include "lib/host/nat.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/iface/facts.h"
#include "probes/port/fix.h"

enum { FEW_PORTS = 4096, PEER_PORTS = 40 };

void local_read(struct local *l, struct facts *f, const struct port_env *env, uint64_t deadline_ns)
{
	*l = (struct local){.f = f, .env = *env};
	suggest_by_rank(&f->in, &l->s);
	l->told = suggest_as_told(&f->in, &l->s);
	firewall_read(&l->fw, f->a, deadline_ns);
}

void local_done(struct local *l) { firewall_done(&l->fw); }

void local_say(struct report *r, cJSON *warnings, struct finding *f)
{
	if (!warnings)
		report_add(r, f);
	else if (f->status == ST_WARN)
		local_put(r, warnings, f);
}

/* --- ports ---------------------------------------------------------------------- */
/* Of us, or of a child of ours: where ranks that a launcher started meet. */
static bool is_ours(const struct local *l, pid_t pid)
{
	const char *stat = sysroot_line(l->f->a, "/proc/%d/stat", (int)pid);
	const char *after = stat ? strrchr(stat, ')') : NULL; /* "7 (name) S PARENT ..." */
	int parent;

	return pid == getpid() ||
	       (after && sscanf(after, ") %*c %d", &parent) == 1 && parent == getpid());
}

/* What we hold ourselves is a door of the mesh, and closed when that ends. */
static void others_at(const struct local *l, uint16_t port, holder_list *ret)
{
	holder_list all = {0};

	holders_read(port, l->f->a, &all);
	for (size_t i = 0; i < all.n; i++)
		if (!is_ours(l, all.v[i].pid))
			*LIST_ADD(l->f->a, ret) = all.v[i];
}

static void judge_master(const struct local *l, struct report *r, cJSON *warnings)
{
	holder_list held = {0};
	struct free_ports free;
	struct finding *f;
	struct addr_text at;
	uint16_t other;

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
		free_ports_read(&free, l->f->a);
		other = free_ports_next(&free, l->env.master);
		if (other)
			finding_fix(f,
				    "export MASTER_PORT=%u   # on all nodes; it is free here "
				    "(elsewhere too? portcheck --free --hosts ...)",
				    other);
	}
	local_say(r, warnings, f);
}

/* What the kernel hands out to nobody who does not ask for it: "8080,9000-9010". Never NULL. */
static const char *reserved(const struct local *l)
{
	return sysroot_line(l->f->a, "/proc/sys/net/ipv4/ip_local_reserved_ports") ?: "";
}

/* How many from @first to @last are. */
static unsigned reserved_in(const struct local *l, unsigned first, unsigned last)
{
	const char *list = reserved(l);
	port_list ports = {0};
	struct err ignored = {0};
	unsigned n = 0;

	if (!*list || ports_parse(list, &l->env, l->f->a, &ports, &ignored))
		return 0;
	for (size_t i = 0; i < ports.n; i++)
		n += ports.v[i] >= first && ports.v[i] <= last;
	return n;
}

static void judge_master_in_range(const struct local *l, struct report *r, cJSON *warnings)
{
	const struct port_range *g = &l->env.range;
	const char *list = reserved(l);
	struct finding *f;

	if (l->env.master < g->first || l->env.master > g->last)
		return;
	if (reserved_in(l, l->env.master, l->env.master))
		return;
	f = report_find(r, "local.master_port", arena_printf(l->f->a, "%u", l->env.master));
	finding_set(f, ST_WARN,
		    "lies in the range that the kernel hands out (%u-%u): some other "
		    "connection may hold it when the job starts",
		    g->first, g->last);
	finding_expect(f, "a port outside that range, or a reserved one");
	/* whose they are, the others stay reserved */
	finding_fix(f, "sudo sysctl -w net.ipv4.ip_local_reserved_ports=%s%s%u", list,
		    *list ? "," : "", l->env.master);
	local_say(r, warnings, f);
}

/* MASTER_PORT alone stays reserved, where the kernel might hand it out; of an empty value older
 * sysctls say that it is malformed. */
static void fix_reserved(const struct local *l, struct finding *f)
{
	const struct port_range *g = &l->env.range;

	if (l->env.master >= g->first && l->env.master <= g->last)
		finding_fix(f, "sudo sysctl -w net.ipv4.ip_local_reserved_ports=%u", l->env.master);
	else
		finding_fix(f, "echo | sudo tee /proc/sys/net/ipv4/ip_local_reserved_ports");
}

static void judge_range(const struct local *l, struct report *r, cJSON *warnings)
{
	const struct port_range *g = &l->env.range;
	unsigned size = g->last - g->first + 1u, kept = reserved_in(l, g->first, g->last);
	struct finding *f;

	if (!g->known)
		return;
	f = report_find(r, "local.port_range", arena_printf(l->f->a, "%u-%u", g->first, g->last));
	if (size - kept < FEW_PORTS) {
		finding_set(f, size > kept ? ST_WARN : ST_FAIL,
			    "only %u ephemeral ports%s: NCCL alone takes several per rank and peer",
			    size - kept, kept ? ", ip_local_reserved_ports keeps the others" : "");
		finding_expect(f, "at least %d", FEW_PORTS);
		if (kept)
			fix_reserved(l, f);
		if (size < FEW_PORTS)
			finding_fix(f, "sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999'");
	} else {
		finding_set(f, ST_INFO,
			    "NCCL, Gloo and MPI listen on any of these: all must be open between "
			    "nodes, not MASTER_PORT alone");
	}
	local_say(r, warnings, f);
	judge_master_in_range(l, r, warnings);
}

static void judge_address(const struct local *l, struct report *r)
{
	struct finding *f = report_find(r, "local.address", l->s.iface ? l->s.iface->name : "-");
	struct addr_text at;

	if (suggest_warn_of_nat(&l->f->in, &l->s, f)) {
		report_add(r, f);
		return;
	}
	if (l->s.addr) {
		finding_set(f, ST_INFO, "peers should use %s%s", addr_print(&l->s.addr->addr, &at),
			    l->told ? ", as NCCL's settings say" : "");
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

	if (!l->s.addr || nat_is_own(&l->f->inv, l->s.iface))
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
	local_judge_firewall(l, r);
	judge_master(l, r, NULL);
	judge_range(l, r, NULL);
	local_judge_limits(l, r, NULL);
	if (line)
		report_remark(r, "On every other node type:  %s", line);
}

void local_put(struct report *r, cJSON *list, struct finding *f)
{
	report_fit(r, f);
	finding_json(list, f, NULL);
}

void local_warnings(const struct local *l, struct report *r, cJSON *list)
{
	judge_master(l, r, list);
	judge_range(l, r, list);
	local_judge_limits(l, r, list);
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
