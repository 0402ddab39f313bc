#include "probes/log/stamp.h"

#include <ctype.h>

/* Exactly @digits of them; -1 when there are fewer. */
static const char *fixed(const char *p, int digits, int *ret)
{
	*ret = 0;
	for (int i = 0; i < digits; i++, p++) {
		if (!isdigit((unsigned char)*p))
			return NULL;
		*ret = *ret * 10 + (*p - '0');
	}
	return p;
}

static const char *fraction(const char *p, int64_t *ms)
{
	int scale = 100;

	if ((*p != '.' && *p != ',') || !isdigit((unsigned char)p[1]))
		return p;
	for (p++; isdigit((unsigned char)*p); p++, scale /= 10)
		*ms += (*p - '0') * scale;
	return p;
}

/* "13:20:53" and its fraction, as milliseconds of the day. */
static const char *clock_time(const char *p, int64_t *ret_ms)
{
	int h, m, s;

	if (!(p = fixed(p, 2, &h)) || *p != ':' || !(p = fixed(p + 1, 2, &m)) || *p != ':' ||
	    !(p = fixed(p + 1, 2, &s)))
		return NULL;
	*ret_ms = ((h * 60 + m) * 60 + s) * (int64_t)1000;
	return fraction(p, ret_ms);
}

static int month(const char *p)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; isupper((unsigned char)*p) && i < 12; i++)
		if (p[0] == names[3 * i] && p[1] == names[3 * i + 1] && p[2] == names[3 * i + 2])
			return i + 1;
	return 0;
}

/* Days since a year 0 that no log reaches back to; good for comparing. */
static int64_t days(int y, int m, int d)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	int leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);

	if (m < 1 || m > 12)
		return 0;
	return y * (int64_t)365 + y / 4 - y / 100 + y / 400 + before[m - 1] + d - (leap && m <= 2);
}

/* "+02:00", "-0700", "+02": minutes east; NULL: it is none. */
static const char *offset(const char *p, int *ret_minutes)
{
	int sign = *p == '-' ? -1 : 1, h, m = 0;
	const char *q;

	if (!(p = fixed(p + 1, 2, &h)) || h > 14)
		return NULL;
	q = fixed(p + (*p == ':'), 2, &m);
	*ret_minutes = sign * (h * 60 + (q ? m : 0));
	return q ? q : p;
}

/* What is behind a time. Where that says its zone, the time is the world's. */
static const char *finish(const char *p, int64_t day, int64_t ms, enum clock_kind *kind,
			  int64_t *ret_ms)
{
	const char *q = NULL;
	int minutes = 0;

	if (*p == 'Z')
		q = p + 1;
	else if (*p == '+' || *p == '-')
		q = offset(p, &minutes);
	if (q && *kind == CLOCK_KIND_DATE)
		*kind = CLOCK_KIND_WORLD;
	*ret_ms = day * 86400000 + ms - minutes * (int64_t)60000;
	return q ? q : p;
}

/* 2025-10-15 13:20:53, 2025/10/15 13:20:53, 2025-10-15T13:20:53 */
static const char *iso(const char *p, enum clock_kind *kind, int64_t *ret_ms)
{
	int y, m, d;
	int64_t ms;

	if (!(p = fixed(p, 4, &y)) || (*p != '-' && *p != '/') || !(p = fixed(p + 1, 2, &m)) ||
	    (*p != '-' && *p != '/') || !(p = fixed(p + 1, 2, &d)) ||
	    (*p != ' ' && *p != 'T' && *p != ':') || !(p = clock_time(p + 1, &ms)))
		return NULL;
	return finish(p, days(y, m, d), ms, kind, ret_ms);
}

/* 10/15/2025 13:20:53 */
static const char *american(const char *p, enum clock_kind *kind, int64_t *ret_ms)
{
	int y, m, d;
	int64_t ms;

	if (!(p = fixed(p, 2, &m)) || *p != '/' || !(p = fixed(p + 1, 2, &d)) || *p != '/' ||
	    !(p = fixed(p + 1, 4, &y)) || *p != ' ' || !(p = clock_time(p + 1, &ms)))
		return NULL;
	return finish(p, days(y, m, d), ms, kind, ret_ms);
}

