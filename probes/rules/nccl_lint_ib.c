#include "probes/rules/nccl_lint.h"

#include <arpa/inet.h>

size_t lint_active_ports(const struct rules_input *in)
{
	size_t n = 0;

	for (size_t d = 0; in->rdma && d < in->rdma->n; d++)
		for (size_t p = 0; p < in->rdma->v[d].ports.n; p++)
			n += nccl_ib_port_counts(&in->rdma->v[d].ports.v[p]);
	return n && nccl_ib_can_open(in) ? n : 0;
}

/* What a list would leave of this host's ports. */
struct taken {
	size_t active, connects, down, infiniband, roce;
	const char *down_name, *mute_name; /* the first of them; mute: no GID */
	unsigned down_port, mute_port;
};

static struct taken ports_taken(const struct rules_input *in, const struct nccl_ifspec *spec)
{
	struct taken t = {0};

	for (size_t d = 0; d < in->rdma->n; d++)
		for (size_t p = 0; p < in->rdma->v[d].ports.n; p++) {
			const struct rdma_port *port = &in->rdma->v[d].ports.v[p];

			if (!nccl_ifspec_match_port(spec, in->rdma->v[d].name, (int)port->number))
				continue;
			t.active += nccl_ib_port_counts(port);
			t.connects += nccl_ib_port_connects(port);
			t.infiniband += nccl_ib_port_counts(port) && port->link == RDMA_INFINIBAND;
			t.roce += nccl_ib_port_counts(port) && port->link == RDMA_ROCE;
			if (!port->active && !t.down++) {
				t.down_name = in->rdma->v[d].name;
				t.down_port = port->number;
			}
			if (!t.mute_name && nccl_ib_port_counts(port) &&
			    !nccl_ib_port_connects(port)) {
				t.mute_name = in->rdma->v[d].name;
				t.mute_port = port->number;
			}
		}
	return t;
}

const char *lint_device_names(const struct lint *l)
{
	struct text t;

	text_init(&t, report_arena(l->r));
	for (size_t d = 0; d < l->in->rdma->n; d++)
		text_addf(&t, "%s%s", d ? ", " : "", l->in->rdma->v[d].name);
	return t.s;
}

static void hca_no_match(const struct lint *l, const struct setting *s, const struct taken *t)
{
	struct finding *f = lint_find(l, "lint.ib.hca.nomatch", s);

	if (t->down)
		finding_set(f, ST_FAIL,
			    "is %s, and of that only ports that are not ACTIVE are left "
			    "(%s:%u): NCCL falls back to TCP",
			    s->value, t->down_name, t->down_port);
	else
		finding_set(f, ST_FAIL,
			    "is %s, which fits no RDMA port here: NCCL falls back to TCP",
			    s->value);
	finding_expect(f, "an ACTIVE port of: %s", lint_device_names(l));
	lint_unset(f, s);
	report_add(l->r, f);
}

static void hca_no_gid(const struct lint *l, const struct setting *s, const struct taken *t)
{
	struct finding *f = lint_find(l, "lint.ib.hca.gid", s);
	const struct nccl_ifspec any = {0};

	if (t->connects)
		finding_set(f, ST_WARN,
			    "is %s, and the GIDs of %s:%u are all zero: NCCL takes it and fails to "
			    "connect",
			    s->value, t->mute_name, t->mute_port);
	else
		finding_set(f, ST_FAIL,
			    "is %s, which leaves %s: NCCL takes %s and fails to connect", s->value,
			    t->active == 1 ? "one port, whose GIDs are all zero"
					   : "only ports whose GIDs are all zero",
			    t->active == 1 ? "it" : "them");
	finding_expect(f, "%s", t->connects ? "ports that have a GID" : "a port that has a GID");
	if (ports_taken(l->in, &any).connects)
		finding_fix(f, "eval \"$(ifprobe --suggest)\"");
	else
		finding_fix(f, "export NCCL_IB_DISABLE=1   # until one has a GID, which comes from "
			       "its interface's IP address");
	report_add(l->r, f);
}

static void hca_entry_without(const struct lint *l, const struct setting *s, const char *entry,
			      const struct taken *t)
{
	struct finding *f = lint_find(l, "lint.ib.hca.nomatch", s);

	if (t->down) {
		finding_set(f, ST_WARN,
			    "entry %s fits only ports that are not ACTIVE (%s:%u): NCCL goes on "
			    "without",
			    entry, t->down_name, t->down_port);
		finding_expect(f, "ACTIVE");
		finding_fix(f,
			    "ibv_devinfo -d %s   # its cable, the switch's port, or drop it from "
			    "the list",
			    t->down_name);
	} else { /* a list for nodes whose names differ looks like this */
		finding_set(f, ST_INFO, "entry %s fits no RDMA port here; others of the list do",
			    entry);
	}
	report_add(l->r, f);
}

/* Others of the list fit an active port. */
static void hca_entries(const struct lint *l, const struct setting *s,
			const struct nccl_ifspec *spec)
{
	for (size_t i = 0; i < spec->n; i++) {
		struct nccl_ifspec one = {.n = 1, .exact = spec->exact};
		struct taken t;

		memcpy(one.prefix[0], spec->prefix[i], NCCL_NAME_SIZE);
		one.port[0] = spec->port[i];
		t = ports_taken(l->in, &one);
		if (!t.active)
			hca_entry_without(l, s,
					  one.port[0] == -1
						  ? one.prefix[0]
						  : arena_printf(report_arena(l->r), "%s:%d",
								 one.prefix[0], one.port[0]),
					  &t);
	}
}

