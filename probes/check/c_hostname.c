/* hostname: what this host's own name means, because Gloo, torchrun and Slurm
 * tell it to the other hosts. */
#include "lib/host/hostname.h"
#include "probes/check/check.h"

static struct finding *about(const struct check_input *in, struct report *r)
{
	return report_find(r, "host.name", in->f->inv.hostname);
}

/* Such a name is never looked up, so /etc/hosts cannot mend it. */
static void digits_only(const struct check_input *in, struct report *r)
{
	const char *name = in->f->inv.hostname;
	struct finding *f = report_find(r, "host.digits", name);
	finding_set(f, ST_WARN,
		    "is a number to the resolver, which reads it as an IPv4 address: torchrun "
		    "connects to that");
	finding_fix(f, "sudo hostnamectl set-hostname node-%s", name);
	report_add(r, f);
}

static const char *own_address(const struct check_input *in)
{
	struct addr_text at;

	return arena_strdup(in->f->a, addr_print(&in->s->addr->addr, &at));
}

/* Takes the name off every line that has it and adds the right one. Not `sed -i`:
 * in a container /etc/hosts is a mount, which cannot be renamed over. */
static void fix_hosts(const struct check_input *in, struct finding *f)
{
	const char *name = in->f->inv.hostname;

	if (!in->s->iface)
		return; /* no address to write down yet */
	if (!name_is_plain(name)) {
		finding_fix(f, "sudo hostnamectl set-hostname NAME   # letters, digits and -");
		return;
	}
	finding_fix(f,
		    "hosts=$(sed '%s' /etc/hosts) && printf '%%s\\n' \"$hosts\" '%s %s' | sudo tee "
		    "/etc/hosts >/dev/null",
		    hosts_without(f->a, name), own_address(in), name);
}

static void judge(const struct check_input *in, const struct name_answer *got, struct finding *f)
{
	struct addr_text at;

	for (size_t i = 0; i < got->addrs.n; i++) {
		const union addr *x = &got->addrs.v[i];
		const struct iface_addr *mine = inventory_by_addr(&in->f->inv, x);

		if (addr_class(x) == ADDR_LOOPBACK) {
			finding_set(
				f, ST_WARN,
				"resolves to %s: Gloo and torchrun tell other hosts to connect to "
				"themselves",
				addr_print(x, &at));
			fix_hosts(in, f);
			return;
		}
		/* of several, they take the first */
		if (!i && mine && mine->iface->kind == IFACE_CONTAINER) {
			finding_set(f, ST_WARN,
				    "resolves to %s, which is %s's, a network of containers: Gloo "
				    "and torchrun tell other hosts an address that they cannot "
				    "reach",
				    addr_print(x, &at), mine->iface->name);
			fix_hosts(in, f);
			return;
		}
		if (!mine && addr_class(x) != ADDR_PUBLIC) {
			finding_set(
				f, ST_WARN,
				"resolves to %s, which is not an address of this host: peers would "
				"talk to another machine",
				addr_print(x, &at));
			fix_hosts(in, f);
			return;
		}
	}
	finding_set(f, ST_PASS, "resolves to %s%s", addr_print(&got->addrs.v[0], &at),
		    got->source == NAME_HOSTS ? " (/etc/hosts)" : "");
}

static void run(const struct check_input *in, struct report *r)
{
	struct name_answer got;
	struct finding *f;

	if (addr_is_digit_trap(in->f->inv.hostname)) {
		digits_only(in, r);
		return;
	}
	name_from_hosts(in->f->inv.hostname, in->f->a, &got);
	if (!got.addrs.n)
		got = *name_ask(in->f->in.names, in->f->inv.hostname, in->f->a);
	f = about(in, r);
	if (got.addrs.n) {
		judge(in, &got, f);
	} else {
		finding_set(f, ST_WARN, "%s: Gloo falls back to 127.0.0.1",
			    got.trouble ? got.trouble : "does not resolve");
		if (in->s->iface && name_is_plain(in->f->inv.hostname))
			finding_fix(f, "echo '%s %s' | sudo tee -a /etc/hosts", own_address(in),
				    in->f->inv.hostname);
		else
			fix_hosts(in, f);
	}
	report_add(r, f);
}

const struct check check_hostname = {"what the host's own name resolves to", run};
