#include "lib/cluster/hostlist.h"

#include <arpa/inet.h>
#include <ctype.h>

enum {
	NAME_LEN_MAX = 255, /* DNS allows 253; a user name may stand in front */
	DIGITS_MAX = 18,    /* what always fits in 64 bits */
	SLOTS_MAX = 1 << 20,
	PARTS_MAX = 32, /* brackets in one name */
};

/* lo..hi, printed at least `width` digits wide. */
struct range {
	uint64_t lo, n;
	int width;
};
/* One bracket of a name and the text before it. */
struct part {
	const char *text;
	int text_n;
	LIST(struct range) ranges;
	uint64_t count; /* names that the ranges give */
};
/* `rack[0-1]-n[08-10]-ib`: two parts and a tail. */
struct pattern {
	struct part part[PARTS_MAX];
	size_t n;
	const char *tail;
	int tail_n;
	unsigned slots;
};
struct parser {
	const char *start, *p; /* NUL-terminated */
	struct arena *a;
	host_list *out;
	struct err *e;
};

static int bad(const struct parser *ps, const char *at, const char *what, const char *hint)
{
	err_set(ps->e, ERR_USAGE, "host list: %s at column %zu of '%.60s%s'", what,
		(size_t)(at - ps->start) + 1, ps->start, strlen(ps->start) > 60 ? "..." : "");
	for (char *c = ps->e->msg; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?'; /* a terminal must not obey what we quote */
	return err_hint(ps->e, "%s", hint);
}

static bool is_separator(char c) { return c == ',' || (c && strchr(" \t\r\n", c)); }

/*
 * Strict on purpose: names end up in ssh's argv and, through ssh's %h, in
 * shell commands of people's ProxyCommand.
 */
static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr(".-_@:%+", c));
}

const char *host_bare(const char *name)
{
	const char *at = strrchr(name, '@'); /* ssh's is the last, too */

	return at ? at + 1 : name;
}

const char *host_bracketed(struct arena *a, const char *name)
{
	const char *bare = host_bare(name);

	return strchr(bare, ':') && *bare != '['
		       ? arena_printf(a, "%.*s[%s]", (int)(bare - name), name, bare)
		       : name;
}

bool host_is_node(const char *name) { return *name && !name[strcspn(name, "@.:")]; }

const char *host_said(struct arena *a, const char *name)
{
	char *copy = arena_strdup(a, name);

	for (char *c = copy; *c; c++)
		if (!is_name_char(*c) || (c == copy && *c == '-'))
			*c = '_';
	return copy;
}

static int parse_number(struct parser *ps, uint64_t *ret, int *ret_width)
{
	const char *from = ps->p;

	for (*ret = 0; isdigit((unsigned char)*ps->p); ps->p++) {
		if (ps->p - from == DIGITS_MAX)
			return bad(ps, from, "number with more than 18 digits", "check the range");
		*ret = *ret * 10 + (uint64_t)(*ps->p - '0');
	}
	if (ps->p == from)
		return bad(ps, from, *from ? "a digit is missing" : "']' is missing",
			   "write ranges like node[1-4,07-09], without blanks");
	*ret_width = (int)(ps->p - from);
	return 0;
}

static int parse_range(struct parser *ps, struct part *part)
{
	const char *from = ps->p;
	uint64_t hi;
	struct range r;
	int width;

	if (parse_number(ps, &r.lo, &r.width) < 0)
		return -1;
	hi = r.lo;
	if (*ps->p == '-' && (ps->p++, parse_number(ps, &hi, &width) < 0))
		return -1;
	if (hi < r.lo)
		return bad(ps, from, "range runs backwards", "write the smaller number first");
	r.n = hi - r.lo + 1;
	if (r.n > HOSTLIST_MAX - part->count)
		return bad(ps, from, "more than 262144 hosts", "check the range");
	part->count += r.n;
	*LIST_ADD(ps->a, &part->ranges) = r;
	return 0;
}

