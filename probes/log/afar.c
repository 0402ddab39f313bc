#include "probes/log/afar.h"

#include "lib/cluster/fetch.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/file.h"
#include "lib/core/heir.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/packed.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "probes/log/folder.h"
#include "probes/log/kept.h"
#include "probes/log/source.h"
#include "probes/tally/names.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

struct afar_run {
	const struct afar *q;
	struct why *w;
	struct report *r;
	struct arena *a;
	const char *folder;
	pid_t heir;    /* removes it, unless it is --save's */
	bool has_made; /* --save's */
	struct fetched *got;
	LIST(const struct fetched_file *) others; /* that another host had brought before */
	size_t unread, cut;			  /* files: refused; of which a part is here */
	const char *cut_one;
	struct folder left;	     /* of all folders, what was left out */
	const struct packed *packed; /* how one was that could not be read; NULL: none was so */
	uint64_t until_ns;	     /* once we were told to end; 0: we were not */
};

/* --- where it is put ------------------------------------------------------------------------- */
static bool is_empty(const char *path)
{
	AUTO_DIR DIR *d = opendir(path);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	return d && n <= 2;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
		      struct FTW *at UNUSED)
{
	(void)remove(path);
	return 0;
}

static void remove_folder(const char *path)
{
	enum { FOLDERS_OPEN = 16 };

	(void)nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* However we end, what came of other hosts stays nowhere. */
static void remove_left(void *path) { remove_folder(path); }

static int make_kept(const char *path, bool *ret_made, struct err *e)
{
	*ret_made = !mkdir(path, 0777);
	if (*ret_made || (errno == EEXIST && is_empty(path)))
		return 0;
	if (errno != EEXIST && errno != ENOTEMPTY) {
		err_sys(e, "cannot make the folder %s", path);
		return file_advise(path, e);
	}
	err_set(e, ERR_USAGE, "--save %s: that is there already, and is no empty folder", path);
	return err_hint(e, "name one that is not there yet");
}

static int make_folder(struct afar_run *x, struct err *e)
{
	const char *at = getenv("TMPDIR");
	char *path;

	if (x->q->save) {
		x->folder = x->q->save;
		return make_kept(x->folder, &x->has_made, e);
	}
	path = arena_printf(x->a, "%s/ncclwhy.XXXXXX", at && *at ? at : "/tmp");
	if (!mkdtemp(path)) {
		err_sys(e, "cannot make a folder for what is read of the hosts in %s",
			at && *at ? at : "/tmp");
		return err_hint(e, "--save FOLDER names another place");
	}
	x->folder = path;
	x->heir = heir_start(remove_left, path, -1);
	return 0;
}

/* --- what is read of it ---------------------------------------------------------------------- */
/* What came lies here, and is worth a moment more when we are told to end. */
static bool has_time(struct afar_run *x)
{
	if (!interrupt_pending())
		return true;
	if (!x->until_ns)
		x->until_ns = now_ns() + INTERRUPT_GRACE_S / 3 * NS_PER_S;
	return now_ns() < x->until_ns;
}

/* Where people find it: not in our copy. */
static const char *as_there(const struct afar_run *x, const char *host, const char *said)
{
	const char *at = strstr(said, x->folder);
	const char *behind = at ? strchr(at + strlen(x->folder) + 1, '/') : NULL;

	return behind ? arena_printf(x->a, "%.*s%s:%s", (int)(at - said), said, host, behind)
		      : said;
}

/* What cannot be read is said, and the others are. */
static void read_one(struct afar_run *x, const char *host, const char *path, const char *name,
		     bool is_shared)
{
	const struct source from = {.path = path,
				    .is_brought = true,
				    .name = arena_printf(x->a, "%s:%s", host, name),
				    .host = is_shared ? NULL : host};
	struct err e = {0};

	if (!source_read_from(x->w, &from, &e))
		return;
	x->unread++;
	if (packed_named(path) && !packed_named(path)->into)
		x->packed = packed_named(path);
	log_error("%s", as_there(x, host, e.msg));
}

static void name_left(struct afar_run *x, const struct fetched *of, size_t from[LEFT_KINDS])
{
	for (size_t k = 0; k < LEFT_KINDS; k++)
		for (size_t i = from[k]; i < x->left.left[k].n; i++)
			x->left.left[k].v[i] = as_there(x, of->host, x->left.left[k].v[i]);
}

/* Its folders as if they were here. */
static void read_folder(struct afar_run *x, const struct fetched *of,
			const struct fetched_file *asked, bool is_shared)
{
	size_t from = x->left.files.n, n = strlen(asked->path), left[LEFT_KINDS];
	struct err ignored = {0};
	int failed;

	for (size_t k = 0; k < LEFT_KINDS; k++)
		left[k] = x->left.left[k].n;
	failed = folder_files(asked->path, x->a, &x->left, &ignored);
	name_left(x, of, left);
	if (failed)
		return;
	for (size_t i = from; i < x->left.files.n && has_time(x); i++) {
		const char *path = x->left.files.v[i];

		read_one(x, of->host, path, arena_printf(x->a, "%s%s", asked->name, path + n),
			 is_shared);
	}
}

static bool is_in_folder(const struct fetched *of, const struct fetched_file *file)
{
	for (size_t i = 0; i < of->files.n; i++) {
		const struct fetched_file *f = &of->files.v[i];
		size_t n = strlen(f->name);

		if (f->is_folder && strncmp(file->name, f->name, n) == 0 && file->name[n] == '/')
			return true;
	}
	return false;
}

/* Did another host bring the same? */
static bool is_shared(const struct afar_run *x, const char *host, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < x->others.n; i++) {
		const struct fetched_file *f = x->others.v[i];

		if (streq(f->others, host) && strncmp(f->name, name, n) == 0 &&
		    (!f->name[n] || f->name[n] == '/'))
			return true;
	}
	return false;
}

