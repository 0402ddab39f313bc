#include "probes/log/sequel.h"

#include "lib/flight/frame.h"
#include "probes/log/room.h"
#include "probes/log/said.h"
#include "probes/log/samples.h"
#include "probes/log/tested.h"
#include "probes/log/why.h"

#include <ctype.h>

enum {
	OF_FRAME = 12,	/* a call that is written over several lines, and its carets */
	OF_STACK = 200, /* calls of a deep program; an object's manifest */
};

void sequel_begin(struct why_stream *s, enum sequel_kind kind, const struct log_line *l)
{
	s->sequel.kind = kind;
	s->sequel.left = kind == SEQUEL_STACK || kind == SEQUEL_SAMPLE || kind == SEQUEL_SHOWN
				 ? OF_STACK
				 : OF_FRAME;
	s->sequel.who = l->who;
}

static bool is_its_own(const struct sequel *q, const struct log_line *l)
{
	return q->who.rank == l->who.rank && q->who.pid == l->who.pid &&
	       streq(q->who.host, l->who.host);
}

/* --- the end of a traceback ------------------------------------------------------------ */
/* Exceptions of other names: those that have one of these the catalogue knows. */
static bool is_strange(const char *class, size_t n)
{
	static const char *const known[] = {"Error",	 "Exception", "Exit",	       "Interrupt",
					    "Iteration", "Group",     "Empty",	       "Expired",
					    "Warning",	 "Traceback", "socket.timeout"};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t k = strlen(known[i]);

		if (n >= k && memcmp(class + n - k, known[i], k) == 0)
			return false;
	}
	return true;
}

/* "torch._dynamo.exc.Unsupported: ...": what is not built in has its module before it. */
static bool is_exception(const char *body)
{
	size_t n = 0, dot = 0;

	while (isalnum((unsigned char)body[n]) || body[n] == '_' || body[n] == '.') {
		dot = body[n] == '.' ? n : dot;
		n++;
	}
	return dot && !isdigit((unsigned char)*body) && isupper((unsigned char)body[dot + 1]) &&
	       (!body[n] || (body[n] == ':' && (!body[n + 1] || body[n + 1] == ' '))) &&
	       is_strange(body, n);
}

/* False: it was the last line of interest. */
static bool end_of_traceback(struct why_stream *s, const struct log_line *l)
{
	if (line_is_indented(l))
		return !strstr(l->text, "  File \"");
	if (is_exception(l->body) && !tested_well(l)) {
		why_fire(s, "APP-001", l);
		s->sequel.fired = s->line;
	}
	return false;
}

/* --- the calls that led to a collective -------------------------------------------------- */
/* "#2 step from /job/train.py:88", as "train.py line 88, in step". */
static bool read_call(const char *body, const char **ret_path, size_t *ret_n, char *out,
		      size_t size)
{
	const char *from = strstr(body, " from "), *path, *colon, *name;
	const char *what = strchr(body, ' ');
	long line;

	if (*body != '#' || !isdigit((unsigned char)body[1]) || !from || what >= from)
		return false;
	path = from + strlen(" from ");
	colon = strrchr(path, ':');
	line = colon ? strtol(colon + 1, NULL, 10) : 0;
	if (!line)
		return false;
	*ret_path = path;
	*ret_n = (size_t)(colon - path);
	name = memrchr(path, '/', *ret_n);
	name = name ? name + 1 : path;
	(void)snprintf(out, size, "%.*s line %ld, in %.*s", (int)(colon - name), name, line,
		       (int)(from - what - 1), what + 1);
	return true;
}

/* The program's own innermost call is where it was; of a program that is a package itself, the
 * innermost that is none of torch's. */
static bool next_call(struct why_stream *s, const struct log_line *l)
{
	struct actor *a = actors_get(&s->w->actors, &s->sequel.who);
	char call[FRAME_TEXT];
	const char *path;
	size_t n;

	if (!a || !read_call(l->body, &path, &n, call, sizeof(call)))
		return false;
	if (memmem(path, n, "/torch/", strlen("/torch/")))
		return true;
	if (!a->place || !frame_is_library(path, n))
		a->place = actors_text(&s->w->actors, call);
	return frame_is_library(path, n);
}

/* --- the ranks that Horovod misses ------------------------------------------------------ */
/* "2: [grads.0, grads.1 ...]", "2!: [...": they come in their order. To who reads prefixes, that is
 * rank 2 that speaks. */
static bool next_missing(struct why_stream *s, const struct log_line *l)
{
	const char *p = strstr(l->text, ": ["), *q;

	if (!p)
		return true;
	p -= p > l->text && p[-1] == '!';
	for (q = p; q > l->text && isdigit((unsigned char)q[-1]) && p - q < 6; q--)
		;
	if (q == p)
		return true;
	s->w->stalled = strtol(q, NULL, 10);
	return false;
}

void sequel_read(struct why_stream *s, const char *text, const char *end, uint64_t line)
{
	struct sequel *q = &s->sequel;
	uint64_t now = s->line;
	struct log_line l;

	for (s->line = line; q->kind && text < end; s->line++) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl ? nl : end;
		bool is_more = true;

		line_clean(text, (size_t)(stop - text), &l);
		why_place(s, &l);
		if (q->kind == SEQUEL_STACK)
			is_more = next_call(s, &l);
		else if (q->kind == SEQUEL_SAMPLE)
			is_more = samples_call(s, &l);
		else if (q->kind == SEQUEL_STALL)
			is_more = next_missing(s, &l);
		else if (q->kind == SEQUEL_NAMES)
			is_more = asides_name(s, &l);
		else if (q->kind == SEQUEL_SHOWN)
			is_more = shown_next(s, &l);
		else if (q->kind == SEQUEL_PKEYS)
			is_more = pkeys_next(s, &l);
		else if (q->kind == SEQUEL_QUOTA)
			is_more = room_row(s, &l);
		else if (is_its_own(q, &l))
			is_more = end_of_traceback(s, &l);
		if (!is_more || !--q->left)
			q->kind = SEQUEL_NONE;
		text = stop + 1;
	}
	s->line = now;
}
