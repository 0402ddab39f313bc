#include "bench/inspector/line.h"

#include <math.h>
#include <stddef.h>

/* More than that no NCCL has written: it is no number of ours. */
static const double FIGURE_MAX = 9e15, RANKS_MAX = 1 << 20;

static const struct {
	const char *key;
	size_t off;
	bool is_text;
} keys[] = {
	{"id", offsetof(struct insp_record, comm), true},
	{"comm_name", offsetof(struct insp_record, name), true},
	{"rank", offsetof(struct insp_record, rank), false},
	{"n_ranks", offsetof(struct insp_record, ranks), false},
	{"nnodes", offsetof(struct insp_record, hosts), false},
	{"dump_timestamp_us", offsetof(struct insp_record, at_us), false},
	{"hostname", offsetof(struct insp_record, host), true},
	{"pid", offsetof(struct insp_record, pid), false},
	{"coll", offsetof(struct insp_record, coll), true},
	{"p2p", offsetof(struct insp_record, coll), true},
	{"_sn", offsetof(struct insp_record, sn), false},
	{"_msg_size_bytes", offsetof(struct insp_record, bytes), false},
	{"_exec_time_us", offsetof(struct insp_record, us), false},
	{"_timing_source", offsetof(struct insp_record, timing), true},
	{"_busbw_gbs", offsetof(struct insp_record, busbw), false},
};

struct cursor {
	const char *s, *end;
};

static bool is_key(struct insp_text t, const char *key)
{
	return t.n == strlen(key) && !memcmp(t.s, key, t.n);
}

static void skip_blanks(struct cursor *c)
{
	while (c->s < c->end && (*c->s == ' ' || *c->s == '\t' || *c->s == '\r'))
		c->s++;
}

/* Behind the quotation mark; false: the text does not end. */
static bool read_text(struct cursor *c, struct insp_text *ret)
{
	const char *begin = ++c->s;

	while (c->s < c->end && *c->s != '"')
		c->s += *c->s == '\\' ? 2 : 1;
	if (c->s >= c->end)
		return false;
	*ret = (struct insp_text){begin, (size_t)(c->s++ - begin)};
	return true;
}

static bool is_digit(const struct cursor *c)
{
	return c->s < c->end && *c->s >= '0' && *c->s <= '9';
}

/* Digits, with a point or without; else NAN (a minus, as in "no peer", is none of ours). */
static double read_number(struct cursor *c)
{
	double v = 0, unit = 1;

	if (!is_digit(c))
		return NAN;
	for (; is_digit(c); c->s++)
		v = v * 10 + (*c->s - '0');
	if (c->s < c->end && *c->s == '.')
		for (c->s++; is_digit(c); c->s++)
			v += (*c->s - '0') * (unit /= 10);
	return c->s < c->end && (*c->s == 'e' || *c->s == 'E') ? NAN : v;
}

/* As jq writes what is very small or very large. */
static double read_any_number(struct cursor *c)
{
	const char *begin = c->s;
	double v = read_number(c);
	char buf[40];
	size_t n = 0;

	if (!isnan(v) || !(c->s < c->end) || (*c->s != 'e' && *c->s != 'E'))
		return v;
	while (begin + n < c->end && n + 1 < sizeof(buf) && begin[n] &&
	       strchr("0123456789.eE+-", begin[n])) {
		buf[n] = begin[n];
		n++;
	}
	buf[n] = '\0';
	c->s = begin + n;
	return strtod(buf, NULL);
}

/* The value of @key; what stands in objects and lists comes by itself. */
static bool take(struct cursor *c, struct insp_text key, struct insp_record *r)
{
	bool is_p2p = key.n > 3 && !memcmp(key.s, "p2p_", 4);
	bool is_coll = key.n > 4 && !memcmp(key.s, "coll_", 5);
	struct insp_text name = key, text;

	r->p2p |= is_p2p || is_key(key, "p2p");
	if (is_p2p || is_coll)
		name = (struct insp_text){key.s + (is_p2p ? 3 : 4), key.n - (is_p2p ? 3 : 4)};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char *field = (char *)r + keys[i].off;

		if (!is_key(name, keys[i].key))
			continue;
		if (keys[i].is_text && c->s < c->end && *c->s == '"')
			return read_text(c, (struct insp_text *)(void *)field);
		if (!keys[i].is_text && is_digit(c))
			*(double *)(void *)field = read_any_number(c);
		break;
	}
	return c->s >= c->end || *c->s != '"' || read_text(c, &text); /* another one's */
}

