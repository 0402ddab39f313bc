#include "probes/log/prefix.h"

#include "probes/log/nohost.h"
#include "probes/log/stamp.h"

#include <ctype.h>

enum { PREFIXES_MOST = 10 };

/* --- who --------------------------------------------------------------------------------- */

/* What a label says of who speaks. */
struct says { /* small: there is one for each kind of label of each line */
	int rank;
	enum rank_by rank_by; /* how good its rank is */
	int local;
	long pid;
	const char *host; /* in the line */
	size_t host_n;	  /* 0: none */
	bool is_agents;	  /* torchrun's, before its processes' lines */
};

static const struct says nothing = {.rank = -1, .local = -1};

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

static void say_host(struct says *s, const char *host, size_t n)
{
	if (n >= sizeof((struct log_who){0}.host))
		return;
	s->host = host;
	s->host_n = n;
}

static void say_rank(struct says *s, long rank, enum rank_by by)
{
	s->rank = (int)rank;
	s->rank_by = by;
}

/* One label more, from left to right. Of a rank the surer word counts, of a host the first, of a
 * process the last. What labels a launcher's lines has the number of a node. */
static void merge(struct log_who *w, const struct says *s)
{
	if (s->is_agents && w->rank_by < RANK_BY_ITSELF)
		w->rank = -1;
	if (s->rank >= 0 && (w->rank < 0 || s->rank_by > w->rank_by)) {
		w->rank = s->rank;
		w->rank_by = s->rank_by;
	}
	if (!*w->host && s->host_n) {
		memcpy(w->host, s->host, s->host_n);
		w->host[s->host_n] = '\0';
	}
	if (s->local >= 0)
		w->local = s->local;
	if (s->pid)
		w->pid = s->pid;
}

/* "[rank3]: ", "[default0]:", "[Rank 3] ", "[trainer1|1]:", "[PG ID 0 ... Rank 3] " */
static const char *bracket_rank(const char *p, struct says *s)
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
	if (is_rank)
		say_rank(s, v, RANK_BY_ITSELF);
	else
		s->local = (int)v;
	s->is_agents = !is_rank;
	p = close + 1;
	return p + (*p == ':');
}

/* "[1,3]<stderr>: ", "[prterun-node1-77@1,3]<stdout>:" */
static const char *mpi_tag(const char *p, struct says *s)
{
	const char *close = *p == '[' ? strchr(p, ']') : NULL, *comma;
	long v;

	if (!close || close - p > 80 || !starts_with(close, "]<std"))
		return NULL;
	comma = memchr(p, ',', (size_t)(close - p));
	if (comma && prefix_number(comma + 1, &v))
		say_rank(s, v, RANK_BY_MPI);
	p = strchr(close, '>');
	return p ? p + 1 + (p[1] == ':') : NULL;
}

/* "(RayWorker pid=4711, ip=10.0.0.2) ", "(Worker_TP3 pid=12)" */
static const char *actor_tag(const char *p, struct says *s)
{
	const char *close = *p == '(' ? strchr(p, ')') : NULL, *at;
	long v;

	if (!close || close - p > 120 || !(at = strstr(p, "pid=")) || at > close)
		return NULL;
	if (prefix_number(at + 4, &v))
		s->pid = v;
	at = strstr(p, "ip=");
	if (at && at < close)
		say_host(s, at + 3, strcspn(at + 3, ",) "));
	at = strstr(p, "rank=");
	if (at && at < close && prefix_number(at + 5, &v))
		say_rank(s, v, RANK_BY_ITSELF);
	return close + 1;
}

/* "node1:4711:4720 [2] " (NCCL): the device may lack. */
static const char *nccl_header(const char *p, struct says *s)
{
	const char *q = p, *host = p;
	long pid, tid, dev;

	while (is_name(*q))
		q++;
	if (q == host || *q != ':' || !(p = prefix_number(q + 1, &pid)) || *p != ':' ||
	    !(p = prefix_number(p + 1, &tid)) || *p != ' ')
		return NULL;
	say_host(s, host, (size_t)(q - host));
	s->pid = pid;
	if (p[1] == '[' && prefix_number(p + 2, &dev) && *prefix_number(p + 2, &dev) == ']') {
		s->local = (int)dev;
		p = strchr(p, ']');
	}
	return p + 1;
}

static bool is_nccl_header(const char *p)
{
	struct says ignored;

	return nccl_header(p, &ignored);
}

/* "[3] " of mpiexec -prepend-rank; alone it would be NCCL's device. */
static const char *hydra_tag(const char *p, struct says *s)
{
	const char *q;
	long v;

	if (*p != '[' || !(q = prefix_number(p + 1, &v)) || q[0] != ']' || q[1] != ' ' ||
	    !is_nccl_header(q + 2))
		return NULL;
	say_rank(s, v, RANK_BY_MPI);
	return q + 2;
}

/* "[node2] ", "vm2> ": what somebody labels lines with, whatever it is, where NCCL then says who it
 * is. */
static const char *own_label(const char *p, struct says *s UNUSED)
{
	const char *name = p + (*p == '['), *q = name;

	while (is_name(*q))
		q++;
	if (q == name || *q != (name == p ? '>' : ']') || q[1] != ' ')
		return NULL;
	return is_nccl_header(q + 2) ? q + 2 : NULL;
}