static int parse_bracket(struct parser *ps, struct part *part)
{
	do {
		ps->p++; /* '[' or ',' */
		if (parse_range(ps, part) < 0)
			return -1;
	} while (*ps->p == ',');
	if (*ps->p != ']')
		return bad(ps, ps->p,
			   *ps->p ? "unexpected character in brackets" : "']' is missing",
			   "write ranges like node[1-4,07-09], without blanks");
	ps->p++;
	return 0;
}

/* A last `:8` is a number of slots, as in mpirun's --host; an IPv6 address has more colons. */
static int take_slots(struct parser *ps, struct pattern *pt, size_t colons)
{
	const char *end = pt->tail + pt->tail_n, *colon = memchr(pt->tail, ':', (size_t)pt->tail_n);
	uint64_t slots = 0;

	if (colons != 1)
		return 0;
	for (const char *d = colon ? colon + 1 : end; d < end && slots <= SLOTS_MAX; d++) {
		if (!isdigit((unsigned char)*d)) {
			slots = 0;
			break;
		}
		slots = slots * 10 + (uint64_t)(*d - '0');
	}
	if (!slots || slots > SLOTS_MAX)
		return bad(ps, colon ? colon : pt->tail, "':' without a number of slots",
			   "write host:SLOTS, for example node1:8; ports belong elsewhere");
	pt->slots = (unsigned)slots;
	pt->tail_n = (int)(colon - pt->tail);
	return 0;
}

/* A bracket that begins a name and has a colon in it is around an address, as in a URL. */
static bool is_address(const char *text, const char *bracket)
{
	size_t n = strcspn(bracket, "]");

	return (bracket == text || bracket[-1] == '@') && memchr(bracket, ':', n);
}

static bool is_v6(const char *s, size_t n)
{
	size_t plain = strcspn(s, "%]"), scope = plain < n ? n - plain - 1 : 1;
	char text[INET6_ADDRSTRLEN];
	struct in6_addr x;

	if (plain >= sizeof(text) || !scope)
		return false;
	memcpy(text, s, plain);
	text[plain] = '\0';
	for (size_t i = plain + 1; i < n; i++)
		if (!is_name_char(s[i]) || strchr("@:%", s[i]))
			return false;
	return inet_pton(AF_INET6, text, &x) == 1;
}

/* `[fd00::1]`, `user@[fd00::1]:8`: the name is without brackets, as ssh takes it. */
static int parse_address(struct parser *ps, const char *text, struct pattern *pt)
{
	const char *bracket = ps->p, *from = bracket + 1;
	size_t n = strcspn(from, "]");
	int user = (int)(bracket - text);

	if (!from[n] || !is_v6(from, n))
		return bad(ps, from, "not an IPv6 address in brackets",
			   "write [fd00::1]; ranges stand in fd00::[1-4], without others around");
	pt->tail = ps->p = from + n + 1;
	while (isdigit((unsigned char)*ps->p) || *ps->p == ':')
		ps->p++;
	if (*ps->p && !is_separator(*ps->p))
		return bad(ps, ps->p, "unexpected character after an address",
			   "write [fd00::1], or [fd00::1]:SLOTS");
	pt->tail_n = (int)(ps->p - pt->tail);
	if (pt->tail_n && take_slots(ps, pt, 1) < 0)
		return -1;
	pt->tail = arena_printf(ps->a, "%.*s%.*s", user, text, (int)n, from);
	pt->tail_n = user + (int)n;
	return 0;
}

static int parse_pattern(struct parser *ps, struct pattern *pt)
{
	size_t colons = 0;

	for (const char *text = ps->p;; text = ps->p) {
		for (; is_name_char(*ps->p); ps->p++)
			colons += *ps->p == ':';
		if (*ps->p != '[') {
			pt->tail = text;
			pt->tail_n = (int)(ps->p - text);
			break;
		}
		if (!pt->n && is_address(text, ps->p))
			return parse_address(ps, text, pt);
		if (pt->n == PARTS_MAX)
			return bad(ps, ps->p, "too many brackets", "32 in one name are the limit");
		pt->part[pt->n] = (struct part){.text = text, .text_n = (int)(ps->p - text)};
		if (parse_bracket(ps, &pt->part[pt->n++]) < 0)
			return -1;
	}
	if (*ps->p && !is_separator(*ps->p))
		return bad(ps, ps->p, "character that no host name has",
			   "names are letters, digits and . - _ : @, separated by commas");
	return take_slots(ps, pt, colons);
}

