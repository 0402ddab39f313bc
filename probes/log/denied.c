#include "probes/log/denied.h"

#include <ctype.h>

/* A word of a line. */
struct word {
	const char *s;
	size_t n;
};

static bool is_of(const char *s, size_t n, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (strlen(words[i]) == n && !strncasecmp(s, words[i], n))
			return true;
	return false;
}

static bool is_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A sign that ends what is said: "a, b", "a: b", "a. B". One within a name does not: "00:1b.0". */
static bool ends_clause(const char *p)
{
	return strchr(";()|[]{}", *p) ||
	       (strchr(",:.?!", *p) && (!p[1] || isspace((unsigned char)p[1])));
}

/* What a "no" before it denies: up to where the sentence goes on otherwise. */
static const char *end_of_denied(const char *p)
{
	static const char *const goes_on[] = {
		"after", "and",	  "as",	  "because", "but",  "by",     "can",	"could", "due",
		"for",	 "from",  "if",	  "may",     "must", "should", "since", "so",	 "though",
		"to",	 "until", "when", "while",   "will", "with",   "would", NULL};

	while (*p && !ends_clause(p)) {
		const char *word = p;

		while (is_part(*p))
			p++;
		if (is_of(word, (size_t)(p - word), goes_on))
			return word;
		p += p == word;
	}
	return p;
}

/* "errors", "count"; not "GPU": its 0 is a name. */
static bool is_counted(const char *s, size_t n)
{
	static const char *const not_many[] = {"access", "address", "class", "process", "has",
					       "was",	 "does",    "needs", "this",	"status",
					       "pass",	 "loss",    NULL};
	static const char *const many[] = {"count", "counter", NULL};

	return n > 2 && (is_of(s, n, many) || (s[n - 1] == 's' && !is_of(s, n, not_many)));
}

/* Some word of it is of many. */
static bool counts(const char *p, const char *end)
{
	while (p < end) {
		const char *word = p;

		while (p < end && isalpha((unsigned char)*p))
			p++;
		if (is_counted(word, (size_t)(p - word)))
			return true;
		p += p == word;
	}
	return false;
}

/* The 0 of "rank 0" is a name; that of "found 0" and of "errors: 0" is a number. */
static bool is_number(const char *text, const char *at)
{
	static const char *const finds[] = {
		"are",	"counted", "detected", "detects", "found", "got",  "had",  "has",
		"have", "reports", "reported", "saw",	  "sees",  "were", "with", NULL};
	const char *end = at, *p;

	while (end > text && end[-1] == ' ')
		end--;
	for (p = end; p > text && is_part(p[-1]); p--)
		;
	return p == end ? p == text || strchr(",:;(", p[-1]) : is_of(p, (size_t)(end - p), finds);
}

/* "0 participants, need 4", "0 GPUs, expected at least 8": what there is none of is wanted, and
 * that is what failed. */
static bool is_too_few(const char *p)
{
	static const char *const words[] = {"need",	"needs",   "needed", "expected",
					    "expects",	"least",   "want",   "wanted",
					    "required", "minimum", NULL};

	for (size_t n; *p; p += n + !n) {
		const char *next;

		for (n = 0; is_part(p[n]);)
			n++;
		if (!is_of(p, n, words))
			continue;
		next = p + n + strspn(p + n, " :");
		if (isdigit((unsigned char)*next))
			return true;
		while (is_part(*next))
			next++;
		if (isdigit((unsigned char)next[strspn(next, " ")]))
			return true;
	}
	return false;
}

/* "RuntimeError: No module named x": what is thrown tells what it misses. */
static bool is_thrown(const char *text, const char *at)
{
	static const char *const throws[] = {"rror: ", "xception: ", "atal: ", "ailed: ", "WARN "};

	for (size_t i = 0; i < ARRAY_LEN(throws); i++) {
		size_t n = strlen(throws[i]);

		if ((size_t)(at - text) > n && !strncasecmp(at - n, throws[i], n))
			return true;
	}
	return false;
}

