#include "probes/rules/nccl.h"

#include "lib/host/rank.h"

#include <errno.h>
#include <net/if.h>

/* Of one entry in NCCL's memory: its name and its port. */
enum { NCCL_ENTRY_SIZE = NCCL_NAME_SIZE + 4 };

static void take(struct nccl_ifspec *s, const char *from, size_t n, int port)
{
	if (s->n == NCCL_MAX_IFS) {
		s->truncated = true;
		return;
	}
	if (s->n * NCCL_ENTRY_SIZE + n >= NCCL_MAX_IFS * NCCL_ENTRY_SIZE)
		s->overrun = n;
	if (n >= NCCL_NAME_SIZE)
		n = NCCL_NAME_SIZE - 1;
	memcpy(s->prefix[s->n], from, n);
	s->port[s->n++] = port;
}

void nccl_ifspec_parse(const char *value, struct nccl_ifspec *ret)
{
	*ret = (struct nccl_ifspec){0};
	/* Both signs are read once, in this order, for the whole list. */
	if ((ret->negate = *value == '^'))
		value++;
	if ((ret->exact = *value == '='))
		value++;
	for (;; value++) {
		size_t entry = strcspn(value, ","), name = strcspn(value, ":,");

		if (name)
			take(ret, value, name,
			     name < entry ? (int)strtol(value + name + 1, NULL, 10) : -1);
		value += entry;
		if (!*value)
			return;
	}
}

size_t nccl_ifspec_overrun(const struct nccl_ifspec *s, unsigned version)
{
	return s->overrun && nccl_version(version) < NCCL_VERSION_BOUNDED ? s->overrun : 0;
}

bool nccl_ifspec_match_port(const struct nccl_ifspec *s, const char *name, int port)
{
	bool hit = s->n == 0; /* an empty list matches everything */

	for (size_t i = 0; i < s->n && !hit; i++)
		hit = (s->exact ? streq(name, s->prefix[i]) : starts_with(name, s->prefix[i])) &&
		      (port == -1 || s->port[i] == -1 || s->port[i] == port);
	return hit != s->negate;
}

bool nccl_ifspec_match(const struct nccl_ifspec *s, const char *name)
{
	return nccl_ifspec_match_port(s, name, -1);
}

bool nccl_conf_line(const char *line, size_t n, struct arena *a, const char **ret_name,
		    const char **ret_value)
{
	enum { CUT = 1023 };
	const char *eq;
	size_t name, value;

	n = strnlen(line, n);
	if (n == 0 || *line == '#' || !(eq = memchr(line, '=', n)) || eq == line)
		return false;
	name = (size_t)(eq - line);
	value = n - name - 1;
	*ret_name = arena_strndup(a, line, name < CUT ? name : CUT);
	*ret_value = arena_strndup(a, eq + 1, value < CUT ? value : CUT);
	return true;
}

bool nccl_param_parse(const char *value, int64_t *ret)
{
	long long v;

	if (!*value)
		return false;
	errno = 0;
	v = strtoll(value, NULL, 0);
	if (errno)
		return false;
	*ret = v;
	return true;
}

const char *nccl_version_text(struct arena *a, unsigned code)
{
	unsigned unit = code < 10000 ? 1000 : 10000;

	return arena_printf(a, "%u.%u.%u", code / unit, code / 100 % (unit / 100), code % 100);
}

int nccl_version_parse(const char *s, unsigned *ret)
{
	unsigned v[3] = {0}, n = 0;

	for (; n < 3; n++) {
		char *end;

		if (*s < '0' || *s > '9')
			return -1;
		v[n] = (unsigned)strtoul(s, &end, 10);
		if (end - s > 6)
			return -1;
		s = end;
		if (*s != '.')
			break;
		s++;
	}
	/* Packages add "-1" or "+cuda13.0". */
	if (*s && *s != '-' && *s != '+')
		return -1;
	if (n == 0 && v[0] < 1000)
		return -1;
	if (n && (v[0] < 1 || v[0] > 99 || v[1] > 99 || v[2] > 99))
		return -1;
	if (n) /* the code had one digit less for the major number up to 2.8 */
		v[0] = v[0] * (v[0] <= 2 && v[1] <= 8 ? 1000 : 10000) + v[1] * 100 + v[2];
	*ret = v[0];
	return 0;
}

