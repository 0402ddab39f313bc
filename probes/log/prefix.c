#include "probes/log/prefix.h"

#include "probes/log/stamp.h"

#include <ctype.h>

enum { PREFIXES_MOST = 10 };

/* --- who --------------------------------------------------------------------------------- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

const char *prefix_number(const char *p, long *ret)
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
	if (d == close || !prefix_number(d, &v))
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
	if (comma && prefix_number(comma + 1, &v))
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
	if (prefix_number(at + 4, &v))
		w->pid = v;
	at = strstr(p, "ip=");
	if (at && at < close)
		keep_host(w, at + 3, strcspn(at + 3, ",) "));
	at = strstr(p, "rank=");
	if (at && at < close && prefix_number(at + 5, &v))
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
	if (q == host || *q != ':' || !(p = prefix_number(q + 1, &pid)) || *p != ':' ||
	    !(p = prefix_number(p + 1, &tid)) || *p != ' ')
		return NULL;
	keep_host(w, host, (size_t)(q - host));
	w->pid = pid;
	if (p[1] == '[' && prefix_number(p + 2, &dev) && *prefix_number(p + 2, &dev) == ']') {
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

	if (*p != '[' || !(q = prefix_number(p + 1, &v)) || q[0] != ']' || q[1] != ' ' ||
	    !nccl_header(q + 2, &probe))
		return NULL;
	w->rank = (int)v;
	return q + 2;
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

/* "pair.cc: ", "urllib3.exceptions.NewConnectionError: ", Ascend's "EI0006: [PID: 7]": no host has
 * such a name. */
static bool is_code(const char *p, size_t n)
{
	static const char *const ends[] = {".cc", ".py", "Error", "Exception", "Exit"};

	if (*p == 'E' && starts_with(p + n, ": [PID"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t len = strlen(ends[i]);

		if (n > len && memcmp(p + n - len, ends[i], len) == 0)
			return true;
	}
	return false;
}

/* "slurmstepd-node1: ": the daemon, and then the node. */
static size_t daemon_length(const char *p)
{
	static const char *const daemons[] = {"slurmstepd-", "slurmd-"};

	for (size_t i = 0; i < ARRAY_LEN(daemons); i++)
		if (starts_with(p, daemons[i]))
			return strlen(daemons[i]);
	return 0;
}

/* "3: " of srun -l; "node1: " of pdsh; "node-0  | " of compose. */
static const char *word_tag(const char *p, struct log_who *w)
{
	const char *q = p;
	bool letters = false, digits = false;
	long v;

	if ((q = prefix_number(p, &v)) && q[0] == ':' && q[1] == ' ') {
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
	p += daemon_length(p);
	keep_host(w, p, (size_t)(q - p));
	return q + 2;
}

/* What people, terminals and collectors put before a line: a quote, a frame, a priority, a stream.
 */
static const char *ornament(const char *p, struct log_who *w UNUSED)
{
	static const char *const marks[] = {"> ",	 "| ",	      PREFIX_FRAME, "\xe2\x9d\xb1",
					    "```",	 "stderr: ",  "stdout: ",   "[stderr] ",
					    "[stdout] ", "stderr F ", "stdout F ",  "stderr P ",
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

/* In this order: who is told by more comes before whoever would take it for its own. */
static const char *(*const tags[])(const char *p, struct log_who *w) = {
	mpi_tag, hydra_tag, bracket_rank, actor_tag, nccl_header, pod_tag, ornament, word_tag,
};

static const char *tag(const char *p, struct log_who *w)
{
	const char *q = NULL;

	for (size_t i = 0; !q && i < ARRAY_LEN(tags); i++)
		q = tags[i](p, w);
	return q;
}

/* --- when ------------------------------------------------------------------------------- */

/* "node1 kernel: ", "node1 slurmd[77]: ", behind a time; two words of a sentence ("Exit code: ")
 * have neither a number nor the name of the kernel. Behind syslog's own "Nov 20 10:00:00" there is
 * always a host. */
static const char *skip_syslog(const char *p, bool is_its_time, struct log_who *w)
{
	const char *host = p, *q = p, *who;
	bool named = is_its_time;

	for (; is_name(*q); q++)
		named |= !isalpha((unsigned char)*q);
	if (q == host || *q != ' ')
		return NULL;
	for (who = p = q + 1; is_name(*p) || *p == '/'; p++)
		;
	named |= *p == '[' || starts_with(who, "kernel:");
	if (*p == '[')
		p += strcspn(p, "]") + (p[strcspn(p, "]")] == ']');
	if (*p != ':' || p == who || !named)
		return NULL;
	keep_host(w, host, (size_t)(q - host));
	return p + 1;
}

/* "E1015 13:20:53.1 file.cpp:6]" names its file: the message follows, and no host. */
static bool names_file(const char *from, const char *end)
{
	if (end == from || end[-1] != ']')
		return false;
	for (end--; end > from && isdigit((unsigned char)end[-1]); end--)
		;
	return end - from >= 2 && end[-1] == ':' && isalpha((unsigned char)end[-2]);
}

static const char *later_time(const char *p)
{
	enum clock_kind kind;
	int64_t ms;

	return stamp_parse(p, &kind, &ms);
}

/* A collector's time, and then the program's own; syslog's, and then the kernel's. */
static const char *first_time(const char *p, struct log_line *l)
{
	const char *q = stamp_parse(p, &l->clock, &l->time_ms), *behind;

	if (!q || (l->clock != CLOCK_KIND_DAY && l->clock != CLOCK_KIND_DATE) || names_file(p, q))
		return q;
	q += strspn(q, " ");
	if (later_time(q)) /* "E1015 13:20:53.1 file.cpp:6]" is no host with a daemon */
		return q;
	behind = skip_syslog(q, isalpha((unsigned char)*p), &l->who);
	return behind ? behind : q;
}

const char *prefix_skip(const char *text, struct log_line *l)
{
	const char *p = text, *q;
	bool stamped = false;

	for (int i = 0; i < PREFIXES_MOST; i++) {
		p += strspn(p, " ");
		q = stamped ? later_time(p) : first_time(p, l);
		if (q && !stamped)
			stamped = l->clock != CLOCK_KIND_UPTIME;
		if (!q)
			q = tag(p, &l->who);
		if (!q)
			break;
		p = q;
	}
	return p + strspn(p, " ");
}
