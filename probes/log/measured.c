#include "probes/log/measured.h"

#include "lib/core/quote.h"
#include "lib/core/text.h"

void measured_table(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	w->progress.v[s->file].measured = MEASURED_TABLE;
	w->progress.v[s->file].is_open = true;
}

void measured_end(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	w->progress.v[s->file].is_open = false;
}

bool measured_is_cut(const struct why *w)
{
	for (size_t i = 0; i < w->files.n && i < w->progress.n; i++)
		if (w->progress.v[i].is_open)
			return true;
	return false;
}

void measured_record(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	w->progress.v[s->file].measured = MEASURED_RECORD;
}

/* "runs/", of "runs/node0-pid4000.log". */
static size_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Recordings of one folder are one recording; NULL: they are not. Not each file was looked into. */
static const char *one_folder(const struct why *w, struct arena *a)
{
	const char *first = NULL;
	size_t n = 0, len = 0;

	for (size_t i = 0; i < w->files.n; i++) {
		if (w->progress.v[i].measured == MEASURED_TABLE)
			return NULL;
		if (w->progress.v[i].measured && !first)
			len = folder_of(first = w->files.v[i]);
	}
	for (size_t i = 0; first && i < w->files.n; i++) {
		bool is_in = folder_of(w->files.v[i]) == len && !strncmp(w->files.v[i], first, len);

		if (!is_in && w->progress.v[i].measured)
			return NULL;
		n += is_in;
	}
	if (n < 2)
		return NULL;
	return len > 1 ? arena_strndup(a, first, len - 1) : len ? "/" : ".";
}

bool measured_tell(const struct why *w, struct finding *f)
{
	enum { NAMED = 8 };
	const char *folder = one_folder(w, f->a);
	struct text t;
	size_t n = 0;

	text_init(&t, f->a);
	text_add(&t, "ncclbench");
	if (folder)
		text_addf(&t, " --analyze %s", shell_quote(f->a, folder));
	for (size_t i = 0; !folder && i < w->files.n && n < NAMED; i++) {
		const char *path = w->files.v[i];

		if (!w->progress.v[i].measured)
			continue;
		n++;
		text_addf(&t, " --analyze %s",
			  streq(path, "stdin") ? "FILE" : shell_quote(f->a, path));
	}
	if (folder || n)
		finding_fix(f, "%s  # are its figures normal?", t.s);
	return folder || n;
}
