/* Messages whose exception has no name, and the few lines of a log that is no more: bare.h. */
#include "probes/log/bare.h"
#include "probes/log/why.h"

#include <ctype.h>

enum { ENOUGH = 1000 /* lines of one entry */ };

static bool has_anchor(const struct signature *g, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = g->anchors; *p;) {
		size_t len = strcspn(p, "|");

		if (memmem(line, n, p, len))
			return true;
		p += len + (p[len] == '|');
	}
	return false;
}

static bool raised(struct why_stream *s, size_t sig, const char *name, const char *said)
{
	struct log_line l;

	l.body = l.text;
	(void)snprintf(l.text, sizeof(l.text), "%s: %s", name, said);
	return has_anchor(&signatures[sig], l.text) && why_matches(s, sig, &l);
}

/* ... and does not know just any message of that name. */
static bool knows(struct why_stream *s, size_t sig, const char *name, const char *said, bool is_own)
{
	static const char *const any[] = {"no more", "Failed to say what it is of 1 thing",
					  "can't do that", "<of it> there"};

	if (!raised(s, sig, name, said))
		return false;
	for (size_t i = 0; !is_own && i < ARRAY_LEN(any); i++)
		if (raised(s, sig, name, any[i]))
			return false;
	return true;
}

/* The kernel's own begin so, and know any message that fails. */
static bool is_kernels(const char *name)
{
	return starts_with(name, "LNet") || starts_with(name, "Lustre");
}

/* The @i-th name of an expression: "SafetensorError: .*too large" has one. */
static bool name_in(const char *ere, size_t i, char *ret, size_t cap)
{
	for (const char *p = ere; (p = strstr(p, ": ")); p++) {
		const char *q = p;
		bool is_mixed = false;
		size_t n;

		for (; q > ere && isalnum((unsigned char)q[-1]); q--)
			is_mixed |= islower((unsigned char)q[-1]) != 0;
		n = (size_t)(p - q);
		if (n < ANCHOR_MIN || n >= cap || !is_mixed || !isupper((unsigned char)*q) ||
		    is_kernels(q) || i--)
			continue;
		memcpy(ret, q, n);
		ret[n] = '\0';
		return true;
	}
	return false;
}

static bool is_worth(const struct why_stream *s, size_t sig)
{
	const struct signature *g = &signatures[sig];

	return g->weight >= CONFIDENT && g->tier <= TIER_EFFECT &&
	       s->w->records[sig].count < ENOUGH;
}

static bool fire_unless_refused(struct why_stream *s, size_t sig, struct log_line *l)
{
	if (signature_refuses(&s->w->compiled[sig], l->text, l->body))
		return false;
	why_fire(s, signatures[sig].id, l);
	return true;
}

bool why_unnamed(struct why_stream *s, size_t sig, struct log_line *l, const char *said)
{
	const char *name;
	bool is_own;

	for (size_t i = 0; is_worth(s, sig) && (name = bare_name(said, i, &is_own)); i++)
		if (knows(s, sig, name, said, is_own))
			return fire_unless_refused(s, sig, l);
	return false;
}

/* By a name that the expression itself has. */
static void by_its_own_names(struct why_stream *s, size_t sig, struct log_line *l, const char *said)
{
	char name[48];

	for (size_t i = 0; is_worth(s, sig) && name_in(signatures[sig].ere, i, name, sizeof(name));
	     i++)
		if (knows(s, sig, name, said, false)) {
			(void)fire_unless_refused(s, sig, l);
			return;
		}
}

void why_pasted(struct why_stream *s, const char *line, size_t n)
{
	bool is_own = false;
	const char *said;
	struct log_line l;

	line_clean(line, n, &l);
	why_place(s, &l);
	said = bare_named(&l, true);
	l.body = said ? said : l.body;
	for (size_t i = 0; said && i < signature_count; i++)
		if (is_worth(s, i) && has_anchor(&signatures[i], l.text) && why_matches(s, i, &l))
			why_fire(s, signatures[i].id, &l);
	said = bare_unnamed(&l, true);
	if (said)
		(void)bare_name(said, 0, &is_own);
	for (size_t i = 0; said && i < signature_count; i++) {
		bool is_first = !s->w->records[i].count;

		if (!why_unnamed(s, i, &l, said))
			by_its_own_names(s, i, &l, said);
		s->w->records[i].is_guess |= !is_own && is_first && s->w->records[i].count;
	}
}

/* In @p, "raise ValueError(f"no such rank")": the name, and what is in quotes. */
static const char *raise_in(const char *p, const char **ret_name, size_t *ret_name_n)
{
	const char *q;

	if (!starts_with(p, "raise "))
		return NULL;
	*ret_name = p += strlen("raise ");
	for (q = p; isalnum((unsigned char)*q) || *q == '_' || *q == '.'; q++)
		;
	*ret_name_n = (size_t)(q - p);
	if (q - p < 5 || *q != '(' || (strncmp(q - 5, "Error", 5) != 0 && !strstr(p, "Exception(")))
		return NULL;
	q++;
	q += *q == 'f' || *q == 'r';
	return *q == '"' || *q == '\'' ? q + 1 : NULL;
}

/* A frame of a traceback: "  File "train.py", line 3, in main". */
static bool is_frame(const char *line, size_t n)
{
	return memmem(line, n, "File \"", 6) && memmem(line, n, ", line ", 7);
}

/* The last line that is not empty, and whether it stands below a frame. */
void why_keep_last(struct why_stream *s, const char *text, const char *end)
{
	const char *nl, *before;
	size_t n;

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	if (end == text)
		return;
	nl = memrchr(text, '\n', (size_t)(end - text));
	before = nl ? memrchr(text, '\n', (size_t)(nl - text)) : NULL;
	before = before ? before + 1 : text;
	s->is_framed =
		nl ? is_frame(before, (size_t)(nl - before)) : is_frame(s->last, strlen(s->last));
	text = nl ? nl + 1 : text;
	n = (size_t)(end - text) < sizeof(s->last) ? (size_t)(end - text) : sizeof(s->last) - 1;
	memcpy(s->last, text, n);
	s->last[n] = '\0';
}

void why_cut(struct why_stream *s)
{
	enum { NEAR = 200 };
	const char *said, *name;
	char as_raised[64];
	struct log_line l;
	size_t n;

	if (!s->traceback || s->line - s->traceback > NEAR || !s->is_framed)
		return;
	line_clean(s->last, strlen(s->last), &l);
	why_place(s, &l);
	said = raise_in(l.body, &name, &n);
	if (!said || n >= sizeof(as_raised))
		return;
	memcpy(as_raised, name, n);
	as_raised[n] = '\0';
	for (size_t i = 0; i < signature_count; i++)
		if (is_worth(s, i) && raised(s, i, as_raised, said))
			(void)fire_unless_refused(s, i, &l);
}