int nccl_family_parse(const char *value) { return rank_family(value); }

static bool is_held(const struct iface_addr *const *v, size_t n, const char *label)
{
	for (size_t i = 0; i < n; i++)
		if (streq(v[i]->label, label))
			return true;
	return false;
}

/* An address that is configured on a link without a carrier, or switched off, counts at first. */
static bool is_seen(const struct iface_addr *ia, unsigned version)
{
	return (ia->iface->flags & IFF_RUNNING) || nccl_version(version) < NCCL_VERSION_RUNNING;
}

size_t nccl_select(const struct inventory *inv, const struct nccl_ifspec *spec, int family,
		   unsigned version, const struct iface_addr *ret[NCCL_MAX_IFS])
{
	size_t n = 0;

	for (size_t i = 0; i < inv->addrs.n && n < NCCL_MAX_IFS; i++) {
		const struct iface_addr *ia = &inv->addrs.v[i];

		if ((family && ia->addr.sa.sa_family != family) || !is_seen(ia, version))
			continue;
		/* ::1 is left out, 127.0.0.1 is not */
		if (ia->addr.sa.sa_family == AF_INET6 &&
		    IN6_IS_ADDR_LOOPBACK(&ia->addr.v6.sin6_addr))
			continue;
		if (nccl_ifspec_match(spec, ia->label) && !is_held(ret, n, ia->label))
			ret[n++] = ia;
	}
	return n;
}

static bool is_inverted(const union addr *to, unsigned version)
{
	if (to->sa.sa_family != AF_INET)
		return false;
	version = nccl_version(version);
	return version >= NCCL_VERSION_INVERTED && version < NCCL_VERSION_UPRIGHT;
}

const struct iface_addr *nccl_same_subnet(const struct inventory *inv, const union addr *to,
					  unsigned version, bool *ret_inverted)
{
	bool inverted = is_inverted(to, version);

	if (ret_inverted)
		*ret_inverted = inverted;
	for (size_t i = 0; i < inv->addrs.n; i++) {
		const struct iface_addr *ia = &inv->addrs.v[i];

		if (ia->addr.sa.sa_family == to->sa.sa_family &&
		    addr_in_subnet(to, &ia->addr, ia->prefix) != inverted &&
		    (to->sa.sa_family == AF_INET ||
		     ia->addr.v6.sin6_scope_id == to->v6.sin6_scope_id))
			return ia;
	}
	return NULL;
}

struct pass {
	const struct inventory *inv;
	int family;
	unsigned version;
};

static bool pass(const struct pass *p, const char *list, const char *rule, struct nccl_choice *ret)
{
	struct nccl_ifspec spec;

	nccl_ifspec_parse(list, &spec);
	ret->n = nccl_select(p->inv, &spec, p->family, p->version, ret->v);
	ret->rule = rule;
	return ret->n > 0;
}

void nccl_choose(const struct inventory *inv, const char *ifname, int family,
		 const union addr *comm_id, unsigned version, struct nccl_choice *ret)
{
	const struct pass p = {inv, family, version};
	bool virbr;

	*ret = (struct nccl_choice){0};
	if (ifname && strlen(ifname) > 1) { /* one character is as good as none */
		pass(&p, ifname, "NCCL_SOCKET_IFNAME", ret);
		return;
	}
	if (pass(&p, "ib", "automatic:ib", ret))
		return;
	if (comm_id && (ret->v[0] = nccl_same_subnet(inv, comm_id, version, NULL))) {
		ret->n = 1;
		ret->rule = "automatic:NCCL_COMM_ID";
		return;
	}
	virbr = nccl_version(version) >= NCCL_VERSION_VIRBR;
	if (pass(&p, virbr ? "^docker,lo,virbr" : "^docker,lo",
		 virbr ? "automatic:not docker,lo,virbr" : "automatic:not docker,lo", ret) ||
	    pass(&p, "docker", "automatic:docker", ret) || pass(&p, "lo", "automatic:lo", ret) ||
	    (virbr && pass(&p, "virbr", "automatic:virbr", ret)))
		return;
	ret->rule = "automatic";
}
