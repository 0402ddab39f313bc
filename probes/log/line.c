#include "probes/log/line.h"

#include "probes/log/bar.h"
#include "probes/log/stamp.h"
#include "probes/log/unwrap.h"

#include <ctype.h>

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

/* Escape sequences: CSI ... letter, OSC ... BEL, and two-byte ones. */
static size_t escape_length(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 2)
		return n;
	if (s[1] == '[') {
		while (i < n && !(s[i] >= '@' && s[i] <= '~'))
			i++;
		return i < n ? i + 1 : n;
	}
	if (s[1] == ']') {
		while (i < n && s[i] != '\a' && s[i] != '\033')
			i++;
		return i < n ? i + 1 : n;
	}
	return 2;
}

/* How many bytes are no control characters. */
static size_t plain_length(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (unsigned char)s[i] >= ' ' && s[i] != 0x7f)
		i++;
	return i;
}

#define FRAME "\xe2\x94\x82" /* a vertical line */

static void clean(const char *raw, size_t n, char *out)
{
	size_t k = 0;

	for (size_t i = 0; i < n && k + 1 < LINE_MAX_TEXT;) {
		size_t room = LINE_MAX_TEXT - 1 - k;
		size_t plain = plain_length(raw + i, n - i < room ? n - i : room);
		char c;

		if (plain) {
			memcpy(out + k, raw + i, plain);
			i += plain;
			k += plain;
			continue;
		}
		c = raw[i];
		if (c == '\033') {
			i += escape_length(raw + i, n - i);
			continue;
		}
		i++;
		if (c != '\r')
			out[k++] = ' ';
	}
	while (k && out[k - 1] == ' ')
		k--;
	if (k > 3 && memcmp(out + k - 3, FRAME, 3) == 0) /* the right side of a box */
		for (k -= 3; k && out[k - 1] == ' ';)
			k--;
	out[k] = '\0';
}

static const char *number(const char *p, long *ret)
{
	char *end;

	if (!isdigit((unsigned char)*p))
		return NULL;
	*ret = strtol(p, &end, 10);
	return *ret >= 0 && *ret < 100000000 ? end : NULL;
}

static void keep_host(struct log_who *w, const char *s, size_t n)
{
	if (*w->host || !n || n >= sizeof(w->host))
		return;
	memcpy(w->host, s, n);
	w->host[n] = '\0';
}

/* "[rank3]: ", "[default0]:", "[Rank 3] ", "[trainer1|1]:", "[PG ID 0 ... Rank 3] " */
static const char *bracket_rank(const char *p, struct log_who *w)
{
	const char *close = *p == '[' ? strchr(p, ']') : NULL, *d = close;
	bool is_rank;
	long v;

	if (!close || close - p > 80)
		return NULL;
	while (d > p + 1 && isdigit((unsigned char)d[-1]))
		d--;
	if (d == close || !number(d, &v))
		return NULL;
	while (d > p + 1 && (d[-1] == ' ' || d[-1] == ':'))
		d--;
	is_rank = d - p >= 5 && strncasecmp(d - 4, "rank", 4) == 0;
	if (!is_rank && !(d > p + 1 && isalpha((unsigned char)p[1]) && close[1] == ':'))
		return NULL;
	if (is_rank && w->rank < 0)
		w->rank = (int)v;
	else if (!is_rank)
		w->local = (int)v;
	p = close + 1;
	return p + (*p == ':');
}

/* "[1,3]<stderr>: ", "[prterun-node1-77@1,3]<stdout>:" */
static const char *mpi_tag(const char *p, struct log_who *w)
{
	const char *close = *p == '[' ? strchr(p, ']') : NULL, *comma;
	long v;

	if (!close || close - p > 80 || !starts_with(close, "]<std"))
		return NULL;
	comma = memchr(p, ',', (size_t)(close - p));
	if (comma && number(comma + 1, &v))
		w->rank = (int)v;
	p = strchr(close, '>');
	return p ? p + 1 + (p[1] == ':') : NULL;
}

