#include "probes/preflight/document.h"

#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/term.h"
#include "lib/report/json.h"
#include "probes/html/html.h"

#include <math.h>

enum { DEPTH_MAX = 64, FILE_MAX = 512 << 20 };

/* A line of what stands there beside a run. */
static const char *line_of(struct arena *a, const char *s, size_t n)
{
	enum { LONG = 60 };
	const char *end = memchr(s, '\n', n);
	char *line = arena_strndup(a, s, end ? (size_t)(end - s) : n);

	term_tame(line);
	line[term_fit(line, LONG)] = '\0';
	return line;
}

/* Where a run begins in it, as this or an older release printed it; NULL: nowhere. */
static const char *run_in(const char *s, size_t n)
{
	const char *key = memmem(s, n, "\"windsock\"", strlen("\"windsock\"")), *at = key;

	while (at && at > s && *at != '{')
		at--;
	return at && *at == '{' ? at : NULL;
}

/* How it came to be no run: why @e has the sentence then. @wrong: what the parser says of it. */
static bool say_torn(const char *path, const char *s, size_t n, const char *wrong, struct arena *a,
		     struct err *e)
{
	const char *run = run_in(s, n), *q = shell_quote(a, path);
	size_t length = run ? json_span(run, n - (size_t)(run - s), DEPTH_MAX) : 0, rest;
	const char *after = run ? run + length : s;

	if (strspn(s, " \t\r\n") == n)
		err_set(e, ERR_USAGE, "%s is empty: what was to write it has not finished", path);
	else if (run && !length)
		err_set(e, ERR_USAGE,
			"%s is cut short: what wrote it was ended, or its disk is full", path);
	else if (run && strspn(s, " \t\r\n") != (size_t)(run - s)) {
		err_set(e, ERR_USAGE, "%s has \"%s\" before the JSON of a run", path,
			line_of(a, s + strspn(s, " \t\r\n"), (size_t)(run - s)));
		return err_hint(e, "take it away: tail -c +%zu %s > NEW.json",
				(size_t)(run - s) + 1, q);
	} else if (run && (rest = strspn(after, " \t\r\n")) == n - (size_t)(after - s))
		err_set(e, ERR_USAGE, "%s: %s", path, wrong);
	else if (run) {
		err_set(e, ERR_USAGE, "%s has \"%s\" behind the JSON of a run", path,
			line_of(a, after + rest, n - (size_t)(after + rest - s)));
		return err_hint(e, "take it away: head -c %zu %s > NEW.json", (size_t)(after - s),
				q);
	} else
		return false;
	return err_hint(e, "make it again: windsock --json --output %s", q);
}

static cJSON *no_envelope(const char *path, cJSON *doc, struct err *e)
{
	const char *version = json_get_str(doc, "windsock");

	if (version && isfinite(json_get_num(doc, "schema", NAN))) {
		err_set(e, ERR_USAGE, "%s is of windsock %.40s, which wrote its reports otherwise",
			path, version);
		err_hint(e, "compare with one of this release: windsock --json --output NEW.json");
		cJSON_Delete(doc);
		return NULL;
	}
	cJSON_Delete(doc);
	err_set(e, ERR_USAGE, "%s is no run of ours", path);
	err_hint(e, "give what `windsock --json` printed, or a page that --report wrote");
	return NULL;
}

cJSON *document_read(const char *path, struct arena *a, struct err *e)
{
	const char *json;
	struct err why = {0};
	char *text;
	cJSON *doc;
	size_t n;

	if (file_read_given(path, FILE_MAX, FILE_PATIENCE_NS, a, &text, &n, e))
		return NULL;
	json = html_envelope(text, n, &n) ?: text;
	doc = json_parse(json, n, DEPTH_MAX, &why);
	if (!doc && json == text && say_torn(path, text, n, why.msg, a, e))
		return NULL;
	if (!doc || json_get_num(doc, "schema", 0) != 1 ||
	    !cJSON_IsArray(json_get(doc, "findings")))
		return no_envelope(path, doc, e);
	return doc;
}

int document_write_page(const cJSON *doc, const char *path, struct arena *a, struct err *e)
{
	struct text page;

	html_page(doc, a, &page);
	return file_replace(path, page.s, page.n, NULL, e);
}