static uint64_t nth(const struct part *part, uint64_t i, int *ret_width)
{
	const struct range *r = part->ranges.v;

	for (; i >= r->n; r++)
		i -= r->n;
	*ret_width = r->width;
	return r->lo + i;
}

static int add_name(struct parser *ps, const char *from, const struct pattern *pt,
		    const uint64_t *at)
{
	char name[NAME_LEN_MAX + 1];
	size_t n = 0;
	const char *host;

	for (size_t i = 0; i < pt->n && n < sizeof(name); i++) {
		int width;
		uint64_t v = nth(&pt->part[i], at[i], &width);

		n += (size_t)snprintf(name + n, sizeof(name) - n, "%.*s%0*llu", pt->part[i].text_n,
				      pt->part[i].text, width, (unsigned long long)v);
	}
	if (n < sizeof(name))
		n += (size_t)snprintf(name + n, sizeof(name) - n, "%.*s", pt->tail_n, pt->tail);
	if (n >= sizeof(name))
		return bad(ps, from, "name longer than 255 characters", "check the list");
	host = host_bare(name);
	if (!*host || strchr(name, '@') != strrchr(name, '@') || *name == '@' || *name == '-' ||
	    *host == '-')
		return bad(ps, from, "not a host name (an empty part, a leading dash, or two @)",
			   "write [user@]name");
	if (strchr(host, ':') && !is_v6(host, strlen(host)))
		return bad(ps, from, "neither host:SLOTS nor an IPv6 address",
			   "write node1:8, or [fd00::1]:8; ports belong elsewhere");
	*LIST_ADD(ps->a, ps->out) =
		(struct host){.name = arena_strndup(ps->a, name, n), .slots = pt->slots};
	return 0;
}

/*
 * The order is Slurm's own: the last bracket runs fastest, then the first, the
 * second and so on (row-major for two brackets, odd for more), since ranks are
 * placed by it.
 */
static bool advance(const struct pattern *pt, uint64_t *at)
{
	for (size_t k = 0; k < pt->n; k++) {
		size_t i = k ? k - 1 : pt->n - 1;

		if (++at[i] < pt->part[i].count)
			return true;
		at[i] = 0;
	}
	return false;
}

static int expand(struct parser *ps, const char *from, const struct pattern *pt)
{
	uint64_t at[PARTS_MAX] = {0}, total = 1;

	for (size_t i = 0; i < pt->n; i++) {
		total *= pt->part[i].count; /* both at most 2^18: no overflow */
		if (total > HOSTLIST_MAX - ps->out->n)
			return bad(ps, from, "more than 262144 hosts", "check the ranges");
	}
	if (ps->out->n == HOSTLIST_MAX)
		return bad(ps, from, "more than 262144 hosts", "check the list");
	do {
		if (add_name(ps, from, pt, at) < 0)
			return -1;
	} while (advance(pt, at));
	return 0;
}

int hostlist_parse(const char *expr, struct arena *a, host_list *ret, struct err *e)
{
	host_list out = {0};
	struct parser ps = {.start = expr, .p = expr, .a = a, .out = &out, .e = e};

	for (;;) {
		struct pattern pt = {0};
		const char *from;

		while (is_separator(*ps.p))
			ps.p++;
		if (!*ps.p)
			break;
		from = ps.p;
		if (parse_pattern(&ps, &pt) < 0 || expand(&ps, from, &pt) < 0)
			return -1;
	}
	if (!out.n)
		return bad(&ps, expr, "no host name", "write names separated by commas");
	*ret = out;
	return 0;
}
