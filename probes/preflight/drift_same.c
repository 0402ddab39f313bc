/* Code and data that must be alike on all hosts: who has other, and what differs in it. */
#include "lib/cluster/rsh.h"
#include "lib/core/quote.h"
#include "lib/report/json.h"
#include "probes/node/same.h"
#include "probes/preflight/drift.h"

struct copy {
	const struct answer *from;
	const char *text; /* its digest, or why there is none */
};

struct copies {
	const char *path;
	struct copy *v; /* those with a digest first, alike ones side by side */
	size_t n, read;
	const struct copy *usual; /* of the most that are alike; NULL: no majority */
	size_t alike;
	host_list late; /* where there was no time to read it */
};

/* "missing", "unreadable (FILE)" */
static bool is_read(const char *text)
{
	return !starts_with(text, "missing") && !starts_with(text, "unreadable");
}

static int by_text(const void *px, const void *py)
{
	const struct copy *x = px, *y = py;
	int d = is_read(y->text) - is_read(x->text);

	d = d ? d : strcmp(x->text, y->text);
	return d ? d : (x->from > y->from) - (x->from < y->from);
}

static size_t run_from(const struct copies *c, size_t i)
{
	size_t n = 1;

	while (i + n < c->read && streq(c->v[i].text, c->v[i + n].text))
		n++;
	return n;
}

static void collect(struct preflight *p, const struct answers *all, struct copies *c)
{
	c->v = arena_alloc(p->a, (all->n + 1) * sizeof(*c->v));
	for (size_t i = 0; i < all->n; i++) {
		const cJSON *same = json_get(json_get(all->v[i].data, "facts"), "same");
		const char *text = json_get_str(same, c->path);

		if (text && streq(text, SAME_LATE))
			LIST_ADD(p->a, &c->late)->name = all->v[i].host;
		if (!text || streq(text, SAME_LATE))
			continue;
		c->v[c->n++] = (struct copy){&all->v[i], text};
		c->read += is_read(text);
	}
	qsort(c->v, c->n, sizeof(*c->v), by_text);
	for (size_t i = 0, n; i < c->read; i += n) {
		n = run_from(c, i);
		if (n > c->alike) {
			c->alike = n;
			c->usual = &c->v[i];
		}
	}
	if (2 * c->alike <= c->read)
		c->usual = NULL;
}

/* ---- which of its files ---- */

static const cJSON *files_of(const struct copy *c, const char *path)
{
	return json_get(json_get(json_get(c->from->data, "facts"), "same_files"), path);
}

/* "CONTENTS NAME" */
static const char *name_of(const cJSON *entry)
{
	const char *text = cJSON_GetStringValue(entry), *blank = text ? strchr(text, ' ') : NULL;

	return blank ? blank + 1 : "";
}

static bool has_file(const cJSON *files, const char *name)
{
	const cJSON *x;

	cJSON_ArrayForEach (x, files)
		if (streq(name_of(x), name))
			return true;
	return false;
}

/* Both were walked in the same order: the first that is not alike tells. */
static const char *difference(struct arena *a, const cJSON *own, const cJSON *usual)
{
	const cJSON *x = own ? own->child : NULL, *y = usual ? usual->child : NULL;

	while (x && y && cJSON_Compare(x, y, true)) {
		x = x->next;
		y = y->next;
	}
	if (x && y && *name_of(x) && streq(name_of(x), name_of(y)))
		return arena_printf(a, ": %s differs", name_of(x));
	if (x && *name_of(x) && !has_file(usual, name_of(x)))
		return arena_printf(a, ": %s is here alone", name_of(x));
	return y && *name_of(y) ? arena_printf(a, ": %s is not here", name_of(y)) : "";
}

/* ---- what is said ---- */

/* "[fd00::1]:/data": the first colon ends a name. */
static const char *place(struct arena *a, const char *host, const char *path)
{
	return arena_printf(a, "%s:%s", shell_quote(a, host_bracketed(a, host)),
			    shell_quote(a, path));
}

/* Without a "/" at its end; NULL: as with "." and ".." it has no name of its own. */
static const char *copyable(struct arena *a, const char *path)
{
	size_t n = strlen(path);
	const char *name;

	while (n && path[n - 1] == '/')
		n--;
	path = arena_strndup(a, path, n);
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	return !*name || streq(name, ".") || streq(name, "..") ? NULL : path;
}

