#include "probes/log/cachekeys.h"

#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

/* "Initialized NONE_HASH=b'\xfb..' from vLLM (..)", "NONE_HASH=1234 from .." */
static void hash(struct cachekeys *k, const char *p)
{
	char one[sizeof(k->hash)];
	const char *end = strstr(p, " from ");
	size_t n = end ? (size_t)(end - p) : strlen(p);

	(void)snprintf(one, sizeof(one), "%.*s", (int)(n < sizeof(one) ? n : sizeof(one) - 1), p);
	if (!*k->hash)
		memcpy(k->hash, one, sizeof(one));
	k->is_unlike |= strcmp(k->hash, one) != 0;
}

void cachekeys_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct cachekeys *k = &w->cachekeys;
	const char *p = said_after(l, "NONE_HASH="), *hit = said_after(l, "LMCache hit tokens: ");

	if (*p)
		hash(k, p);
	if (!isdigit((unsigned char)*hit))
		return;
	if (strtol(hit, NULL, 10))
		k->hits++;
	else
		k->misses++;
}

bool cachekeys_never_fit(const struct cachekeys *k)
{
	enum { SEVERAL = 2 };

	return k->is_unlike && !k->hits && k->misses >= SEVERAL;
}
