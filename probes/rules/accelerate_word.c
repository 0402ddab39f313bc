/* What a word without quotes is, by YAML 1.1 as PyYAML has it: 010 is 8, and no is false. */
#include "lib/core/units.h"
#include "probes/rules/accelerate.h"

static bool is_one_of(const char *v, const char *const *words)
{
	for (; *words; words++)
		if (streq(v, *words))
			return true;
	return false;
}

/* Of digits of that base and _, at least one. */
static bool is_digits(const char *s, int base)
{
	static const char all[] = "0123456789abcdef";
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++) {
		char lower = s[i] >= 'A' && s[i] <= 'F' ? (char)(s[i] + 32) : s[i];

		if (s[i] != '_' && !memchr(all, lower, (size_t)base))
			return false;
	}
	return n > 0;
}

/* 12, 1_000, 0x1f, 0b1, 017; NULL: none. In its decimal form. */
static const char *whole(struct arena *a, const char *v)
{
	const char *s = v + (*v == '-' || *v == '+');
	int base = *s != '0' || !s[1] ? 10 : s[1] == 'x' ? 16 : s[1] == 'b' ? 2 : 8;
	size_t prefix = base == 16 || base == 2 ? 2 : 0;
	struct text digits;
	long long n;

	if (*s == '_' || !is_digits(s + prefix, base))
		return NULL;
	text_init(&digits, a);
	for (const char *p = s + prefix; *p; p++)
		if (*p != '_')
			text_addn(&digits, p, 1);
	n = strtoll(digits.s, NULL, base); /* at its ends for more than that */
	return arena_printf(a, "%s%lld", *v == '-' && n ? "-" : "", n);
}

/* 8:12 is 492: minutes and seconds. */
static const char *of_sixties(struct arena *a, const char *v)
{
	const char *s = v + (*v == '-' || *v == '+');
	uint64_t sum = 0, part;

	if (*s < '1' || *s > '9')
		return NULL;
	for (const char *p = s;; p++) {
		size_t n = strcspn(p, ":");

		if ((p > s && (n < 1 || n > 2)) || parse_uint(arena_strndup(a, p, n), &part) ||
		    (p > s && part > 59) || sum > 1u << 30)
			return NULL;
		sum = sum * 60 + part;
		p += n;
		if (!*p)
			break;
	}
	return arena_printf(a, "%s%llu", *v == '-' ? "-" : "", (unsigned long long)sum);
}

static bool is_fraction(const char *v)
{
	static const char *const words[] = {".inf", "-.inf", "+.inf", ".Inf", ".nan", ".NaN", NULL};
	const char *s = v + (*v == '-' || *v == '+'), *dot = strchr(s, '.');
	const char *e = s + strcspn(s, "eE");

	if (is_one_of(v, words))
		return true;
	if (!dot || dot > e || (*e && ((e[1] != '-' && e[1] != '+') || !is_digits(e + 2, 10))))
		return false;
	for (const char *p = s; p < e; p++)
		if (p != dot && *p != '_' && (*p < '0' || *p > '9'))
			return false;
	return dot > s ? *s != '_' : e > dot + 1 && dot[1] != '_';
}

enum accelerate_kind accelerate_word(struct arena *a, const char **v)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const bools[] = {"yes",  "Yes",  "YES",   "no",    "No",    "NO", "true",
					    "True", "TRUE", "false", "False", "FALSE", "on", "On",
					    "ON",   "off",  "Off",   "OFF",   NULL};
	const char *n;

	if (is_one_of(*v, nulls)) {
		*v = NULL;
		return ACCELERATE_NULL;
	}
	if (is_one_of(*v, bools))
		return ACCELERATE_BOOL;
	n = strchr(*v, ':') ? of_sixties(a, *v) : whole(a, *v);
	if (n) {
		*v = n;
		return ACCELERATE_INT;
	}
	return is_fraction(*v) ? ACCELERATE_FLOAT : ACCELERATE_TEXT;
}
