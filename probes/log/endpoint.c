#include "probes/log/endpoint.h"

#include "probes/log/why.h"

void endpoints_hear(struct endpoints *t, unsigned file, uint64_t line, const struct log_line *l)
{
	struct extract x;

	t->is_nameless |= strstr(l->text, "cannot be retrieved. err=") != NULL;
	extract_line(l->body, &x);
	if (x.trust != TRUST_PLAIN || t->n == ENDPOINTS_MAX)
		return;
	for (unsigned i = 0; i < t->n; i++)
		if (t->v[i].file == file && streq(t->v[i].said.addr, x.addr) &&
		    streq(t->v[i].said.port, x.port))
			return;
	t->v[t->n].said = x;
	t->v[t->n].file = file;
	t->v[t->n++].line = line;
}

static uint64_t distance(const struct endpoints *t, unsigned i, const struct log_event *e)
{
	uint64_t line = t->v[i].line;

	if (t->v[i].file != e->file)
		return UINT64_MAX;
	return line > e->line ? line - e->line : e->line - line;
}

/* The one that was named nearest to it. */
static const struct extract *nearest(const struct endpoints *t, const struct log_event *e)
{
	unsigned best = 0;

	for (unsigned i = 1; i < t->n; i++)
		if (distance(t, i, e) < distance(t, best, e))
			best = i;
	return t->n ? &t->v[best].said : NULL;
}

static bool has_port(const struct endpoints *t, const char *port)
{
	for (unsigned i = 0; i < t->n; i++)
		if (*port && streq(t->v[i].said.port, port))
			return true;
	return false;
}

void endpoint_of(const struct why *w, const struct log_event *e, struct extract *ret)
{
	const struct endpoints *t = &w->endpoints;
	const struct extract *plain;

	extract_line(e->body, ret);
	if (ret->trust != TRUST_NONE &&
	    (ret->trust != TRUST_DOUBT || !t->is_nameless || has_port(t, ret->port)))
		return;
	plain = nearest(t, e);
	memcpy(ret->addr, plain ? plain->addr : "", plain ? sizeof(ret->addr) : 1);
	memcpy(ret->port, plain ? plain->port : "", plain ? sizeof(ret->port) : 1);
	ret->trust = plain ? plain->trust : TRUST_NONE;
}
