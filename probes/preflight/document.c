#include "probes/preflight/document.h"

#include "lib/core/file.h"
#include "lib/core/opt.h"
#include "lib/report/json.h"
#include "probes/html/html.h"

#include <math.h>

enum { DEPTH_MAX = 64, FILE_MAX = 512 << 20 };

static const char *verdict(const struct preflight *p)
{
	const struct tally *t = &p->t;

	if (tally_first(t, 0, t->items.n, ST_FAIL))
		return "fail";
	if (tally_first(t, 0, t->items.n, ST_ERROR) || p->absent || !p->concluded)
		return "error";
	return tally_first(t, 0, t->items.n, ST_WARN) ? "warn" : "pass";
}

static const char *rfc3339(struct arena *a, double at)
{
	time_t t = (time_t)at;
	struct tm tm;
	char buf[32];

	if (!gmtime_r(&t, &tm))
		return NULL;
	(void)strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return arena_strdup(a, buf);
}

static void add_copy(cJSON *to, const char *key, const cJSON *what, cJSON *empty)
{
	if (!what) {
		cJSON_AddItemToObject(to, key, empty);
		return;
	}
	cJSON_Delete(empty);
	cJSON_AddItemToObject(to, key, cJSON_Duplicate(what, true));
}

cJSON *preflight_document(const struct preflight *p, const char *host, double began)
{
	cJSON *o = cJSON_CreateObject(), *findings;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	json_str(o, "windsock", WINDSOCK_VERSION);
	json_num(o, "schema", 1);
	json_str(o, "command", "windsock");
	json_str(o, "host", host);
	json_str(o, "time", rfc3339(p->a, began));
	json_num(o, "seconds", fmax(0, (double)now.tv_sec + (double)now.tv_nsec / 1e9 - began));
	json_str(o, "verdict", verdict(p));
	findings = json_array(o, "findings");
	for (size_t i = 0; i < p->t.items.n; i++)
		finding_json(findings, p->t.items.v[i].f, host);
	(void)json_array(o, "series");
	add_copy(o, "data", report_data(p->r), cJSON_CreateObject());
	json_str(cJSON_GetObjectItemCaseSensitive(o, "data"), "covers", p->covers);
	add_copy(o, "nodes", p->nodes, cJSON_CreateArray());
	return o;
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

	if (file_read(path, FILE_MAX, a, &text, &n, e)) {
		e->kind = ERR_USAGE; /* the file was named on the command line */
		return NULL;
	}
	json = html_envelope(text, n, &n) ?: text;
	doc = json_parse(json, n, DEPTH_MAX, &why);
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