/* Of a file the path's own name is "", and it is the only one. */
static bool is_file(const struct copy *c, const char *path)
{
	const cJSON *files = files_of(c, path);

	return cJSON_GetArraySize(files) == 1 && !*name_of(files->child);
}

/* @right: has it right; with @host NULL nobody knows who has. The path may be a link there or
 * here: what it leads to is copied, and no link put in its place. */
static void advise_copy(struct preflight *p, struct finding *f, const char *path,
			const struct copy *right, const char *host)
{
	const char *copied = copyable(p->a, path), *folder;
	const char *rsh =
		p->rsh ? arena_printf(p->a, " -e %s", shell_quote(p->a, rsh_shown(p->a, p->rsh)))
		       : "";
	const char *where = host ? "" : "   # HOST: where it is right";

	host = host ?: "HOST";
	if (!copied) {
		finding_fix(f, "ls -la %s   # and where it is right", shell_quote(p->a, path));
	} else if (is_file(right, path)) {
		finding_fix(f, "rsync -aLc%s %s \"$(dirname %s)/\"%s", rsh,
			    place(p->a, host, copied), shell_quote(p->a, copied), where);
	} else {
		folder = arena_printf(p->a, "%s/", copied);
		finding_fix(f, "rsync -ac --delete%s %s %s%s", rsh, place(p->a, host, folder),
			    shell_quote(p->a, folder), where);
	}
}

/* From one that has what most have. */
static void advise(struct preflight *p, struct finding *f, const struct copies *c,
		   const struct copy *odd)
{
	if (starts_with(odd->text, "unreadable"))
		finding_fix(f, "sudo chmod -R a+rX %s   # or as a user who may read it",
			    shell_quote(p->a, c->path));
	else
		advise_copy(p, f, c->path, c->usual, c->usual->from->host);
}

static void tell_odd(struct preflight *p, const struct copies *c, const struct copy *odd)
{
	struct finding *f = drift_note(p, NULL, c->path, odd->from->host);
	const char *what = is_read(odd->text) ? difference(p->a, files_of(odd, c->path),
							   files_of(c->usual, c->path))
					      : "";

	finding_set(f, ST_FAIL, "%s here, %s on %zu of %zu hosts%s", odd->text, c->usual->text,
		    c->alike, c->n, what);
	finding_expect(f, "%s, as on the others", c->usual->text);
	advise(p, f, c, odd);
}

static void tell_all(struct preflight *p, const struct copies *c)
{
	struct finding *f = drift_note(p, NULL, c->path, NULL);
	struct text t;
	size_t n;

	text_init(&t, p->a);
	for (size_t i = 0; i < c->n; i += n) {
		host_list who = {0};

		for (n = 0; i + n < c->n && streq(c->v[i + n].text, c->v[i].text); n++)
			LIST_ADD(p->a, &who)->name = c->v[i + n].from->host;
		text_addf(&t, "%s%s on %s", i ? "; " : "", c->v[i].text, hostlist_fold(p->a, &who));
	}
	finding_set(f, ST_FAIL, "%s", t.s);
	finding_expect(f, "the same on all hosts of a job");
	if (c->read)
		advise_copy(p, f, c->path, &c->v[0], NULL);
	else
		finding_fix(f, "ls -ld %s   # is it spelt right, is its file system mounted?",
			    shell_quote(p->a, c->path));
}

/* That says nothing of what is in it. A host takes no longer for itself than twice a deadline. */
static void tell_late(struct preflight *p, struct copies *c)
{
	struct finding *f = drift_note(p, NULL, c->path, NULL);
	const char *hosts = p->given ? preflight_to(p, p->given) : "--serve";

	finding_set(f, ST_SKIP, "was not compared on %s: " SAME_LATE, names_brief(p->a, &c->late));
	finding_fix(f, "windsock %s --same %s --deadline 5m   # or a smaller part of it", hosts,
		    shell_quote(p->a, c->path));
}

bool drift_same(struct preflight *p, const struct answers *all, const char *path)
{
	struct copies c = {.path = path};

	collect(p, all, &c);
	if (c.late.n)
		tell_late(p, &c);
	if (c.n && (!c.read || (!c.usual && c.read > 1)))
		tell_all(p, &c);
	for (size_t i = 0; c.usual && i < c.n; i++)
		if (!streq(c.v[i].text, c.usual->text))
			tell_odd(p, &c, &c.v[i]);
	return c.n > 1;
}
