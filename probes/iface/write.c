#include "probes/iface/write_heed.h"

#include "lib/core/diff.h"
#include "lib/core/file.h"
#include "lib/core/rcfile.h"
#include "lib/core/term.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"

#include <errno.h>

enum { BIGGEST = 64 << 20 };

/* Says in a block that there was no file before it, so that undoing it leaves no
 * file behind; and of a whole file that it is ours to replace and to remove. */
static const char made_by_us[] = "# This file was made by ifprobe.\n";

static int home_path(const char *below, struct arena *a, const char **ret, struct err *e)
{
	const char *home = getenv("HOME");
	bool is_path = home && *home == '/';

	/* one that is not there is not made: an account has none, or its mount is away */
	if (!is_path || access(home, F_OK)) {
		err_set(e, ERR_SYS, "HOME is %s%s, so there is no ~/%s",
			home ? arena_printf(a, "'%s'", home) : "not set",
			is_path ? ", which is not there" : "", below);
		return err_hint(e, "name the file: --to PATH");
	}
	*ret = arena_printf(a, "%s/%s", home, below);
	return 0;
}

/* A path in it would be one of root's anywhere, and systemd knows no blanks in a name. */
static bool is_unit(const char *name)
{
	for (const char *p = name; *p; p++)
		if (*p == '/' || (unsigned char)*p <= ' ')
			return false;
	return *name && *name != '.';
}

int write_path(const struct write_request *q, struct arena *a, const char **ret, struct err *e)
{
	const struct emit_form *f = q->form;

	if (!sysroot_is_real())
		return err_set(e, ERR_USAGE, "nothing is written under --sysroot");
	if (q->to) {
		*ret = q->to;
		return 0;
	}
	if (streq(f->name, "systemd")) {
		if (!q->unit) {
			err_set(e, ERR_USAGE, "--write systemd needs the service it is for");
			return err_hint(e, "add --unit train.service, or --to PATH");
		}
		if (!is_unit(q->unit)) {
			err_set(e, ERR_USAGE, "'%s' is no name of a service", q->unit);
			return err_hint(e, "--unit train.service, or --to PATH");
		}
		*ret = arena_printf(a, "/etc/systemd/system/%s%s.d/50-windsock.conf", q->unit,
				    strchr(q->unit, '.') ? "" : ".service");
		return 0;
	}
	if (f->root_path && (geteuid() == 0 || !f->user_path)) {
		*ret = f->root_path;
		return 0;
	}
	if (starts_with(f->user_path, "~/"))
		return home_path(f->user_path + 2, a, ret, e);
	*ret = f->user_path;
	return 0;
}

static int read_old(struct file_text *t, struct arena *a, struct err *e)
{
	struct err why = {0};
	char *s;

	t->text = span_of("");
	if (!file_read(t->path, BIGGEST, a, &s, &t->text.n, &why)) {
		t->text.s = s;
		t->exists = true;
		return 0;
	}
	if (errno == ENOENT)
		return 0;
	*e = why;
	return -1;
}

static bool is_ours(const struct file_text *t) { return strstr(t->text.s, made_by_us) != NULL; }

/* A name in it may hold a line's end, and what is behind that would be a command. */
static const char *comment(const char *note, struct arena *a)
{
	char *line = arena_printf(a, "# %s", note);

	term_tame(line);
	return arena_printf(a, "%s\n", line);
}

/* With @sign our name on it. */
static const char *render(const struct write_request *q, const struct suggestion *s, bool sign,
			  struct arena *a)
{
	bool computed = q->how == EMIT_COMPUTED && q->form->render_computed;
	const char *note = !computed && q->note ? comment(q->note, a) : "";
	struct text out;

	text_init(&out, a);
	text_addf(&out, "%s%s", sign ? made_by_us : "", note);
	if (computed)
		q->form->render_computed(&q->peers, &out);
	else
		q->form->render(s, &out);
	return out.s;
}

/* Of a whole file: would we write it so, with some values and perhaps a note? What was added by
 * somebody else would be lost. */
static bool is_rendering(const struct write_request *q, const struct file_text *old,
			 struct arena *a)
{
	struct suggestion s = {.a = a};
	const char *body = old->text.s + strlen(made_by_us);
	struct text out;

	if (!starts_with(old->text.s, made_by_us))
		return false;
	if (starts_with(body, "# "))
		body += strcspn(body, "\n") + 1;
	q->form->read(body, &s);
	text_init(&out, a);
	q->form->render(&s, &out);
	return streq(body, out.s);
}

/* No file is written over, nor taken away, in which there are lines that we would not write. */
static int refuse_others(const struct write_request *q, const struct file_text *old,
			 struct arena *a, struct err *e)
{
	struct err damage = {0};
	struct span rest;
	bool found;

	if (!old->text.n)
		return 0;
	if (q->form->is_block && (rc_remove(a, old->text, &rest, &found, &damage) || found))
		return 0; /* what is ours is marked */
	if (!is_ours(old)) {
		if (q->undo || (q->form->is_block && !q->form->head))
			return 0;
		err_set(e, ERR_SYS, "%s is there already and was not made by ifprobe", old->path);
		return err_hint(e, "move it away, or name another file: --to PATH");
	}
	if (!q->form->is_block && is_rendering(q, old, a))
		return 0;
	err_set(e, ERR_SYS, "%s was made by ifprobe, and has other lines, too", old->path);
	return err_hint(e, "move it away%s", q->undo ? "" : ", or name another file: --to PATH");
}

