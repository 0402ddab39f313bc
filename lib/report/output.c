/* Where an answer goes: stdout, or a file that is there whole or not at all; the page beside it. */
#include "lib/core/file.h"
#include "lib/core/log.h"
#include "lib/report/own.h"

#include <errno.h>
#include <limits.h>
#include <strings.h>
#include <sys/stat.h>

int report_check_folder(struct arena *a, const char *path, struct err *e)
{
	const char *folder = file_folder(path, a);
	struct stat st;

	if (!*path) {
		err_set(e, ERR_USAGE, "'' is no name of a file to write");
		return err_hint(e, "an unset variable? leave the option out, or name one");
	}
	if (streq(path, "-")) {
		err_set(e, ERR_USAGE, "- is stdout, which has the answer already");
		return err_hint(e, "name a file");
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		err_set(e, ERR_SYS, "%s is not a regular file", path);
		return err_hint(e, "name a regular file, not a folder or a device");
	}
	if (access(arena_printf(a, "%s/.", folder), W_OK | X_OK) == 0) /* a program is no folder */
		return 0;
	err_sys(e, "cannot write %s: folder %s", path, folder);
	return file_advise(path, e);
}

static int check_ending(const char *path, const char *option, const char *what, const char *kind,
			struct err *e)
{
	static const char *const kinds[] = {"svg", "html", "png",  "pdf", "jpg", "jpeg",
					    "gif", "csv",  "json", "xml", "md",	 "txt"};
	const char *dot = path ? strrchr(path, '.') : NULL;

	for (size_t i = 0; dot && i < ARRAY_LEN(kinds); i++)
		if (!strcasecmp(dot + 1, kinds[i]) && !streq(kinds[i], kind))
			return err_set(e, ERR_USAGE, "%s: %s: %s, name it FILE.%s", option, path,
				       what, kind);
	return 0;
}

int report_check_page(const char *path, struct err *e)
{
	return check_ending(path, "--report", "the page is HTML", "html", e);
}

int report_check_picture(const char *path, const char *option, struct err *e)
{
	return check_ending(path, option, "the picture is an SVG", "svg", e);
}

/* Where it is, or would be: of a file that is not there yet glibc leaves the way to it. */
static const char *place(const char *path, struct arena *a)
{
	char real[PATH_MAX];

	if (realpath(path, real) || (errno == ENOENT && !access(file_folder(path, a), F_OK)))
		return arena_strdup(a, real);
	return path;
}

int report_check_apart(const char *const *paths, size_t n, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (paths[i] && paths[k] && !streq(paths[i], "-") &&
			    streq(place(paths[i], &a), place(paths[k], &a))) {
				err_set(e, ERR_USAGE, "%s was named for two things to be written",
					paths[i]);
				return err_hint(e, "give each a file of its own");
			}
	return 0;
}

int report_open_output(struct report *r, struct err *e)
{
	if (r->opts.output && streq(r->opts.output, "-"))
		r->opts.output = NULL;
	if (r->opts.page && report_check_folder(&r->a, r->opts.page, e))
		return -1;
	if (!r->opts.output) {
		r->sink.out = stdout;
		return 0;
	}
	if (report_check_folder(&r->a, r->opts.output, e))
		return -1;
	r->sink.out = open_memstream(&r->text, &r->text_n);
	return r->sink.out ? 0 : err_sys(e, "cannot buffer %s", r->opts.output);
}

static const struct file_replace_opts plain;

int report_write_page(struct report *r, struct err *e)
{
	struct text page;
	cJSON *envelope;

	if (!r->opts.page)
		return 0;
	envelope = sink_envelope(&r->sink);
	r->opts.draw(envelope, &r->a, &page);
	cJSON_Delete(envelope);
	if (file_replace(r->opts.page, page.s, page.n, &plain, e))
		return -1;
	log_say("report: %s", r->opts.page);
	return 0;
}

bool report_has_files(const struct report_opts *o) { return o->output || o->page || o->files; }

bool report_is_lost(const struct report *r)
{
	return r->write_errno && !report_has_files(&r->opts);
}

/* What its file has no room for goes where it would have gone without one; @e says why. */
static int rescue(struct report *r, struct err *e)
{
	const struct err why = *e;

	if (fwrite(r->text, 1, r->text_n, stdout) == r->text_n && !fflush(stdout))
		err_set(e, why.kind, "%s; the answer is on stdout instead", why.msg);
	else
		err_set(e, why.kind, "%s, nor can stdout be written: the answer is lost", why.msg);
	return *why.hint ? err_take_fix(e, err_fix(&why, &r->a)) : -1;
}

/* That a reader has seen enough (`| head`) is no error: what it was not for is written. */
int report_write_output(struct report *r, struct err *e)
{
	const char *path = r->opts.output;

	if (ferror(r->sink.out) && !r->write_errno)
		r->write_errno = EIO;
	errno = r->write_errno;
	if (errno == EPIPE && report_has_files(&r->opts))
		return 0;
	if (errno) {
		err_sys(e, "cannot write %s", path ? path : "to stdout");
		return path ? -1 : file_advise_stdout(e);
	}
	return path && file_replace(path, r->text, r->text_n, &plain, e) ? rescue(r, e) : 0;
}
