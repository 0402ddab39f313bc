#include <time.h> /* before base.h, which forbids some of what it declares */

#include "lib/report/report.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/here.h"
#include "lib/report/json.h"
#include "lib/report/own.h"

#include <errno.h>
#include <math.h>

#define RENDERER(name) extern const struct renderer render_##name;
#include "gen/renderers.h"
#undef RENDERER

static const struct renderer *const renderers[] = {
#define RENDERER(name) &render_##name,
#include "gen/renderers.h"
#undef RENDERER
};

const char *const renderer_names[] = {
#define RENDERER(name) #name,
#include "gen/renderers.h"
#undef RENDERER
	NULL,
};

/*
 * Every event passes here: a progress line is wiped before stdout speaks, and
 * what was said is out before the next check takes its time.
 */
#define EMIT(r, event, ...)                                                                        \
	do {                                                                                       \
		if ((r)->rend->event) {                                                            \
			log_progress_end();                                                        \
			(r)->rend->event(&(r)->sink, ##__VA_ARGS__);                               \
			flush(r);                                                                  \
		}                                                                                  \
	} while (0)

static void flush(struct report *r)
{
	if (fflush(r->sink.out) && !r->write_errno)
		r->write_errno = errno;
}

const struct renderer *renderer_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(renderers); i++)
		if (streq(renderers[i]->name, name))
			return renderers[i];
	return NULL;
}

int renderer_exit_code(const char *format, int own, bool warned)
{
	const struct renderer *r = format ? renderer_find(format) : NULL;

	return r && r->exit_code ? r->exit_code(own, warned) : own;
}

static void report_free(struct report *r)
{
	if (r->sink.out && r->sink.out != stdout)
		(void)fclose(r->sink.out);
	free(r->text);
	cJSON_Delete(r->sink.data);
	cJSON_Delete(r->sink.nodes);
	cJSON_Delete(r->sink.series);
	arena_done(&r->a);
	free(r);
}

static const char *own_name(struct arena *a)
{
	char name[256] = "";

	return gethostname(name, sizeof(name) - 1) || !*name ? "localhost" : arena_strdup(a, name);
}

struct report *report_new(const struct report_opts *o, struct err *e)
{
	const struct renderer *rend = renderer_find(o->format ? o->format : "table");
	struct report *r;

	if (!rend) {
		err_set(e, ERR_USAGE, "no format is called %s", o->format);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		err_sys(e, "cannot begin the report");
		return NULL;
	}
	r->opts = *o;
	r->rend = rend;
	r->started_ns = now_ns();
	r->sink.started = time(NULL);
	if (report_open_output(r, e)) {
		report_free(r);
		return NULL;
	}
	r->sink.a = &r->a;
	r->sink.opts = &r->opts;
	r->sink.host = o->host ? o->host : own_name(&r->a);
	EMIT(r, begin);
	return r;
}

struct arena *report_arena(struct report *r) { return &r->a; }
unsigned report_width(const struct report *r) { return r->sink.width; }

bool report_folds(const struct report *r) { return r->rend->folds; }
bool report_wants_data(const struct report *r) { return r->rend->wants_data || r->opts.page; }

bool report_wants_pairs(const struct report *r, size_t n)
{
	return report_wants_data(r) || (n && n <= r->rend->wants_pairs);
}

bool report_is_quiet(const struct report *r) { return r->opts.quiet; }
size_t report_count(const struct report *r, enum status st) { return r->sink.count[st]; }

struct finding *report_find(struct report *r, const char *check, const char *subject)
{
	struct finding *f = ARENA_NEW(&r->a, struct finding);

	*f = (struct finding){
		.check = arena_strdup(&r->a, check),
		.subject = subject ? arena_strdup(&r->a, subject) : NULL,
		.rank = -1,
		.status = ST_ERROR,
		.message = "nobody decided this check",
		.value = NAN,
		.seconds = NAN,
		.a = &r->a,
	};
	return f;
}

void report_fit(struct report *r, struct finding *f)
{
	if (r->sink.opts->review && !f->is_reviewed) {
		f->is_reviewed = true;
		r->sink.opts->review(f);
	}
	if (f->host && !streq(f->host, r->sink.host))
		return;
	for (size_t i = 0; i < f->fix.n; i++) {
		const char *line = here_line(&r->a, f->fix.v[i]);

		if (i < 64 && line != f->fix.v[i])
			f->as_root |= 1ull << i;
		f->fix.v[i] = line;
	}
}

void report_tell(struct report *r, struct finding *f)
{
	report_fit(r, f);
	*LIST_ADD(&r->a, &r->sink.findings) = f;
	r->sink.count[f->status]++;
	EMIT(r, finding, f);
}

void report_keep(struct report *r, const struct finding *f) { *LIST_ADD(&r->a, &r->sink.kept) = f; }

void report_add(struct report *r, struct finding *f)
{
	report_tell(r, f);
	report_keep(r, f);
}

cJSON *report_envelope(const struct report *r) { return sink_envelope(&r->sink); }