/* Oct 15 13:20:53 and, of dmesg -T, Wed Oct 15 13:20:53 2025 */
static const char *syslog(const char *p, enum clock_kind *kind, int64_t *ret_ms)
{
	int m, d, y = 0;
	int64_t ms;
	char *end;

	if (isalpha((unsigned char)*p) && strcspn(p, " ") == 3 && !month(p))
		p += 4;
	if (!(m = month(p)) || p[3] != ' ')
		return NULL;
	d = (int)strtol(p + 4, &end, 10);
	if (*end != ' ' || d < 1 || d > 31 || !(p = clock_time(end + 1, &ms)))
		return NULL;
	*kind = CLOCK_KIND_DAY;
	if (*p == ' ' && fixed(p + 1, 4, &y) && y > 1990) {
		*kind = CLOCK_KIND_DATE;
		p += 5;
	}
	return finish(p, days(*kind == CLOCK_KIND_DATE ? y : 0, m, d), ms, kind, ret_ms);
}

/* E1015 13:20:53.123456 4711 file.cpp:616]; W703 00:59:30.44 drops the month's zero */
static const char *glog(const char *p, enum clock_kind *kind, int64_t *ret_ms)
{
	int m, d;
	int64_t ms;
	const char *q, *close;
	size_t digits;

	if (!strchr("IWEFVD", *p) || !*p)
		return NULL;
	digits = strspn(p + 1, "0123456789");
	if ((digits != 4 && digits != 3) || p[1 + digits] != ' ' ||
	    !fixed(p + 1, (int)digits - 2, &m) || !fixed(p + digits - 1, 2, &d) ||
	    !(q = clock_time(p + 2 + digits, &ms)))
		return NULL;
	close = strchr(q, ']');
	if (close && close - q < 120)
		q = close + 1;
	return finish(q, days(0, m, d), ms, kind, ret_ms);
}

/* INFO 10-15 13:20:53 [file.py:1] of vLLM */
static const char *levelled(const char *p, enum clock_kind *kind, int64_t *ret_ms)
{
	int m, d;
	int64_t ms;
	size_t word = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	const char *close;

	if (word < 4 || word > 8 || p[word] != ' ' || !(p = fixed(p + word + 1, 2, &m)) ||
	    *p != '-' || !(p = fixed(p + 1, 2, &d)) || *p != ' ' || !(p = clock_time(p + 1, &ms)))
		return NULL;
	close = p[0] == ' ' && p[1] == '[' ? strchr(p, ']') : NULL;
	if (close && close - p < 80)
		p = close + 1;
	return finish(p, days(0, m, d), ms, kind, ret_ms);
}

/* [ 123.456789] */
static const char *uptime(const char *p, int64_t *ret_ms)
{
	const char *q;
	char *end;
	long s;

	p += strspn(p, " ");
	if (!isdigit((unsigned char)*p))
		return NULL;
	s = strtol(p, &end, 10);
	if (*end != '.' || s < 0 || s > 4000000000)
		return NULL;
	*ret_ms = s * (int64_t)1000;
	q = fraction(end, ret_ms);
	return *q == ']' ? q : NULL;
}

/* TensorFlow and XLA: what comes after the time of "2026-09-05 17:34:36.549102: E file.cc:414] " */
static const char *level_and_place(const char *p)
{
	const char *close;

	if (!starts_with(p, ": ") || !p[2] || !strchr("IWEF", p[2]) || p[3] != ' ')
		return p;
	close = strchr(p, ']');
	return close && close - p < 160 ? close + 1 : p;
}

int64_t stamp_of_epoch(int64_t seconds) { return (days(1970, 1, 1) * 86400 + seconds) * 1000; }

const char *stamp_parse(const char *p, enum clock_kind *ret_kind, int64_t *ret_ms)
{
	bool boxed = *p == '[' || *p == '(';
	enum clock_kind kind = CLOCK_KIND_DATE;
	const char *q;
	int64_t ms;

	p += boxed;
	if (!(q = iso(p, &kind, &ms)) && !(q = american(p, &kind, &ms)) &&
	    !(q = syslog(p, &kind, &ms))) {
		kind = CLOCK_KIND_DAY;
		if (!(q = glog(p, &kind, &ms)) && !(q = levelled(p, &kind, &ms))) {
			kind = CLOCK_KIND_UPTIME;
			if (!boxed || !(q = uptime(p, &ms)))
				return NULL;
		}
	}
	/* "[2025-10-15 13:20:53 INFO worker]": the box may hold more */
	if (boxed && q[-1] != ']') {
		const char *close = strpbrk(q, "])");

		if (!close || close - q > 60)
			return NULL;
		q = close + 1;
	}
	*ret_kind = kind;
	*ret_ms = ms;
	q = level_and_place(q);
	return q + (*q == ':');
}
