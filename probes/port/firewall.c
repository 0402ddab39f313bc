#include "probes/port/firewall.h"

#include "lib/cluster/job.h"
#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"

enum { MOST_OUTPUT = 16 << 20 };

struct program {
	struct job job;
	bool ended;
};

static void ended(struct job *j)
{
	struct program *p = CONTAINER_OF(j, struct program, job);

	p->ended = true;
}

static void program_done(struct program *p) { job_done(&p->job); }

/* What @name printed; NULL with why in @ret_trouble. */
static const char *run(const char *const *argv, uint64_t deadline_ns, struct arena *a,
		       size_t *ret_n, const char **ret_trouble)
{
	AUTO(program_done)
	struct program p = {
		.job = {.deadline_ns = deadline_ns, .max_output = MOST_OUTPUT, .ended = ended}};
	AUTO(loop_done) struct loop l = {0};
	struct err e = {0};

	if (loop_init(&l, &e) || job_start(&p.job, &l, (char *const *)argv, a, &e) ||
	    loop_run(&l, &e) || !p.ended) {
		*ret_trouble = e.kind ? arena_strdup(a, e.msg) : "interrupted";
		return NULL;
	}
	if (p.job.timed_out || p.job.status || p.job.truncated) {
		p.job.tail[strcspn(p.job.tail, "\n")] = '\0';
		*ret_trouble = p.job.timed_out	 ? "did not answer in time"
			       : p.job.truncated ? "has too many rules to look at"
						 : arena_strdup(a, p.job.tail);
		return NULL;
	}
	*ret_n = p.job.out.n;
	return p.job.out.s;
}

/* People without root do not have it on their PATH, and TaskProlog has no PATH at all. */
static const char *find_program(const char *name, struct arena *a)
{
	static const char *const folders[] = {"/usr/sbin", "/sbin", "/usr/bin", "/usr/local/sbin"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		const char *path = arena_printf(a, "%s/%s", folders[i], name);

		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static void read_nft(struct firewall *fw, struct arena *a, uint64_t deadline_ns)
{
	const char *path = find_program("nft", a), *out;
	const char *argv[] = {path, "-j", "list", "ruleset", NULL};
	struct err e = {0};
	size_t n;

	if (!path) {
		fw->trouble = "nft is not installed here";
		return;
	}
	if (geteuid()) {
		fw->trouble = "reading the rules needs root: sudo portcheck";
		return;
	}
	out = run(argv, deadline_ns, a, &n, &fw->trouble);
	if (!out)
		return;
	if (nft_parse(out, n, a, &fw->nft, &e))
		fw->trouble = arena_strdup(a, e.msg);
	else
		fw->known = true;
}

static const char *find_manager(const struct firewall *fw, struct arena *a)
{
	const char *ufw = sysroot_path(a, "/etc/ufw/ufw.conf");
	struct err ignored = {0};
	char *text;
	size_t n;

	for (size_t i = 0; i < fw->nft.chains.n; i++) {
		if (streq(fw->nft.chains.v[i].table, "firewalld"))
			return "firewalld";
		if (starts_with(fw->nft.chains.v[i].name, "ufw-"))
			return "ufw";
	}
	if (fw->known)
		return NULL; /* whatever is installed, it has no rules loaded */
	if (!file_read(ufw, 65536, a, &text, &n, &ignored) && strstr(text, "\nENABLED=yes"))
		return "ufw";
	return sysroot_exists("/run/firewalld") ? "firewalld" : NULL;
}

/* The next line of @text in the arena, or NULL at the end. */
static const char *next_line(const char **at, const char *end, struct arena *a)
{
	const char *line = *at, *eol;

	if (line >= end)
		return NULL;
	eol = memchr(line, '\n', (size_t)(end - line));
	*at = eol ? eol + 1 : end;
	return arena_strndup(a, line, (size_t)((eol ? eol : end) - line));
}

void firewall_read_legacy(struct firewall *fw, const char *text, size_t n, struct arena *a)
{
	const char *at = text, *line;
	bool filter = false;

	while ((line = next_line(&at, text + n, a))) {
		if (*line == '*')
			filter = streq(line, "*filter");
		if (!filter || (!starts_with(line, ":INPUT DROP") &&
				!(starts_with(line, "-A INPUT ") &&
				  (strstr(line, "-j DROP") || strstr(line, "-j REJECT")))))
			continue;
		if (!fw->legacy++)
			fw->legacy_rule = line;
	}
}

/* Only where the old tables are in use: what iptables-nft makes is among nft's own. */
static void read_iptables(struct firewall *fw, struct arena *a, uint64_t deadline_ns)
{
	const char *names = sysroot_line(a, "/proc/net/ip_tables_names");
	const char *path = find_program("iptables-legacy-save", a), *out, *trouble;
	const char *argv[] = {path, NULL, NULL};
	size_t n;

	if (!names || !*names || geteuid())
		return;
	if (!path)
		argv[0] = path = find_program("iptables-save", a);
	out = path ? run(argv, deadline_ns, a, &n, &trouble) : NULL;
	if (out)
		firewall_read_legacy(fw, out, n, a);
}

void firewall_read(struct firewall *fw, struct arena *a, uint64_t deadline_ns)
{
	*fw = (struct firewall){0};
	if (!sysroot_is_real()) {
		fw->trouble = "a recorded machine has none";
		return;
	}
	read_nft(fw, a, deadline_ns);
	read_iptables(fw, a, deadline_ns);
	fw->manager = find_manager(fw, a);
}

void firewall_done(struct firewall *fw) { nft_done(&fw->nft); }

static bool is_outward(const char *hook)
{
	return hook && (streq(hook, "output") || streq(hook, "postrouting"));
}

const char *firewall_fix(const struct firewall *fw, const struct nft_answer *x, const char *subnet,
			 struct arena *a)
{
	const char *family = strchr(subnet, ':') ? "ip6" : "ip";

	if (fw->manager && streq(fw->manager, "ufw"))
		return arena_printf(a, "sudo ufw allow from %s", subnet);
	if (fw->manager && streq(fw->manager, "firewalld"))
		return arena_printf(a,
				    "sudo firewall-cmd --permanent --zone=trusted --add-source=%s "
				    "&& sudo firewall-cmd --reload",
				    subnet);
	if (!x->chain)
		return "sudo nft list ruleset";
	return arena_printf(a, "sudo nft insert rule %s %s %s %s %s %s accept", x->chain->family,
			    x->chain->table, x->chain->name, family,
			    is_outward(x->chain->hook) ? "daddr" : "saddr", subnet);
}
