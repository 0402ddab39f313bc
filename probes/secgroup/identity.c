/* Who the cloud says this machine is. */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/secgroup/audit.h"

#include <math.h>

/* Off a cloud an address that is routed but nobody's costs 300 ms, once (lib/host/cloud.c). */
#define LONGEST (3 * NS_PER_S)

int cloud_identity(const struct cloud_run *q, struct cloud *ret, struct err *e)
{
	return cloud_read_cards(q->a, q->deadline_ns < LONGEST ? q->deadline_ns : LONGEST, ret, e);
}

const char *cloud_join(struct arena *a, const str_list *l, const char *separator)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < l->n; i++)
		text_addf(&t, "%s%s", i ? separator : "", l->v[i]);
	return l->n ? t.s : NULL;
}

void cloud_add_once(struct arena *a, str_list *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], s))
			return;
	*LIST_ADD(a, l) = s;
}

void cloud_groups_of(struct arena *a, const struct cloud *c, str_list *ret)
{
	for (size_t i = 0; i < c->cards.n; i++)
		for (size_t k = 0; k < c->cards.v[i].groups.n; k++)
			cloud_add_once(a, ret, c->cards.v[i].groups.v[k]);
}

static const struct cloud_map *public_of(const struct cloud *c, const union addr *at)
{
	for (size_t i = 0; i < c->map.n; i++)
		if (addr_equal(&c->map.v[i].private_addr, at))
			return &c->map.v[i];
	return NULL;
}

static void show_cards(const struct cloud_run *q, const struct cloud *c)
{
	static const struct column columns[] = {
		{.name = "mac", .is_text = true},    {.name = "private", .is_text = true},
		{.name = "public", .is_text = true}, {.name = "interface", .is_text = true},
		{.name = "subnet", .is_text = true}, {.name = "groups", .is_text = true}};
	static const struct series view = {"cards", columns, ARRAY_LEN(columns), true};
	struct addr_text t;

	report_series(q->r, &view);
	for (size_t i = 0; i < c->cards.n; i++) {
		const struct cloud_card *k = &c->cards.v[i];
		const struct cloud_map *m = k->addrs.n ? public_of(c, &k->addrs.v[0]) : NULL;
		const struct cell cells[] = {
			{k->mac, NAN},
			{k->addrs.n ? arena_strdup(q->a, addr_print(&k->addrs.v[0], &t)) : NULL,
			 NAN},
			{m ? arena_strdup(q->a, addr_print(&m->public_addr, &t)) : NULL, NAN},
			{k->id, NAN},
			{k->subnet, NAN},
			{cloud_join(q->a, &k->groups, ","), NAN},
		};

		report_row(q->r, cells);
	}
}

static void put_data(const struct cloud *c, cJSON *data)
{
	cJSON *o = json_object(data, "cloud"), *list, *one, *texts;
	struct addr_text t;

	json_str(o, "provider", c->provider);
	json_str(o, "instance_type", c->instance_type);
	json_str(o, "instance_id", c->instance_id);
	json_str(o, "region", c->region);
	json_str(o, "zone", c->zone);
	list = json_array(o, "interfaces");
	for (size_t i = 0; i < c->cards.n; i++) {
		const struct cloud_card *k = &c->cards.v[i];

		one = json_push_object(list);
		json_str(one, "mac", k->mac);
		json_str(one, "id", k->id);
		json_str(one, "subnet", k->subnet);
		json_str(one, "vpc", k->vpc);
		texts = json_array(one, "addresses");
		for (size_t n = 0; n < k->addrs.n; n++)
			json_push_str(texts, addr_print(&k->addrs.v[n], &t));
		texts = json_array(one, "groups");
		for (size_t n = 0; n < k->groups.n; n++)
			json_push_str(texts, k->groups.v[n]);
	}
	list = json_array(o, "public");
	for (size_t i = 0; i < c->map.n; i++) {
		one = json_push_object(list);
		json_str(one, "public", addr_print(&c->map.v[i].public_addr, &t));
		json_str(one, "private", addr_print(&c->map.v[i].private_addr, &t));
		json_str(one, "mac", c->map.v[i].mac);
	}
}

static void say_who(const struct cloud *c, struct finding *f)
{
	if (!c->provider)
		finding_set(f, ST_INFO, "no cloud is recognised: neither AWS, GCP nor Azure");
	else if (!c->instance_type)
		finding_set(f, ST_INFO, "%s, which told nothing of this instance", c->provider);
	else
		finding_set(f, ST_INFO, "%s %s%s%s", c->provider, c->instance_type,
			    c->zone ? " in " : "", c->zone ? c->zone : "");
}

static void report_identity(const struct cloud_run *q, const struct cloud *c, enum status trouble)
{
	struct finding *f = report_find(q->r, "cloud.identity", c->instance_id);
	const char *command;

	say_who(c, f);
	report_add(q->r, f);
	if (c->trouble) {
		f = report_find(q->r, "cloud.metadata", c->provider);
		command = strstr(c->trouble, "aws ec2 ");
		finding_set(f, trouble, "%s", c->trouble);
		if (command)
			finding_fix(f, "%s", command);
		report_add(q->r, f);
	}
	if (report_wants_data(q->r))
		put_data(c, report_data(q->r));
}

void cloud_identity_brief(const struct cloud_run *q, const struct cloud *c)
{
	report_identity(q, c, ST_INFO);
}

void cloud_identity_report(const struct cloud_run *q, const struct cloud *c)
{
	if (c->cards.n)
		show_cards(q, c);
	report_identity(q, c, ST_WARN);
	if (!q->c->audit)
		report_covers(q->r, "what the metadata service says; no rule was looked at "
				    "(--cloud --audit does)");
}
