/* Traps in MASTER_ADDR, MASTER_PORT and TP_SOCKET_IFNAME. */
#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/rules/names.h"
#include "probes/rules/torch.h"

#include <ctype.h>

#define BLANK_OR_QUOTE " \t\n\v\f\r\"'"

/* --- the text of MASTER_ADDR ----------------------------------------------------------- */
static const char *trimmed(struct arena *a, const char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return arena_strndup(a, s, n);
}

static bool has_port(const char *v)
{
	const char *colon = strchr(v, ':');

	return colon && colon == strrchr(v, ':') && colon[1] &&
	       colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}

/* Without what is around it; "": what is left is no name, either. */
static const char *meant_by(struct arena *a, const char *v)
{
	const char *inside;
	char *bare = arena_strdup(a, v);
	size_t n;

	bare += strspn(bare, BLANK_OR_QUOTE);
	for (n = strlen(bare); n && strchr(BLANK_OR_QUOTE, bare[n - 1]);)
		bare[--n] = '\0';
	if (strpbrk(bare, BLANK_OR_QUOTE))
		return "";
	(void)torch_master_trouble(bare, a, &inside);
	return inside;
}

const char *torch_master_trouble(const char *v, struct arena *a, const char **ret_meant)
{
	const char *t = trimmed(a, v), *scheme = strstr(v, "://");

	*ret_meant = t;
	if (!*t)
		return "is empty";
	if (strpbrk(v, BLANK_OR_QUOTE)) {
		*ret_meant = meant_by(a, v);
		return strpbrk(t, BLANK_OR_QUOTE)
			       ? "holds a blank or a quote, which becomes part of the name"
			       : "has blanks around it, which become part of the name";
	}
	if (scheme) {
		*ret_meant = arena_strndup(a, scheme + 3, strcspn(scheme + 3, ":/"));
		return "is a name or an address, without scheme";
	}
	if (*v == '[') {
		*ret_meant = arena_strndup(a, v + 1, strcspn(v + 1, "]"));
		return "has brackets: here an IPv6 address stands without them";
	}
	if (has_port(v)) {
		*ret_meant = arena_strndup(a, v, strcspn(v, ":"));
		return "holds a port: that belongs into MASTER_PORT";
	}
	if (addr_is_mistyped(v)) {
		*ret_meant = "";
		return "is " ADDR_MISTYPED;
	}
	return NULL;
}

/* --- what it leads to --------------------------------------------------------------------- */
static long number_of(const char *var)
{
	const char *v = settings_env(var);
	uint64_t n;

	return v && parse_uint(v, &n) == 0 && n < 1u << 30 ? (long)n : -1;
}

/* 1 several nodes, 0 one, -1 not said. */
static int several_nodes(void)
{
	long world = number_of("WORLD_SIZE"), local = number_of("LOCAL_WORLD_SIZE");
	long nodes = number_of("SLURM_NNODES");

	if (world > 0 && local > 0)
		return world > local;
	return nodes > 0 ? nodes > 1 : -1;
}

/* By its numbers this host is not the one of rank 0, whose address is the one to set. */
static bool is_rank_0_elsewhere(void)
{
	long rank = number_of("RANK");

	return (rank > 0 && rank != number_of("LOCAL_RANK")) || number_of("NODE_RANK") > 0 ||
	       number_of("GROUP_RANK") > 0 || number_of("SLURM_NODEID") > 0;
}

static void judge_loopback(const struct rules_input *in, struct finding *f, const char *addr)
{
	static const enum status by_nodes[] = {ST_WARN, ST_INFO, ST_FAIL};
	candidate_list best = {0};
	struct addr_text t;

	finding_set(f, by_nodes[several_nodes() + 1],
		    "MASTER_ADDR=%s leads to %s: every host would look for the store on itself",
		    in->master_addr, addr);
	rank_ifaces(in->inv, 0, &best);
	if (is_rank_0_elsewhere())
		finding_fix(f, "- " TORCH_MASTER_IN_WORDS);
	else if (best.n && best.v[0].usable)
		finding_fix(f, "export MASTER_ADDR=%s" TORCH_MASTER_OURS,
			    addr_print(&best.v[0].addr->addr, &t));
}

