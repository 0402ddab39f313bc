/*
 * A link that comes and goes. The kernel counts how often a card lost its carrier or found it
 * again; what rose while the hosts asked each other is why questions were lost or late there,
 * and whatever else it looks like follows from it.
 */
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/port/fix.h"
#include "probes/port/mesh_judge.h"
#include "probes/port/mesh_self.h"
#include "probes/port/own.h"

#include <limits.h>

/* ---- on a rank's host ---- */
/* What data may go through: not what programs make and take away. */
static bool is_watched(const struct iface *x)
{
	bool made = x->kind == IFACE_LOOPBACK || x->kind == IFACE_CONTAINER ||
		    x->kind == IFACE_DUMMY || x->kind == IFACE_BRIDGE || x->kind == IFACE_VPN ||
		    x->kind == IFACE_TUNNEL;
	bool port = x->master && (x->kind == IFACE_PHYSICAL || x->kind == IFACE_VF);

	return !made && (x->naddrs || port);
}

static uint64_t changes_of(struct mesh_self *s, const char *iface)
{
	const char *v = sysroot_line(s->a, "/sys/class/net/%s/carrier_changes", iface);

	return v ? strtoull(v, NULL, 10) : 0;
}

void mesh_watch_carriers(struct mesh_self *s)
{
	const struct inventory *inv = &s->f->inv;

	for (size_t i = 0; i < inv->ifaces.n && s->carriers.n < MESH_CARRIERS; i++)
		if (is_watched(&inv->ifaces.v[i]))
			*LIST_ADD(s->a, &s->carriers) = (struct mesh_carrier){
				inv->ifaces.v[i].name, changes_of(s, inv->ifaces.v[i].name)};
}

static uint64_t rise_of(struct mesh_self *s, const struct mesh_carrier *c)
{
	uint64_t now = changes_of(s, c->iface);

	return now > c->changes ? now - c->changes : 0;
}

/* Nothing that the hosts asked each other went through it: neither our card nor a port of that. */
static bool is_aside(const struct mesh_self *s, const struct mesh_carrier *c)
{
	const struct iface *mine = s->local.s.iface, *x = inventory_by_name(&s->f->inv, c->iface);

	return mine && x && x->index != mine->index && x->master != mine->index;
}

/* The ends of containers' networks at their host come and go with those. */
static bool is_containers(const struct mesh_self *s, const struct mesh_carrier *c)
{
	const struct iface *x = inventory_by_name(&s->f->inv, c->iface);

	return x && x->kind == IFACE_VETH && is_aside(s, c);
}

/* Its own card or a port of it where one of those did, else the one that changed most. */
static const struct mesh_carrier *find_flapping(struct mesh_self *s, uint64_t *ret_rise)
{
	const struct mesh_carrier *worst = NULL;

	*ret_rise = 0;
	for (size_t i = 0; i < s->carriers.n; i++) {
		const struct mesh_carrier *c = &s->carriers.v[i];
		uint64_t n = is_containers(s, c) ? 0 : rise_of(s, c);
		bool nearer = worst && is_aside(s, worst) && !is_aside(s, c);
		bool farther = worst && !is_aside(s, worst) && is_aside(s, c);

		if (!n || farther || (n <= *ret_rise && !nearer))
			continue;
		*ret_rise = n;
		worst = c;
	}
	return worst;
}

/*
 * A bridge of this host's own that passes nothing yet: it waits whether its port closes a ring.
 * Where there is an address that counts, only the bridge that it is on, or below it.
 */
static bool put_waiting(struct mesh_self *s, cJSON *line)
{
	const struct inventory *inv = &s->f->inv;
	const struct iface *chosen = s->local.s.iface, *port;

	for (size_t i = 0; i < inv->ifaces.n; i++) {
		const struct iface *x = &inv->ifaces.v[i];

		if (x->kind != IFACE_BRIDGE ||
		    (chosen ? x != chosen && x->index != chosen->link : !x->naddrs))
			continue;
		port = own_waiting_port(s->f, x->index);
		if (!port)
			continue;
		json_str(line, "waits", x->name);
		json_str(line, "waits_port", port->name);
		return true;
	}
	return false;
}