void report_series(struct report *r, const struct series *s)
{
	struct column *columns = arena_alloc(&r->a, s->ncolumns * sizeof(*columns));
	struct series *copy = ARENA_NEW(&r->a, struct series);

	memcpy(columns, s->columns, s->ncolumns * sizeof(*columns));
	*copy = *s;
	copy->columns = columns;
	r->series = copy;
	EMIT(r, series, copy);
}

void report_row(struct report *r, const struct cell *cells)
{
	if (!r->series)
		return;
	r->rows++;
	EMIT(r, row, r->series, cells);
}

void report_heading(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	EMIT(r, heading, arena_vprintf(&r->a, fmt, ap));
	va_end(ap);
}

void report_remark(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	EMIT(r, remark, arena_vprintf(&r->a, fmt, ap));
	va_end(ap);
}

void report_covers(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->sink.covers = arena_vprintf(&r->a, fmt, ap);
	va_end(ap);
}

void report_answer(struct report *r, const char *text, size_t n)
{
	r->answered = true;
	EMIT(r, answer, text, n);
}

cJSON *report_data(struct report *r)
{
	if (!r->sink.data)
		r->sink.data = cJSON_CreateObject();
	return r->sink.data;
}

void report_node(struct report *r, const char *host, cJSON *data)
{
	cJSON *node;

	if (!r->sink.nodes)
		r->sink.nodes = cJSON_CreateArray();
	node = json_push_object(r->sink.nodes);
	json_str(node, "host", host);
	cJSON_AddItemToObject(node, "data", data ? data : cJSON_CreateObject());
}

/* The run's own failure; the table leaves this finding to the log. */
static void add_error(struct report *r, const struct err *e)
{
	struct finding *f = report_find(r, "run", r->opts.command);

	r->sink.error = arena_strdup(&r->a, e->msg);
	finding_set(f, ST_ERROR, "%s", e->msg);
	if (*e->hint)
		finding_fix(f, "%s", err_fix(e, f->a));
	report_add(r, f);
}

void report_file_lost(struct report *r, const char *how)
{
	r->sink.file_lost = arena_strdup(&r->a, how);
}

/* Of a wrong command line only the log speaks, where nobody looks at stdout alone. */
static bool is_untold(const struct report *r, const struct err *e)
{
	return e->kind == ERR_USAGE && !r->rend->exit_code;
}

int report_code(const struct report *r, const struct err *e)
{
	const size_t *n = r->sink.count;
	bool concluded = n[ST_PASS] || n[ST_WARN] || n[ST_FAIL] || r->answered ||
			 (!n[ST_SKIP] && (n[ST_INFO] || r->rows));

	if (e->kind && (interrupt_pending() || is_untold(r, e))) /* it was cut short */
		return err_exit_code(e);
	if (n[ST_FAIL] || (r->opts.strict && n[ST_WARN]))
		return 1;
	if (e->kind)
		return err_exit_code(e);
	return n[ST_ERROR] || !concluded ? 3 : 0;
}

static int conclude(struct report *r, const struct err *e)
{
	int code = report_code(r, e);

	r->sink.verdict = code == 1		   ? "fail"
			  : code		   ? "error"
			  : r->sink.count[ST_WARN] ? "warn"
						   : "pass";
	return code;
}

/* What was lost is said, whatever else there is to say. */
static void add_trouble(struct err *e, const struct err *more)
{
	AUTO(arena_done) struct arena a = {0};
	struct err first = *e;

	*e = *more;
	if (first.kind) {
		err_set(e, first.kind, "%s; and %s", first.msg, more->msg);
		err_take_fix(e, err_fix(*first.hint ? &first : more, &a) ?: "");
	}
}

/* Before the end is told, which says that it is lost; what was found is read all the same. */
static int end_page(struct report *r, int code, struct err *e)
{
	bool had_error = e->kind;
	struct err lost = {0};

	if (!report_write_page(r, &lost))
		return code;
	add_trouble(e, &lost);
	if (had_error)
		return code;
	report_file_lost(r, "a file was not written");
	add_error(r, e);
	return conclude(r, e);
}

int report_end(struct report *r, struct err *e)
{
	int code = err_exit_code(e), saved;
	struct err unwritten = {0};

	if (!is_untold(r, e)) {
		if (e->kind == ERR_USAGE)
			r->opts.page = NULL;
		if (e->kind)
			add_error(r, e);
		code = conclude(r, e);
		if (report_wants_data(r) && r->sink.covers)
			json_str(report_data(r), "covers", r->sink.covers);
		r->sink.seconds = (double)((now_ns() - r->started_ns) / 1000) / 1e6;
		/* the table shows no clock, and gmtime_r() reads /etc/localtime */
		if (r->opts.page || !streq(r->rend->name, "table"))
			r->sink.time = sink_rfc3339(&r->a, r->sink.started);
		code = end_page(r, code, e);
		EMIT(r, end);
		if (report_write_output(r, &unwritten)) {
			add_trouble(e, &unwritten);
			code = 3;
		}
	}
	saved = errno;
	report_free(r);
	errno = saved;
	return code;
}
