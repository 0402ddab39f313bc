#include <limits.h>
#include <math.h>
#include <time.h> /* before base.h, which forbids some of what it declares */

#include "lib/core/units.h"

struct scale {
	const char *suffix;
	uint64_t factor;
};

static const struct scale sizes[] = {
	{"", 1},
	{"b", 1},
	{"k", 1ull << 10},
	{"kb", 1ull << 10},
	{"kib", 1ull << 10},
	{"m", 1ull << 20},
	{"mb", 1ull << 20},
	{"mib", 1ull << 20},
	{"g", 1ull << 30},
	{"gb", 1ull << 30},
	{"gib", 1ull << 30},
	{"t", 1ull << 40},
	{"tb", 1ull << 40},
	{"tib", 1ull << 40},
};

static const struct scale durations[] = {
	{"", NS_PER_S},		{"ns", 1},
	{"us", 1000},		{"ms", NS_PER_MS},
	{"s", NS_PER_S},	{"m", 60 * NS_PER_S},
	{"h", 3600 * NS_PER_S}, {"d", 86400 * NS_PER_S},
	{"sec", NS_PER_S},	{"min", 60 * NS_PER_S},
};

static int digit_of(char c, unsigned base)
{
	int d = c >= '0' && c <= '9'   ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : 16;

	return d < (int)base ? d : -1;
}

/* Reads at least one digit and moves @s behind the last; -1 when there is none or too many. */
static int scan_digits(const char **s, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;
	int d = digit_of(**s, base);

	if (d < 0)
		return -1;
	for (; d >= 0; d = digit_of(*++*s, base))
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return -1;
	*ret = v;
	return 0;
}

int parse_uint(const char *s, uint64_t *ret)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	uint64_t v;

	s += hex ? 2 : 0;
	if (scan_digits(&s, hex ? 16 : 10, &v) || *s)
		return -1;
	*ret = v;
	return 0;
}

/* Suffixes in any case. */
static const struct scale *scale_find(const struct scale *t, size_t n, const char *suffix)
{
	for (size_t i = 0; i < n; i++) {
		const char *a = t[i].suffix, *b = suffix;

		while (*a && *b && *a == (*b >= 'A' && *b <= 'Z' ? *b + 32 : *b))
			a++, b++;
		if (!*a && !*b)
			return &t[i];
	}
	return NULL;
}

/* A decimal number, perhaps with a fraction, times what its suffix says; never rounded up. */
static int parse_scaled(const char *s, const struct scale *t, size_t n, uint64_t *ret)
{
	uint64_t whole, part = 0, v;
	const char *dot = NULL;
	const struct scale *sc;
	unsigned __int128 rest;

	if (scan_digits(&s, 10, &whole))
		return -1;
	if (*s == '.') {
		dot = ++s;
		if (scan_digits(&s, 10, &part))
			return -1;
	}
	sc = scale_find(t, n, s);
	if (!sc || __builtin_mul_overflow(whole, sc->factor, &v))
		return -1;
	rest = (unsigned __int128)part * sc->factor;
	for (; dot && dot < s; dot++)
		rest /= 10;
	if (__builtin_add_overflow(v, (uint64_t)rest, &v))
		return -1;
	*ret = v;
	return 0;
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	return parse_scaled(s, sizes, ARRAY_LEN(sizes), ret_bytes);
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	return parse_scaled(s, durations, ARRAY_LEN(durations), ret_ns);
}

int parse_double(const char *s, double *ret)
{
	char *end;
	double v;

	/* strtod alone takes blanks, hexadecimal, "inf" and "nan" too. */
	if (!*s || s[strspn(s, "0123456789+-.eE")])
		return -1;
	v = strtod(s, &end);
	if (*end || !isfinite(v))
		return -1;
	*ret = v;
	return 0;
}

uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int ms_until(uint64_t at_ns)
{
	uint64_t now = now_ns(), ms = at_ns > now ? (at_ns - now - 1) / NS_PER_MS + 1 : 0;

	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* One decimal at most, and none where it would be a zero. */
static const char *put(struct unit_buf *b, double v, const char *unit)
{
	int n = snprintf(b->s, sizeof(b->s), "%.1f", v);

	if (n > 2 && streq(b->s + n - 2, ".0"))
		n -= 2;
	snprintf(b->s + n, sizeof(b->s) - (size_t)n, " %s", unit);
	return b->s;
}

const char *format_size(struct unit_buf *b, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	size_t i = 0;

	/* 1023.96 KiB would be written as 1024 KiB. */
	for (; v >= (i ? 1023.95 : 1024) && i + 1 < ARRAY_LEN(units); i++)
		v /= 1024;
	return put(b, v, units[i]);
}

const char *format_mbps(struct unit_buf *b, uint64_t mbps)
{
	return mbps < 1000 ? put(b, (double)mbps, "Mb/s") : put(b, (double)mbps / 1000, "Gb/s");
}

const char *format_duration(struct unit_buf *b, uint64_t ns)
{
	double v = (double)ns;

	if (v < 1e3)
		return put(b, v, "ns");
	if (v < 999950)
		return put(b, v / 1e3, "us");
	if (v < 999950e3)
		return put(b, v / 1e6, "ms");
	if (v < 120e9)
		return put(b, v / 1e9, "s");
	if (v < 7200e9)
		return put(b, v / 60e9, "min");
	return v < 172800e9 ? put(b, v / 3600e9, "h") : put(b, v / 86400e9, "d");
}

const char *format_number(struct unit_buf *b, double v)
{
	bool is_large = fabs(v) >= 1000 && fabs(v) < 1e15; /* no figure before the point is lost */

	(void)snprintf(b->s, sizeof(b->s), is_large ? "%.0f" : "%.4g", v);
	return b->s;
}

const char *format_rate(struct unit_buf *b, double gbps)
{
	(void)snprintf(b->s, sizeof(b->s), gbps < 0.9995 ? "%.3g" : "%.2f", gbps);
	return b->s;
}
