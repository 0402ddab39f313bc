#include "probes/log/contrast.h"

#include "probes/log/line.h"

void contrast_note(struct contrast *t, const char *by, const char *value)
{
	struct contrasted *v = &t->v[t->n];

	if (!*by || !*value || t->n == CONTRAST_MAX)
		return;
	(void)snprintf(v->by, sizeof(v->by), "%s", by);
	(void)snprintf(v->value, sizeof(v->value), "%s", value);
	for (unsigned i = 0; i < t->n; i++)
		if (streq(t->v[i].by, v->by) && streq(t->v[i].value, v->value))
			return;
	t->n++;
}

static bool share(const struct contrast *t, const char *one, const char *other)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->n; k++)
			if (streq(t->v[i].by, one) && streq(t->v[k].by, other) &&
			    streq(t->v[i].value, t->v[k].value))
				return true;
	return false;
}

bool contrast_find(const struct contrast *t, const struct contrasted **ret_one,
		   const struct contrasted **ret_other)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < i; k++) {
			if (log_hosts_fit(t->v[k].by, t->v[i].by) ||
			    share(t, t->v[k].by, t->v[i].by))
				continue;
			*ret_one = &t->v[k];
			*ret_other = &t->v[i];
			return true;
		}
	return false;
}