/* Behind "was not", "never been": "killed"; NULL: no deed. */
static const char *end_of_deed(const char *text, const struct word *w)
{
	static const char *const is[] = {"is", "are", "was", "were", "been", NULL};
	const char *p = w->s, *end = w->s + w->n + 1, *from;

	while (p > text && p[-1] == ' ')
		p--;
	for (from = p; from > text && is_part(from[-1]); from--)
		;
	if (w->n == strlen("not") && !is_of(from, (size_t)(p - from), is))
		return NULL;
	if (starts_with(end, "been "))
		end += strlen("been ");
	for (p = end; is_part(*p); p++)
		;
	return p - end > 2 && !memcmp(p - 2, "ed", 2) ? p : NULL;
}

/* "as if" and "#if" are none. */
static bool is_condition(const char *text, const struct word *w)
{
	static const char *const words[] = {"if", "whether", "unless", NULL};
	const size_t at = (size_t)(w->s - text);

	return is_of(w->s, w->n, words) && (!at || strchr(" (", w->s[-1])) &&
	       (at < 3 || memcmp(w->s - 3, "as ", 3) != 0);
}

/* "no", "without", "if", "was not", "found 0". */
static bool before(const char *text, struct word w, struct denial *ret)
{
	static const char *const words[] = {"no", "without", "zero", NULL};
	static const char *const deeds[] = {"not", "never", NULL};
	const char *from = w.s + w.n, *end = NULL;

	if (*from != ' ' || is_thrown(text, w.s))
		return false;
	if (is_of(w.s, w.n, deeds))
		end = end_of_deed(text, &w);
	else if (is_of(w.s, w.n, words) || is_condition(text, &w))
		end = end_of_denied(from);
	else if (w.n == 1 && *w.s == '0' && is_number(text, w.s) &&
		 !isdigit((unsigned char)from[1]) && counts(from, end_of_denied(from)) &&
		 !is_too_few(from))
		end = end_of_denied(from);
	if (!end)
		return false;
	*ret = (struct denial){(size_t)(w.s - text), w.n, (size_t)(from - text),
			       (size_t)(end - from), false};
	return true;
}

static bool ends_value(const char *p)
{
	return !*p || strchr("'\",;)]}", *p) || (*p == ' ' && (!p[1] || strchr("(#", p[1])));
}

/* "row remapping is pending: no", "is_preempted=False", "ECC errors: 0". */
static bool behind(const char *text, struct word w, struct denial *ret)
{
	static const char *const words[] = {"no",  "none",     "false", "never",
					    "n/a", "disabled", NULL};
	const bool is_zero = w.n == 1 && *w.s == '0';
	const char *p = w.s, *end, *last;
	bool is_phrase;

	while (p > text && strchr(" '\"", p[-1]))
		p--;
	if (p == text || !strchr(":=?", p[-1]) || !ends_value(w.s + w.n) ||
	    (!is_zero && !is_of(w.s, w.n, words)))
		return false;
	is_phrase = p[-1] != '=' ? p < w.s : p - 1 > text && p[-2] == ' ';
	for (end = --p; end > text && strchr(" '\"", end[-1]); end--)
		;
	for (p = end;
	     p > text && (is_phrase ? !ends_clause(p - 1) : !isspace((unsigned char)p[-1]));)
		p--;
	p += strspn(p, " ");
	for (last = end; last > p && isalpha((unsigned char)last[-1]); last--)
		;
	if (p >= end || (is_zero && !is_counted(last, (size_t)(end - last))))
		return false;
	*ret = (struct denial){(size_t)(w.s - text), w.n, (size_t)(p - text), (size_t)(end - p),
			       false};
	return true;
}

/* The end of what is in quotation marks from @p on, which is the first of them; NULL: none is. */
static const char *end_of_quoted(const char *text, const char *p)
{
	enum { LEAST = 8 /* a failure is no single word */ };
	const char *end;

	if (!strchr("\"`", *p) || (p > text && !strchr(" (>*#", p[-1])))
		return NULL;
	end = strchr(p + 1, *p);
	return end && end - p > LEAST && !is_part(end[1]) ? end : NULL;
}

/* The next word outside of what is quoted, or the mark that stands there; false: none. */
static bool next_word(const char *text, const char **at, struct word *ret)
{
	const char *p = *at, *end;

	while (*p && !is_part(*p) && !ends_clause(p))
		p = (end = end_of_quoted(text, p)) ? end + 1 : p + 1;
	*ret = (struct word){p, 0};
	while (is_part(p[ret->n]))
		ret->n++;
	*at = p + ret->n + (*p && !ret->n);
	return *p;
}