static void note_others(struct afar_run *x)
{
	for (size_t i = 0; i < x->q->hosts->n; i++)
		for (size_t k = 0; k < x->got[i].files.n; k++)
			if (x->got[i].files.v[k].others)
				*LIST_ADD(x->a, &x->others) = &x->got[i].files.v[k];
}

static void read_host(struct afar_run *x, const struct fetched *of)
{
	for (size_t i = 0; i < of->files.n && has_time(x); i++) {
		const struct fetched_file *f = &of->files.v[i];
		bool shares = !f->others && is_shared(x, of->host, f->name);

		if (f->is_folder)
			read_folder(x, of, f, shares);
		else if (!f->others && !is_in_folder(of, f))
			read_one(x, of->host, f->path, f->name, shares);
		if (f->is_folder || f->others || f->got == f->size)
			continue;
		x->cut++;
		x->cut_one = arena_printf(x->a, "%s:%s (%llu bytes, of which %llu were read)",
					  of->host, f->name, (unsigned long long)f->size,
					  (unsigned long long)f->got);
	}
}

/* --- what is said of it ---------------------------------------------------------------------- */
static void tell_lost(struct afar_run *x, const struct fetched *of)
{
	struct finding *f = report_find(x->r, "host.answer", of->host);

	finding_set(f,
		    of->interrupted ? ST_SKIP
		    : of->started   ? ST_FAIL
				    : ST_ERROR,
		    "%s", names_after(of->trouble, of->host));
	if (!of->interrupted) {
		finding_expect(f, "its files");
		finding_fix(
			f, "%s",
			of->fix ?: typed_there(x->a, rsh_typed(x->a, x->q->rsh), of->host, "true"));
	}
	report_add(x->r, f);
}

/* The hosts that lack one of what was asked for, in one line. */
static void tell_absent(struct afar_run *x, size_t asked)
{
	const char *name = x->q->files->v[asked];
	host_list without = {0};
	struct finding *f;

	for (size_t i = 0; i < x->q->hosts->n; i++)
		for (size_t k = 0; k < x->got[i].absent.n; k++)
			if (x->got[i].absent.v[k] == asked)
				LIST_ADD(x->a, &without)->name = x->got[i].host;
	if (!without.n)
		return;
	f = report_find(x->r, "log.file", name);
	finding_set(f, ST_WARN, "nothing is called so on %s", names_brief(x->a, &without));
	finding_expect(f, "a log or a dump on each host");
	finding_fix(f, "%s",
		    typed_there(x->a, rsh_typed(x->a, x->q->rsh), without.v[0].name,
				arena_printf(x->a, "ls -l %s", shell_quote(x->a, name))));
	report_add(x->r, f);
}

static void tell_closed(struct afar_run *x, const struct fetched *of)
{
	struct finding *f;

	if (!of->closed.n)
		return;
	f = report_find(x->r, "log.file", of->closed.v[0]);
	f->host = of->host;
	finding_set(f, ST_WARN, "may not be read on %s%s", of->host,
		    of->closed.n > 1 ? arena_printf(x->a, ", nor %zu more", of->closed.n - 1) : "");
	finding_expect(f, "a file that may be read");
	report_add(x->r, f);
}

