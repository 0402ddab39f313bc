#include "probes/rules/ompi.h"
#include "lib/core/file.h"
#include "lib/host/answers.h"
#include "lib/host/sysroot.h"
#include "probes/rules/names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>

enum { CONF_MAX = 1 << 20 };

/* --- parameters ------------------------------------------------------------------ */
static size_t trim(const char **s, size_t n)
{
	while (n && isspace((unsigned char)**s))
		(*s)++, n--;
	while (n && isspace((unsigned char)(*s)[n - 1]))
		n--;
	return n;
}

/* A value may hold '#'; a comment begins a line. */
static const char *conf_line(const char *line, size_t n, const char *name, struct arena *a)
{
	const char *eq = memchr(line, '=', n), *key = line, *value;
	size_t key_n, value_n;

	if (!eq)
		return NULL;
	key_n = trim(&key, (size_t)(eq - line));
	if (key_n != strlen(name) || memcmp(key, name, key_n) != 0)
		return NULL;
	value = eq + 1;
	value_n = trim(&value, n - (size_t)(value - line));
	return arena_strndup(a, value, value_n);
}

const char *ompi_conf_get(const char *text, size_t n, const char *name, struct arena *a)
{
	const char *found = NULL, *end = text + n;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text)), *one;

		if (!eol)
			eol = end;
		one = conf_line(text, (size_t)(eol - text), name, a);
		if (one)
			found = one;
		text = eol + (eol < end);
	}
	return found;
}

struct conf {
	const char *path, *text;
	size_t n;
};

static void read_conf(struct conf *c, const char *path, struct arena *a)
{
	struct err e = {0};
	char *text;

	*c = (struct conf){.path = path};
	if (path && file_read(sysroot_path(a, path), CONF_MAX, a, &text, &c->n, &e) == 0)
		c->text = text;
}

static void get(struct ompi_param *p, const char *name, const struct conf *conf, size_t n,
		struct arena *a)
{
	*p = (struct ompi_param){.name = name, .env = arena_printf(a, "OMPI_MCA_%s", name)};
	p->value = settings_env(p->env);
	for (size_t i = 0; i < n && !p->value; i++) {
		if (conf[i].text)
			p->value = ompi_conf_get(conf[i].text, conf[i].n, name, a);
		p->file = p->value ? conf[i].path : NULL;
	}
}

/* The second name is an older one that it still takes. */
static struct ompi_param get_prte(const char *name, const char *env, const char *old)
{
	bool is_old = !settings_env(env) && settings_env(old);

	return (struct ompi_param){
		.name = name, .env = is_old ? old : env, .value = settings_env(is_old ? old : env)};
}

static bool has_program(const char *folder, size_t n, const char *name, struct arena *a)
{
	return !access(sysroot_path(a, arena_printf(a, "%.*s/%s", (int)n, folder, name)), X_OK);
}

/* Where in PATH Open MPI is, without a slash at the end. NULL: it is not there. */
static const char *folder_of(const char *path, struct arena *a)
{
	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (n && has_program(path, n, "ompi_info", a)) {
			while (n > 1 && path[n - 1] == '/')
				n--;
			return arena_strndup(a, path, n);
		}
	}
	return NULL;
}

/* What came in a folder of its own has its file for all users there, a distribution's in /etc. */
static void read_system(struct conf c[2], const char *folder, struct arena *a)
{
	const char *bin = folder ? strrchr(folder, '/') : NULL;
	bool is_own = bin && !streq(folder, "/bin") &&
		      (strncmp(folder, "/usr/", 5) != 0 || !strncmp(folder, "/usr/local/", 11));

	c[1] = (struct conf){0};
	read_conf(&c[0],
		  bin ? arena_printf(a, "%.*s/etc/openmpi-mca-params.conf", (int)(bin - folder),
				     folder)
		      : NULL,
		  a);
	if (c[0].text || is_own)
		return;
	read_conf(&c[0], "/etc/openmpi/openmpi-mca-params.conf", a);
	read_conf(&c[1], "/etc/openmpi-mca-params.conf", a);
}

bool ompi_goes_on(const struct ompi_params *o, size_t nbefore)
{
	return o->release != 4 && nbefore;
}

void ompi_params_read(struct arena *a, struct ompi_params *ret)
{
	const char *home = settings_env("HOME"), *folder = folder_of(settings_env("PATH"), a);
	struct conf conf[3];

	if (home && sysroot_is_real() && !folder_answers(home))
		home = NULL;
	read_conf(&conf[0], home ? arena_printf(a, "%s/.openmpi/mca-params.conf", home) : NULL, a);
	read_system(&conf[1], folder, a);
	get(&ret->btl, "btl", conf, ARRAY_LEN(conf), a);
	get(&ret->btl_include, "btl_tcp_if_include", conf, ARRAY_LEN(conf), a);
	get(&ret->btl_exclude, "btl_tcp_if_exclude", conf, ARRAY_LEN(conf), a);
	get(&ret->oob_include, "oob_tcp_if_include", conf, ARRAY_LEN(conf), a);
	get(&ret->oob_exclude, "oob_tcp_if_exclude", conf, ARRAY_LEN(conf), a);
	ret->prte_include = get_prte("prte_if_include", "PRTE_MCA_prte_if_include",
				     "PRTE_MCA_oob_tcp_if_include");
	ret->prte_exclude = get_prte("prte_if_exclude", "PRTE_MCA_prte_if_exclude",
				     "PRTE_MCA_oob_tcp_if_exclude");
	/* 5 has no daemon of its own any more: PRRTE's. */
	ret->release = 0;
	if (folder)
		ret->release = has_program(folder, strlen(folder), "orted", a) ? 4 : 5;
}

