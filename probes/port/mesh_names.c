/* Names that mislead: a rank's own, as Gloo asks for it, and rank 0's as MASTER_ADDR. */
#include "lib/core/units.h"
#include "lib/host/hostname.h"
#include "probes/port/mesh_self.h"

enum { NAME_PATIENCE_S = 2 };

/* Of an address that its own name means and that no other node finds it by; NULL: they may. */
static const char *whose_address(const struct mesh_self *s, const union addr *x)
{
	const struct iface_addr *mine = inventory_by_addr(&s->f->inv, x);

	if (addr_class(x) == ADDR_LOOPBACK)
		return "";
	if (!s->local.s.addr) /* which is what is wrong, and is said */
		return NULL;
	if (!mine) /* a cloud may lead what is sent to a public one here */
		return addr_class(x) == ADDR_PUBLIC ? NULL : ", which it does not have";
	return mine->iface->kind == IFACE_CONTAINER
		       ? arena_printf(s->a, ", which is %s's, a network of containers",
				      mine->iface->name)
		       : NULL;
}

/* What a rank publishes when it asks for its own name, as Gloo does. Many have this fault, and all
 * of them have the same words and the same command. */
static void judge_own(struct mesh_self *s, cJSON *findings)
{
	const char *name = s->f->inv.hostname;
	struct name_answer got = {0};
	const char *whose;
	struct addr_text at;
	struct finding *f;

	name_resolve(name, NAME_PATIENCE_S * NS_PER_S, s->a, &got);
	whose = got.addrs.n ? whose_address(s, &got.addrs.v[0]) : NULL;
	if (!whose)
		return;
	f = report_find(s->report, "mesh.name", NULL); /* of the host that says it */
	finding_set(f, ST_WARN,
		    "means %s on itself%s: a rank there that publishes its name's address, as Gloo "
		    "does, is found by no other node",
		    addr_print(&got.addrs.v[0], &at), whose);
	finding_expect(f, "an address that the others can use");
	/* in its place: in a container it is a mount, which sed -i cannot replace */
	finding_fix(f,
		    "sudo sh -c 'n=$(hostname) && h=$(sed \"%s\" /etc/hosts) && a=$(ip route get "
		    "%s | grep -o \"src [^ ]*\" | cut -c5-) && [ \"$a\" ] && printf "
		    "\"%%s\\n\" \"$h\" \"$a $n\" >/etc/hosts'",
		    hosts_without(s->a, "$n"), s->cards[*s->cards[0].addr ? 0 : s->me].addr);
	local_put(s->report, findings, f);
}

/* Of rank 0's name, which is where MASTER_ADDR leads: @means, and @expected. */
static void misleads(struct mesh_self *s, const char *means, const char *expected, cJSON *findings)
{
	struct finding *f = report_find(s->report, "mesh.name", s->cards[0].host);

	finding_set(f, ST_WARN, "%s", means);
	finding_expect(f, "%s", expected);
	finding_fix(f, "export MASTER_ADDR=%s   # on all nodes", s->cards[0].addr);
	local_put(s->report, findings, f);
}

/* An address of rank 0's name that nobody answers at while its other one works. */
static void judge_dead(struct mesh_self *s, const union addr *dead, bool alone, cJSON *findings)
{
	struct addr_text at;

	addr_print(dead, &at);
	misleads(s,
		 alone ? arena_printf(s->a,
				      "means %s, which does not answer: with MASTER_ADDR=%s ranks "
				      "there never find rank 0; perhaps an old entry of "
				      "/etc/hosts, or a name server's",
				      at.s, s->cards[0].host)
		       : arena_printf(s->a,
				      "means %s first, which does not answer: with MASTER_ADDR=%s "
				      "ranks there wait for that address before they try %s",
				      at.s, s->cards[0].host, s->cards[0].addr),
		 arena_printf(s->a, "%s%s", s->cards[0].addr, alone ? "" : " first"), findings);
}

/* An old /etc/hosts, or a name server's old answer: the address is another host's by now. */
static bool judge_other(struct mesh_self *s, const union addr *to, cJSON *findings)
{
	struct addr_text at;

	for (size_t i = 1; i < s->n; i++) {
		if (!addr_equal(to, &s->addrs[i]) || streq(s->cards[i].host, s->cards[0].host))
			continue;
		misleads(s,
			 arena_printf(s->a,
				      "means %s, which is %s's address: with MASTER_ADDR=%s ranks "
				      "there look for rank 0 on the wrong host; an old entry of "
				      "/etc/hosts, or a name server's",
				      addr_print(to, &at), s->cards[i].host, s->cards[0].host),
			 s->cards[0].addr, findings);
		return true;
	}
	return false;
}

static void judge_loopback(struct mesh_self *s, const union addr *to, cJSON *findings)
{
	struct addr_text at;

	misleads(s,
		 arena_printf(s->a,
			      "means %s: with MASTER_ADDR=%s ranks there look for rank 0 on their "
			      "own host",
			      addr_print(to, &at), s->cards[0].host),
		 s->cards[0].addr, findings);
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
	if (addr_equal(&p.to, &s->addrs[0]) || judge_other(s, &p.to, findings) ||
	    mesh_lost(s, s->me, 0) || !s->cards[0].talk_port)
		return;
	addr_set_port(&p.to, s->cards[0].talk_port);
	if (scan_tcp(&p, 1, &o, &ignored) || p.state == TCP_OPEN || p.state == TCP_PENDING)
		return;
	judge_dead(s, &got.addrs.v[0], got.addrs.n == 1, findings);
}

void mesh_names(struct mesh_self *s, cJSON *findings)
{
	judge_own(s, findings);
	if (s->me && s->addrs[0].sa.sa_family)
		judge_master(s, findings);
}
