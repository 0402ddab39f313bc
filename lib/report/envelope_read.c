#include "lib/report/envelope.h"

#include "lib/core/term.h"
#include "lib/core/version.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"

#include <ctype.h>
#include <math.h>

enum { MAX_BYTES = 16 << 20, MAX_DEPTH = 64, MAX_TRIES = 8, QUOTE = 80 };

/* A login shell may talk before us and after: the document is what begins {"windsock". */
static const char *document(const char *text, size_t n, size_t *ret_n)
{
	static const char key[] = "\"windsock\"", schema[] = "\"schema\"";
	const char *p = text, *end = text + n;

	for (int tries = 0; tries < MAX_TRIES; tries++, p++) {
		const char *open;

		p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1);
		if (!p)
			break;
		for (open = p; open > text && memchr(" \t\r\n", open[-1], 4);)
			open--;
		if (open == text || open[-1] != '{')
			continue;
		*ret_n = json_span(open - 1, (size_t)(end - open) + 1, MAX_DEPTH);
		if (*ret_n && memmem(open, *ret_n - 1, schema, sizeof(schema) - 1))
			return open - 1;
	}
	return NULL;
}

/* The first line that says something, for a person to recognise. */
static int not_ours(const char *host, const char *command, const char *text, size_t n,
		    struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	char *line;

	while (n && isspace((unsigned char)*text))
		text++, n--;
	if (!n)
		return err_set(e, ERR_SYS, "%s answered nothing, not a report of %s", host,
			       command);
	line = arena_strndup(&a, text, n < 4 * QUOTE ? n : 4 * QUOTE);
	line[strcspn(line, "\r\n")] = '\0';
	term_tame(line);
	line[term_fit(line, QUOTE)] = '\0';
	return err_set(e, ERR_SYS, "%s answered \"%s\", not a report of %s", host, line, command);
}

static int check_header(const cJSON *doc, const char *host, const char *command, struct err *e)
{
	const char *version = json_get_str(doc, "windsock") ?: "?";
	const char *theirs = json_get_str(doc, "command");
	double schema = json_get_num(doc, "schema", NAN);

	if (schema != 1) {
		err_set(e, ERR_SYS, "%s has windsock %s, whose reports (schema %g) %s cannot read",
			host, version, schema, WINDSOCK_VERSION);
		return err_hint(e, "install the same windsock on every host");
	}
	if (!theirs || !streq(theirs, command))
		return err_set(e, ERR_SYS, "%s sent a report of %s, not of %s", host,
			       theirs ? theirs : "nothing", command);
	return 0;
}

const cJSON *envelope_part(const cJSON *doc, const char *stage, const char *command)
{
	const cJSON *data = json_get(doc, "data");

	return streq(json_text(doc, "command"), command) ? data
							 : json_get(json_get(data, "parts"), stage);
}

const char *envelope_check(const cJSON *finding)
{
	const char *s = json_get_str(finding, "check");

	return s && *s && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == strlen(s) ? s
											    : NULL;
}

static enum status status_parse(const char *name)
{
	for (enum status st = 0; name && st < ST_COUNT; st++)
		if (streq(name, status_name(st)))
			return st;
	return ST_ERROR;
}

/* NULL also for "". */
static const char *words(const cJSON *from, const char *key)
{
	const char *v = json_get_str(from, key);

	return v && *v ? v : NULL;
}

void envelope_finding(struct finding *f, const cJSON *finding)
{
	const char *unit = words(finding, "unit"), *expected = words(finding, "expected");
	double rank = json_get_num(finding, "rank", -1),
	       value = json_get_num(finding, "value", NAN);
	const cJSON *bit = json_get(finding, "as_root");

	f->rank = rank >= 0 && rank <= 1e9 ? (int)rank : -1;
	f->seconds = json_get_num(finding, "seconds", NAN);
	finding_set(f, status_parse(json_get_str(finding, "status")), "%s",
		    words(finding, "message") ?: "said nothing");
	if (isfinite(value))
		finding_value(f, value, unit ? arena_strdup(f->a, unit) : NULL);
	if (expected)
		finding_expect(f, "%s", expected);
	fix_from_json(finding, f->a, &f->fix);
	if ((int)f->fix.n != cJSON_GetArraySize(json_get(finding, "fix")))
		return; /* some are none, and the numbers would be of others */
	for (bit = cJSON_IsArray(bit) ? bit->child : NULL; bit; bit = bit->next)
		if (cJSON_IsNumber(bit) && bit->valuedouble >= 0 && bit->valuedouble < 64)
			f->as_root |= 1ull << (unsigned)bit->valuedouble;
}

cJSON *envelope_read(const char *host, const char *command, const char *text, size_t n,
		     struct err *e)
{
	const char *at;
	size_t doc_n;
	cJSON *doc;

	if (n > MAX_BYTES) {
		err_set(e, ERR_SYS, "%s answered %zu MiB, which is no report", host, n >> 20);
		return NULL;
	}
	at = document(text, n, &doc_n);
	doc = at ? json_parse(at, doc_n, MAX_DEPTH, e) : NULL;
	if (!doc) {
		not_ours(host, command, at ? at : text, at ? doc_n : n, e);
	} else if (check_header(doc, host, command, e)) {
		cJSON_Delete(doc);
		doc = NULL;
	}
	return doc;
}
