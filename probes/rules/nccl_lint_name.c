/* Names: those that NCCL does not have, and those that this release does not look at. */
#include "probes/rules/nccl_known.h"
#include "probes/rules/nccl_lint.h"

#include <ctype.h>

static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static bool is_passed_over(const struct lint *l, const struct setting *s,
			   const struct nccl_known *k)
{
	unsigned version = nccl_version(l->in->nccl_version);
	bool is_gone = k->gone && version >= k->gone;
	struct finding *f;

	if (!is_gone && version >= k->since)
		return false;
	f = lint_find(l, "lint.name.release", s);
	finding_set(f, ST_INFO, "is [%s], which NCCL %s %s does not look at", s->value,
		    is_gone ? "since" : "before",
		    nccl_version_text(report_arena(l->r), is_gone ? k->gone : k->since));
	report_add(l->r, f);
	return true;
}

/* A release that is newer than the list may have a name that is like an old one. */
static bool may_be_new(const struct lint *l)
{
	return (l->in->nccl_version || nccl_installed()) &&
	       nccl_version(l->in->nccl_version) > NCCL_KNOWN_NEWEST;
}

static void slip(const struct lint *l, const struct setting *s, const char *meant)
{
	struct finding *f = lint_find(l, "lint.name", s);

	finding_set(f, may_be_new(l) ? ST_INFO : ST_WARN,
		    "%s=%s: NCCL has no variable of this name, so nothing looks at it", s->name,
		    s->value);
	if (settings_nccl(l->in->settings, meant)) { /* and works: it stays as it is */
		finding_expect(f, "%s alone, which is set too", meant);
		lint_unset(f, s);
	} else {
		finding_expect(f, "%s=%s", meant, s->value);
		lint_fix(f, s, meant, s->value);
	}
	report_add(l->r, f);
}

static void unknown(const struct lint *l, const struct setting *s)
{
	struct finding *f = lint_find(l, "lint.name", s);

	finding_set(f, ST_INFO,
		    "%s=%s: no NCCL up to %u.%u reads this name, nor does a plug-in that is "
		    "known here",
		    s->name, s->value, NCCL_KNOWN_NEWEST / 10000, NCCL_KNOWN_NEWEST / 100 % 100);
	report_add(l->r, f);
}

bool lint_name(const struct lint *l, const struct setting *s, const struct nccl_known *k)
{
	const char *meant;

	if (k) /* of a plug-in lint.plugin says whether this release looks for one */
		return ends_with(s->name, "_PLUGIN") || !is_passed_over(l, s, k);
	/* a name with blanks in it is another finding's: lint.conf.name */
	if (!starts_with(s->name, "NCCL_") || !is_plain(s->name) || nccl_known_elsewhere(s->name))
		return false;
	meant = nccl_known_meant(s->name);
	if (meant)
		slip(l, s, meant);
	else
		unknown(l, s);
	return false;
}
