#include "probes/log/hidden.h"

#include "probes/log/explain.h"
#include "probes/log/extract.h"
#include "probes/log/said.h"

enum { SURE = 95 };

/* The traceback says that it is not Python's module: Python's own files fail for it as they are
 * imported, or the file of that name in it is the program's. In a function either may ask for what
 * its caller named, or for what is gone. */
static bool is_own(struct arena *a, const struct log_event *e)
{
	const char *module = extract_group(
		a, 1, "^AttributeError: module '" PYTHONS_MODULES "' has no attribute ", e->body);

	return module && e->in_module &&
	       (e->innermost == FRAME_PYTHON ||
		(e->frame && starts_with(e->frame, arena_printf(a, "%s.py ", module))));
}

/* Without Python's words about it. */
static struct cause *by_traceback(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *other = explain_find(x, "LIB-011");
	const struct log_event *e = NULL;
	struct cause *c;

	for (size_t i = 0; other && !other->is_over && i < other->record->events.n && !e; i++)
		if (is_own(a, &other->record->events.v[i]))
			e = &other->record->events.v[i];
	if (!e)
		return NULL;
	c = explain_add(w, a, x, "LIB-042"); /* the list may grow */
	explain_instead(c, explain_find(x, "LIB-011"), e, SURE,
			e->innermost == FRAME_PYTHON ? "Python's own files ask it for that"
						     : "the traceback has a file of that name");
	return c;
}

/* The program asks its own file for what is none of the package's: not where a library asks, nor
 * that file itself. */
static bool is_meant(struct arena *a, const struct log_event *e)
{
	static const char *const packages[] = {
		"load_dataset", "load_metric",	   "load_from_disk",	  "DatasetDict",
		"AddedToken",	"IterableDataset", "concatenate_datasets"};
	static const char ere[] = "^ImportError: cannot import name '([^']+)' from (partially "
				  "initialized module )?'(evaluate|datasets|tokenizers)'";
	const char *module = extract_group(a, 3, ere, e->body);

	return module && e->innermost == FRAME_PROGRAM && e->frame &&
	       !starts_with(e->frame, arena_printf(a, "%s.py ", module)) &&
	       !is_among(extract_group(a, 1, ere, e->body), packages, ARRAY_LEN(packages));
}

/* All that it was told by is such a module. */
static bool meant(struct why *w, struct arena *a, struct explanation *x, struct cause *c)
{
	enum { CIRCLE = 80 };
	const struct record *r = c->record;

	for (size_t i = 0; i < r->events.n; i++)
		if (!is_meant(a, &r->events.v[i]))
			return false;
	if (!r->events.n)
		return false;
	(void)explain_add(w, a, x, "LIB-011"); /* the list may grow */
	explain_instead(explain_find(x, "LIB-011"), explain_find(x, "LIB-042"), &r->events.v[0],
			CIRCLE, "the program's own file asks its own module for that");
	return true;
}

/* "... (/w/random.py)", "(consider renaming '/w/random.py' since": the file that Python took; NULL:
 * not said. */
static const char *path_of(struct arena *a, const char *text)
{
	static const char before[] = "(consider renaming '";
	const char *p = strstr(text, before), *open = strrchr(text, '(');
	const char *path = p ? p + strlen(before) : open ? open + 1 : "";
	size_t n = strcspn(path, p ? "'" : ")");

	return n > 3 && starts_with(path + n - 3, ".py")
		       ? explain_word(a, arena_strndup(a, path, n))
		       : NULL;
}

static const char *rename_cure(struct arena *a, const char *path)
{
	const char *name = strrchr(path, '/');
	int folder = name ? (int)(name - path) + 1 : 0;

	return arena_printf(a, "mv %s %.*smy_%s   # and where the program imports it", path, folder,
			    path, path + folder);
}

void hidden(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "LIB-042");
	const char *path;

	if (!c)
		c = by_traceback(w, a, x);
	if (!c || !c->first || meant(w, a, x, c))
		return;
	path = path_of(a, c->first->text);
	c->cure = path ? rename_cure(a, path) : NULL;
}