/* Somebody tells of a failure of his own, or asks about it. */
static bool is_told(const char *text)
{
	static const char *const own[] = {"my", "me", "we", "our", NULL};
	struct word w;

	for (const char *p = text; next_word(text, &p, &w);)
		if (*w.s == '?' || is_of(w.s, w.n, own) || starts_with(w.s, "I ") ||
		    starts_with(w.s, "I'"))
			return true;
	return false;
}

static const char *first_quoted(const char *text)
{
	const char *p = text;

	while (*p && !end_of_quoted(text, p))
		p++;
	return *p ? p : NULL;
}

/* "RuntimeError: failed: "...": what is thrown is no advice. */
static bool has_head(const char *text, const char *quote)
{
	for (const char *p = text; p <= quote; p++)
		if (is_thrown(text, p))
			return true;
	return false;
}

/* "If you see", "You may hit" before @quote. */
static bool is_met(const char *text, const char *quote, struct word *ret)
{
	static const char *const you[] = {"you", NULL};
	static const char *const may[] = {"may", "might", "can", "could", "will", "ever", NULL};
	static const char *const meets[] = {"see", "get", "hit", "meet", "encounter", NULL};
	bool is_open = false;
	struct word w;

	for (const char *p = text; next_word(text, &p, &w) && w.s < quote;) {
		if (is_of(w.s, w.n, you))
			*ret = w;
		else if (is_open && is_of(w.s, w.n, meets))
			return true;
		is_open = is_of(w.s, w.n, you) || (is_open && is_of(w.s, w.n, may));
	}
	return false;
}

/* 'Fixed: ...'; 'When a job ends with "...", raise', 'To fix "...", run': the quotation ends what
 * its first word begins. */
static bool is_opened(const char *text, const char *quote, struct word *ret)
{
	static const char *const past[] = {"fixed", "fixes", NULL};
	static const char *const opens[] = {"if", "when", "to", NULL};
	const char *p = text;
	struct word w;

	if (!next_word(text, &p, ret) || ret->s >= quote)
		return false;
	if (is_of(ret->s, ret->n, past))
		return true;
	if (!is_of(ret->s, ret->n, opens) || end_of_quoted(text, quote)[1] != ',')
		return false;
	while (next_word(text, &p, &w) && w.s < quote)
		if (!w.n)
			return false;
	return true;
}

/* Behind it: '"..." is usually a bug'. */
static bool is_explained(const char *text, const char *quote, struct word *ret)
{
	static const char *const about[] = {"usually", "means", "happens", "indicates", NULL};

	for (const char *p = text; next_word(text, &p, ret);)
		if (ret->s > quote && is_of(ret->s, ret->n, about))
			return true;
	return false;
}

/* Words about a failure, and of none, outside of what is quoted. */
static bool find_about(const char *text, const char *quote, bool is_said, struct word *ret)
{
	if (is_told(text) || has_head(text, quote))
		return false;
	return is_met(text, quote, ret) ||
	       (!is_said && (is_opened(text, quote, ret) || is_explained(text, quote, ret)));
}

/* 'If you see "Connection refused", set ...': what stands in quotation marks there did not happen.
 */
static size_t quoted(const char *text, bool is_said, struct denial v[DENIALS_MAX])
{
	const char *quote = first_quoted(text);
	struct word about;
	size_t n = 0;

	if (!quote || !find_about(text, quote, is_said, &about))
		return 0;
	for (const char *p = quote, *end; *p && n < DENIALS_MAX; p = end ? end + 1 : p + 1) {
		end = end_of_quoted(text, p);
		if (end)
			v[n++] = (struct denial){(size_t)(about.s - text), about.n,
						 (size_t)(p + 1 - text), (size_t)(end - p - 1),
						 true};
	}
	return n;
}

size_t denied_find(const char *text, bool is_said, struct denial v[DENIALS_MAX])
{
	size_t n = quoted(text, is_said, v);

	for (const char *p = text; *p && n < DENIALS_MAX;) {
		struct word w = {p, 0};

		while (is_part(p[w.n]) || (w.n && p[w.n] == '/'))
			w.n++;
		if (w.n && (before(text, w, &v[n]) || behind(text, w, &v[n])))
			n++;
		p += w.n + !w.n;
	}
	return n;
}
