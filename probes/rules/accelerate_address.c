/* main_process_ip: is it an address, and whose? */
#include "probes/rules/accelerate_look.h"

#include "probes/rules/names.h"

/* The address of ours that the others should be told, or a word for that of rank 0's machine. */
const char *look_address_to_tell(const struct look *l)
{
	candidate_list best = {0};
	struct addr_text t;

	rank_ifaces(l->in->inv, 0, &best);
	if (l->rank > 0 || !best.n || !best.v[0].usable)
		return "ADDRESS_OF_MACHINE_0";
	return arena_strdup(l->a, addr_print(&best.v[0].addr->addr, &t));
}

static void say_address(struct look *l, enum status how, const char *why, const char *instead)
{
	struct finding *f = look_wrong(l, "address");
	const char *ip = accelerate_get(l->c, "main_process_ip");

	if (ip)
		finding_set(f, how, "main_process_ip: %s %s", ip, why);
	else
		finding_set(f, how, "%s", why);
	finding_expect(f, "the private address of the machine with " ACCELERATE_RANK ": 0");
	look_fix(l, f, "main_process_ip", instead);
	report_add(l->r, f);
}

bool look_is_rank(const struct look *l) { return l->rank >= 0 && l->rank < l->machines; }

/* Most often the file of machine 0 was copied; or its address has changed. */
static void fix_copied(const struct look *l, struct finding *f)
{
	const char *path = l->c->path;

	finding_fix(f, "%s   # where another machine is 0: 1, 2, ...",
		    accelerate_fix(l->a, path, ACCELERATE_RANK, "1"));
	finding_fix(f, "%s   # or, where this one is 0: on all machines",
		    accelerate_fix(l->a, path, "main_process_ip", look_address_to_tell(l)));
}

/* Rank 0's machine, and no other, has the address. */
static void judge_owner(struct look *l, bool ours)
{
	const char *ip = accelerate_get(l->c, "main_process_ip");
	struct finding *f;

	if (accelerate_way(l->c) != ACCELERATE_STATIC || ours == (l->rank == 0) ||
	    !look_is_rank(l)) /* that is said */
		return;
	f = look_wrong(l, "rank");
	finding_set(f, l->bad,
		    ACCELERATE_RANK
		    ": %ld, but main_process_ip: %s is %s: the store is where rank 0 "
		    "is, so nobody listens there and all wait for ever",
		    l->rank, ip, ours ? "this machine" : "another machine's, or nobody's");
	finding_expect(f, ACCELERATE_RANK ": 0 on the machine that has main_process_ip, alone");
	if (ours)
		look_fix(l, f, ACCELERATE_RANK, "0");
	else
		fix_copied(l, f);
	report_add(l->r, f);
}

/* The name of this machine itself, as often in /etc/hosts: the store listens at all addresses. */
static bool is_own_name(const struct look *l, const char *ip)
{
	union addr literal;

	return l->rank == 0 && addr_parse(ip, &literal) && !starts_with(ip, "localhost");
}

/* Where this machine has such an address itself, it may be how they all meet. */
static bool has_public(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->addrs.n; i++)
		if (addr_class(&inv->addrs.v[i].addr) == ADDR_PUBLIC)
			return true;
	return false;
}

static void judge_leads_to(struct look *l, const char *ip)
{
	const struct name_answer *got = name_ask(l->in->names, ip, l->a);
	const struct iface_addr *owner = NULL;
	enum addr_class class;

	if (!got->addrs.n) {
		say_address(l, l->bad, arena_printf(l->a, "leads nowhere: %s", got->trouble),
			    look_address_to_tell(l));
		return;
	}
	class = addr_class(&got->addrs.v[0]);
	for (size_t i = 0; i < got->addrs.n && !owner; i++)
		owner = names_owner(l->in->inv, &got->addrs.v[i]);
	if (class == ADDR_LOOPBACK && !is_own_name(l, ip))
		say_address(l, l->bad, "is loopback: each machine waits for the others at itself",
			    look_address_to_tell(l));
	else if (class == ADDR_PUBLIC && !owner && !has_public(l->in->inv))
		say_address(l, ST_WARN, /* it may be open */
			    "is public: behind it the ports of training are seldom open; inside "
			    "a cloud machines meet at their private addresses",
			    look_address_to_tell(l));
	else
		judge_owner(l, owner || class == ADDR_LOOPBACK);
}

/* With the port behind it, which is then a part of the name. */
static bool has_port(const char *ip)
{
	const char *colon = strchr(ip, ':');

	return colon && !strchr(colon + 1, ':');
}

void look_at_address(struct look *l)
{
	const char *ip = accelerate_address(l->c, l->a);

	if (!ip) {
		say_address(l, l->bad,
			    "main_process_ip is not set: torchrun is told to meet at a machine "
			    "called None",
			    look_address_to_tell(l));
		return;
	}
	if (has_port(ip))
		say_address(l, l->bad, "holds a port: that belongs into main_process_port",
			    arena_strndup(l->a, ip, strcspn(ip, ":")));
	else
		judge_leads_to(l, ip);
}