static void tell_misnamed(struct afar_run *x, const struct fetched *of)
{
	struct finding *f;

	if (!of->misnamed.n)
		return;
	f = report_find(x->r, "log.file", of->misnamed.v[0]);
	f->host = of->host;
	finding_set(f, ST_WARN, "was not read on %s%s: no file here can be called so", of->host,
		    of->misnamed.n > 1 ? arena_printf(x->a, ", nor %zu more", of->misnamed.n - 1)
				       : "");
	finding_expect(f, "a name that a file can have here");
	report_add(x->r, f);
}

static void tell(struct afar_run *x)
{
	for (size_t i = 0; i < x->q->hosts->n; i++) {
		if (x->got[i].trouble)
			tell_lost(x, &x->got[i]);
		else if (x->got[i].is_cut)
			log_warn("%s has more than could be read: name fewer files",
				 x->got[i].host);
		tell_closed(x, &x->got[i]);
		tell_misnamed(x, &x->got[i]);
	}
	for (size_t i = 0; i < x->q->files->n; i++)
		tell_absent(x, i);
	folder_say(&x->left, NULL);
	if (x->cut)
		log_warn("the beginning and the end alone were read of %zu file%s, such as %s",
			 x->cut, x->cut == 1 ? "" : "s", x->cut_one);
	if (x->others.n)
		log_say("%zu file%s of a folder that hosts share: read once", x->others.n,
			x->others.n == 1 ? "" : "s");
}

/* ... so that it is read again as it was there. */
static void mark(struct afar_run *x)
{
	str_list shared = {0};
	struct err e = {0};

	for (size_t i = 0; i < x->q->hosts->n; i++)
		for (size_t k = 0; k < x->got[i].files.n; k++) {
			const struct fetched_file *f = &x->got[i].files.v[k];

			if (!f->others && is_shared(x, x->got[i].host, f->name))
				*LIST_ADD(x->a, &shared) = f->path;
		}
	if (is_empty(x->q->save))
		return;
	if (kept_mark(x->q->save, &shared, &e))
		log_warn("%s", e.msg);
	log_say("kept in %s; again: ncclwhy %s", x->q->save, shell_quote_path(x->a, x->q->save));
}

/* A file that could not be read is an error, as here; a host that is away is a finding. */
static int fail(const struct afar_run *x, bool has_read, struct err *e)
{
	const char *in = x->q->save ? shell_quote_path(x->a, x->q->save) : "FOLDER", *typed;

	if (has_read)
		err_set(e, ERR_SYS, "%zu of the hosts' files could not be read", x->unread);
	else
		err_set(e, ERR_SYS, "no host has a file that could be read");
	if (!x->packed)
		return -1;
	typed = arena_printf(x->a, "find %s -name '*%s' -exec %s {} + && ncclwhy %s", in,
			     x->packed->end, x->packed->unpack, in);
	if (x->q->save)
		return err_command(e, "%s", typed);
	return err_hint(e, "--save FOLDER brings them here; then: %s", typed);
}

static int conclude(const struct afar_run *x, struct err *e)
{
	bool has_read = x->w->files.n || x->w->flight;

	if (has_read && !x->unread)
		return 0;
	report_file_lost(x->r, !has_read ? "nothing was read"
			       : x->unread == 1
				       ? "a file was not read"
				       : arena_printf(x->a, "%zu files were not read", x->unread));
	return !has_read && report_count(x->r, ST_FAIL) ? 0 : fail(x, has_read, e);
}

static void read_all(struct afar_run *x)
{
	note_others(x);
	for (size_t i = 0; i < x->q->hosts->n; i++)
		read_host(x, &x->got[i]);
	tell(x);
	if (x->q->save)
		mark(x);
}

int afar_read(struct why *w, const struct afar *q, struct report *r, struct err *e)
{
	struct afar_run x = {.q = q, .w = w, .r = r, .a = report_arena(r)};
	struct fetch_opts o = {.rsh = q->rsh,
			       .deadline_ns = 3 * q->deadline_ns, /* a login before it */
			       .left_out = folder_data_ends};
	int failed;

	if (make_folder(&x, e))
		return -1;
	o.folder = x.folder;
	failed = fetch_files(q->hosts, q->files, &o, x.a, &x.got, e);
	if (!failed)
		read_all(&x);
	if (!q->save) {
		remove_folder(x.folder);
		heir_end(x.heir);
	} else if (x.has_made)
		(void)rmdir(q->save); /* where nothing came */
	return failed ? -1 : conclude(&x, e);
}