/* "(RayWorker pid=4711, ip=10.0.0.2) ", "(Worker_TP3 pid=12)" */
static const char *actor_tag(const char *p, struct log_who *w)
{
	const char *close = *p == '(' ? strchr(p, ')') : NULL, *at;
	long v;

	if (!close || close - p > 120 || !(at = strstr(p, "pid=")) || at > close)
		return NULL;
	if (number(at + 4, &v))
		w->pid = v;
	at = strstr(p, "ip=");
	if (at && at < close)
		keep_host(w, at + 3, strcspn(at + 3, ",) "));
	at = strstr(p, "rank=");
	if (at && at < close && number(at + 5, &v))
		w->rank = (int)v;
	return close + 1;
}

/* "node1:4711:4720 [2] " (NCCL): the device may lack. */
static const char *nccl_header(const char *p, struct log_who *w)
{
	const char *q = p, *host = p;
	long pid, tid, dev;

	while (is_name(*q))
		q++;
	if (q == host || *q != ':' || !(p = number(q + 1, &pid)) || *p != ':' ||
	    !(p = number(p + 1, &tid)) || *p != ' ')
		return NULL;
	keep_host(w, host, (size_t)(q - host));
	w->pid = pid;
	if (p[1] == '[' && number(p + 2, &dev) && *number(p + 2, &dev) == ']') {
		w->local = (int)dev;
		p = strchr(p, ']');
	}
	return p + 1;
}

/* "[3] " of mpiexec -prepend-rank; alone it would be NCCL's device. */
static const char *hydra_tag(const char *p, struct log_who *w)
{
	struct log_who probe = {.rank = -1};
	const char *q;
	long v;

	if (*p != '[' || !(q = number(p + 1, &v)) || q[0] != ']' || q[1] != ' ' ||
	    !nccl_header(q + 2, &probe))
		return NULL;
	w->rank = (int)v;
	return q + 2;
}

/* What people, terminals and collectors put before a line: a quote, a frame, a priority, a stream.
 */
static const char *ornament(const char *p)
{
	static const char *const marks[] = {"> ",	 "| ",	      FRAME,	   "\xe2\x9d\xb1",
					    "```",	 "stderr: ",  "stdout: ",  "[stderr] ",
					    "[stdout] ", "stderr F ", "stdout F ", "stderr P ",
					    "stdout P ", NULL};
	size_t n;

	for (size_t i = 0; marks[i]; i++)
		if (*p == *marks[i] && starts_with(p, marks[i]))
			return p + strlen(marks[i]);
	if (*p == 'E' && starts_with(p, "E   ")) /* of pytest */
		return p + 4;
	n = *p == '<' ? strspn(p + 1, "0123456789") : 0;
	return n && n < 4 && p[1 + n] == '>' ? p + n + 2 : NULL;
}

/* "[pod/train-worker-0/pytorch] " of kubectl, "train/0 " of torchx */
static const char *pod_tag(const char *p, struct log_who *w)
{
	const char *name = starts_with(p, "[pod/") ? p + 5 : p, *q = name;

	while (is_name(*q))
		q++;
	if (q == name || *q != '/')
		return NULL;
	if (name != p) {
		const char *close = strchr(q, ']');

		if (!close || close - p > 200)
			return NULL;
		keep_host(w, name, (size_t)(q - name));
		return close + 1;
	}
	p = q + 1 + strspn(q + 1, "0123456789");
	return p > q + 1 && p[0] == ' ' && p[1] == '[' ? p + 1 : NULL;
}

/* "pair.cc: ", "urllib3.exceptions.NewConnectionError: ": no host has such a name. */
static bool is_code(const char *p, size_t n)
{
	static const char *const ends[] = {".cc", ".py", "Error", "Exception", "Exit"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t len = strlen(ends[i]);

		if (n > len && memcmp(p + n - len, ends[i], len) == 0)
			return true;
	}
	return false;
}

/* "3: " of srun -l; "node1: " of pdsh; "node-0  | " of compose. */
static const char *word_tag(const char *p, struct log_who *w)
{
	const char *q = p;
	bool letters = false, digits = false;
	long v;

	if ((q = number(p, &v)) && q[0] == ':' && q[1] == ' ') {
		if (w->rank < 0)
			w->rank = (int)v;
		return q + 2;
	}
	for (q = p; is_name(*q); q++) {
		letters |= isalpha((unsigned char)*q) != 0;
		digits |= isdigit((unsigned char)*q) != 0;
	}
	if (letters && !digits && q[0] == ':' && q[1] == ' ') { /* a host without a number */
		struct log_who probe = {.rank = -1};

		if (q - p > 60 || !nccl_header(q + 2, &probe))
			return NULL;
		return q + 2;
	}
	if (q == p || q - p > 60 || !digits)
		return NULL;
	if (q[0] == ' ' && strspn(q, " ") < 20 && q[strspn(q, " ")] == '|' && letters) {
		keep_host(w, p, (size_t)(q - p));
		return q + strspn(q, " ") + 1;
	}
	if (q[0] != ':' || q[1] != ' ' || is_code(p, (size_t)(q - p)))
		return NULL;
	keep_host(w, p, (size_t)(q - p));
	return q + 2;
}

