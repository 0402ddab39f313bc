#include "probes/port/firewall.h"

#include "lib/cluster/job.h"
#include "lib/core/file.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"

#include <limits.h>

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

/* What it printed; NULL with why in @ret_trouble. *ret_late: it may just be slow today. */
static const char *run_once(const char *const *argv, uint64_t deadline_ns, struct arena *a,
			    size_t *ret_n, const char **ret_trouble, bool *ret_late)
{
	AUTO(loop_done) struct loop l = {0}; /* done last: a program that still runs is in it */
	AUTO(program_done)
	struct program p = {
		.job = {.deadline_ns = deadline_ns, .max_output = MOST_OUTPUT, .ended = ended}};
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	struct err e = {0};

	*ret_late = false;
	if (loop_init(&l, &e) || job_start(&p.job, &l, (char *const *)argv, a, &e) ||
	    loop_run(&l, &e) || !p.ended) {
		*ret_trouble = e.kind ? arena_strdup(a, e.msg) : "interrupted";
		return NULL;
	}
	*ret_late = p.job.timed_out;
	if (p.job.timed_out || p.job.status || p.job.truncated) {
		p.job.tail[strcspn(p.job.tail, "\n")] = '\0';
		*ret_trouble = p.job.timed_out ? arena_printf(a, "%s did not answer in time", name)
			       : p.job.truncated
				       ? arena_printf(a, "%s has too many rules to look at", name)
				       : arena_printf(a, "%s: %s", name, p.job.tail);
		return NULL;
	}
	*ret_n = p.job.out.n;
	return p.job.out.s;
}

static const char *run(const char *const *argv, uint64_t deadline_ns, struct arena *a,
		       size_t *ret_n, const char **ret_trouble)
{
	bool late;
	const char *out = run_once(argv, deadline_ns, a, ret_n, ret_trouble, &late);

	if (!out && late)
		out = run_once(argv, deadline_ns, a, ret_n, ret_trouble, &late);
	return out;
}

static const char *find_on_path(const char *name, struct arena *a)
{
	const char *path = getenv("PATH");

	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		const char *at;

		n = strcspn(path, ":");
		at = arena_printf(a, "%.*s/%s", (int)n, path, name);
		if (*path == '/' && access(at, X_OK) == 0)
			return at;
	}
	return NULL;
}

/* People without root do not have it on their PATH, and TaskProlog has no PATH at all; NixOS and
 * Guix have it nowhere else. */
static const char *find_program(const char *name, struct arena *a)
{
	static const char *const folders[] = {"/usr/sbin", "/sbin", "/usr/bin", "/usr/local/sbin"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		const char *path = arena_printf(a, "%s/%s", folders[i], name);

		if (access(path, X_OK) == 0)
			return path;
	}
	return find_on_path(name, a);
}

/* False when there is no such program here; then nothing of nft's own is to be seen. */
static bool read_nft(struct firewall *fw, struct arena *a, uint64_t deadline_ns)
{
	const char *path = find_program("nft", a), *out;
	const char *argv[] = {path, "-j", "list", "ruleset", NULL};
	struct err e = {0};
	size_t n;

	if (!path)
		return false;
	out = run(argv, deadline_ns, a, &n, &fw->trouble);
	if (!out)
		return true;
	if (nft_parse(out, n, a, &fw->nft, &e))
		fw->trouble = arena_strdup(a, e.msg);
	else
		fw->known = true;
	return true;
}

/* --- iptables ------------------------------------------------------------------------ */
static const struct tables {
	const char *family, *tool, *old_names;
} tables[] = {
	{"ip", "iptables", "/proc/net/ip_tables_names"},
	{"ip6", "ip6tables", "/proc/net/ip6_tables_names"},
};

/* A plain "iptables-save" is a link to one program for both, whose name says what it reads. */
static bool is_variant(const char *path, const char *variant)
{
	char real[PATH_MAX];
	const char *slash = path && realpath(path, real) ? strrchr(real, '/') : NULL;

	return slash && !strstr(slash, "nft") == streq(variant, "-legacy");
}

