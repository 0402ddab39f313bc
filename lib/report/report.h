#ifndef LIB_REPORT_REPORT_H
#define LIB_REPORT_REPORT_H
/*
 * The result of a command as a stream of events into a sink. Probes and
 * benches call report_*(); the renderer chosen with --format turns each event
 * into text as it comes (table, tap, github) or closes a document at the end
 * (json, junit, prometheus, nagios), also after Ctrl-C. Only a renderer writes to
 * stdout. All texts handed over are copied or live in the report's arena.
 *
 *	struct finding *f = report_find(r, "route.peer", "10.0.0.2");
 *	finding_set(f, ST_FAIL, "goes out of %s, not %s", "docker0", "ens5");
 *	finding_fix(f, "eval \"$(ifprobe --suggest)\"");	a command; "- look at it" is words
 *	report_add(r, f);
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/core/text.h"

#include <cjson/cJSON.h>

enum status { ST_PASS, ST_INFO, ST_WARN, ST_FAIL, ST_SKIP, ST_ERROR, ST_COUNT };
const char *status_name(enum status st); /* "pass" ... as in the JSON */

struct finding {
	const char *check;   /* stable id: "route.peer". Check ids are API */
	const char *subject; /* what was looked at: "eth0", "10.0.0.2:29500" */
	const char *lasting; /* its name in formats that compare runs, without what was drawn by
				lot: "10.0.0.2:29500+sample"; NULL: @subject */
	const char *host;    /* NULL: this host */
	int rank;	     /* -1: none */
	enum status status;  /* ERROR until somebody decides */
	const char *message;
	str_list fix;	  /* commands and words, one per element: lib/core/fix.h */
	uint64_t as_root; /* a bit for each that root types where there is no sudo to say so */
	double value;	  /* NAN: none was measured */
	const char *unit;
	const char *expected;
	double seconds;	  /* NAN: not timed */
	bool answered;	  /* its words stand in the answer already */
	bool is_reviewed; /* by report_opts.review */
	struct arena *a;
};

void finding_set(struct finding *f, enum status st, const char *fmt, ...) PRINTF(3, 4);
void finding_fix(struct finding *f, const char *fmt, ...) PRINTF(2, 3);
/* Is @line, one of its fixes, for root? */
bool finding_wants_root(const struct finding *f, const char *line);
/* The host to be named beside the subject: NULL where that is it, where the message names a rank
 * of it, or where it is this host. */
const char *finding_host(const struct finding *f);
/* Likewise the rank; -1: none, the subject is it, or it is the first that the message names. */
int finding_rank(const struct finding *f);
void finding_value(struct finding *f, double value, const char *unit);
void finding_expect(struct finding *f, const char *fmt, ...) PRINTF(2, 3);
/* Into a list as the envelope's findings[] has it; @own: the host of those that name none. */
void finding_json(cJSON *list, const struct finding *f, const char *own);

/* A table of rows: a measured series (in JSON too) or a view for people only. */
struct column {
	const char *name;
	const char *unit; /* NULL: none */
	bool is_text;
	bool right;   /* align right (numbers always are) */
	bool is_list; /* of text in a view: a line for each item where they do not fit in one */
	int decimals; /* for numbers in the table */
};
struct cell {
	const char *text; /* for is_text; NULL: absent */
	double number;	  /* NAN: absent */
};
struct series {
	const char *name;
	const struct column *columns;
	size_t ncolumns;
	bool view; /* people only: its facts are in `data` already; columns without a
		      known cell are left out */
};

struct report_opts {
	const char *command;
	const char *format; /* a renderer's name; NULL: table */
	const char *output; /* a path, replaced at the end; NULL: stdout */
	const char *host;   /* NULL: gethostname() */
	bool strict;	    /* warnings become exit 1 */
	bool answer_only;   /* table: stdout carries the answer, findings go to stderr */
	bool quiet;	    /* table: only warn, fail and error findings, and the verdict */
	bool verbose;	    /* table: pass findings are listed even when many */
	bool files;	    /* the command writes files of its own, too */
	const char *widest; /* table: the longest check that may come; NULL: the column grows */
	const char *page;   /* a file more, for people, whatever the format; NULL: none */
	/* looks at each finding once before it is told, and may say more of it; NULL: nobody does
	 */
	void (*review)(struct finding *f);
	/* makes its text of the JSON envelope; it may live in @a */
	void (*draw)(const cJSON *envelope, struct arena *a, struct text *ret);
};

/* Is more expected of this run than what stdout gets? Then it goes on when that reader is gone. */
bool report_has_files(const struct report_opts *o);

struct report;

/* stdout takes nothing any more, and there is nothing else that this run is for. */
bool report_is_lost(const struct report *r);

/* Can a file be made at @path? A folder that is not there, or one or a device in its place, is said
 * before the work, not after. */
int report_check_folder(struct arena *a, const char *path, struct err *e) MUST_CHECK;
/* Is a page ("--report"), or a picture, called as other files are, so that another program would
 * open it? NULL: there is none. */
int report_check_page(const char *path, struct err *e) MUST_CHECK;
int report_check_picture(const char *path, const char *option, struct err *e) MUST_CHECK;
/* Of @n files to be written, NULL: none, no two are one: the second would replace the first. */
int report_check_apart(const char *const *paths, size_t n, struct err *e) MUST_CHECK;

/* Opens the output and begins. NULL with @e filled when that fails. */
struct report *report_new(const struct report_opts *o, struct err *e) MUST_CHECK;
struct arena *report_arena(struct report *r);

