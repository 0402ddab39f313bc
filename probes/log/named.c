#include "probes/log/named.h"

#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/packed.h"
#include "probes/log/folder.h"
#include "probes/log/source.h"

#include <sys/stat.h>

enum { UNREAD_TOLD = 10 }; /* of a folder whose files are all another user's */

/* The others are read all the same; the first that cannot be is said at the end. */
static void keep_first(struct err *e, const struct err *its, size_t *unread)
{
	if (!(*unread)++)
		*e = *its;
	else if (*unread <= UNREAD_TOLD)
		log_error("%s", its->msg);
}

/* What was read of the others is whole, and explained: then no command line was wrong. */
static void say_unread(struct report *r, const struct why *w, size_t unread, struct err *e)
{
	if (unread > UNREAD_TOLD)
		log_error("nor %zu files more", unread - UNREAD_TOLD);
	if (unread && w->files.n)
		e->kind = ERR_SYS;
	if (unread && !w->files.n)
		report_file_lost(r, "nothing was read");
	else if (unread == 1)
		report_file_lost(r, "a file was not read");
	else if (unread)
		report_file_lost(r,
				 arena_printf(report_arena(r), "%zu files were not read", unread));
}

static int read_one(struct why *w, const struct folder *of, const char *path, struct err *e)
{
	struct source from = {.path = path};

	for (size_t i = 0; i < of->kept.n && !from.host; i++)
		from.host = kept_host(&of->kept.v[i], path, &w->a);
	return source_read_from(w, &from, e);
}

/* --- compressed ones, of which there may be many ------------------------------------------- */
struct packed_file {
	const char *folder;
	const struct packed *by;
	struct err e;
	bool is_said;
};
typedef LIST(struct packed_file) packed_list;

/* False: it is none, or what is in it cannot be put beside it. */
static bool keep_packed(packed_list *l, const char *path, const struct err *its, struct arena *a)
{
	const struct packed *by = packed_named(path);

	if (!by || by->into)
		return false;
	*LIST_ADD(a, l) = (struct packed_file){.folder = file_folder(path, a), .by = by, .e = *its};
	return true;
}

/* All of one kind in a folder are unpacked by one line. */
static void say_packed(packed_list *l, struct arena *a, struct err *e, size_t *unread)
{
	for (size_t i = 0; i < l->n; i++) {
		struct packed_file *f = &l->v[i];
		size_t more = 0;

		for (size_t k = i + 1; k < l->n && !f->is_said; k++)
			if (l->v[k].by == f->by && streq(l->v[k].folder, f->folder)) {
				l->v[k].is_said = true;
				more++;
			}
		if (f->is_said)
			continue;
		if (more)
			(void)packed_refuse_folder(f->by, f->folder, "ncclwhy", &f->e);
		keep_first(e, &f->e, unread);
		if (*unread > 1 && *unread <= UNREAD_TOLD)
			log_hint("%s", err_fix(&f->e, a));
		*unread += more;
	}
}

/* Of a folder and of itself, by two names, ...: each counts once. */
static void once(str_list *files, struct arena *a)
{
	LIST(struct stat) seen = {0};
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++) {
		struct stat *st = LIST_ADD(a, &seen);
		size_t k = 0;

		if (stat(files->v[i], st) || !S_ISREG(st->st_mode))
			*st = (struct stat){0};
		while (k + 1 < seen.n && (!st->st_ino || seen.v[k].st_ino != st->st_ino ||
					  seen.v[k].st_dev != st->st_dev))
			k++;
		if (k + 1 == seen.n)
			files->v[n++] = files->v[i];
	}
	files->n = n;
}

int read_named(struct why *w, const str_list *names, struct report *r, struct err *e)
{
	struct folder found = {0};
	const str_list *files = &found.files;
	packed_list packed = {0};
	size_t unread = 0;
	bool from_stdin = !names->n || streq(names->v[0], "-");

	if (from_stdin && isatty(STDIN_FILENO))
		log_say("reading the log from the terminal; paste it, then press Ctrl-D");
	if (!names->n)
		return source_read(w, "-", e);
	for (size_t i = 0; i < names->n; i++) {
		struct err its = {0};

		if (folder_files(names->v[i], report_arena(r), &found, &its))
			keep_first(e, &its, &unread);
	}
	folder_say(&found, "ncclwhy");
	once(&found.files, report_arena(r));
	for (size_t i = 0; i < files->n && !interrupt_pending(); i++) {
		struct err its = {0};

		if (!read_one(w, &found, files->v[i], &its))
			continue;
		if (keep_packed(&packed, files->v[i], &its, report_arena(r)))
			continue;
		if (!i && access(files->v[0], F_OK) && file_on_path(report_arena(r), files->v[0]))
			err_hint(&its, "to run a command: ncclwhy -- %s ...", files->v[0]);
		keep_first(e, &its, &unread);
	}
	say_packed(&packed, report_arena(r), e, &unread);
	say_unread(r, w, unread, e);
	return e->kind == ERR_NONE ? 0 : -1;
}
