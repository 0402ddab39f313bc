/* A NetworkPolicy, as kubectl describes or writes it: whom it lets speak with whom. */
#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

enum { NOWHERE = -1, WIDE = 10000 /* a range of ports that leaves enough */ };

struct policy *shown_policy_of(struct why_stream *s)
{
	struct shown *t = &s->w->shown;
	struct showing *v = &s->showing;

	if (!v->policy && t->npolicies < SHOWN_MAX) {
		v->policy = &t->policies[t->npolicies++];
		*v->policy = (struct policy){
			.file = s->file, .first = s->line, .is_cilium = v->is_cilium};
		memcpy(v->policy->name, v->name, sizeof(v->policy->name));
		memcpy(v->policy->space, v->space, sizeof(v->policy->space));
	}
	if (v->policy)
		v->policy->last = s->line;
	return v->policy;
}

/* The rule that was read: without ports it lets pods in whatever the port, but for what it names as
 * others' (a namespace, addresses). */
static void close_rule(struct showing *v)
{
	if (v->in_rule && v->side && !v->has_ports && (v->has_pods || !v->has_peers))
		v->side->lets_all = true;
	if (v->in_rule && v->side)
		v->side->has_rules = true;
	if (v->side)
		v->side->is_open = false;
	v->in_rule = v->has_ports = v->has_pods = v->has_peers = false;
}

/* "29500/TCP" is in "80/TCP, 29500/TCP", and "9500/TCP" is not. */
static bool has_port(const char *ports, const char *port)
{
	const size_t n = strlen(port);

	for (const char *p = ports; *p; p = said_next(p))
		if (starts_with(p, port) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static void add_port(struct showing *v, const char *port)
{
	struct policy_side *d = v->side;
	size_t n = d ? strlen(d->ports) : 0;
	char said[24];

	v->has_ports = true;
	if (d) {
		d->is_open = false;
		d->has_rules = true;
	}
	said_word(said, sizeof(said), port + strspn(port, "\"'"), " ,\"'\r\n");
	if (d && *said && !has_port(d->ports, said))
		(void)snprintf(d->ports + n, sizeof(d->ports) - n, "%s%s", n ? ", " : "", said);
}

static void add_range(struct showing *v, long from, long to)
{
	if (v->side && to - from >= WIDE)
		v->side->lets_all = true;
}

/* kubectl describe: "Allowing ingress traffic:", "Not affecting egress traffic". */
bool shown_begin_side(struct why_stream *s, const struct log_line *l)
{
	struct showing *v = &s->showing;
	bool allows = shown_value(l, "Allowing "), is_in = strstr(l->text, " ingress traffic");
	struct policy *p;

	if (!allows && !shown_value(l, "Not affecting "))
		return false;
	close_rule(v);
	p = shown_policy_of(s);
	v->side = p ? is_in ? &p->in : &p->out : NULL;
	if (v->side)
		v->side->is_affected = allows;
	return true;
}

bool shown_next_described(struct why_stream *s, const struct log_line *l)
{
	struct showing *v = &s->showing;
	const char *p;

	if (shown_begin_side(s, l))
		return true;
	if (starts_with(said_spaces(l->text), "---"))
		close_rule(v);
	if ((p = shown_value(l, "To Port Range: "))) {
		v->in_rule = true;
		add_range(v, strtol(p, NULL, 10), said_in(p, "-", 0));
		add_port(v, p);
	} else if ((p = shown_value(l, "To Port: "))) {
		v->in_rule = true;
		if (isdigit((unsigned char)*p))
			add_port(v, p);
	} else if (v->in_rule && (shown_value(l, "PodSelector:") || strstr(l->text, "<any>"))) {
		v->has_pods = v->has_peers = true;
	} else if (v->in_rule &&
		   (shown_value(l, "NamespaceSelector:") || shown_value(l, "IPBlock:"))) {
		v->has_peers = true;
	} else if (shown_value(l, "Policy Types:")) {
		close_rule(v);
		return false;
	}
	(void)shown_policy_of(s);
	return *l->text != '$';
}

/* "  - from:" of a manifest: a rule begins. */
static void begin_rule(struct showing *v, int at)
{
	close_rule(v);
	v->rule_at = at;
	v->in_rule = true;
	if (v->side)
		v->side->is_open = true;
}

static void next_of_rule(struct showing *v, const struct log_line *l, int at)
{
	const char *p;

	if (l->text[at] == '-' && (v->rule_at == NOWHERE || at <= v->rule_at))
		begin_rule(v, at);
	if ((p = shown_value(l, "port: "))) {
		add_port(v, p);
	} else if ((p = shown_value(l, "endPort: ")) && v->side) {
		const char *last = strrchr(v->side->ports, ' ');

		add_range(v, strtol(last ? last : v->side->ports, NULL, 10), strtol(p, NULL, 10));
	} else if (shown_value(l, "ports:") || shown_value(l, "toPorts:")) {
		v->has_ports = true;
	} else if (shown_value(l, "podSelector:")) {
		v->has_pods = v->has_peers = true;
	} else if (shown_value(l, "from:") || shown_value(l, "to:") || shown_value(l, "ipBlock:")) {
		v->has_peers = true;
	}
}

/* One of "  ingress:", "  podSelector:", "  policyTypes:"; false: it is something within. */
static bool next_key(struct showing *v, struct policy *p, const struct log_line *l, int at)
{
	const char *in = shown_value(l, "ingress:"), *out = shown_value(l, "egress:");
	bool ends = v->side && (at < v->side_at || (at == v->side_at && l->text[at] != '-'));

	if (ends) {
		close_rule(v);
		v->side = NULL;
	}
	if (!v->side && (in || out)) {
		v->side = in ? &p->in : &p->out;
		v->side->is_affected = true;
		v->side->lets_all |= strstr(l->text, "[{}]") != NULL;
		v->side_at = at;
		v->rule_at = NOWHERE;
		return true;
	}
	if (!v->side && (shown_value(l, "Ingress") || shown_value(l, "Egress")) &&
	    l->text[at] == '-') {
		(shown_value(l, "Ingress") ? &p->in : &p->out)->is_affected = true;
		return true;
	}
	return !v->side;
}

bool shown_next_of_manifest(struct why_stream *s, const struct log_line *l)
{
	struct showing *v = &s->showing;
	struct policy *p = shown_policy_of(s);
	int at = (int)strspn(l->text, " ");

	if (!p || shown_value(l, "apiVersion:") || starts_with(l->text, "---") || *l->text == '$') {
		close_rule(v);
		return false;
	}
	if (v->in_metadata && !*p->name && shown_value(l, "name: "))
		shown_keep(l, "name: ", p->name, sizeof(p->name));
	else if (v->in_metadata && shown_value(l, "namespace: "))
		shown_keep(l, "namespace: ", p->space, sizeof(p->space));
	else if (shown_value(l, "metadata:") || shown_value(l, "spec:"))
		v->in_metadata = shown_value(l, "metadata:");
	else if (!next_key(v, p, l, at))
		next_of_rule(v, l, at);
	return true;
}

static bool is_narrow(const struct policy_side *d)
{
	return d->is_affected && !d->lets_all && !d->is_open;
}

bool policy_is_narrow(const struct policy *p) { return is_narrow(&p->in) || is_narrow(&p->out); }
