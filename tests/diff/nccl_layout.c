#include "tests/diff/nccl_layout.h"

/* Names that NCCL's rules treat in ways of their own, and some that only look like it. */
static const char *const names[] = {
	"docker0", "docker1",	"br-1a2b3c4d", "br0",	   "lo1",	    "local0",
	"lodge",   "virbr0",	"virbr0-nic",  "ib0",	   "ibs1",	    "ibp12s0",
	"eth0",	   "eth1",	"eth10",       "eth1.7",   "ens5",	    "ens50",
	"cni0",	   "flannel.1", "tun0",	       "e",	   "enp225s0f1np1", "abcdefghijklmno",
	"^lo2",	   "=eth0",	"a,b",	       "vethab12", "wlan0",	    "usb0",
};

struct maker {
	struct layout *l;
	struct arena *a;
	uint64_t state;
	const char *ifaces[12];
	size_t n;
};

/* splitmix64: one state word, the same everywhere. */
static uint64_t draw(struct maker *m)
{
	uint64_t z = m->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static unsigned below(struct maker *m, unsigned n) { return (unsigned)(draw(m) % n); }
static bool chance(struct maker *m, unsigned percent) { return below(m, 100) < percent; }
#define PICK(m, list) ((list)[below((m), ARRAY_LEN(list))])

static const char *some_iface(struct maker *m)
{
	return m->n && chance(m, 85) ? m->ifaces[below(m, (unsigned)m->n)] : PICK(m, names);
}

/* --- interfaces ------------------------------------------------------------ */

static void add_link(struct maker *m, const char *name)
{
	struct text *t = &m->l->ip;
	size_t k = m->n;

	switch (below(m, 8)) {
	case 0:
		text_addf(t, "link add name %s type bridge\n", name);
		break;
	case 1:
		text_addf(t, "tuntap add dev %s mode %s\n", name, chance(m, 50) ? "tun" : "tap");
		break;
	case 2:
		text_addf(t, "link add name %s type ifb\n", name);
		break;
	case 3:
		if (k) {
			text_addf(t, "link add link %s name %s type macvlan\n",
				  m->ifaces[below(m, (unsigned)k)], name);
			break;
		}
		/* fall through */
	default:
		text_addf(t, "link add name %s type veth peer name peer%zu\n", name, k);
		if (chance(m, 80))
			text_addf(t, "link set peer%zu up\n", k);
		if (k && chance(m, 20))
			text_addf(t, "link set peer%zu master %s\n", k,
				  m->ifaces[below(m, (unsigned)k)]);
	}
	m->ifaces[m->n++] = name;
}

static void add_links(struct maker *m)
{
	unsigned n = below(m, 7);

	if (chance(m, 80))
		text_add(&m->l->ip, "link set lo up\n");
	for (unsigned i = 0; i < n; i++) {
		const char *name = PICK(m, names);
		bool known = false;

		for (size_t j = 0; j < m->n; j++)
			known |= streq(m->ifaces[j], name);
		if (!known)
			add_link(m, name);
	}
}

static void add_v4(struct maker *m, const char *dev)
{
	static const char *const masks[] = {"24", "24", "24", "16", "8", "32", "30"};
	static const char *const nets[] = {"10.0.1", "10.0.2", "172.17.0", "169.254.3",
					   "192.168.9"};
	struct text *t = &m->l->ip;

	text_addf(t, "addr add %s.%u", PICK(m, nets), 1 + below(m, 200));
	if (chance(m, 10))
		text_addf(t, " peer 10.0.1.%u/32", 1 + below(m, 250));
	else
		text_addf(t, "/%s", PICK(m, masks));
	if (chance(m, 25) && strlen(dev) <= 13)
		text_addf(t, " label %s:%u", dev, 1 + below(m, 2));
	text_addf(t, " dev %s\n", dev);
}

static void add_v6(struct maker *m, const char *dev)
{
	static const char *const nets[] = {"fd00:1", "fd00:2", "2001:db8", "fe80", "fe80"};

	text_addf(&m->l->ip, "addr add %s::%x/%s dev %s\n", PICK(m, nets), 1 + below(m, 0xffff),
		  chance(m, 80) ? "64" : "128", dev);
}

static void add_addresses(struct maker *m)
{
	unsigned n = below(m, (unsigned)m->n * 3 + 2);

	for (size_t i = 0; i < m->n; i++)
		if (chance(m, 50) && chance(m, 85)) /* some come up before, some after */
			text_addf(&m->l->ip, "link set %s up\n", m->ifaces[i]);
	for (unsigned i = 0; i < n; i++) {
		const char *dev =
			m->n && chance(m, 90) ? m->ifaces[below(m, (unsigned)m->n)] : "lo";

		if (chance(m, 60))
			add_v4(m, dev);
		else
			add_v6(m, dev);
	}
	for (size_t i = 0; i < m->n; i++)
		if (chance(m, 70))
			text_addf(&m->l->ip, "link set %s up\n", m->ifaces[i]);
	if (m->n && chance(m, 15))
		text_addf(&m->l->ip, "link set %s down\n", m->ifaces[below(m, (unsigned)m->n)]);
}

/* --- values ------------------------------------------------------------------ */

static void add_entry(struct maker *m, struct text *t)
{
	static const char *const junk[] = {"",	  " ",	    "zzz", "^lo", "=eth0", "^",	    "=",
					   "eth", "docker", "br-", "ib",  "lo",	   "\"lo\""};
	static const char *const ends[] = {":1", ":", ":x", " ", ":1:2"};
	const char *name = some_iface(m);

	if (chance(m, 6))
		text_add(t, " ");
	if (chance(m, 20))
		text_add(t, PICK(m, junk));
	else if (chance(m, 30))
		text_addn(t, name, 1 + below(m, (unsigned)strlen(name)));
	else
		text_add(t, name);
	if (chance(m, 12))
		text_add(t, PICK(m, ends));
}

static const char *an_ifname(struct maker *m)
{
	static const char *const odd[] = {
		"",   "e",    "^",   "=",  "^=", "==",	"^^lo", "=^lo",	   ",",
		"::", ",,lo", "lo,", "^,", "=,", "^lo", "lo",	"\"eth0\""};
	unsigned n = chance(m, 4) ? 14 + below(m, 6) : 1 + below(m, 3);
	struct text t;

	if (chance(m, 12))
		return PICK(m, odd);
	text_init(&t, m->a);
	if (chance(m, 3)) /* empty entries do not count, but conf files cut values at 1023 */
		for (unsigned i = 1005 + below(m, 20); i; i--)
			text_add(&t, ",");
	else if (chance(m, 35))
		text_add(&t, "^");
	if (chance(m, 30))
		text_add(&t, "=");
	for (unsigned i = 0; i < n; i++) {
		if (i)
			text_add(&t, ",");
		add_entry(m, &t);
	}
	return t.s;
}

static const char *a_family(struct maker *m)
{
	static const char *const v[] = {"AF_INET", "AF_INET",  "AF_INET6", "AF_INET6",
					"inet6",   "AF_INET ", "",	   "ipv4"};
	return PICK(m, v);
}

static const char *a_comm_id(struct maker *m)
{
	static const char *const odd[] = {
		"",
		"x",
		":1",
		",",
		"10.0.1.1",
		"10.257:5",
		"host4:1",
		"host6:1",
		"far:1",
		"nosuch:1",
		"167772417:5",
		"[fd00:1::5",
		"[]:5",
		"127.0.0.1:1",
		"[::1]:1",
		"::1",
		"[fd00:1::5%nosuch]:5",
		"10.0.1.9,10.0.2.9:1",
		"0x0a000109:1",
		"10.0.1.9 :1",
		"localhost:1",
		"[fe80::9]:1",
		"=10.0.1.9:1",
	};

	switch (below(m, 5)) {
	case 0:
		return PICK(m, odd);
	case 1:
		return arena_printf(m->a, "[fd00:%u::%x]:29500", 1 + below(m, 3), below(m, 999));
	case 2:
		return arena_printf(m->a, "[fe80::%x%%%s%s]:29500", below(m, 999), some_iface(m),
				    chance(m, 10) ? ":1" : "");
	default:
		return arena_printf(m->a, "%s.%u:29500", chance(m, 70) ? "10.0.1" : "172.17.0",
				    1 + below(m, 250));
	}
}

static const char *some_value(struct maker *m, const char **ret_name)
{
	unsigned which = below(m, 10);

	*ret_name = which < 6	? "NCCL_SOCKET_IFNAME"
		    : which < 8 ? "NCCL_SOCKET_FAMILY"
				: "NCCL_COMM_ID";
	return which < 6 ? an_ifname(m) : which < 8 ? a_family(m) : a_comm_id(m);
}

/* --- conf files ---------------------------------------------------------------- */

static void add_conf_line(struct maker *m, struct text *t)
{
	static const char *const starts[] = {"",  "",  "",   "",	"", "",
					     " ", "#", "# ", "export ", "="};
	static const char *const equals[] = {"=", "=", "=", "=", "=", " = ", "= ", "", "=="};
	static const char *const ends[] = {"\n", "\n", "\n", "\n", "\r\n", " # note\n", " \n", ""};
	const char *name, *value = some_value(m, &name);
	const char *quote = chance(m, 8) ? "\"" : "";

	if (chance(m, 3)) { /* a name or value longer than NCCL's buffers, or NCCL's whole line */
		for (unsigned i = below(m, 5000); i; i--)
			text_add(t, "x");
		text_add(t, "=1\n");
	}
	text_addf(t, "%s%s%s%s%s%s", PICK(m, starts), name, PICK(m, equals), quote, value, quote);
	if (chance(m, 2))
		text_addn(t, "\0zzz", 4);
	text_add(t, PICK(m, ends));
}

static void add_conf(struct maker *m, enum conf which, unsigned percent)
{
	unsigned n = 1 + below(m, 4);

	if (!chance(m, percent))
		return;
	text_init(&m->l->conf[which], m->a);
	while (n--)
		add_conf_line(m, &m->l->conf[which]);
}

static void add_env(struct maker *m, const char *name, unsigned percent,
		    const char *(*value)(struct maker *m))
{
	if (chance(m, percent))
		*LIST_ADD(m->a, &m->l->env) = arena_printf(m->a, "%s=%s", name, value(m));
}

void layout_make(struct layout *l, uint64_t seed, uint64_t number, struct arena *a)
{
	struct maker m = {.l = l, .a = a, .state = seed * 1000003 + number};

	*l = (struct layout){0};
	text_init(&l->ip, a);
	add_links(&m);
	add_addresses(&m);
	add_env(&m, "NCCL_SOCKET_IFNAME", 45, an_ifname);
	add_env(&m, "NCCL_SOCKET_FAMILY", 20, a_family);
	add_env(&m, "NCCL_COMM_ID", 12, a_comm_id);
	l->names_conf_file = chance(&m, 15);
	l->own_home = chance(&m, 20);
	l->dad = chance(&m, 5);
	add_conf(&m, CONF_NAMED, 80);
	add_conf(&m, CONF_HOME, 15);
	add_conf(&m, CONF_PASSWD_HOME, 15);
	add_conf(&m, CONF_ETC, 15);
}

static void print_escaped(struct text *out, const char *s, size_t n)
{
	text_add(out, "#   ");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '\n' && i + 1 < n)
			text_add(out, "\\n\n#   ");
		else if (c < ' ' || c > '~' || c == '\\')
			text_addf(out, "\\x%02x", c);
		else
			text_addn(out, &s[i], 1);
	}
	text_add(out, "\n");
}

void layout_print(const struct layout *l, uint64_t seed, uint64_t number, struct text *out)
{
	static const char *const titles[CONF_COUNT] = {"NCCL_CONF_FILE", "$HOME/.nccl.conf",
						       ".nccl.conf in the passwd entry's home",
						       "/etc/nccl.conf"};

	text_addf(out, "# layout %llu disagrees (again: SEED=%llu FIRST=%llu N=1)\n",
		  (unsigned long long)number, (unsigned long long)seed, (unsigned long long)number);
	text_addf(out, "# ip -batch -%s\n",
		  l->dad ? "  (sysctl net.ipv6.conf.default.dad_transmits=60)" : "");
	print_escaped(out, l->ip.s, l->ip.n);
	for (size_t i = 0; i < l->env.n; i++)
		text_addf(out, "# env %s\n", l->env.v[i]);
	for (size_t i = 0; i < CONF_COUNT; i++)
		if (l->conf[i].s && (i != CONF_NAMED || l->names_conf_file)) {
			text_addf(out, "# %s:\n", titles[i]);
			print_escaped(out, l->conf[i].s, l->conf[i].n);
		}
}