/* "[pod/train-worker-0/pytorch] " of kubectl, "train/0 " of torchx */
static const char *pod_tag(const char *p, struct says *s)
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
		say_host(s, name, (size_t)(q - name));
		return close + 1;
	}
	p = q + 1 + strspn(q + 1, "0123456789");
	return p > q + 1 && p[0] == ' ' && p[1] == '[' ? p + 1 : NULL;
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

/* "3: " of srun -l: its task, which may be one process or one launcher of several. */
static const char *task_tag(const char *p, struct says *s)
{
	long v;

	p = prefix_number(p, &v);
	if (!p || p[0] != ':' || p[1] != ' ')
		return NULL;
	say_rank(s, v, RANK_BY_TASK);
	return p + 2;
}

/* "node1: " of pdsh; "node-0  | " of compose; "rank3: " of a program. */
static const char *word_tag(const char *p, struct says *s)
{
	const char *q = p;
	bool letters = false, digits = false;
	size_t n;
	long v;

	for (; is_name(*q); q++) {
		letters |= isalpha((unsigned char)*q) != 0;
		digits |= isdigit((unsigned char)*q) != 0;
	}
	n = (size_t)(q - p);
	if (!n || n > 60)
		return NULL;
	if (digits && letters && q[0] == ' ' && strspn(q, " ") < 20 && q[strspn(q, " ")] == '|') {
		say_host(s, p, n);
		return q + strspn(q, " ") + 1;
	}
	if (q[0] != ':' || q[1] != ' ')
		return NULL;
	if (!digits) /* a host without a number */
		return letters && is_nccl_header(q + 2) ? q + 2 : NULL;
	if (nohost_rank(p, n, &v)) {
		say_rank(s, v, RANK_BY_ITSELF);
		return q + 2;
	}
	if (nohost_is(p, n))
		return NULL;
	say_host(s, p + daemon_length(p), n - daemon_length(p));
	return q + 2;
}

/* What people, terminals and collectors put before a line: a quote, a frame, a priority, a stream.
 */
static const char *ornament(const char *p, struct says *s UNUSED)
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

/* In this order: who is told by more comes before whoever would take it for its own. Last come
 * those of launchers. */
enum { LAUNCHERS = 2 };
static const char *(*const tags[])(const char *p, struct says *s) = {
	mpi_tag,   hydra_tag, bracket_rank, actor_tag, nccl_header,
	own_label, pod_tag,   ornament,	    task_tag,  word_tag,
};

/* Behind a kernel's time no launcher labels anything: "nvidia-nvswitch0: " is its device. */
static const char *tag(const char *p, bool is_kernel, struct log_who *w)
{
	size_t n = ARRAY_LEN(tags) - (is_kernel ? LAUNCHERS : 0);

	for (size_t i = 0; i < n; i++) {
		struct says s = nothing;
		const char *q = tags[i](p, &s);

		if (!q)
			continue;
		merge(w, &s);
		return q;
	}
	return NULL;
}

/* --- when ------------------------------------------------------------------------------- */

/* "node1 kernel: ", "node1 slurmd[77]: ", behind a time; two words of a sentence ("Exit code: ")
 * have neither a number nor the name of the kernel. Behind syslog's own "Nov 20 10:00:00" there is
 * always a host. */
static const char *skip_syslog(const char *p, bool is_its_time, struct log_line *l,
			       bool *ret_is_kernel)
{
	const char *host = p, *q = p, *who;
	struct says s = nothing;
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
	say_host(&s, host, (size_t)(q - host));
	merge(&l->who, &s);
	*ret_is_kernel = starts_with(who, "kernel:");
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

/* "[123.456789] " of dmesg, "[Wed Oct 15 13:20:53 2025] " of dmesg -T */
static bool is_kernels(const char *p, enum clock_kind kind)
{
	return kind == CLOCK_KIND_UPTIME ||
	       (kind == CLOCK_KIND_DATE && *p == '[' && isalpha((unsigned char)p[1]));
}

static const char *later_time(const char *p, bool *ret_is_kernel)
{
	enum clock_kind kind;
	int64_t ms;
	const char *q = stamp_parse(p, &kind, &ms);

	*ret_is_kernel |= q && is_kernels(p, kind);
	return q;
}

/* A collector's time, and then the program's own; syslog's, and then the kernel's. */
static const char *first_time(const char *p, struct log_line *l, bool *ret_is_kernel)
{
	const char *q = stamp_parse(p, &l->clock, &l->time_ms), *behind;
	bool ignored = false;

	*ret_is_kernel |= q && is_kernels(p, l->clock);
	if (!q || is_kernels(p, l->clock) || names_file(p, q)) /* dmesg names no host */
		return q;
	q += strspn(q, " ");
	if (later_time(q, &ignored)) /* "E1015 13:20:53.1 file.cpp:6]" is no host with a daemon */
		return q;
	behind = skip_syslog(q, isalpha((unsigned char)*p), l, ret_is_kernel);
	return behind ? behind : q;
}

const char *prefix_skip(const char *text, struct log_line *l)
{
	const char *p = text, *q;
	bool stamped = false, is_kernel = false;

	for (int i = 0; i < PREFIXES_MOST; i++) {
		p += strspn(p, " ");
		q = stamped ? later_time(p, &is_kernel) : first_time(p, l, &is_kernel);
		if (q && !stamped)
			stamped = l->clock != CLOCK_KIND_UPTIME;
		if (!q)
			q = tag(p, is_kernel, &l->who);
		if (!q)
			break;
		p = q;
	}
	return p + strspn(p, " ");
}