/* mlx5_1 as a prefix also takes mlx5_10 and mlx5_bond... */
static void hca_over_match(const struct lint *l, const struct setting *s,
			   const struct nccl_ifspec *spec)
{
	for (size_t i = 0; i < spec->n; i++)
		for (size_t d = 0, exact = 0, longer = 0; d < l->in->rdma->n; d++) {
			const char *name = l->in->rdma->v[d].name, *entry = spec->prefix[i];
			struct finding *f;

			exact |= streq(name, entry);
			longer |= starts_with(name, entry) && !streq(name, entry);
			if (d + 1 < l->in->rdma->n || !exact || !longer)
				continue;
			f = lint_find(l, "lint.ib.hca.overmatch", s);
			finding_set(f, ST_WARN,
				    "entry %s is a prefix and fits other devices too: %s", entry,
				    lint_device_names(l));
			finding_expect(f, "=%s", s->value);
			lint_fix(f, s, s->name, arena_printf(report_arena(l->r), "=%s", s->value));
			report_add(l->r, f);
		}
}

static void hca_mixed(const struct lint *l, const struct setting *s)
{
	struct finding *f = lint_find(l, "lint.ib.hca.mixed", s);

	finding_set(f, ST_WARN,
		    "is %s, which takes InfiniBand and RoCE ports together; NCCL cannot "
		    "connect one to the other",
		    s->value);
	finding_expect(f, "ports of one link layer");
	finding_fix(f, "eval \"$(ifprobe --suggest)\"");
	report_add(l->r, f);
}

void lint_ib_hca(const struct lint *l, const struct setting *s)
{
	struct nccl_ifspec spec;
	struct taken t;
	bool bad_text;

	nccl_ifspec_parse(s->value, &spec);
	/* Up to 32 devices may be listed there, so 16 is not too many. */
	spec.truncated = false;
	bad_text = lint_list_text(l, s, "lint.ib.hca", &spec);
	if (!l->in->rdma || !l->in->rdma->n) {
		struct finding *f = lint_find(l, "lint.ib.hca", s);

		finding_set(f, ST_INFO,
			    "is %s; there is no RDMA device here, so it changes nothing", s->value);
		report_add(l->r, f);
		return;
	}
	t = ports_taken(l->in, &spec);
	if (!t.active) {
		hca_no_match(l, s, &t);
		return;
	}
	if (bad_text)
		return;
	if (!spec.negate)
		hca_entries(l, s, &spec);
	if (t.connects < t.active)
		hca_no_gid(l, s, &t);
	if (t.infiniband && t.roce)
		hca_mixed(l, s);
	if (!spec.negate && !spec.exact)
		hca_over_match(l, s, &spec);
}

void lint_ib_disable(const struct lint *l, const struct setting *s)
{
	size_t ports = lint_active_ports(l->in);
	struct finding *f;
	int64_t v;

	if (!nccl_param_parse(s->value, &v) || !v || !ports)
		return;
	f = lint_find(l, "lint.ib.disable", s);
	finding_set(f, ST_WARN, "switches RDMA off although %zu port%s ACTIVE: data goes over TCP",
		    ports, ports == 1 ? " is" : "s are");
	finding_expect(f, "not set");
	lint_unset(f, s);
	report_add(l->r, f);
}

void lint_gid_index(const struct lint *l, const struct setting *s)
{
	struct finding *f;
	int64_t v;

	if (!nccl_param_parse(s->value, &v) || v < 0)
		return;
	f = lint_find(l, "lint.gid-index", s);
	if (nccl_version(l->in->nccl_version) < NCCL_VERSION_GID) {
		finding_set(
			f, ST_INFO,
			"pins entry %lld of the GID table on every port: NCCL before 2.21 takes "
			"entry 0 unless told, which is not RoCE v2; what a number means differs "
			"between hosts (show_gids)",
			(long long)v);
		report_add(l->r, f);
		return;
	}
	finding_set(f, ST_WARN,
		    "pins entry %lld of the GID table on every port; the order of that "
		    "table differs between hosts and changes with every address, and since "
		    "2.21 NCCL finds the right entry itself",
		    (long long)v);
	finding_expect(f, "not set");
	lint_unset(f, s);
	report_add(l->r, f);
}

/* Which of a port's GIDs counts, where they are of RoCE. */
void lint_ib_addr_range(const struct lint *l, const struct setting *s)
{
	const char *family = nccl_value(l->in, "NCCL_IB_ADDR_FAMILY"),
		   *slash = strchr(s->value, '/');
	bool v6 = family && streq(family, "AF_INET6");
	struct in6_addr any;
	struct finding *f;
	const char *why;

	if (!*s->value)
		return;
	why = !slash ? "has no /BITS"
	      : inet_pton(v6 ? AF_INET6 : AF_INET,
			  arena_strndup(report_arena(l->r), s->value, (size_t)(slash - s->value)),
			  &any) != 1
		      ? (v6 ? "is no IPv6 network, which NCCL_IB_ADDR_FAMILY asks for"
			    : "is no IPv4 network, and NCCL_IB_ADDR_FAMILY is not AF_INET6")
	      : strtol(slash + 1, NULL, 10) > (v6 ? 128 : 32) ? "has more bits than an address"
							      : NULL;
	if (!why)
		return;
	f = lint_find(l, "lint.ib.addr-range", s);
	finding_set(f, ST_WARN, "is [%s], which %s: NCCL goes on as if it were not set", s->value,
		    why);
	finding_expect(f, "%s", v6 ? "such as fd00:a::/64" : "such as 10.0.0.0/16");
	lint_unset(f, s);
	report_add(l->r, f);
}
