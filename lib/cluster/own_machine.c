#include "lib/cluster/own_machine.h"

#include "lib/cluster/rsh.h"
#include "lib/core/units.h"
#include "lib/net/own_addr.h"

#include <strings.h>

enum { HOSTS_MOST = 256, ASKED_MOST = 8 };

void own_machine_init(struct own_machine *m, const char *rsh, size_t n, struct arena *a)
{
	const bool named = rsh_is_named(rsh);

	*m = (struct own_machine){.in_hosts = !named && n <= HOSTS_MOST,
				  .by_resolver = !named && n <= ASKED_MOST,
				  .asked.deadline_ns = NS_PER_S,
				  .a = a};
	(void)gethostname(m->name, sizeof(m->name) - 1);
}

static bool begins_alike(const char *x, const char *y)
{
	size_t n = strcspn(x, ".");

	return n && n == strcspn(y, ".") && !strncasecmp(x, y, n);
}

/* Another machine may be reached by way of this one's loopback: then it has another name. */
static bool all_own(const addr_list *l, bool alike)
{
	for (size_t i = 0; i < l->n; i++)
		if (addr_class(&l->v[i]) == ADDR_LOOPBACK ? !alike : !own_addr(&l->v[i]))
			return false;
	return l->n > 0;
}

static bool means_own(struct own_machine *m, const char *name)
{
	const bool alike = begins_alike(name, m->name);
	struct name_answer got = {0};

	if (!name_is_plain(name) || (!alike && !m->in_hosts))
		return false;
	m->hosts = m->hosts ?: hosts_text(m->a, &m->hosts_n); /* once for all names */
	hosts_lookup(m->hosts, m->hosts_n, name, m->a, &got);
	if (!got.addrs.n && (alike || m->by_resolver))
		got = *name_ask(&m->asked, name, m->a);
	return all_own(&got.addrs, alike);
}

bool own_machine_is(struct own_machine *m, const char *name)
{
	union addr a;

	if (!strcasecmp(name, "localhost") || streq(name, "127.0.0.1") || streq(name, "::1"))
		return true;
	if (*m->name &&
	    (!strcasecmp(name, m->name) || (!strchr(name, '.') && begins_alike(name, m->name))))
		return true;
	return addr_parse(name, &a) ? means_own(m, name) : own_addr(&a);
}
