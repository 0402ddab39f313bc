#include "probes/log/look.h"

#include "lib/cluster/child.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/host/mounts.h"
#include "lib/report/json.h"
#include "probes/log/catalogue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { ANSWER_MAX = 4 << 20, DEFAULT_PORT = 29500 };

const char *const look_words[LOOK_COUNT] = {"unknown", "yes", "no"};

static enum look shm(struct looker *q)
{
	struct unit_buf total, left;
	struct statvfs s;

	if (mount_room("/dev/shm", &s))
		return LOOK_UNKNOWN;
	q->said = arena_printf(q->a, "/dev/shm has %s, %s free",
			       format_size(&total, (uint64_t)s.f_blocks * s.f_frsize),
			       format_size(&left, (uint64_t)s.f_bavail * s.f_frsize));
	if ((uint64_t)s.f_blocks * s.f_frsize <= (64u << 20) ||
	    (uint64_t)s.f_bavail * s.f_frsize < (32u << 20))
		return LOOK_YES;
	return (uint64_t)s.f_bavail * s.f_frsize > (1u << 30) ? LOOK_NO : LOOK_UNKNOWN;
}

static enum look shm_mode(struct looker *q)
{
	struct stat s;

	if (stat("/dev/shm", &s))
		return LOOK_UNKNOWN;
	q->said = arena_printf(q->a, "/dev/shm has mode %o%s", (unsigned)s.st_mode & 07777,
			       access("/dev/shm", W_OK) ? ", and we may not write there" : "");
	return (s.st_mode & 01777) != 01777 || access("/dev/shm", W_OK) ? LOOK_YES : LOOK_NO;
}

/* Does the IOMMU translate what GPUs send to each other? */
static enum look iommu(struct looker *q)
{
	struct err ignored = {0};
	bool passes, is_on;
	char *line;
	size_t n;

	if (file_read("/proc/cmdline", 1 << 16, q->a, &line, &n, &ignored))
		return LOOK_UNKNOWN;
	passes = strstr(line, "iommu=pt") || strstr(line, "iommu=off");
	is_on = strstr(line, "iommu=on") || strstr(line, "iommu=force");
	q->said = passes  ? "the kernel was started with the IOMMU off or in passthrough mode"
		  : is_on ? "the kernel was started with the IOMMU on, and without iommu=pt"
			  : "the kernel's command line says nothing about the IOMMU";
	return passes ? LOOK_NO : is_on ? LOOK_YES : LOOK_UNKNOWN;
}

static enum look limit(struct looker *q, int which, const char *name, rlim_t low, rlim_t high)
{
	struct rlimit l;

	if (getrlimit(which, &l))
		return LOOK_UNKNOWN;
	q->said = l.rlim_cur == RLIM_INFINITY ? arena_printf(q->a, "%s is unlimited here", name)
					      : arena_printf(q->a, "%s is %llu here", name,
							     (unsigned long long)l.rlim_cur);
	return l.rlim_cur <= low ? LOOK_YES : l.rlim_cur >= high ? LOOK_NO : LOOK_UNKNOWN;
}

static enum look files(struct looker *q)
{
	return limit(q, RLIMIT_NOFILE, "the limit of open files", 4096, 65536);
}

static enum look memlock(struct looker *q)
{
	return limit(q, RLIMIT_MEMLOCK, "the memlock limit (bytes)", 64u << 20, RLIM_INFINITY);
}

static enum look rdma(struct looker *q)
{
	AUTO_DIR DIR *d = opendir("/sys/class/infiniband");
	const struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += *e->d_name != '.';
	q->said = n ? arena_printf(q->a, "%d RDMA devices here", n) : "no RDMA device here";
	return LOOK_UNKNOWN;
}

/* Can the port be had? */
static enum look port(struct looker *q)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	unsigned n = q->port ? q->port : DEFAULT_PORT;
	int one = 1;

	if (fd < 0)
		return LOOK_UNKNOWN;
	to.sin_port = htons((uint16_t)n);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(fd, 1) == 0) {
		q->said = arena_printf(q->a, "port %u is free here now", n);
		return LOOK_UNKNOWN; /* the culprit may have gone since */
	}
	if (errno != EADDRINUSE)
		return LOOK_UNKNOWN;
	q->said = arena_printf(q->a, "port %u is taken here right now", n);
	return LOOK_YES;
}

/* Beside us where we were built or installed, else on PATH. */
static const char *our(struct arena *a, const char *name)
{
	const char *path = self_beside(a, name);

	return path && access(path, X_OK) == 0 ? path : name;
}

/* Warnings decide about interfaces only: a refused connection has other reasons too. */
static enum look weigh(struct looker *q, const cJSON *doc)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *st = json_get_str(f, "status"), *said = json_get_str(f, "message");
		const char *subject = json_get_str(f, "subject");

		if (!st || !said || (!streq(st, "fail") && !streq(st, "warn")))
			continue;
		q->said = arena_printf(q->a, "ifprobe: %s %s", subject ? subject : "", said);
		return streq(st, "fail") || starts_with(q->id, "IF-") ? LOOK_YES : LOOK_UNKNOWN;
	}
	q->said = "ifprobe finds nothing wrong on this host";
	return json_get(doc, "findings") ? LOOK_NO : LOOK_UNKNOWN;
}