struct finding *report_find(struct report *r, const char *check, const char *subject);
/* It is reviewed, and its fixes are told as they can be typed, where it is about this host
 * (lib/report/here.h). */
void report_add(struct report *r, struct finding *f);
/* The same, for those that look at it before it is added. */
void report_fit(struct report *r, struct finding *f);
/* report_add() in two: one line that people are told of many findings, and each of those as a
 * document has it, which report_fit() has seen. */
void report_tell(struct report *r, struct finding *f);
void report_keep(struct report *r, const struct finding *f);

void report_series(struct report *r, const struct series *s); /* its names are kept */
void report_row(struct report *r, const struct cell *cells);  /* of the latest series */

/* A heading or a remark in the table format; other formats leave it out. */
void report_heading(struct report *r, const char *fmt, ...) PRINTF(2, 3);
void report_remark(struct report *r, const char *fmt, ...) PRINTF(2, 3);

/* The command's raw product, byte for byte (shell lines, a diff). Table format only:
 * the same facts must be in report_data(). */
void report_answer(struct report *r, const char *text, size_t n);

/* Only what is wrong, and the verdict, is wanted: a command that writes a table itself asks. */
bool report_is_quiet(const struct report *r);

/* Of the terminal that a table is read on; 0: it is on none, and lines may be as long as they are.
 */
unsigned report_width(const struct report *r);

/* What many hosts say alike is to be one line. */
bool report_folds(const struct report *r);

/* The command's own part of the JSON. Build it only when somebody will read it. */
bool report_wants_data(const struct report *r);
/* Of that, data.pairs: so many of them. Whoever wants these need not want the rest. */
bool report_wants_pairs(const struct report *r, size_t n);
cJSON *report_data(struct report *r);
/* One more host's part: `nodes[]`. Takes over @data (may be NULL). */
void report_node(struct report *r, const char *host, cJSON *data);

/* "this host only; nothing between hosts was tested": what a pass covers.
 * In JSON it is data.covers. */
void report_covers(struct report *r, const char *fmt, ...) PRINTF(2, 3);

/* The run came to its end, and the error that it ends with is of a file alone, that it could not
 * write, or not read: @how it was lost is what the summary says of it. */
void report_file_lost(struct report *r, const char *how);

/* The run so far as an envelope, without the verdict that its end brings; to be deleted before
 * that. */
cJSON *report_envelope(const struct report *r);

/* What report_end() would return now, if nothing was lost in writing: for those who are to be told
 * before it. */
int report_code(const struct report *r, const struct err *e);

/* Number of findings so far with this status. */
size_t report_count(const struct report *r, enum status st);

/*
 * Closes the document and the output; frees the report. @e->kind is set when
 * the command broke (its error becomes the envelope's) or when writing failed.
 * Returns the exit code of the contract: 1 beats 4 beats 3 beats 0; no finding
 * that concludes anything (all skip, or none at all and no rows) is 3, unless an
 * answer was given. After ERR_USAGE nothing is written, but by a renderer whose readers
 * look at stdout alone. A write that failed is 3
 * whatever was found, since nobody read it; errno is kept (EPIPE). What a file takes no more (a
 * full disk) is written to stdout. A page that is lost is an error like the run's own: a failure
 * beats it.
 */
int report_end(struct report *r, struct err *e);

/* --- for renderers (lib/report/render_*.c; the list is made from file names) --- */
struct sink {
	struct arena *a;
	const struct report_opts *opts;
	FILE *out;
	void *state;			       /* the renderer's own */
	cJSON *data, *nodes, *series;	       /* owned by the report; NULL when there are none */
	LIST(const struct finding *) findings; /* all so far, for those that write at the end */
	LIST(const struct finding *) kept;     /* of these, what was told as one line, each */
	size_t count[ST_COUNT];
	const char *host;
	int64_t started; /* seconds since 1970 */
	unsigned width;	 /* set by begin(): report_width() */
	/* set for end(): */
	const char *time; /* RFC 3339; NULL for the table */
	const char *verdict, *covers, *error;
	const char *file_lost; /* that is all that @error is about, or NULL */
	double seconds;
};
/* The JSON envelope; to be deleted before the sink is. */
cJSON *sink_envelope(const struct sink *s);
const char *sink_rfc3339(struct arena *a, int64_t seconds);
/* "3 checks, 1 warning: this host only; nothing between hosts was tested" */
const char *sink_summary(const struct sink *s);
/* "PASS" (warnings allowed), "FAIL" or "ERROR" */
const char *sink_verdict_word(const struct sink *s);

struct renderer {
	const char *name;
	const char *help;
	bool wants_data;
	size_t wants_pairs; /* without the rest of it, and no more: they grow with the square */
	bool folds;	    /* people read it: what many hosts say alike is one line */
	/* The exit code that its readers go by, in place of @own; NULL: ours. They look at stdout
	 * alone: a wrong command line is told there, too. */
	int (*exit_code)(int own, bool warned);
	void (*begin)(struct sink *s);
	void (*finding)(struct sink *s, const struct finding *f);
	void (*series)(struct sink *s, const struct series *se);
	void (*row)(struct sink *s, const struct series *se, const struct cell *cells);
	void (*heading)(struct sink *s, const char *text);
	void (*remark)(struct sink *s, const char *text);
	void (*answer)(struct sink *s, const char *text, size_t n);
	void (*end)(struct sink *s); /* verdict, covers, seconds, error are set */
};
extern const char *const renderer_names[]; /* NULL-terminated, for the option table */
const struct renderer *renderer_find(const char *name);
/* What to end with where the contract's code is @own; @format may be NULL. */
int renderer_exit_code(const char *format, int own, bool warned);

#endif
