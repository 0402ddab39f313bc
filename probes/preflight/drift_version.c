/* Hosts that have another version of windsock than this one: what runs now, and what mends it. */
#include "lib/cluster/rsh.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/version.h"
#include "probes/preflight/drift.h"

enum { LONG = 160 };

/* What of ours is installed here, by words of sh, as it lies below the folder that has bin/. */
static const char *ours(struct arena *a)
{
	static const char *const all[] = {"bin/windsock",  "bin/ifprobe",  "bin/portcheck",
					  "bin/ncclbench", "bin/ddpsmoke", "bin/ncclwhy",
					  "lib/windsock"};
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const char *at = self_beside(a, arena_printf(a, "../%s", all[i]));

		if (at && !access(at, R_OK))
			text_addf(&t, " %s", all[i]);
	}
	return t.n ? t.s : "";
}

/* Up to that folder; NULL: it is not known. */
static const char *prefix(struct arena *a)
{
	static const char bin[] = "/bin/";
	const char *self = self_path(a), *slash = self ? strrchr(self, '/') : NULL;
	size_t n = slash ? (size_t)(slash - self) + 1 : 0, own = sizeof(bin) - 1;

	if (n <= own || strncmp(self + n - own, bin, own) != 0)
		return NULL;
	return shell_quote(a, arena_strndup(a, self, n - own));
}

/* To where it lies here: who starts a program there looks at that place first. */
static const char *install(const struct preflight *p, const host_list *hosts)
{
	struct arena *a = p->a;
	const char *at = prefix(a), *there, *rsh = rsh_typed(a, p->rsh);
	struct text t;

	if (!at || !hosts->n || p->crew)
		return NULL;
	there = shell_quote(a, arena_printf(a,
					    "sudo mkdir -p %s && sudo tar --no-same-owner -xf - "
					    "-C %s",
					    at, at));
	text_init(&t, a);
	for (size_t i = 0; i < hosts->n; i++)
		text_addf(&t, " %s", shell_quote(a, hosts->v[i].name));
	if (t.n > LONG)
		return NULL;
	if (hosts->n == 1)
		return arena_printf(
			a, "tar -cf - -C %s%s | %s%s %s   # from here: installs " WINDSOCK_VERSION,
			at, ours(a), rsh, t.s, there);
	return arena_printf(a,
			    "for h in%s; do tar -cf - -C %s%s | %s \"$h\" %s; done   # from here: "
			    "installs " WINDSOCK_VERSION,
			    t.s, at, ours(a), rsh, there);
}

void drift_advise_version(struct preflight *p, struct finding *f, const host_list *others)
{
	const char *line = arena_printf(p->a, "windsock%s", preflight_tier_word(p));
	const char *lasting = install(p, others);

	if (p->given)
		finding_fix(f, "%s", carry_advice(p->a, line, p->rsh, p->given));
	if (lasting)
		finding_fix(f, "%s", lasting);
}