static const char *skip_syslog(const char *p, struct log_who *w)
{
	const char *host = p, *q = p;

	while (is_name(*q))
		q++;
	if (q == host || *q != ' ')
		return NULL;
	for (p = q + 1; is_name(*p) || *p == '/'; p++)
		;
	if (*p == '[')
		p += strcspn(p, "]") + (p[strcspn(p, "]")] == ']');
	if (*p != ':' || p == q + 1)
		return NULL;
	keep_host(w, host, (size_t)(q - host));
	return p + 1;
}

static const char *one_prefix(const char *p, struct log_line *l, bool *stamped)
{
	const char *q;

	enum clock_kind kind;
	int64_t ms;

	p += strspn(p, " ");
	/* a collector's time, and then the program's own; syslog's, and then the kernel's */
	if (*stamped && (q = stamp_parse(p, &kind, &ms)))
		return q;
	if (!*stamped && (q = stamp_parse(p, &l->clock, &l->time_ms))) {
		*stamped = l->clock != CLOCK_KIND_UPTIME;
		if (l->clock == CLOCK_KIND_DAY || l->clock == CLOCK_KIND_DATE) {
			const char *after = skip_syslog(q + strspn(q, " "), &l->who);

			return after ? after : q;
		}
		return q;
	}
	if ((q = mpi_tag(p, &l->who)) || (q = hydra_tag(p, &l->who)) ||
	    (q = bracket_rank(p, &l->who)) || (q = actor_tag(p, &l->who)) ||
	    (q = nccl_header(p, &l->who)) || (q = pod_tag(p, &l->who)) || (q = ornament(p)))
		return q;
	return word_tag(p, &l->who);
}

/* Ray tells a line of many workers once: "... [repeated 7x across cluster]" and a hint. */
static void drop_repeats(char *text)
{
	char *mark = strstr(text, " [repeated ");

	if (mark && strstr(mark, "x across cluster]"))
		*mark = '\0';
}

int line_rank_said(const char *text)
{
	for (const char *p = strcasestr(text, "rank"); p; p = strcasestr(p + 4, "rank")) {
		const char *q = p + 4 + strspn(p + 4, " ");
		bool equals = *q == '=',
		     own = p == text || !strchr("_abcdefghijklmnopqrstuvwxyz", p[-1]);
		long v;

		q += equals;
		if (own && (q = number(q, &v)) && (*q == ']' || equals))
			return (int)v;
	}
	return -1;
}

static const char *prefixes(const char *p, struct log_line *l)
{
	bool stamped = false;
	const char *q;

	for (int i = 0; i < 10 && (q = one_prefix(p, l, &stamped)); i++)
		p = q;
	return p + strspn(p, " ");
}

/* What another process says while a progress bar is drawn follows the bar. */
static const char *after_bar(const char *text)
{
	struct bar b;

	if (!bar_last(text, strlen(text), &b))
		return text;
	return b.end[strspn(b.end, " ")] ? b.end : text;
}

void line_parse(const char *raw, size_t n, struct log_line *ret)
{
	char plain[LINE_MAX_TEXT];
	const char *p;

	ret->who = (struct log_who){.rank = -1, .local = -1};
	ret->clock = CLOCK_KIND_NONE;
	ret->time_ms = 0;
	if (unwrap_json(raw, n, plain, sizeof(plain), &ret->who))
		clean(plain, strlen(plain), ret->text);
	else
		clean(raw, n, ret->text);
	drop_repeats(ret->text);
	p = after_bar(ret->text);
	ret->body = prefixes(p, ret);
	/* it says itself who speaks; else it is whoever drew the bar */
	if (p != ret->text && ret->who.rank < 0 && !*ret->who.host && !ret->clock)
		(void)prefixes(ret->text, ret);
}
