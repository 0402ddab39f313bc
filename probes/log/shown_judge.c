/* What kubectl shows of Services and NetworkPolicies says why ranks did not meet: a policy that
 * keeps all but a port or two from pods, a Service whose selector is written otherwise than the
 * pods' labels. */
#include "lib/core/text.h"
#include "probes/log/explain.h"
#include "probes/log/said.h"

enum {
	MORE = 5,    /* than what it explains */
	SURE = 84,   /* at least: the policy is of these pods, and their ports are not in it */
	TABLE = 46,  /* there is one, and what it says was not shown */
	OTHERS = 52, /* it may be of other pods */
	MOST = 97
};

/* Who did not reach another, told best first. */
static const struct cause *best_of(struct explanation *x, const char *const *ids)
{
	const struct cause *best = NULL;

	for (size_t i = 0; ids[i]; i++) {
		const struct cause *c = explain_find(x, ids[i]);

		if (c && c->first && !c->is_over && (!best || c->weight > best->weight))
			best = c;
	}
	return best;
}

static int above(const struct cause *effect, int least)
{
	int weight = explain_above(effect, MORE, MOST);

	return weight < least ? least : weight;
}

/* --- policies ------------------------------------------------------------------------------- */

/* Some process of the job is a pod of its name: "app=clip-l", and clip-l-worker-0. */
static bool is_of_job(const struct why *w, const struct policy *p)
{
	const char *label = strchr(p->pods, '=');
	char value[64];

	if (label)
		said_word(value, sizeof(value), label + 1, ", ");
	for (size_t i = 0; label && *value && i < w->actors.nhosts; i++)
		if (strstr(w->actors.hosts[i], value))
			return true;
	return !*p->pods;
}

/* The narrowest that may be of the job's pods; NULL: none is. */
static const struct policy *narrow(const struct why *w)
{
	const struct policy *found = NULL;

	for (unsigned i = 0; i < w->shown.npolicies; i++) {
		const struct policy *p = &w->shown.policies[i];

		if (p->is_row || starts_with(p->space, "kube-") || !policy_is_narrow(p))
			continue;
		if (!found || (!is_of_job(w, found) && is_of_job(w, p)))
			found = p;
	}
	return found;
}

/* Another one lets them through: what policies allow is added up. */
static bool is_let_through(const struct why *w, const struct policy *narrow)
{
	bool in = !narrow->in.is_affected, out = !narrow->out.is_affected;

	for (unsigned i = 0; i < w->shown.npolicies; i++) {
		const struct policy *p = &w->shown.policies[i];

		in |= !p->is_row && p->in.lets_all && is_of_job(w, p);
		out |= !p->is_row && p->out.lets_all && is_of_job(w, p);
	}
	return in && out;
}

static const char *side_text(struct arena *a, const struct policy_side *d, const char *way)
{
	if (!d->is_affected || d->lets_all)
		return "";
	return *d->ports ? arena_printf(a, "only %s %s", d->ports, way)
			 : arena_printf(a, "nothing %s", way);
}

static const char *policy_text(struct arena *a, const struct policy *p)
{
	const char *in = side_text(a, &p->in, "in"), *out = side_text(a, &p->out, "out");

	return arena_printf(a, "the policy %s lets %s%s%s", *p->name ? p->name : "that is shown",
			    in, *in && *out ? ", and " : "", out);
}

/* Names are all that is known. One alone that calls itself so denies what no other lets through. */
static void table(const struct why *w, struct arena *a, struct cause *c, const struct cause *e)
{
	const struct policy *p = &w->shown.policies[0];

	if (!w->shown.npolicies || !p->is_row)
		return;
	if (w->shown.npolicies == 1 && strcasestr(p->name, "deny"))
		explain_reason(c, e, above(e, 0),
			       arena_printf(a, "there is one policy alone, called %s", p->name));
	else
		explain_suspect(c, TABLE, "there is a policy, and a connection failed");
}

static void policies(const struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"CON-004", "CON-002", "CON-006", "CON-033", "CON-043",
					      "CON-024", "CON-026", "PT-004",  "PT-012",  "PT-023",
					      "PT-030",	 "PT-099",  "HNG-001", NULL};
	const struct cause *e = best_of(x, effects);
	struct cause *c = explain_find(x, "K8S-069");
	const struct policy *p = narrow(w);

	if (c)
		c->weight = 0;
	if (!c || !e || explain_find(x, "K8S-067"))
		return;
	if (!p) {
		table(w, a, c, e);
		return;
	}
	if (is_let_through(w, p))
		return;
	for (size_t i = 0; i < c->record->events.n; i++)
		if (c->record->events.v[i].file == p->file &&
		    c->record->events.v[i].line >= p->first &&
		    c->record->events.v[i].line <= p->last) {
			c->first = &c->record->events.v[i];
			break;
		}
	if (is_of_job(w, p))
		explain_reason(c, e, above(e, SURE), policy_text(a, p));
	else
		explain_suspect(c, OTHERS, policy_text(a, p));
}

