#include "lib/cluster/hostlist.h"
#include "lib/core/text.h"

#include <ctype.h>

enum { DIGITS_MAX = 18 };

/* A name in three: what stands before the number in which hosts differ, that, and the rest. */
struct parts {
	const char *name, *suffix;
	size_t at, digits; /* 0: there is no such number */
};

static size_t digits_from(const char *s) { return strspn(s, "0123456789"); }

/* @name with its number at @at, or the last that many digits of it. */
static struct parts part(const char *name, size_t at)
{
	size_t n = digits_from(name + at), skip = n > DIGITS_MAX ? n - DIGITS_MAX : 0;

	return (struct parts){name, name + at + n, at + skip, n - skip};
}

/* In how far @name is as @p but for its number; 0 digits: it is not. */
static struct parts like(const struct parts *p, const char *name)
{
	struct parts q = {0};

	if (p->digits && !strncmp(name, p->name, p->at))
		q = part(name, p->at);
	return q.digits && q.at == p->at && streq(q.suffix, p->suffix) ? q : (struct parts){0};
}

/* The number in which @name and the @next differ first; behind brackets there is none. */
static struct parts parts_of(const char *name, const char *next)
{
	size_t at = 0;
	struct parts p;

	while (name[at] && name[at] == next[at])
		at++;
	while (at && isdigit((unsigned char)name[at - 1]))
		at--;
	p = part(name, at);
	if (*p.suffix && strpbrk(name, "[]"))
		p.digits = 0;
	return like(&p, next).digits ? p : (struct parts){.name = name};
}

/* How many hosts from @h on have numbers that go up one by one, width kept. */
static size_t run_length(const struct parts *p, const struct host *h, size_t left)
{
	const struct parts first = like(p, h->name);
	uint64_t lo = strtoull(h->name + first.at, NULL, 10);
	char expected[DIGITS_MAX + 4];
	size_t n = 1;

	for (; n < left; n++) {
		const struct parts q = like(p, h[n].name);

		snprintf(expected, sizeof(expected), "%0*llu", (int)first.digits,
			 (unsigned long long)(lo + n));
		if (q.digits != strlen(expected) || memcmp(expected, h[n].name + q.at, q.digits))
			break;
	}
	return n;
}

static void add_number(struct text *t, const struct parts *p, const char *name)
{
	const struct parts q = like(p, name);

	text_addn(t, name + q.at, q.digits);
}

/* Writes the hosts from @h on that differ in one number; returns how many. */
static size_t fold_group(struct text *t, const struct host *h, size_t left, bool to_the_end)
{
	struct parts p = left > 1 ? parts_of(h->name, h[1].name) : (struct parts){0};
	size_t n = 1;

	if (to_the_end && p.digits && *p.suffix)
		p.digits = 0;
	while (n < left && like(&p, h[n].name).digits)
		n++;
	if (n == 1) {
		text_add(t, h->name);
		return 1;
	}
	text_addf(t, "%.*s[", (int)p.at, h->name);
	for (size_t i = 0, run; i < n; i += run) {
		run = run_length(&p, h + i, n - i);
		text_add(t, i ? "," : "");
		add_number(t, &p, h[i].name);
		if (run > 1) {
			text_add(t, "-");
			add_number(t, &p, h[i + run - 1].name);
		}
	}
	text_addf(t, "]%s", p.suffix);
	return n;
}

static char *fold(struct arena *a, const host_list *hosts, bool to_the_end)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < hosts->n;) {
		text_add(&t, i ? "," : "");
		i += fold_group(&t, hosts->v + i, hosts->n - i, to_the_end);
	}
	return t.s;
}

char *hostlist_fold(struct arena *a, const host_list *hosts) { return fold(a, hosts, false); }

char *hostlist_fold_slurm(struct arena *a, const host_list *hosts) { return fold(a, hosts, true); }
