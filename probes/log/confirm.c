#include "probes/log/confirm.h"

#include "lib/cluster/child.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/log/extract.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

enum verdict { UNKNOWN, YES, NO };
enum { MORE = 8, LESS = 14, ASKED = 5, ANSWER_MAX = 4 << 20 };

/* Asked once for all the causes that are about interfaces. */
struct ifprobe_answer {
	bool asked;
	const char *text;
	size_t n;
};

struct asked {
	struct arena *a;
	uint64_t deadline_ns;
	const struct cause *c;
	struct ifprobe_answer *ifprobe;
	const char *said;
};

static enum verdict shm(struct asked *q)
{
	struct unit_buf total, left;
	struct statvfs s;

	if (statvfs("/dev/shm", &s))
		return UNKNOWN;
	q->said = arena_printf(q->a, "/dev/shm has %s, %s free",
			       format_size(&total, (uint64_t)s.f_blocks * s.f_frsize),
			       format_size(&left, (uint64_t)s.f_bavail * s.f_frsize));
	if ((uint64_t)s.f_blocks * s.f_frsize <= (64u << 20) ||
	    (uint64_t)s.f_bavail * s.f_frsize < (32u << 20))
		return YES;
	return (uint64_t)s.f_bavail * s.f_frsize > (1u << 30) ? NO : UNKNOWN;
}

static enum verdict limit(struct asked *q, int which, const char *name, rlim_t low, rlim_t high)
{
	struct rlimit l;

	if (getrlimit(which, &l))
		return UNKNOWN;
	q->said = l.rlim_cur == RLIM_INFINITY ? arena_printf(q->a, "%s is unlimited here", name)
					      : arena_printf(q->a, "%s is %llu here", name,
							     (unsigned long long)l.rlim_cur);
	return l.rlim_cur <= low ? YES : l.rlim_cur >= high ? NO : UNKNOWN;
}

static enum verdict files(struct asked *q)
{
	return limit(q, RLIMIT_NOFILE, "the limit of open files", 4096, 65536);
}

static enum verdict memlock(struct asked *q)
{
	return limit(q, RLIMIT_MEMLOCK, "the memlock limit (bytes)", 64u << 20, RLIM_INFINITY);
}

static enum verdict rdma(struct asked *q)
{
	DIR *d = opendir("/sys/class/infiniband");
	const struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += *e->d_name != '.';
	if (d)
		(void)closedir(d);
	q->said = n ? arena_printf(q->a, "%d RDMA devices here", n) : "no RDMA device here";
	return UNKNOWN;
}

/* Can the port be had? */
static enum verdict port(struct asked *q)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	struct extract x;
	uint64_t n;
	int one = 1;

	extract_line(q->c->first ? q->c->first->text : "", &x);
	if (fd < 0 || parse_uint(*x.port ? x.port : "29500", &n) || n > UINT16_MAX)
		return UNKNOWN;
	to.sin_port = htons((uint16_t)n);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(fd, 1) == 0) {
		q->said = arena_printf(q->a, "port %llu is free here now", (unsigned long long)n);
		return UNKNOWN; /* the culprit may have gone since */
	}
	if (errno != EADDRINUSE)
		return UNKNOWN;
	q->said = arena_printf(q->a, "port %llu is taken here right now", (unsigned long long)n);
	return YES;
}

static void drain(struct child *c, uint64_t deadline_ns, struct text *out)
{
	uint64_t until = now_ns() + deadline_ns;
	char buf[16384];

	while (!interrupt_pending() && now_ns() < until && out->n < ANSWER_MAX) {
		struct pollfd p[] = {{.fd = c->out, .events = POLLIN},
				     {.fd = c->err, .events = POLLIN}};
		ssize_t n;

		if (poll(p, 2, 100) <= 0)
			continue;
		if (p[1].revents && read(c->err, buf, sizeof(buf)) == 0) {
			(void)close(c->err);
			c->err = -1;
		}
		if (!p[0].revents)
			continue;
		n = read(c->out, buf, sizeof(buf));
		if (n == 0)
			return;
		if (n > 0)
			text_addn(out, buf, (size_t)n);
	}
}

/* Beside us where we were built or installed, else on PATH. */
static const char *our(struct arena *a, const char *name)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return name;
	path = arena_printf(a, "%.*s/%s", (int)(slash - self), self, name);
	return access(path, X_OK) == 0 ? path : name;
}