/* --- services ----------------------------------------------------------------------------------
 */

/* One whose selector is of no pod that was shown; else the first without endpoints. */
static const struct service *empty(const struct shown *t, const struct labelled **ret_near)
{
	const struct service *found = NULL;

	*ret_near = NULL;
	for (unsigned i = 0; i < t->nservices && !*ret_near; i++) {
		*ret_near = shown_near(t, t->services[i].selector);
		found = *ret_near || !found ? &t->services[i] : found;
	}
	return found;
}

/* A line of what failed names it. */
static bool is_named(const struct cause *e, const struct service *v)
{
	return *v->name && explain_says(e, v->name);
}

static void services(const struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"PT-002",	 "K8S-028", "PT-004", "MPI-050", "CON-003",
					      "CON-004", "CON-006", "PT-012", "PT-023",	 NULL};
	const struct cause *e = best_of(x, effects);
	struct cause *c = explain_find(x, "K8S-070");
	const struct labelled *near;
	const struct service *v = empty(&w->shown, &near);

	if (c)
		c->weight = 0;
	if (!c || !e || !v || (!near && !is_named(e, v)))
		return;
	explain_reason(
		c, e, above(e, 0),
		near ? arena_printf(a, "the Service %s selects %s, and no pod has that: %s has %s",
				    v->name, v->selector, near->pod, near->labels)
		     : arena_printf(a, "the Service %s%s%s has no endpoints", v->name,
				    *v->selector ? ", which selects " : "", v->selector));
}

void shown_judge(const struct why *w, struct arena *a, struct explanation *x)
{
	policies(w, a, x);
	services(w, a, x);
}

/* --- what to type -------------------------------------------------------------------------------
 */

/* Nothing for a shell, which will read it, nor for JSON, in which it stands. */
static bool is_word(const char *s, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._/-";

	return n && *s != '-' && strspn(s, letters) >= n;
}

static const char *in_space(struct arena *a, const char *space)
{
	return is_word(space, strlen(space)) ? arena_printf(a, " -n %s", space) : "";
}

/* How a rule names all pods of the namespace. */
static const char *all_pods(const struct policy *p, bool is_in)
{
	if (p->is_cilium)
		return is_in ? "{\"fromEndpoints\":[{}]}" : "{\"toEndpoints\":[{}]}";
	return is_in ? "{\"from\":[{\"podSelector\":{}}]}" : "{\"to\":[{\"podSelector\":{}}]}";
}

static const char *rule_text(struct arena *a, const struct policy *p, bool is_in)
{
	const struct policy_side *d = is_in ? &p->in : &p->out;
	const char *side = is_in ? "ingress" : "egress", *pods = all_pods(p, is_in);

	if (!d->is_affected || d->lets_all)
		return "";
	return d->has_rules
		       ? arena_printf(a, "{\"op\":\"add\",\"path\":\"/spec/%s/-\",\"value\":%s}",
				      side, pods)
		       : arena_printf(a, "{\"op\":\"add\",\"path\":\"/spec/%s\",\"value\":[%s]}",
				      side, pods);
}

static const char *policy_fix(const struct why *w, struct arena *a)
{
	const struct policy *p = narrow(w);
	const char *in, *out;

	if (!p || !is_word(p->name, strlen(p->name)))
		return NULL;
	in = rule_text(a, p, true);
	out = rule_text(a, p, false);
	return arena_printf(
		a,
		"kubectl%s patch %s %s --type=json -p '[%s%s%s]'   # all ports between the pods "
		"of the namespace",
		in_space(a, p->space), p->is_cilium ? "ciliumnetworkpolicy" : "networkpolicy",
		p->name, in, *in && *out ? "," : "", out);
}

/* The pod's values for the selector's keys. */
static const char *service_fix(const struct why *w, struct arena *a)
{
	const struct labelled *near;
	const struct service *v = empty(&w->shown, &near);
	const char *said = "";

	if (!v || !near || !is_word(v->name, strlen(v->name)))
		return NULL;
	for (const char *p = v->selector; *p; p += *p == ',') {
		const char *key = arena_strndup(a, p, strcspn(p, "=,"));
		const char *has = labels_value(near->labels, key);

		if (!is_word(key, strlen(key)) || !is_word(has, strcspn(has, ",")))
			return NULL;
		said = arena_printf(a, "%s%s\"%s\":\"%.*s\"", said, *said ? "," : "", key,
				    (int)strcspn(has, ","), has);
		p += strcspn(p, ",");
	}
	return arena_printf(a, "kubectl%s patch service %s -p '{\"spec\":{\"selector\":{%s}}}'",
			    in_space(a, v->space), v->name, said);
}

void shown_advise(const struct why *w, struct arena *a, struct cause *c)
{
	if (streq(c->sig->id, "K8S-069"))
		c->cure = policy_fix(w, a);
	else if (streq(c->sig->id, "K8S-070"))
		c->cure = service_fix(w, a);
}
