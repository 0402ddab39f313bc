/* One name that leads to two machines, and two machines with one address. */
#include "lib/cluster/child.h"
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

static const cJSON *interface_of(const struct answer *a)
{
	return json_get(json_get(a->data, "parts"), "interface");
}

/* NULL: none; of addresses of every kind, loopback and link-local ones included. */
static const cJSON *card_with(const struct answer *a, const char *addr)
{
	const cJSON *card, *at;

	cJSON_ArrayForEach (card, json_get(interface_of(a), "interfaces"))
		cJSON_ArrayForEach (at, json_get(card, "addresses"))
			if (streq(json_get_str(at, "address") ?: "", addr))
				return card;
	return NULL;
}

static const char *chosen(const struct answer *a)
{
	return json_get_str(json_get(interface_of(a), "suggest"), "address");
}

/* ---- the name of the host that a job meets at ---- */

/* "node0" is "node0.cluster.local". */
static bool is_one_name(const char *x, const char *y)
{
	size_t n = strlen(x), m = strlen(y);

	return !strncmp(x, y, n < m ? n : m) && (n == m || (n < m ? y[n] : x[m]) == '.');
}

static const struct answer *find_master(const struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && (is_one_name(all->v[i].host, p->master) ||
				      is_one_name(all->v[i].hostname, p->master)))
			return &all->v[i];
	return NULL;
}

static const cJSON *meant(const struct answer *a)
{
	return json_get(json_get(a->data, "facts"), "master");
}

/* Does the name lead there? Its own host may take it for loopback: ifprobe's host.name. */
static bool leads_to(const struct answer *from, const struct answer *to)
{
	const cJSON *at;
	union addr addr;

	cJSON_ArrayForEach (at, meant(from)) {
		const char *text = cJSON_GetStringValue(at);

		if (text && card_with(to, text) && !addr_parse(text, &addr) &&
		    addr_class(&addr) != ADDR_LOOPBACK)
			return true;
	}
	return false;
}

/* @sure: another one finds the way there, so it can be found. */
static void tell_wrong(struct preflight *p, const struct answer *a, const struct answer *master,
		       bool sure)
{
	struct finding *f = drift_note(p, "master", p->master, a->host);
	const char *wrong = cJSON_GetStringValue(cJSON_GetArrayItem(meant(a), 0));
	const char *right = chosen(master);

	if (wrong)
		finding_set(f, sure ? ST_FAIL : ST_WARN,
			    "leads to %s, which %s: a job that meets there waits for ever", wrong,
			    sure ? arena_printf(p->a, "is not %s", master->host)
				 : arena_printf(p->a, "%s does not have, unless it is translated",
						master->host));
	else
		finding_set(f, ST_FAIL, "is not known: a job that meets there does not start");
	if (!right)
		return;
	finding_expect(f, "%s", right);
	/* the first line that has the name is the one that counts */
	finding_fix(f,
		    "h=$(cat /etc/hosts); printf '%%s\\n' %s \"$h\" | sudo tee /etc/hosts "
		    ">/dev/null",
		    shell_quote(p->a, arena_printf(p->a, "%s %s", right, p->master)));
}

void drift_master(struct preflight *p, const struct answers *all)
{
	const struct answer *master = p->master ? find_master(p, all) : NULL;
	bool itself = master && leads_to(master, master);
	size_t right = 0;

	for (size_t i = 0; master && i < all->n; i++)
		right += &all->v[i] != master && leads_to(&all->v[i], master);
	/* Every host knows its own name. One that no other finds is for ssh alone, unless jobs are
	 * said to meet there, and one address for all may be translated. */
	for (size_t i = 0; master && i < all->n; i++) {
		const struct answer *a = &all->v[i];
		bool known = cJSON_GetArraySize(meant(a)) > 0;

		if (a == master || !cJSON_IsArray(meant(a)) || leads_to(a, master))
			continue;
		if (right || (itself && (known || p->master_given)))
			tell_wrong(p, a, master, right);
	}
}

/* ---- addresses ---- */

struct holder {
	const struct answer *a;
	const char *address;
	bool chosen; /* what others reach it by */
};
typedef LIST(struct holder) holder_list;

static int by_address(const void *px, const void *py)
{
	const struct holder *x = px, *y = py;
	int d = strcmp(x->address, y->address);

	d = d ? d : y->chosen - x->chosen;
	return d ? d : (x->a > y->a) - (x->a < y->a);
}

/* What containers, loopback and links have is alike on all hosts by design. */
static void collect(struct preflight *p, const struct answer *a, holder_list *ret)
{
	const cJSON *card, *at;
	const char *own = chosen(a);

	cJSON_ArrayForEach (card, json_get(interface_of(a), "interfaces")) {
		bool usable = cJSON_IsTrue(json_get(card, "usable"));

		cJSON_ArrayForEach (at, json_get(card, "addresses")) {
			const char *text = json_get_str(at, "address");

			if (text && usable && streq(json_get_str(at, "scope") ?: "", "global"))
				*LIST_ADD(p->a, ret) =
					(struct holder){a, text, own && streq(own, text)};
		}
	}
}

static void tell_shared(struct preflight *p, const struct holder *keeps, const struct holder *odd)
{
	struct finding *f = drift_note(p, "address", odd->address, odd->a->host);
	const cJSON *card = card_with(odd->a, odd->address), *at;
	double prefix = strchr(odd->address, ':') ? 128 : 32;

	cJSON_ArrayForEach (at, json_get(card, "addresses"))
		if (streq(json_get_str(at, "address") ?: "", odd->address))
			prefix = json_get_num(at, "prefix", prefix);
	finding_set(f, ST_FAIL,
		    "is here and on %s: what is sent there arrives at the one or the other",
		    keeps->a->host);
	finding_expect(f, "an address of its own for each host");
	finding_fix(f, "sudo ip address del %s/%.0f dev %s", odd->address, prefix,
		    json_get_str(card, "name") ?: "IFACE");
	finding_fix(f, "sudo ip neigh flush to %s   # then on all other hosts: they remember it",
		    odd->address);
}

/* One machine that was named twice has all its addresses twice. */
static bool is_one_machine(const struct holder *x, const struct holder *y)
{
	return streq(x->a->hostname, y->a->hostname);
}

void drift_addresses(struct preflight *p, const struct answers *all)
{
	holder_list l = {0};

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc)
			collect(p, &all->v[i], &l);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_address);
	for (size_t i = 0, k; i < l.n; i = k)
		for (k = i + 1; k < l.n && streq(l.v[k].address, l.v[i].address); k++)
			if (l.v[i].chosen && !is_one_machine(&l.v[i], &l.v[k]))
				tell_shared(p, &l.v[i], &l.v[k]);
}