/* Warnings decide about interfaces only: a refused connection has other reasons too. */
static enum verdict weigh(struct asked *q, const cJSON *doc)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *st = json_get_str(f, "status"), *said = json_get_str(f, "message");
		const char *subject = json_get_str(f, "subject");

		if (!st || !said || (!streq(st, "fail") && !streq(st, "warn")))
			continue;
		q->said = arena_printf(q->a, "ifprobe: %s %s", subject ? subject : "", said);
		return streq(st, "fail") || starts_with(q->c->sig->id, "IF-") ? YES : UNKNOWN;
	}
	q->said = "ifprobe finds nothing wrong on this host";
	return json_get(doc, "findings") ? NO : UNKNOWN;
}

static void ask_ifprobe(struct asked *q)
{
	char *argv[] = {(char *)(uintptr_t)our(q->a, "ifprobe"), (char[]){"--json"}, NULL};
	struct err ignored = {0};
	struct child c;
	struct text out;

	q->ifprobe->asked = true;
	text_init(&out, q->a);
	if (child_start(&c, argv, &ignored))
		return;
	drain(&c, q->deadline_ns, &out);
	child_done(&c);
	auto_closep(&c.out);
	auto_closep(&c.err);
	q->ifprobe->text = out.s;
	q->ifprobe->n = out.n;
}

static enum verdict ifprobe(struct asked *q)
{
	struct err ignored = {0};
	enum verdict v = UNKNOWN;
	cJSON *doc;

	if (!q->ifprobe->asked)
		ask_ifprobe(q);
	doc = q->ifprobe->text ? json_parse(q->ifprobe->text, q->ifprobe->n, 64, &ignored) : NULL;
	if (doc)
		v = weigh(q, doc);
	else
		q->said = "ifprobe could not be asked";
	cJSON_Delete(doc);
	return v;
}

static const struct {
	const char *prefix; /* of ids */
	enum verdict (*ask)(struct asked *q);
} probes[] = {
	{"SHM-001", shm},    {"SHM-002", shm},	   {"SHM-003", shm},	 {"SHM-005", shm},
	{"CON-013", files},  {"LIM-005", files},   {"LIM-001", memlock}, {"LIM-002", memlock},
	{"PT-001", port},    {"IB-", rdma},	   {"EFA-", rdma},	 {"IF-", ifprobe},
	{"CON-00", ifprobe}, {"CON-021", ifprobe}, {"PT-004", ifprobe},
};

/* What another host's log says is neither confirmed nor ruled out here. */
static bool is_elsewhere(const struct cause *c)
{
	char own[256] = "";

	return c->first && *c->first->who.host && gethostname(own, sizeof(own) - 1) == 0 &&
	       !streq(own, c->first->who.host);
}

static void apply(struct cause *c, enum verdict v, const struct asked *q)
{
	static const char *const words[] = {"not decided: ", "confirmed: ", "not so here: "};

	if (is_elsewhere(c))
		v = UNKNOWN;
	if (v == YES)
		c->weight = c->weight + MORE > 99 ? 99 : c->weight + MORE;
	if (v == NO)
		c->weight = c->weight > LESS ? c->weight - LESS : 1;
	c->seen_here = arena_printf(q->a, "%s%s%s%s", words[v],
				    q->said ? q->said : "this host shows nothing about it",
				    is_elsewhere(c) ? "; the log is of " : "",
				    is_elsewhere(c) ? c->first->who.host : "");
}

void confirm(struct explanation *x, uint64_t deadline_ns, struct arena *a)
{
	struct ifprobe_answer once = {0};

	for (size_t i = 0; i < x->causes.n && i < ASKED && !interrupt_pending(); i++) {
		struct cause *c = &x->causes.v[i];
		struct asked q = {.a = a, .deadline_ns = deadline_ns, .c = c, .ifprobe = &once};

		for (size_t j = 0; j < ARRAY_LEN(probes); j++)
			if (starts_with(c->sig->id, probes[j].prefix)) {
				enum verdict v = probes[j].ask(&q);

				apply(c, v, &q);
				break;
			}
	}
	explain_sort(x);
}

void confirm_tell(const struct explanation *x, struct report *r)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];
		struct finding *f;

		if (!c->seen_here)
			continue;
		f = report_find(r, "log.confirm", c->sig->id);
		finding_set(f, ST_INFO, "%s", c->seen_here);
		report_add(r, f);
	}
}
