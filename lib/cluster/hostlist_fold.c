#include "lib/cluster/hostlist.h"
#include "lib/core/text.h"

#include <ctype.h>

enum { DIGITS_MAX = 18 };

/* Where the trailing digits of @name begin. */
static size_t digits_at(const char *name)
{
	size_t n = strlen(name), at = n;

	while (at && n - at < DIGITS_MAX && isdigit((unsigned char)name[at - 1]))
		at--;
	return at;
}

static bool same_prefix(const char *a, const char *b)
{
	size_t at = digits_at(a);

	return a[at] && b[digits_at(b)] && at == digits_at(b) && !strncmp(a, b, at);
}

/* How many hosts from @h on differ in a last number that goes up one by one, width kept. */
static size_t run_length(const struct host *h, size_t left)
{
	size_t at = digits_at(h->name), n = 1;
	int width = (int)strlen(h->name + at);
	uint64_t lo = strtoull(h->name + at, NULL, 10);
	char expected[DIGITS_MAX + 4];

	for (; n < left && same_prefix(h->name, h[n].name); n++) {
		snprintf(expected, sizeof(expected), "%0*llu", width, (unsigned long long)(lo + n));
		if (!streq(expected, h[n].name + at))
			break;
	}
	return n;
}

/* Writes the hosts from @h on that share its prefix; returns how many. */
static size_t fold_group(struct text *t, const struct host *h, size_t left)
{
	size_t at = digits_at(h->name), n = 1;

	while (n < left && same_prefix(h->name, h[n].name))
		n++;
	if (n == 1) {
		text_add(t, h->name);
		return 1;
	}
	text_addf(t, "%.*s[", (int)at, h->name);
	for (size_t i = 0, run; i < n; i += run) {
		run = run_length(h + i, n - i);
		text_addf(t, "%s%s", i ? "," : "", h[i].name + at);
		if (run > 1)
			text_addf(t, "-%s", h[i + run - 1].name + at);
	}
	text_add(t, "]");
	return n;
}

char *hostlist_fold(struct arena *a, const host_list *hosts)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < hosts->n;) {
		text_add(&t, i ? "," : "");
		i += fold_group(&t, hosts->v + i, hosts->n - i);
	}
	return t.s;
}
