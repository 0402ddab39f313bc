#include "probes/iface/fleet_emit.h"

#include "lib/core/quote.h"
#include "lib/report/json.h"
#include "probes/iface/emit.h"

enum { MOST_NAMES = 16 }; /* NCCL reads no more of a list */

static const cJSON *suggest_of(const struct answer *a) { return json_get(a->data, "suggest"); }
static const char *iface_of(const struct answer *a)
{
	const char *name = json_get_str(suggest_of(a), "interface");

	return suggest_can_say("NCCL_SOCKET_IFNAME", name) ? name : NULL;
}
static const char *env_of(const struct answer *a, const char *name)
{
	const char *value = json_get_str(json_get(suggest_of(a), "env"), name);

	return suggest_can_say(name, value) ? value : NULL;
}

/* The names of all variables that any host sets, in the first one's order. Another host's word
 * goes into shells here: what no rule of ours would say is left out. */
static str_list variables(struct fleet *f, const struct answers *all)
{
	str_list names = {0};
	const cJSON *v;

	for (size_t i = 0; i < all->n; i++)
		cJSON_ArrayForEach (v, json_get(suggest_of(&all->v[i]), "env")) {
			if (env_of(&all->v[i], v->string) && !list_has(&names, v->string))
				*LIST_ADD(f->a, &names) = arena_strdup(f->a, v->string);
		}
	return names;
}

/* The value that every answering host has for @name, or NULL. */
static const char *same_everywhere(const struct answers *all, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const char *here = env_of(&all->v[i], name);

		if (!iface_of(&all->v[i]))
			continue;
		if (!here || (value && !streq(value, here)))
			return NULL;
		value = here;
	}
	return value;
}

/*
 * A host with both families is told which one; those that have no other lose nothing by it, and
 * one value for all of them can be written into any file. NULL: they were not chosen alike.
 */
static const char *common_family(const struct answers *all)
{
	const char *value = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const char *addr = json_get_str(suggest_of(&all->v[i]), "address");
		const char *its = addr && strchr(addr, ':') ? "AF_INET6" : "AF_INET";

		if (!addr)
			continue;
		if (value && !streq(value, its))
			return NULL;
		value = its;
	}
	return value;
}

/* NCCL takes any running interface that a list names, whatever address it has. */
static bool nccl_sees(const cJSON *candidate)
{
	return json_get(candidate, "address") || cJSON_IsTrue(json_get(candidate, "nccl_sees"));
}

/* On @a, does the exact list of @names leave anything but its own choice? */
static bool list_is_right_on(const struct answer *a, const str_list *names)
{
	const cJSON *c;

	cJSON_ArrayForEach (c, json_get(suggest_of(a), "candidates")) {
		const char *name = json_text(c, "interface");

		if (!streq(name, iface_of(a)) && list_has(names, name) && nccl_sees(c))
			return false;
	}
	return true;
}

/* True when the name alone, in exact form, is what @a proposed. */
static bool is_exact(const struct answer *a)
{
	const char *list = env_of(a, "NCCL_SOCKET_IFNAME");

	return list && *list == '=' && streq(list + 1, iface_of(a));
}

/* "=ens5,enp3s0" where each host has just one of them; NULL where that is not so. */
static const char *common_list(struct fleet *f, const struct answers *all)
{
	str_list names = {0};
	struct text t;

	text_init(&t, f->a);
	for (size_t i = 0; i < all->n; i++) {
		const char *name = iface_of(&all->v[i]);

		if (name && !is_exact(&all->v[i]))
			return NULL;
		if (!name || list_has(&names, name))
			continue;
		text_addf(&t, "%s%s", names.n ? "," : "=", name);
		*LIST_ADD(f->a, &names) = name;
	}
	for (size_t i = 0; i < all->n; i++)
		if (iface_of(&all->v[i]) && !list_is_right_on(&all->v[i], &names))
			return NULL;
	return names.n <= MOST_NAMES ? arena_strdup(f->a, t.s) : NULL;
}

static bool is_set(const struct suggestion *s, const char *name)
{
	for (size_t i = 0; i < s->env.n; i++)
		if (streq(s->env.v[i].name, name))
			return true;
	return false;
}

/* What is not common, as one branch of a `case`; nothing when all is. */
static void branch(struct fleet *f, const struct answer *a, const str_list *vars,
		   const struct suggestion *common, struct text *out)
{
	struct text sets;

	text_init(&sets, f->a);
	for (size_t k = 0; k < vars->n; k++) {
		const char *value = env_of(a, vars->v[k]);

		if (value && !is_set(common, vars->v[k]))
			text_addf(&sets, " export %s=%s;", vars->v[k], shell_quote(f->a, value));
	}
	if (sets.n)
		text_addf(out, "%s)%s;\n", shell_quote(f->a, a->hostname), sets.s);
}

/* Lines that every host can evaluate and that choose by its name. */
static void per_host(struct fleet *f, const struct answers *all, const str_list *vars,
		     const struct suggestion *common, struct text *out)
{
	struct text branches;

	text_init(&branches, f->a);
	for (size_t i = 0; i < all->n; i++)
		if (iface_of(&all->v[i]))
			branch(f, &all->v[i], vars, common, &branches);
	if (branches.n)
		text_addf(out, "case \"$(uname -n)\" in\n%sesac\n", branches.s);
}

static bool names_are_alike(const struct answers *all)
{
	const char *first = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const char *name = iface_of(&all->v[i]);

		first = first ?: name;
		if (name && !streq(name, first))
			return false;
	}
	return true;
}

static bool is_alike(const struct answer *a, const struct answer *b, const str_list *vars)
{
	for (size_t k = 0; k < vars->n; k++)
		if (!streq(env_of(a, vars->v[k]) ?: "", env_of(b, vars->v[k]) ?: ""))
			return false;
	return true;
}

