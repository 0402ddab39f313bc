#include "probes/log/pkeys.h"

#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

enum {
	NEAR = 3,      /* lines between those of one table */
	FULL = 0x8000, /* a full member; the rest is the partition */
	MOST = 0xffff, /* ... that all are in, or may be */
	DIGITS = 6     /* "0x8012" */
};

void pkeys_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct pkeys *t = &w->pkeys;
	const char *p = strstr(l->text, ": 0x"), *name;
	unsigned key;

	if (strstr(l->text, "/pkeys/")) {
		s->pkeys = s->line;
		return;
	}
	if (!p || !s->pkeys || s->line - s->pkeys > NEAR || t->n == PKEYS_MAX ||
	    strspn(p + 4, "0123456789abcdefABCDEF") + 2 != DIGITS)
		return;
	s->pkeys = s->line;
	for (name = p; name > l->text && !isspace((unsigned char)name[-1]);)
		name--;
	key = (unsigned)strtoul(p + 2, NULL, 16);
	if (name == p || !(key & (MOST ^ FULL)))
		return;
	(void)snprintf(t->v[t->n].host, sizeof(t->v[t->n].host), "%.*s", (int)(p - name), name);
	t->v[t->n++].key = key;
}

static bool is_in(const struct pkeys *t, const char *host, unsigned key)
{
	for (unsigned i = 0; i < t->n; i++)
		if (streq(t->v[i].host, host) && !((t->v[i].key ^ key) & ~(unsigned)FULL))
			return true;
	return false;
}

const char *pkeys_lacks(const struct pkeys *t, const struct pkey **ret_of)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->n; k++)
			if ((t->v[i].key & FULL) && t->v[i].key != MOST &&
			    !is_in(t, t->v[k].host, t->v[i].key)) {
				*ret_of = &t->v[i];
				return t->v[k].host;
			}
	return NULL;
}
