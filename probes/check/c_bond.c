/* bond: a bundle of cards goes on with less than it has, and says so to nobody; or it carries what
 * two hosts send each other over one card alone. As the kernel tells it below /sys (bonding.rst).
 */
#include "lib/core/quote.h"
#include "lib/host/sysroot.h"
#include "probes/check/check.h"

enum { XOR = 2, LACP = 4 };

struct bond {
	const struct facts *f;
	const struct iface *iface;
	const char *name; /* for a shell */
	int mode;
	size_t n, dead; /* members, and those without link */
	const char *dead_names, *first_dead;
	int64_t bundle;	    /* LACP: of its first member with link; -1: not known */
	const char *beside; /* a member with link in another one */
};

static const char *line(const struct bond *b, const char *what)
{
	return sysroot_line(b->f->a, "/sys/class/net/%s/bonding/%s", b->iface->name, what);
}

/* "802.3ad 4", "layer2 0" */
static int number_behind(const char *text)
{
	const char *blank = text ? strchr(text, ' ') : NULL;

	return blank ? (int)strtol(blank, NULL, 10) : -1;
}

static void take_member(struct bond *b, const struct iface *x)
{
	struct arena *a = b->f->a;
	const char *status = sysroot_line(a, "/sys/class/net/%s/bonding_slave/mii_status", x->name);
	int64_t bundle =
		sysroot_int(a, -1, "/sys/class/net/%s/bonding_slave/ad_aggregator_id", x->name);

	b->n++;
	/* a bond that watches nobody takes all of them for up */
	if (!iface_is_running(x) || (status && streq(status, "down"))) {
		b->dead++;
		b->first_dead = b->first_dead ?: x->name;
		b->dead_names =
			b->dead_names ? arena_printf(a, "%s, %s", b->dead_names, x->name) : x->name;
	} else if (b->bundle < 0) {
		b->bundle = bundle;
	} else if (bundle >= 0 && bundle != b->bundle) {
		b->beside = x->name;
	}
}

static bool read_bond(struct bond *b, const struct facts *f, const struct iface *x)
{
	*b = (struct bond){
		.f = f, .iface = x, .name = shell_quote(f->a, x->name), .mode = -1, .bundle = -1};
	b->mode = number_behind(line(b, "mode"));
	for (size_t i = 0; b->mode >= 0 && i < f->inv.ifaces.n; i++)
		if (f->inv.ifaces.v[i].master == x->index)
			take_member(b, &f->inv.ifaces.v[i]);
	return b->n > 0;
}

static struct finding *begin(const struct bond *b, struct report *r)
{
	return report_find(r, "link.bond", b->iface->name);
}

static void judge_members(const struct bond *b, struct report *r)
{
	struct finding *f;

	if (!b->dead || b->dead == b->n) /* without any it has no carrier itself */
		return;
	f = begin(b, r);
	finding_set(
		f, ST_WARN,
		"%zu of its %zu cards ha%s no link (%s): less bandwidth than the other hosts have, "
		"and nothing in reserve",
		b->dead, b->n, b->dead == 1 ? "s" : "ve", b->dead_names);
	finding_expect(f, "all of them up");
	finding_fix(
		f,
		"ethtool %s; cat /proc/net/bonding/%s   # cable, transceiver, port of the switch",
		shell_quote(f->a, b->first_dead), b->name);
	report_add(r, f);
}

static void judge_watch(const struct bond *b, struct report *r)
{
	const char *mii = line(b, "miimon"), *arp = line(b, "arp_interval");
	struct finding *f;

	if (b->n < 2 || !mii || !streq(mii, "0") || (arp && !streq(arp, "0")))
		return;
	f = begin(b, r);
	finding_set(
		f, ST_WARN,
		"watches none of its %zu cards (miimon is 0): what it gives to one that is dead is "
		"lost",
		b->n);
	finding_expect(f, "miimon 100, or arp_interval");
	finding_fix(f, "sudo ip link set dev %s type bond miimon 100", b->name);
	report_add(r, f);
}

static void judge_partner(const struct bond *b, struct report *r)
{
	const char *mac = b->mode == LACP ? line(b, "ad_partner_mac") : NULL;
	bool alone = mac && streq(mac, "00:00:00:00:00:00");
	struct finding *f;

	if (!alone && !b->beside)
		return;
	f = begin(b, r);
	if (alone)
		finding_set(f, ST_WARN,
			    "has no partner (LACP): the ports of the switch are in no bundle (LAG, "
			    "port-channel), and one card carries all");
	else
		finding_set(
			f, ST_WARN,
			"%s is in another bundle than its other cards (LACP), and carries nothing: "
			"another switch, another speed, or a port that is in no LAG",
			b->beside);
	finding_expect(f, "one bundle of %zu cards", b->n);
	finding_fix(f,
		    "sudo cat /proc/net/bonding/%s   # partner and aggregator of each; then the "
		    "switch: LACP active on these ports, in one LAG",
		    b->name);
	report_add(r, f);
}

static void judge_hash(const struct bond *b, struct report *r)
{
	const char *policy = line(b, "xmit_hash_policy");
	struct finding *f;

	if ((b->mode != XOR && b->mode != LACP) || b->n - b->dead < 2 || !policy ||
	    !starts_with(policy, "layer2 "))
		return;
	f = begin(b, r);
	finding_set(f, ST_INFO,
		    "chooses by hardware addresses (xmit_hash_policy layer2): all that goes to one "
		    "host "
		    "shares one of its %zu cards, however many connections NCCL opens",
		    b->n);
	finding_fix(f, "sudo ip link set dev %s type bond xmit_hash_policy layer3+4", b->name);
	report_add(r, f);
}

static void run(const struct check_input *in, struct report *r)
{
	for (size_t i = 0; i < in->f->inv.ifaces.n; i++) {
		const struct iface *x = &in->f->inv.ifaces.v[i];
		struct bond b;

		if (x->kind != IFACE_BOND || !iface_is_up(x) || !read_bond(&b, in->f, x))
			continue;
		judge_members(&b, r);
		judge_watch(&b, r);
		judge_partner(&b, r);
		judge_hash(&b, r);
	}
}

const struct check check_bond = {"a bond that is not what it could be: dead cards, no LACP", run};