/* @variant: "-nft", "-legacy", or "" for whichever it is. False: nothing was read. */
static bool add_tables(struct firewall *fw, const struct tables *t, const char *variant, bool old,
		       struct arena *a, uint64_t deadline_ns)
{
	const char *path = find_program(arena_printf(a, "%s%s-save", t->tool, variant), a), *out;
	const char *tool = t->tool, *trouble = NULL;
	const char *argv[] = {NULL, NULL};
	size_t n = 0;

	if (path && old)
		tool = arena_printf(a, "%s%s", t->tool, variant);
	if (!path && *variant) {
		path = find_program(arena_printf(a, "%s-save", t->tool), a);
		path = is_variant(path, variant) ? path : NULL;
	}
	argv[0] = path;
	out = path ? run(argv, deadline_ns, a, &n, &trouble) : NULL;
	if (trouble && !fw->known)
		fw->trouble = trouble;
	if (out)
		nft_add_iptables(&fw->nft, t->family, tool, old, out, n);
	return out != NULL;
}

/* The old kernel tables, which nft does not see, are in use. */
static bool is_old(const struct tables *t, struct arena *a)
{
	const char *names = sysroot_line(a, "%s", t->old_names);

	return names && *names;
}

static void read_iptables(struct firewall *fw, bool has_nft, struct arena *a, uint64_t deadline_ns)
{
	bool foreign = nft_is_foreign(&fw->nft), known = false;
	const char *failed = has_nft && !fw->known ? fw->trouble : NULL; /* of nft's own */

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		const struct tables *t = &tables[i];

		if (foreign)
			(void)add_tables(fw, t, "-nft", false, a, deadline_ns);
		if (fw->known && is_old(t, a) &&
		    !add_tables(fw, t, "-legacy", true, a, deadline_ns))
			fw->unread = arena_printf(a,
						  "the kernel's old tables of %s are in use, and "
						  "no %s-legacy-save here prints them",
						  t->tool, t->tool);
		if (!has_nft || failed)
			known |= add_tables(fw, t, "", true, a, deadline_ns);
	}
	fw->known |= known;
	fw->trouble = failed ?: fw->trouble;
	if (known && failed)
		fw->unread = failed;
	if (fw->known)
		fw->trouble = NULL;
	else if (!fw->trouble)
		fw->trouble = "neither nft nor iptables is installed here";
}

static bool jumps_to(const struct nft_rule *r, const char *chain)
{
	for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next)
		if (streq(json_text(json_get(s, "jump"), "target"), chain))
			return true;
	return false;
}

static const char *find_manager(const struct firewall *fw, struct arena *a)
{
	const char *ufw = sysroot_path(a, "/etc/ufw/ufw.conf");
	struct err ignored = {0};
	char *text;
	size_t n;

	for (size_t i = 0; i < fw->nft.chains.n; i++)
		if (starts_with(fw->nft.chains.v[i].table, "firewalld"))
			return "firewalld";
	/* its chains stay when it is switched off */
	for (size_t i = 0; i < fw->nft.rules.n; i++)
		if (jumps_to(&fw->nft.rules.v[i], "ufw-before-input"))
			return "ufw";
	if (fw->known)
		return NULL; /* whatever is installed, it has no rules loaded */
	if (!file_read(ufw, 65536, a, &text, &n, &ignored) && strstr(text, "\nENABLED=yes"))
		return "ufw";
	return sysroot_exists("/run/firewalld") ? "firewalld" : NULL;
}

static const char *needs_root(struct arena *a)
{
	const char *typed = self_as_root(a, "portcheck");

	return arena_printf(a, "reading the rules needs root%s%s", typed ? ": " : "", typed ?: "");
}

void firewall_read(struct firewall *fw, struct arena *a, uint64_t deadline_ns)
{
	*fw = (struct firewall){.nft.a = a};
	if (!sysroot_is_real())
		fw->trouble = "a recorded machine has none";
	else if (geteuid())
		fw->trouble = needs_root(a);
	else
		read_iptables(fw, read_nft(fw, a, deadline_ns), a, deadline_ns);
	if (sysroot_is_real())
		fw->manager = find_manager(fw, a);
}

void firewall_done(struct firewall *fw) { nft_done(&fw->nft); }