static bool is_count(double v, double from, double to)
{
	return v >= from && v <= to && v == floor(v);
}

static bool is_whole(const struct insp_record *r)
{
	return r->comm.s && r->comm.n && r->host.s && r->coll.s &&
	       is_count(r->ranks, 1, RANKS_MAX) && is_count(r->rank, 0, r->ranks - 1) &&
	       is_count(r->hosts, 1, r->ranks) && is_count(r->sn, 0, FIGURE_MAX) &&
	       !(r->bytes * r->ranks > FIGURE_MAX) && !(r->us > FIGURE_MAX) &&
	       !(r->at_us > FIGURE_MAX) && !(r->busbw > FIGURE_MAX) && !(r->pid > FIGURE_MAX);
}

/* False: a text in it has no end. */
static bool read_keys(struct cursor *c, struct insp_record *r)
{
	struct insp_text key;

	while (c->s < c->end) {
		if (*c->s != '"') {
			c->s++;
			continue;
		}
		if (!read_text(c, &key))
			return false;
		skip_blanks(c);
		if (c->s >= c->end || *c->s != ':')
			continue; /* a value in a list */
		c->s++;
		skip_blanks(c);
		if (is_whole(r) && key.n > 12 && !memcmp(key.s, "event_trace_", 12))
			break; /* the rest of a verbose line, most of it */
		if (!take(c, key, r))
			return false;
	}
	return true;
}

/* False: it is cut off, or a hole of a network file system. */
static bool trim(struct cursor *c)
{
	while (c->end > c->s && strchr(" \t\r", c->end[-1]) && c->end[-1])
		c->end--;
	skip_blanks(c);
	return c->s < c->end && *c->s == '{' && c->end[-1] == '}' &&
	       !memchr(c->s, '\0', (size_t)(c->end - c->s));
}

static bool has(const char *text, size_t n, const char *what)
{
	return memmem(text, n, what, strlen(what));
}

bool insp_line(const char *line, size_t n, struct insp_record *ret)
{
	struct cursor c = {line, line + n};

	*ret = (struct insp_record){.rank = NAN,
				    .ranks = NAN,
				    .hosts = NAN,
				    .pid = NAN,
				    .at_us = NAN,
				    .sn = NAN,
				    .bytes = NAN,
				    .us = NAN,
				    .busbw = NAN};
	return trim(&c) && read_keys(&c, ret) && is_whole(ret);
}

/* The number behind @key, quotation marks and colon included; NAN: there is none. */
static double number_of(const struct cursor *c, const char *key)
{
	const char *at = memmem(c->s, (size_t)(c->end - c->s), key, strlen(key));
	struct cursor value = {at ? at + strlen(key) : c->end, c->end};

	return read_any_number(&value);
}

bool insp_drops(const char *line, size_t n, double *ret)
{
	struct cursor c = {line, line + n};
	double lost;

	if (!trim(&c) || !has(c.s, (size_t)(c.end - c.s), "\"dump_stats\":"))
		return false;
	lost = number_of(&c, "\"coll_dropped_since_last_dump\":") +
	       number_of(&c, "\"p2p_dropped_since_last_dump\":");
	if (!(lost <= FIGURE_MAX))
		return false;
	*ret = lost;
	return true;
}

enum insp_kind insp_kind(const char *text, size_t n)
{
	bool marked = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
	size_t i = marked ? 3 : 0;

	if (has(text, n, "nccl_bus_bandwidth_gbs{") ||
	    has(text, n, "nccl_p2p_bus_bandwidth_gbs{") ||
	    has(text, n, "nccl_collective_exec_time_microseconds{"))
		return INSP_PROMETHEUS;
	while (i < n && strchr(" \t\r\n", text[i])) /* NUL, too: a hole of a network file system */
		i++;
	if (i < n && text[i] != '{') { /* the end of a line: the beginning of the file is lost */
		const char *next = memchr(text + i, '\n', n - i);

		i = next ? (size_t)(next + 1 - text) : n;
	}
	if (i == n || text[i] != '{' || !has(text, n, "\"header\"") || !has(text, n, "\"n_ranks\""))
		return INSP_NONE;
	return has(text, n, "\"coll_perf\"") || has(text, n, "\"p2p_perf\"") ||
			       has(text, n, "\"dump_stats\"")
		       ? INSP_JSON
		       : INSP_NONE;
}
