#include "probes/log/shown.h"

#include "probes/log/podrow.h"
#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

const char *shown_value(const struct log_line *l, const char *key)
{
	const char *p = l->text + strspn(l->text, " -");

	return starts_with(p, key) ? said_spaces(p + strlen(key)) : NULL;
}

bool shown_keep(const struct log_line *l, const char *key, char *out, size_t size)
{
	const char *p = shown_value(l, key);

	if (p)
		said_word(out, size, p, " \t\r\n");
	return p;
}

static void add_service(struct why_stream *s, const struct log_line *l)
{
	struct shown *t = &s->w->shown;
	const struct showing *v = &s->showing;
	struct service *e;

	if (t->nservices == SHOWN_MAX)
		return;
	e = &t->services[t->nservices++];
	*e = (struct service){.lacks_endpoints = true};
	memcpy(e->name, v->name, sizeof(e->name));
	memcpy(e->space, v->space, sizeof(e->space));
	memcpy(e->selector, v->selector, sizeof(e->selector));
	if (!strstr(l->text, "Endpoints: "))
		why_fire(s, "K8S-070", l);
}

static void add_labels(struct shown *t, const char *pod, const char *labels)
{
	struct labelled *e = t->npods < SHOWN_PODS ? &t->pods[t->npods++] : NULL;

	if (!e)
		return;
	(void)snprintf(e->pod, sizeof(e->pod), "%s", pod);
	said_word(e->labels, sizeof(e->labels), labels, " \t\r\n");
}

void shown_pod(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct podrow row;
	const char *last = strrchr(l->text, ' '), *name = said_spaces(l->text);
	char pod[128];

	if (!last || !strchr(last, '=') || !podrow_parse(l->text, &row))
		return;
	said_word(pod, sizeof(pod), strchr(row.owner, '/') ? said_next(name) : name, " \t");
	add_labels(&w->shown, pod, last + 1);
}

static bool has_label(const char *labels, const char *one, size_t n)
{
	for (const char *p = labels; (p = strstr(p, one)); p++)
		if ((p == labels || p[-1] == ',') && (!p[n] || p[n] == ',' || one[n - 1] == '='))
			return true;
	return false;
}

/* Each of @selector's, or no more than its key. */
static bool have(const char *labels, const char *selector, bool only_keys)
{
	for (const char *p = selector; *p;) {
		size_t n = strcspn(p, ","), key = strcspn(p, "=,") + 1;
		char one[128];

		n = only_keys && key < n ? key : n;
		(void)snprintf(one, sizeof(one), "%.*s", (int)n, p);
		if (!*one || !has_label(labels, one, strlen(one)))
			return false;
		p += strcspn(p, ",");
		p += *p == ',';
	}
	return *selector;
}

bool labels_have(const char *labels, const char *selector) { return have(labels, selector, false); }

const char *labels_value(const char *labels, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = labels; (p = strstr(p, key)); p++)
		if ((p == labels || p[-1] == ',') && p[n] == '=')
			return p + n + 1;
	return "";
}

const struct labelled *shown_near(const struct shown *t, const char *selector)
{
	const struct labelled *found = NULL;

	for (unsigned i = 0; i < t->npods; i++) {
		if (labels_have(t->pods[i].labels, selector))
			return NULL; /* there is one that it selects: it is not ready */
		if (!found && have(t->pods[i].labels, selector, true))
			found = &t->pods[i];
	}
	return found;
}

static bool next_of_object(struct why_stream *s, const struct log_line *l)
{
	struct showing *v = &s->showing;

	if (shown_value(l, "Name:   ") || *l->text == '$' || shown_value(l, "Events:"))
		return false;
	if (!v->has_space && shown_keep(l, "Namespace: ", v->space, sizeof(v->space)))
		v->has_space = true;
	else if (shown_value(l, "Node: "))
		v->is_pod = true;
	else if (v->is_pod && shown_value(l, "Labels: "))
		add_labels(&s->w->shown, v->name, shown_value(l, "Labels: "));
	else if (shown_keep(l, "Selector: ", v->selector, sizeof(v->selector)))
		return true;
	else if (shown_value(l, "Endpoints: ") && *v->selector)
		starts_with(shown_value(l, "Endpoints: "), "<none>") ? add_service(s, l) : (void)0;
	else if (shown_value(l, "PodSelector: ") && !strstr(l->text, "<none>") &&
		 shown_policy_of(s))
		shown_keep(l, "PodSelector: ", v->policy->pods, sizeof(v->policy->pods));
	else if (shown_begin_side(s, l))
		v->what = SHOWS_POLICY;
	return true;
}

/* --- tables -------------------------------------------------------------------------------------
 */

static bool next_row(struct why_stream *s, const struct log_line *l)
{
	struct showing *v = &s->showing;
	const char *name = v->has_space ? said_next(l->text) : l->text;
	const char *second = said_next(name);
	struct policy *p;

	if (*l->text == '$' || !islower((unsigned char)*l->text) || !*second)
		return false;
	said_word(v->name, sizeof(v->name), name, " \t");
	if (v->has_space)
		said_word(v->space, sizeof(v->space), l->text, " \t");
	v->policy = NULL;
	if (v->what == SHOWS_ENDPOINTS && starts_with(second, "<none>"))
		add_service(s, l);
	else if (v->what == SHOWS_POLICIES && (p = shown_policy_of(s)))
		p->is_row = true;
	return true;
}

bool shown_next(struct why_stream *s, const struct log_line *l)
{
	switch (s->showing.what) {
	case SHOWS_OBJECT:
		return next_of_object(s, l);
	case SHOWS_POLICY:
		return shown_next_described(s, l);
	case SHOWS_MANIFEST:
		return shown_next_of_manifest(s, l);
	case SHOWS_ENDPOINTS:
	case SHOWS_POLICIES:
		return next_row(s, l);
	case SHOWS_NOTHING:
		break;
	}
	return false;
}

/* --- the first line ------------------------------------------------------------------------------
 */

/* A policy whose head was left out: its lines were not read yet. */
static bool is_read(const struct shown *t, const struct why_stream *s)
{
	for (unsigned i = 0; i < t->npolicies; i++)
		if (t->policies[i].file == s->file && t->policies[i].last >= s->line)
			return true;
	return false;
}

void shown_begin(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct showing v = {.side_at = -1, .rule_at = -1, .has_space = false};
	const char *table = strstr(l->text, "NAME ");

	if (shown_value(l, "kind: NetworkPolicy") || shown_value(l, "kind: CiliumNetworkPolicy")) {
		v.what = SHOWS_MANIFEST;
		v.is_cilium = shown_value(l, "kind: CiliumNetworkPolicy");
	} else if (table && strstr(l->text, " AGE")) {
		v.what = strstr(l->text, "POD-SELECTOR") ? SHOWS_POLICIES : SHOWS_ENDPOINTS;
		v.has_space = starts_with(l->text, "NAMESPACE ");
	} else if (starts_with(l->text, "Name:   ")) {
		v.what = SHOWS_OBJECT;
		said_word(v.name, sizeof(v.name), said_next(l->text), " \t");
	} else if (!is_read(&w->shown, s)) {
		s->showing = v;
		if (!shown_begin_side(s, l))
			return;
		v = s->showing;
		v.what = SHOWS_POLICY;
	}
	if (v.what == SHOWS_NOTHING)
		return;
	s->showing = v;
	sequel_begin(s, SEQUEL_SHOWN, l);
}