/* Where no card is of use, one that would be but for its link. */
static void put_unlinked(struct mesh_self *s, cJSON *line)
{
	const struct inventory *inv = &s->f->inv;

	for (size_t i = 0; i < s->carriers.n; i++)
		for (size_t k = 0; k < inv->ifaces.n; k++)
			if (inv->ifaces.v[k].name == s->carriers.v[i].iface &&
			    inv->ifaces.v[k].naddrs && iface_is_up(&inv->ifaces.v[k]) &&
			    !iface_is_running(&inv->ifaces.v[k])) {
				json_str(line, "unlinked", s->carriers.v[i].iface);
				json_num(line, "carriers",
					 (double)changes_of(s, s->carriers.v[i].iface));
				return;
			}
}

void mesh_put_flaps(struct mesh_self *s, cJSON *line)
{
	uint64_t rise;
	const struct mesh_carrier *worst = find_flapping(s, &rise);

	if (worst) {
		json_str(line, "flapping", worst->iface);
		json_num(line, "flaps", (double)rise);
		if (is_aside(s, worst))
			json_bool(line, "aside", true);
	}
	if (put_waiting(s, line) && !s->local.s.iface)
		return;
	if (s->local.s.iface)
		json_num(line, "carriers", (double)changes_of(s, s->local.s.iface->name));
	else
		put_unlinked(s, line);
}

/* ---- where it is judged ---- */
static void say(struct mesh *m, size_t at, enum status st, const char *what, const char *expected)
{
	const struct mesh_node *x = &m->nodes[at];
	const char *iface = x->flapping ?: x->iface ?: "IFACE";
	struct finding *f = mesh_say_link(m, "mesh.flap", at, &(const index_list){0});

	finding_set(f, st, "its link at %s comes and goes: %s", iface, what);
	finding_expect(f, "%s", expected);
	finding_fix(f,
		    "ip -s link show dev %s; journalctl -k --since -1h | grep %s   # on %s: when "
		    "it went; then its cable or transceiver, the port of the switch, the driver",
		    iface, iface, x->name);
}

static void say_waiting(struct mesh *m, size_t at)
{
	const struct mesh_node *x = &m->nodes[at];
	const index_list lost = mesh_lost_with(m, at);
	bool hurts = lost.n || !x->addr.sa.sa_family;
	struct finding *f;

	if (!hurts) /* it is another bridge than the one that counts */
		return;
	f = mesh_say_link(m, "mesh.flap", at, &lost);
	finding_set(f, ST_FAIL,
		    "its bridge %s passes nothing yet: spanning tree (STP) holds its port %s back "
		    "for 30 s, as a rule, after its link came",
		    x->waits, x->waits_port);
	finding_expect(f, "a port that forwards");
	finding_fix(f,
		    FIX_STP "   # on %s, where no two of its ports lead to one switch; or look "
			    "again in half a minute",
		    x->waits, x->waits_port, x->name);
}

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* What is usual here since these hosts were started. */
static unsigned usual(const struct mesh *m)
{
	unsigned *v = arena_alloc(m->a, (m->n + 1) * sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].carriers)
			v[n++] = m->nodes[i].carriers;
	qsort(v, n, sizeof(*v), compare);
	return n > 2 ? v[n / 2] : UINT_MAX;
}

void mesh_flaps(struct mesh *m)
{
	/* two for each time that a dock was left or a laptop slept: ten of those in the weeks that
	 * it has been up are its owner's habit; what really flaps has hundreds, and twenty soon */
	enum { LEAST = 20, TIMES = 5 };
	unsigned most = usual(m);

	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_node *x = &m->nodes[i];

		if (x->waits) {
			say_waiting(m, i);
		} else if (x->flaps) {
			if (!x->aside)
				mesh_settle_all(m, i);
			say(m, i, x->aside ? ST_WARN : ST_FAIL,
			    arena_printf(m->a,
					 "lost or found %u time%s while the hosts asked each "
					 "other%s",
					 x->flaps, x->flaps == 1 ? "" : "s",
					 x->aside ? ", which they did through another card" : ""),
			    "a link that stays");
		} else if (!x->unlinked && x->carriers >= LEAST && x->carriers / TIMES >= most) {
			say(m, i, ST_WARN,
			    arena_printf(m->a, "lost or found %u times since it was started",
					 x->carriers),
			    arena_printf(m->a, "about %u times, as on the others", most));
		}
	}
}