/* What two unlike hosts call themselves, so that no line can tell them apart; or NULL. */
static const char *twin(const struct answers *all, const str_list *vars)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < i && iface_of(&all->v[i]); k++)
			if (iface_of(&all->v[k]) && streq(all->v[i].hostname, all->v[k].hostname) &&
			    !is_alike(&all->v[i], &all->v[k], vars))
				return all->v[i].hostname;
	return NULL;
}

/* "node1: eth0, node2: ens5"; where that is one name, the variables that differ. */
static const char *what_differs(struct fleet *f, const struct answers *all, const str_list *vars)
{
	bool alike = names_are_alike(all);
	struct text t;

	text_init(&t, f->a);
	for (size_t i = 0; !alike && i < all->n; i++)
		if (iface_of(&all->v[i]))
			text_addf(&t, "%s%s: %s", t.n ? ", " : "", all->v[i].host,
				  iface_of(&all->v[i]));
	for (size_t k = 0; alike && k < vars->n; k++)
		text_addf(&t, "%s%s", k ? ", " : "", vars->v[k]);
	return t.s;
}

/* @vars: those that have no value which is right everywhere. */
static void say_differ(struct fleet *f, const struct answers *all, const str_list *vars,
		       const char *list, const char *form)
{
	bool shell = !form || streq(form, "shell");
	bool by_name = form && shell && vars->n > (list != NULL);
	const char *what = names_are_alike(all) ? "values" : "interface names";
	const char *both = by_name ? twin(all, vars) : NULL;
	struct finding *g = report_find(f->report, "suggest.names", what);

	finding_set(g, (shell || list) && !both ? ST_INFO : ST_WARN,
		    "differ between hosts (%s)%s%s", what_differs(f, all, vars),
		    !form   ? ""
		    : both  ? "; the lines choose by host name, and more than one calls itself "
		    : list  ? "; NCCL takes one list that is right on all of them"
		    : shell ? "; the lines choose by host name"
			    : "; this form cannot say that",
		    both ?: "");
	if (both)
		finding_expect(g, "a name of its own for each host");
	if (!shell || both)
		finding_fix(g, "ifprobe --bashrc --hosts %s   # each host computes its own",
			    shell_quote(f->a, f->given));
	else if (list && (!form || report_wants_data(f->report))) /* else it is the answer */
		finding_fix(g,
			    "export NCCL_SOCKET_IFNAME=%s   # in the job, the same on every host",
			    shell_quote(f->a, list));
	report_add(f->report, g);
}

/* What data.suggest says of the host we run on, when it is one of them. */
static const char *const own_keys[] = {"interface", "address", "why"};

static const char *own_name(struct arena *a)
{
	char name[256] = "";

	(void)gethostname(name, sizeof(name) - 1);
	return arena_strdup(a, name);
}

static void fill_data(struct fleet *f, const struct answers *all, const struct suggestion *common,
		      bool same)
{
	cJSON *o, *env, *hosts;

	if (!report_wants_data(f->report))
		return;
	o = json_object(report_data(f->report), "suggest");
	for (size_t i = 0; i < all->n; i++)
		if (iface_of(&all->v[i]) && streq(all->v[i].hostname, own_name(f->a)))
			for (size_t k = 0; k < ARRAY_LEN(own_keys); k++)
				json_str(o, own_keys[k],
					 json_get_str(suggest_of(&all->v[i]), own_keys[k]));
	json_bool(o, "same", same);
	json_bool(o, "proven", !report_count(f->report, ST_FAIL));
	env = json_object(o, "env");
	for (size_t i = 0; i < common->env.n; i++)
		json_str(env, common->env.v[i].name, common->env.v[i].value);
	hosts = json_array(o, "hosts");
	for (size_t i = 0; i < all->n; i++) {
		cJSON *one = json_push_object(hosts);

		json_str(one, "host", all->v[i].host);
		json_str(one, "interface", iface_of(&all->v[i]));
		json_str(one, "address", json_get_str(suggest_of(&all->v[i]), "address"));
	}
}

static void answer_names(const struct answers *all, bool same, struct text *out)
{
	for (size_t i = 0; i < all->n; i++) {
		if (!iface_of(&all->v[i]))
			continue;
		if (same) {
			text_addf(out, "%s\n", iface_of(&all->v[i]));
			return;
		}
		text_addf(out, "%s %s\n", all->v[i].host, iface_of(&all->v[i]));
	}
}

void fleet_emit(struct fleet *f, const struct answers *all, const char *form, bool name_only)
{
	str_list vars = variables(f, all), differ = {0};
	struct suggestion common = {.a = f->a};
	const char *list = NULL;
	struct text out;

	text_init(&out, f->a);
	for (size_t k = 0; k < vars.n; k++) {
		const char *value = same_everywhere(all, vars.v[k]);

		if (!value && streq(vars.v[k], "NCCL_SOCKET_IFNAME"))
			value = list = common_list(f, all);
		if (!value && streq(vars.v[k], "NCCL_SOCKET_FAMILY"))
			value = common_family(all);
		if (value)
			suggest_env(&common, vars.v[k], NULL, "%s", value);
		if (!value || value == list)
			*LIST_ADD(f->a, &differ) = vars.v[k];
	}
	if (differ.n)
		say_differ(f, all, &differ, list, name_only ? NULL : form);
	fill_data(f, all, &common, !differ.n);
	if (name_only)
		answer_names(all, !differ.n, &out);
	else if (form)
		emit_find(form)->render(&common, &out);
	if (form && !name_only && differ.n && streq(form, "shell"))
		per_host(f, all, &vars, &common, &out);
	if (vars.n && out.n)
		report_answer(f->report, out.s, out.n);
}