static void ask_ifprobe(struct looker *q)
{
	char *argv[] = {(char *)(uintptr_t)our(q->a, "ifprobe"), (char[]){"--json"}, NULL};
	struct text out;

	q->ifprobe.asked = true;
	text_init(&out, q->a);
	child_answer(argv, q->deadline_ns, ANSWER_MAX, &out);
	q->ifprobe.text = out.s;
	q->ifprobe.n = out.n;
}

static enum look ifprobe(struct looker *q)
{
	struct err ignored = {0};
	enum look v = LOOK_UNKNOWN;
	cJSON *doc;

	if (!q->ifprobe.asked)
		ask_ifprobe(q);
	doc = q->ifprobe.text ? json_parse(q->ifprobe.text, q->ifprobe.n, 64, &ignored) : NULL;
	if (doc)
		v = weigh(q, doc);
	else
		q->said = "ifprobe could not be asked";
	cJSON_Delete(doc);
	return v;
}

static const struct {
	const char *prefix; /* of ids */
	enum look (*ask)(struct looker *q);
} probes[] = {
	{"SHM-001", shm},      {"SHM-002", shm},    {"SHM-003", shm},	  {"SHM-005", shm},
	{"CON-013", files},    {"LIM-005", files},  {"LIM-001", memlock}, {"LIM-002", memlock},
	{"SHM-007", shm_mode}, {"GPU-038", iommu},  {"GPU-039", iommu},	  {"GPU-015", iommu},
	{"PT-001", port},      {"IB-", rdma},	    {"EFA-012", memlock}, {"EFA-", rdma},
	{"IF-", ifprobe},      {"CON-00", ifprobe}, {"CON-021", ifprobe}, {"PT-004", ifprobe},
};

static enum look (*probe_of(const char *id))(struct looker *q)
{
	for (size_t j = 0; j < ARRAY_LEN(probes); j++)
		if (starts_with(id, probes[j].prefix))
			return probes[j].ask;
	return NULL;
}

bool look_can(const char *id) { return probe_of(id) != NULL; }

enum look look_for(struct looker *l, const char *id, unsigned port_, const char **ret_said)
{
	enum look (*ask)(struct looker * q) = probe_of(id), seen;

	l->id = id;
	l->port = port_;
	l->said = NULL;
	seen = ask ? ask(l) : LOOK_UNKNOWN;
	*ret_said = l->said;
	return seen;
}

/* "PT-001:29500": its port is cut off @text. */
static int split_port(char *text, unsigned *ret, struct err *e)
{
	char *colon = strchr(text, ':');
	uint64_t n = 0;

	if (colon && (parse_uint(colon + 1, &n) || n == 0 || n > UINT16_MAX))
		return err_set(e, ERR_USAGE, "--look: '%s' has no port behind the colon", text);
	if (colon)
		*colon = '\0';
	*ret = (unsigned)n;
	return 0;
}

struct asked {
	const char *id;
	unsigned port;
};
typedef LIST(struct asked) asked_list;

static int refuse(const char *item, struct err *e)
{
	err_set(e, ERR_USAGE, "--look: no entry '%s' in the catalogue", item);
	return err_hint(e, "entries are what data.causes[].id and .entry of ncclwhy --json name");
}

/* All of them, before the first is looked for: a wrong one is the command line's fault. */
static int split_list(struct arena *a, const char *list, asked_list *ret, struct err *e)
{
	char *save, *copy = arena_strdup(a, list);

	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		struct asked one = {.id = item};

		if (split_port(item, &one.port, e))
			return -1;
		if (signature_find(item) < 0)
			return refuse(item, e);
		*LIST_ADD(a, ret) = one;
	}
	return ret->n ? 0 : refuse(list, e);
}

static void look_at(struct looker *l, const struct asked *q, struct report *r, cJSON *into)
{
	static const char *const people[] = {"not decided: ", "so here: ", "not so here: "};
	const char *said;
	enum look seen = look_for(l, q->id, q->port, &said);
	struct finding *f = report_find(r, "log.confirm", q->id);
	cJSON *o = json_push_object(into);

	finding_set(f, ST_INFO, "%s%s", people[seen], said ?: "this host shows nothing about it");
	report_add(r, f);
	json_str(o, "id", q->id);
	if (q->port)
		json_num(o, "port", q->port);
	json_str(o, "state", look_words[seen]);
	json_str(o, "said", said);
}

int look_list(const char *list, uint64_t deadline_ns, struct report *r, struct err *e)
{
	struct looker l = {.a = report_arena(r), .deadline_ns = deadline_ns};
	asked_list asked = {0};
	cJSON *into;

	if (split_list(l.a, list, &asked, e))
		return -1;
	into = json_array(report_data(r), "looked");
	for (size_t i = 0; i < asked.n && !interrupt_pending(); i++)
		look_at(&l, &asked.v[i], r, into);
	return 0;
}