static int wanted_text(const struct write_request *q, const struct suggestion *s,
		       const struct file_text *old, struct file_text *ret, struct arena *a,
		       struct err *e)
{
	const struct emit_form *f = q->form;
	const char *body = render(q, s, !old->text.n || is_ours(old) || !f->is_block, a);
	struct span above = f->head && !old->text.n ? span_of(f->head) : old->text;

	if (f->is_block)
		return rc_put(a, above, body, f->place, &ret->text, e);
	ret->text = span_of(body);
	return 0;
}

/* What the file should be after --undo; exists=false: no file at all. */
static int undone_text(const struct write_request *q, const struct file_text *old,
		       struct file_text *ret, bool *ret_found, struct arena *a, struct err *e)
{
	const char *head = q->form->head ? q->form->head : "";

	if (!q->form->is_block) {
		*ret_found = old->exists && is_ours(old);
		ret->exists = !*ret_found && old->exists;
		ret->text = ret->exists ? old->text : span_of("");
		return 0;
	}
	if (rc_remove(a, old->text, &ret->text, ret_found, e))
		return -1;
	ret->exists = old->exists && !(is_ours(old) && streq(ret->text.s, head));
	return 0;
}

/* A link to a file that we made was there before us: the file goes, the link stays. */
static int remove_file(const char *path, struct err *e)
{
	AUTO_FREE char *real = realpath(path, NULL);

	return unlink(real ? real : path) && errno != ENOENT ? err_sys(e, "removing %s", path) : 0;
}

static int apply(const struct write_request *q, const struct file_text *new, struct err *e)
{
	const struct file_replace_opts o = {.create_mode = q->form->mode, .make_parents = true};

	return new->exists ? file_replace(new->path, new->text.s, new->text.n, &o, e)
			   : remove_file(new->path, e);
}

/* What to do next, with the file's real name in it; a whole one, where the usual one is whole. */
static const char *then(const struct emit_form *f, const char *path, struct arena *a)
{
	const char *usual = f->user_path ? f->user_path : f->root_path, *at;
	AUTO_FREE char *real = NULL;

	if (!f->then)
		return NULL;
	at = usual ? strstr(f->then, usual) : NULL;
	if (at && *usual == '/' && (real = realpath(path, NULL)))
		path = real;
	return at ? arena_printf(a, "%.*s%s%s", (int)(at - f->then), f->then, path,
				 at + strlen(usual))
		  : f->then;
}

static void say(const struct write_request *q, const struct file_text *old,
		const struct file_text *new, bool changed, bool heeded, struct report *r)
{
	struct finding *f =
		report_find(r, arena_printf(report_arena(r), "write.%s", q->form->name), new->path);
	const char *did = !new->exists ? "removed" : q->undo ? "restored" : "written";
	const char *next = q->undo || !heeded ? NULL : then(q->form, new->path, report_arena(r));

	if (!changed)
		finding_set(f, ST_PASS,
			    q->undo ? "has nothing of ours in it" : "is already as it should be");
	else if (q->dry_run)
		finding_set(f, ST_INFO, "would be %s; nothing was changed (--dry-run)", did);
	else
		finding_set(f, ST_PASS, "%s%s%s", did, next ? "; " : "", next ? next : "");
	report_add(r, f);
	if (report_wants_data(r)) {
		cJSON *o = json_object(report_data(r), "write");

		json_str(o, "kind", q->form->name);
		json_str(o, "path", new->path);
		json_bool(o, "changed", changed && !q->dry_run);
		json_bool(o, "undo", q->undo);
		if (q->dry_run)
			json_str(o, "diff",
				 text_diff(report_arena(r), new->path, old->text, new->text));
	}
}

int write_apply(const struct write_request *q, const struct suggestion *s, struct report *r,
		struct err *e)
{
	struct arena *a = report_arena(r);
	struct file_text old = {0}, new = {.exists = true};
	bool changed, heeded;

	if (write_path(q, a, &old.path, e) || read_old(&old, a, e))
		return -1;
	new.path = old.path;
	if (refuse_others(q, &old, a, e))
		return -1;
	if (q->undo ? undone_text(q, &old, &new, &changed, a, e)
		    : wanted_text(q, s, &old, &new, a, e))
		return -1;
	if (!q->undo)
		changed = !old.exists || old.text.n != new.text.n ||
			  memcmp(old.text.s, new.text.s, old.text.n);
	heeded = q->undo || write_is_heeded(q, s, &old, &new, r);
	if (changed && q->dry_run) {
		const char *diff = text_diff(a, new.path, old.text, new.text);

		report_answer(r, diff, strlen(diff));
	} else if (changed && apply(q, &new, e)) {
		return -1;
	}
	say(q, &old, &new, changed, heeded, r);
	return 0;
}
