/* Who comes first by the lean reading: in a namespace of our own, against the whole one. */
#include "lib/host/leader.h"
#include "tests/unit/composed.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static bool put(const char *path, const char *line)
{
	FILE *f = fopen(path, "w");
	bool wrote = f && fputs(line, f) >= 0;

	return f && fclose(f) == 0 && wrote;
}

/* Without being root there, a program that we start could do nothing. */
static bool become_root(unsigned uid, unsigned gid)
{
	char users[32], groups[32];

	(void)snprintf(users, sizeof(users), "0 %u 1\n", uid);
	(void)snprintf(groups, sizeof(groups), "0 %u 1\n", gid);
	return put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", users) &&
	       put("/proc/self/gid_map", groups);
}

/* Namespaces cannot be had everywhere; the bats tests and the differential test say so loudly. */
static bool enter_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNET) &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNET) || !become_root(uid, gid)))
		return false;
	return system("ip link set lo up") == 0; /* some let us have one, and do nothing in it */
}

struct scene {
	struct arena a;
	struct netlink nl;
	struct inventory lean, whole;
	candidate_list first, all;
	int read;
};

static void look(struct scene *s, const char *batch)
{
	struct err e;

	*s = (struct scene){0};
	composed_run((const char *const[]){"sh", "-c", batch, NULL});
	assert_int_equal(netlink_open(&s->nl, NULL, &e), 0);
	s->read = leader_read(&s->lean, &s->nl, &s->a, &s->first);
	assert_int_equal(inventory_read(&s->whole, &s->nl, INV_ALL, &s->a, &e), 0);
	rank_ifaces(&s->whole, 0, &s->all);
	if (s->read == LEADER_WHOLE)
		rank_ifaces(&s->lean, 0, &s->first);
	assert_true(s->read == LEADER_WHOLE || s->lean.ifaces.n <= s->whole.ifaces.n);
	assert_string_equal(s->first.v[0].iface->name, s->all.v[0].iface->name);
	assert_string_equal(s->first.v[0].why, s->all.v[0].why);
	assert_int_equal(s->lean.addrs.n, s->whole.addrs.n);
	assert_int_equal(s->lean.defaults.n, s->whole.defaults.n);
}

static void leave(struct scene *s)
{
	netlink_close(&s->nl);
	arena_done(&s->a);
}

/* An address leaves with its interface, so each scene begins with none but lo. */
#define CLEAR                                                                                      \
	"for i in $(ls /proc/sys/net/ipv4/conf); do ip link del dev $i 2>/dev/null; done; "        \
	"ip link set lo up; "

/* The kernel notices a carrier in its own time. */
#define UP(dev)                                                                                    \
	"; for t in $(seq 200); do ip -br link show " dev " | grep -q ' UP ' && break; "           \
	"sleep 0.05; done"

static void t_scenes(void **state)
{
	struct scene s;
	struct iface *i;

	(void)state;
	if (!enter_namespace())
		skip();
	/* nobody: the reasons need all of them */
	look(&s, CLEAR "ip link add a0 type veth peer name b0");
	assert_int_equal(s.read, LEADER_WHOLE);
	leave(&s);

	/* the default route decides, and what nobody asked of the rest stays unread */
	look(&s, CLEAR "for k in 0 1 2 3 4 5; do ip link add a$k type veth peer name b$k; "
		       "ip addr add 10.0.$k.1/24 dev a$k; ip link set a$k up; ip link set b$k up; "
		       "done; ip link add link b0 name m0 type macvlan; ip link set m0 up; "
		       "ip addr add 10.1.0.1/24 dev m0; ip route add default dev m0" UP("m0"));
	assert_int_equal(s.read, LEADER_KNOWN);
	assert_string_equal(s.first.v[0].iface->name, "m0");
	assert_string_equal(s.first.v[0].why, "has the default route");
	assert_false(s.first.v[0].iface->open);
	assert_true(inventory_by_name(&s.lean, "a1")->open);
	leave(&s);

	/* what a bridge leads to is told by its ports, which have no address */
	look(&s, CLEAR "ip link add br7 type bridge; ip link add a0 type veth peer name b0; "
		       "ip link set b0 master br7; ip link set a0 up; ip link set b0 up; "
		       "ip link set br7 up; ip addr add 10.0.0.1/24 dev br7" UP("br7"));
	i = inventory_by_name(&s.lean, "b0");
	assert_non_null(i);
	assert_int_equal(i->master, inventory_by_name(&s.lean, "br7")->index);
	leave(&s);
}

static void t_recorded(void **state)
{
	candidate_list first;
	struct inventory inv;
	struct composed c;

	(void)state;
	composed_load(&c, "laptop");
	assert_int_equal(leader_read(&inv, &c.nl, &c.a, &first), -1);
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_recorded),
		cmocka_unit_test(t_scenes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
