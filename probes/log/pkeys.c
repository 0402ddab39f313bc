#include "probes/log/pkeys.h"

#include "probes/log/said.h"
#include "probes/log/shell.h"
#include "probes/log/why.h"

#include <ctype.h>

enum {
	NEAR = 3,      /* lines between those of one table */
	FULL = 0x8000, /* a full member; the rest is the partition */
	MOST = 0xffff, /* ... that all are in, or may be */
	DIGITS = 4     /* "0x8012" */
};

static bool is_same(unsigned key, unsigned other) { return !((key ^ other) & ~(unsigned)FULL); }

static void add(struct pkeys *t, const char *host, size_t n, unsigned key)
{
	struct pkey *v = &t->v[t->n];

	if (!n || n >= sizeof(v->host) || t->n == PKEYS_MAX || !(key & (MOST ^ FULL)))
		return;
	(void)snprintf(v->host, sizeof(v->host), "%.*s", (int)n, host);
	v->key = key;
	for (unsigned i = 0; i < t->n; i++)
		if (streq(t->v[i].host, v->host) && t->v[i].key == key)
			return;
	t->n++;
}

/* "    126 0x0000" of uniq -c. */
static bool is_counted(const char *text, const char *key)
{
	const char *p = said_spaces(text);
	size_t n = strspn(p, "0123456789");

	return n && said_spaces(p + n) == key && key > p + n;
}

/* "0x8012", "126 0x8012", "n1: 0x8012", "n1: /sys/.../pkeys/0:0x8012" */
static bool read_row(struct pkeys *t, const char *text)
{
	const char *key = strstr(text, "0x"), *end = text + strcspn(text, " \t:");
	bool is_named = *end == ':' && isspace((unsigned char)end[1]);

	if (!key || strspn(key + 2, "0123456789abcdefABCDEF") != DIGITS ||
	    *said_spaces(key + 2 + DIGITS))
		return false;
	if (is_named)
		add(t, text, (size_t)(end - text), (unsigned)strtoul(key, NULL, 16));
	else if (key == said_spaces(text) || key[-1] == ':' || is_counted(text, key))
		add(t, t->host, strlen(t->host), (unsigned)strtoul(key, NULL, 16));
	else
		return false;
	return true;
}

void pkeys_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct pkeys *t = &w->pkeys;

	if (strstr(l->text, ":0x")) {
		(void)read_row(t, l->text);
		return;
	}
	if (strstr(l->text, "==> /")) { /* head's, above one of its files */
		sequel_begin(s, SEQUEL_PKEYS, l);
		return;
	}
	shell_host(l->text, strstr(l->text, "/pkeys/"), t->host, sizeof(t->host));
	sequel_begin(s, SEQUEL_PKEYS, l);
}

bool pkeys_next(struct why_stream *s, const struct log_line *l)
{
	if (strstr(l->text, "/pkeys/"))
		return false; /* it is heard by itself */
	if (read_row(&s->w->pkeys, l->text))
		s->sequel.left = NEAR + 1;
	return true;
}

static bool is_in(const struct pkeys *t, const char *host, unsigned key)
{
	for (unsigned i = 0; i < t->n; i++)
		if (log_hosts_fit(t->v[i].host, host) && is_same(t->v[i].key, key))
			return true;
	return false;
}

/* Has the host a partition of its own, besides the one that all are in? */
static bool has_own(const struct pkeys *t, const char *host)
{
	for (unsigned i = 0; i < t->n; i++)
		if (log_hosts_fit(t->v[i].host, host) && !is_same(t->v[i].key, MOST))
			return true;
	return false;
}

/* Do they reach each other, as far as is known? Where both are full members of what all are in, and
 * each has partitions of its own, the job may be meant for those. */
static bool reach(const struct pkeys *t, const char *host, const char *other)
{
	bool both_own = has_own(t, host) && has_own(t, other);

	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->n; k++) {
			const struct pkey *one = &t->v[i], *two = &t->v[k];

			if (log_hosts_fit(one->host, host) && log_hosts_fit(two->host, other) &&
			    is_same(one->key, two->key) && ((one->key | two->key) & FULL) &&
			    !(both_own && one->key == MOST && two->key == MOST))
				return true;
		}
	return false;
}

const char *pkeys_lacks(const struct pkeys *t, const struct pkey **ret_of)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->n; k++)
			if ((t->v[i].key & FULL) && t->v[i].key != MOST &&
			    !is_in(t, t->v[k].host, t->v[i].key) &&
			    !reach(t, t->v[i].host, t->v[k].host)) {
				*ret_of = &t->v[i];
				return t->v[k].host;
			}
	return NULL;
}

/* The first of a host's keys that is also one of @other's, which are all limited; NULL: there is
 * none, or one of a full member. */
static const struct pkey *limited(const struct pkeys *t, const char *host, const char *other)
{
	const struct pkey *found = NULL;

	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->n; k++) {
			const struct pkey *one = &t->v[i], *two = &t->v[k];

			if (!log_hosts_fit(one->host, host) || !log_hosts_fit(two->host, other) ||
			    !is_same(one->key, two->key))
				continue;
			if ((one->key | two->key) & FULL)
				return NULL;
			found = found && !is_same(found->key, MOST) ? found : one;
		}
	return found && !is_same(found->key, MOST) ? found : NULL;
}

const char *pkeys_limited(const struct pkeys *t, const struct pkey **ret_of)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < i; k++) {
			if (log_hosts_fit(t->v[i].host, t->v[k].host))
				continue;
			*ret_of = limited(t, t->v[k].host, t->v[i].host);
			if (*ret_of)
				return t->v[i].host;
		}
	return NULL;
}