static void judge_resolved(const struct rules_input *in, const struct name_answer *master,
			   const struct iface_addr *owner, struct finding *f)
{
	const char *v = in->master_addr;
	const union addr *first;
	struct addr_text t;

	if (!master->addrs.n && master->unasked) {
		finding_set(f, ST_ERROR, "MASTER_ADDR=%s %s", v, master->trouble);
		return;
	}
	if (!master->addrs.n) {
		finding_set(f, ST_FAIL, "MASTER_ADDR=%s %s", v, master->trouble);
		v = shell_quote(in->inv->a, v);
		finding_fix(f, "getent hosts %s   # is it spelt right?", v);
		finding_fix(f, "- a line in /etc/hosts of every host: rank 0's address, and %s", v);
		return;
	}
	first = &master->addrs.v[0];
	addr_print(first, &t);
	if (addr_is_digit_trap(v))
		finding_set(f, ST_FAIL, "MASTER_ADDR=%s is read as the number %s, never as a name",
			    v, t.s);
	else if (addr_class(first) == ADDR_LOOPBACK)
		judge_loopback(in, f, t.s);
	else if (addr_class(first) == ADDR_OTHER)
		finding_set(f, ST_FAIL, "MASTER_ADDR=%s is no address that can be connected to", v);
	else if (addr_class(first) == ADDR_LINKLOCAL)
		finding_set(f, ST_WARN, "MASTER_ADDR=%s leads to %s, which is link-local", v, t.s);
	else if (addr_class(first) == ADDR_PUBLIC && !owner)
		finding_set(f, ST_WARN,
			    "MASTER_ADDR=%s leads to the public address %s: inside a cloud, "
			    "use rank 0's private one",
			    v, t.s);
	else if (!owner && number_of("RANK") == 0)
		finding_set(
			f, ST_WARN,
			"MASTER_ADDR=%s leads to %s, which is none of this host's addresses, and "
			"RANK=0 is here: it has to listen there, unless that is translated",
			v, t.s);
	else
		finding_set(f, ST_PASS, "MASTER_ADDR=%s leads to %s%s%s", v, t.s,
			    owner ? ", here on " : "", owner ? owner->label : "");
}

void torch_check_resolved(const struct rules_input *in, const struct name_answer *master,
			  const struct iface_addr *owner, struct report *r)
{
	struct finding *f = report_find(r, "lint.torch.master_addr", "MASTER_ADDR");

	judge_resolved(in, master, owner, f);
	report_add(r, f);
}

static void check_master(const struct rules_input *in, struct report *r)
{
	const char *meant, *trouble = torch_master_trouble(in->master_addr, in->inv->a, &meant);
	struct finding *f;

	if (!trouble) {
		torch_check_store(in, r);
		return;
	}
	f = report_find(r, "lint.torch.master_addr", "MASTER_ADDR");
	finding_set(f, ST_FAIL, "MASTER_ADDR='%s' %s", in->master_addr, trouble);
	finding_fix(f, "export MASTER_ADDR=%s",
		    *meant ? shell_quote(in->inv->a, meant) : "ADDRESS_OF_RANK_0");
	report_add(r, f);
}

/* --- the others ------------------------------------------------------------------------------ */
static bool ephemeral(struct arena *a, uint64_t port, unsigned *lo, unsigned *hi)
{
	const char *s = file_line(a, sysroot_path(a, "/proc/sys/net/ipv4/ip_local_port_range"));

	return s && sscanf(s, "%u %u", lo, hi) == 2 && port >= *lo && port <= *hi;
}

static void check_port(const struct rules_input *in, const char *v, struct report *r)
{
	struct finding *f = report_find(r, "lint.torch.master_port", "MASTER_PORT");
	unsigned lo = 0, hi = 0;
	uint64_t port;

	if (parse_uint(v, &port) < 0 || port == 0 || port > 65535) {
		finding_set(f, ST_FAIL, "MASTER_PORT=%s is no port between 1 and 65535", v);
		finding_fix(f, "export MASTER_PORT=29500");
	} else if (port < 1024) {
		finding_set(f, ST_WARN, "MASTER_PORT=%s: only root may listen below 1024", v);
		finding_fix(f, "export MASTER_PORT=29500");
	} else if (ephemeral(in->inv->a, port, &lo, &hi)) {
		finding_set(f, ST_INFO,
			    "MASTER_PORT=%s lies in %u-%u, which the kernel hands out to "
			    "outgoing connections: it may be taken when the job starts",
			    v, lo, hi);
	} else {
		finding_set(f, ST_PASS, "MASTER_PORT=%s", v);
	}
	report_add(r, f);
}

static void check_rank(struct report *r)
{
	long rank = number_of("RANK"), world = number_of("WORLD_SIZE");
	struct finding *f;

	if (rank < 0 || world < 1 || rank < world)
		return;
	f = report_find(r, "lint.torch.rank", "RANK");
	finding_set(f, ST_FAIL, "RANK=%ld, and WORLD_SIZE=%ld has ranks 0 to %ld", rank, world,
		    world - 1);
	finding_expect(f, "a number of its own below WORLD_SIZE for every rank");
	report_add(r, f);
}

static void check_tp(const struct rules_input *in, const char *v, struct report *r)
{
	struct finding *f = report_find(r, "lint.torch.tp_ifname", "TP_SOCKET_IFNAME");

	if (names_judge(in, f, "TP_SOCKET_IFNAME", v, NULL) == 0)
		finding_set(f, ST_PASS, "TP_SOCKET_IFNAME=%s: exactly named", v);
	report_add(r, f);
}

void torch_check(const struct rules_input *in, struct report *r)
{
	const char *port = settings_env("MASTER_PORT"), *tp = settings_env("TP_SOCKET_IFNAME");

	if (in->master_addr)
		check_master(in, r);
	if (port)
		check_port(in, port, r);
	if (tp)
		check_tp(in, tp, r);
	check_rank(r);
	torch_check_env(in->inv->a, r);
}