/* --- Open MPI's list of interfaces ---------------------------------------------- */
static bool takes(const struct iface_addr *ia)
{
	if (ia->addr.sa.sa_family == AF_INET)
		return iface_is_up(ia->iface) && !(ia->iface->flags & IFF_SLAVE);
	return ia->addr.sa.sa_family == AF_INET6 && ia->scope == RT_SCOPE_UNIVERSE;
}

/* It asks the kernel for a label's IPv4 address, and gets the first of that label, always. */
static struct ompi_if entry_of(const struct iface_addr *ia)
{
	const struct iface_addr *first = ia->iface->addrs;

	if (ia->addr.sa.sa_family == AF_INET6)
		return (struct ompi_if){ia->iface->name, ia};
	while (first != ia &&
	       (first->addr.sa.sa_family != AF_INET || !streq(first->label, ia->label)))
		first = first->next;
	return (struct ompi_if){ia->label, first};
}

bool ompi_first(const struct iface *iface, struct ompi_if *ret)
{
	const int families[] = {AF_INET, AF_INET6};

	for (size_t f = 0; f < ARRAY_LEN(families); f++)
		for (const struct iface_addr *ia = iface->addrs; ia; ia = ia->next)
			if (ia->addr.sa.sa_family == families[f] && takes(ia)) {
				*ret = entry_of(ia);
				return true;
			}
	return false;
}

void ompi_ifs_read(const struct inventory *inv, ompi_ifs *ret)
{
	*ret = (ompi_ifs){0};
	for (size_t i = 0; i < inv->addrs.n; i++)
		if (takes(&inv->addrs.v[i]))
			*LIST_ADD(inv->a, ret) = entry_of(&inv->addrs.v[i]);
}

const struct ompi_if *ompi_find(const ompi_ifs *ifs, const char *name)
{
	for (size_t i = 0; i < ifs->n; i++)
		if (streq(ifs->v[i].name, name))
			return &ifs->v[i];
	return NULL;
}

/* --- the lists ------------------------------------------------------------------- */
static void add_once(str_list *names, const char *name, struct arena *a)
{
	for (size_t i = 0; i < names->n; i++)
		if (streq(names->v[i], name))
			return;
	*LIST_ADD(a, names) = name;
}

/*
 * Only IPv4. Open MPI computes its mask with shifts by the length, and the
 * processor takes those modulo 32: /32 and /0 become a mask of nothing.
 */
static bool parse_subnet(const char *entry, struct arena *a, uint32_t *ret_net, uint32_t *ret_mask)
{
	const char *slash = strchr(entry, '/');
	struct in_addr net;
	unsigned len;

	if (!slash ||
	    inet_pton(AF_INET, arena_strndup(a, entry, (size_t)(slash - entry)), &net) != 1)
		return false;
	len = (unsigned)strtol(slash + 1, NULL, 10);
	*ret_mask = htonl(((1u << (len & 31)) - 1) << (-len & 31));
	*ret_net = net.s_addr & *ret_mask;
	return true;
}

enum ompi_entry ompi_resolve(const ompi_ifs *ifs, const char *entry, struct arena *a,
			     str_list *names)
{
	uint32_t net, mask;

	if (isalpha((unsigned char)*entry)) {
		add_once(names, entry, a);
		return OMPI_NAME;
	}
	if (!parse_subnet(entry, a, &net, &mask))
		return OMPI_BAD_SUBNET;
	for (size_t i = 0; i < ifs->n; i++) {
		const union addr *addr = &ifs->v[i].ia->addr;

		if (addr->sa.sa_family == AF_INET && (addr->v4.sin_addr.s_addr & mask) == net)
			add_once(names, ifs->v[i].name, a);
	}
	return mask ? OMPI_SUBNET : OMPI_EVERYTHING;
}

void ompi_resolve_list(const ompi_ifs *ifs, const char *list, struct arena *a, str_list *ret)
{
	str_list entries;

	*ret = (str_list){0};
	names_split(list, ",", false, a, &entries);
	for (size_t i = 0; i < entries.n; i++)
		(void)ompi_resolve(ifs, entries.v[i], a, ret);
}

bool ompi_excluded(const str_list *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (starts_with(name, names->v[i]))
			return true;
	return false;
}
