#include "tests/diff/leader_layout.h"

struct maker {
	struct arena *a;
	struct text *here, *there;
	pid_t elsewhere;
	uint64_t state;
	str_list names;
};

/* splitmix64, as nccl_layout's */
static unsigned below(struct maker *m, unsigned n)
{
	uint64_t z = m->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ (z >> 31)) % n);
}

static bool chance(struct maker *m, unsigned percent) { return below(m, 100) < percent; }

/* The names that a batch has made so far, which follow @before. */
static void find_names(struct maker *m, const char *batch, const char *before)
{
	size_t n = strlen(before);

	for (const char *at = batch; (at = strstr(at, before)); at += n)
		*LIST_ADD(m->a, &m->names) = arena_strndup(m->a, at + n, strcspn(at + n, " \n"));
}

static const char *some(struct maker *m) { return m->names.v[below(m, (unsigned)m->names.n)]; }

static void add_kinds(struct maker *m)
{
	static const char *const kinds[] = {
		"dummy", "bridge", "ifb", "bond", "vxlan id 7 dstport 0", "wireguard"};
	const char *name;

	for (unsigned n = below(m, 3); n; n--) {
		name = arena_printf(m->a, "k%u", n);
		text_addf(m->here, "link add name %s %s type %s\n", name,
			  chance(m, 30) ? arena_printf(m->a, "index %u", 250 + below(m, 900)) : "",
			  kinds[below(m, ARRAY_LEN(kinds))]);
		*LIST_ADD(m->a, &m->names) = name;
		if (chance(m, 80))
			text_addf(m->here, "addr add 10.3.%u.1/24 dev %s\n", n, name);
	}
	if (m->names.n && chance(m, 25)) {
		name = some(m);
		text_addf(m->here, "link add link %s name v.7 type vlan id 7\n", name);
		text_add(m->here, "addr add 10.4.7.1/24 dev v.7\nlink set v.7 up\n");
	}
}

/* Cables to another namespace: what a container has. */
static void add_cables(struct maker *m)
{
	for (unsigned n = below(m, 4); n; n--) {
		const char *name = arena_printf(m->a, chance(m, 80) ? "p%u" : "cali%u", n);

		text_addf(m->here, "link add name %s %s type veth peer name q%u netns %d\n", name,
			  chance(m, 30) ? arena_printf(m->a, "index %u", 250 + below(m, 900)) : "",
			  n, (int)m->elsewhere);
		if (chance(m, 80))
			text_addf(m->there, "link set q%u up\n", n);
		if (chance(m, 80))
			text_addf(m->here, "addr add 10.5.%u.1/24 dev %s\n", n, name);
		if (chance(m, 30))
			text_addf(m->here, "addr add 2001:db8:%u::1/64 dev %s\n", n, name);
		*LIST_ADD(m->a, &m->names) = name;
	}
}

/* A bridge that leads to a NIC, as far as one can be had in a namespace: its port has no address.
 */
static void add_uplink(struct maker *m)
{
	text_addf(m->here,
		  "link add link %s name u.8 type vlan id 8\nlink add name u type bridge\n",
		  some(m));
	text_add(m->here, "link set u.8 master u\nlink set u.8 up\naddr add 10.7.8.1/24 dev u\n");
	*LIST_ADD(m->a, &m->names) = "u";
}

/* More than are read one by one, or than are asked for the runner-up. */
static void add_crowd(struct maker *m)
{
	unsigned n = 10 + below(m, 40), each = below(m, 4);

	for (unsigned i = 0; i < n; i++) {
		if (each == 0)
			text_addf(m->here, "link add name w%u type ifb\n", i);
		else if (each == 1)
			text_addf(m->here, "link add name w%u type veth peer name z%u netns %d\n",
				  i, i, (int)m->elsewhere);
		else
			text_addf(m->here, "link add name w%u type veth peer name z%u\n", i, i);
		text_addf(each == 1 ? m->there : m->here, "link set z%u up\n", i);
		text_addf(m->here, "addr add 10.6.%u.1/32 dev w%u\nlink set w%u up\n", i, i, i);
	}
	*LIST_ADD(m->a, &m->names) = "w3";
	*LIST_ADD(m->a, &m->names) = "w9";
}

static void add_ways(struct maker *m)
{
	static const unsigned mtus[] = {1280, 1400, 1500, 9000, 65535};

	for (size_t k = 0; k < m->names.n; k++) {
		const char *name = m->names.v[k];

		if (chance(m, 85))
			text_addf(m->here, "link set %s up\n", name);
		if (chance(m, 25))
			text_addf(m->here, "link set %s mtu %u\n", name,
				  mtus[below(m, ARRAY_LEN(mtus))]);
		if (chance(m, 10))
			text_addf(m->here, "link property add dev %s altname other%zu\n", name, k);
		if (chance(m, 8))
			text_addf(m->here, "link set %s master %s\n", name, some(m));
	}
	for (unsigned n = below(m, 4); n && m->names.n; n--)
		text_addf(m->here, "route add %s dev %s metric %u\n",
			  chance(m, 75) ? "default" : "::/0", some(m),
			  100 * (1 + below(m, 2)) + n % 2);
}

/* A virtual machine's own, or nearly. */
static void add_nat(struct maker *m)
{
	const char *name = some(m);
	unsigned n = 2 + below(m, 3);

	text_addf(m->here, "addr add 10.0.%u.%u/24 dev %s\n", n, 15 + chance(m, 15), name);
	text_addf(m->here, "route add default via 10.0.%u.%u dev %s metric %u\n", n,
		  2 - chance(m, 15), name, 90 + 10 * below(m, 3));
}

void leader_layout(struct layout *l, struct text *ret_there, uint64_t seed, uint64_t number,
		   pid_t elsewhere, struct arena *a)
{
	struct maker m = {.a = a,
			  .here = &l->ip,
			  .there = ret_there,
			  .elsewhere = elsewhere,
			  .state = seed * 1000033 + number};

	layout_make(l, seed, number, a);
	text_init(ret_there, a);
	text_add(ret_there, "link set lo up\n");
	find_names(&m, l->ip.s, "link add name ");
	find_names(&m, l->ip.s, "tuntap add dev ");
	if (chance(&m, 60))
		add_cables(&m);
	if (chance(&m, 40))
		add_kinds(&m);
	if (chance(&m, 15))
		add_crowd(&m);
	if (m.names.n && chance(&m, 25))
		add_uplink(&m);
	add_ways(&m);
	for (unsigned n = m.names.n && chance(&m, 30) ? 1 + below(&m, 2) : 0; n; n--)
		add_nat(&m);
}
