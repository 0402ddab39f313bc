#include "probes/log/bare.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	HEAD_MOST = 120, /* bytes of a logger's head */
	WORDS_LEAST = 4, /* of a message that says enough */
};

/* What Python says of an error of its own kind, and of the system by its number. */
static const struct own {
	const char *begins, *name;
} own[] = {
	{"No module named ", "ModuleNotFoundError"},
	{"[Errno 2] ", "FileNotFoundError"},
	{"[Errno 13] ", "PermissionError"},
	{"[Errno 17] ", "FileExistsError"},
	{"[Errno 111] ", "ConnectionRefusedError"},
	{"cannot import name ", "ImportError"},
	{"[Errno ", "OSError"},
};

const char *bare_name(const char *said, size_t i, bool *ret_is_own)
{
	static const char *const names[] = {"RuntimeError",   "ValueError",	     "TypeError",
					    "AttributeError", "ImportError",	     "OSError",
					    "Exception",      "NotImplementedError", "KeyError",
					    "AssertionError"};

	*ret_is_own = false;
	for (size_t k = 0; k < ARRAY_LEN(own); k++)
		if (starts_with(said, own[k].begins)) {
			*ret_is_own = true;
			return i ? NULL : own[k].name;
		}
	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* "torch.cuda.OutOfMemoryError: " and the like, from its first letter on. */
static const char *exception_in(const char *p)
{
	static const char *const ends[] = {"Error: ", "Exception: "};
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		const char *end = p, *q = NULL;

		while ((end = strstr(end, ends[i]))) {
			for (q = end; q > p && is_name(q[-1]); q--)
				;
			if (q < end) /* it has a name */
				break;
			end += strlen(ends[i]);
		}
		if (end && (!found || q < found))
			found = q;
	}
	return found;
}

/* What goes on afterwards, or is no message but words about one. */
static bool is_mild(const char *head, size_t n)
{
	static const char *const words[] = {
		"WARN",	  "Warn", "warn", "INFO", "DEBUG", "gnor", "aught", "kip",  "etry", "etrie",
		"andled", "fall", "Fall", "\"",	  "'",	   "`",	   "(most", "http", NULL};

	return said_any(head, n, words);
}

/* The program says that it goes on. */
static bool goes_on(const char *said)
{
	static const char *const words[] = {
		"gnored",      "gnoring",   "kipped",	    "kipping",	  "etrying", "etry ",
		"alling back", "ontinuing", "ill continue", "verwriting", "esuming", "using it",
		"ppending",    "eplac",	    "eus",	    NULL};

	return said_any(said, strlen(said), words);
}

/* Behind "ERROR", "CRITICAL" or "FATAL" within the first @n bytes; NULL: there is none. */
static const char *behind_level(const char *text, size_t n)
{
	static const char *const levels[] = {"ERROR", "CRITICAL", "FATAL", "[Error]", "[error]"};
	const char *best = NULL;

	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		size_t len = strlen(levels[i]);
		const char *p = memmem(text, n, levels[i], len);

		if (p && (p == text || !is_name(p[-1])) && !is_name(p[len]) &&
		    (!best || p + len > best))
			best = p + len;
	}
	return best;
}

/* The level of "E1015 13:20:53.118 file.cc:12] ", glog's head, which is no part of the body; 0:
 * there is none. */
static char glog_level(const struct log_line *l)
{
	if (l->body - l->text < 3 || l->body[-2] != ']')
		return 0;
	for (const char *p = l->text; p + 5 < l->body; p++) {
		size_t n = strspn(p + 1, "0123456789");

		if (strchr("EFWI", *p) && (p == l->text || !is_name(p[-1])) && n >= 3 &&
		    p[1 + n] == ' ')
			return *p;
	}
	return 0;
}

static bool is_glog(const struct log_line *l)
{
	char level = glog_level(l);

	return level == 'E' || level == 'F';
}

/* "root:", "mod.x:fn:12 - ", "10-15 13:20:53 core.py:846] ", ": ", "] - ": what loggers put between
 * level and message. */
static const char *skip_logger(const char *p)
{
	const char *name = p + 1;

	while (*p == ':' && is_name(*name))
		name++;
	if (*p == ':' && *name == ':')
		return name + 1 + strspn(name + 1, " ");
	for (int i = 0; i < 4; i++) {
		const char *q = p + strspn(p, " \t|-]:"), *end = q;
		size_t n = strcspn(q, "]");

		while (is_name(*end) || (*end && strchr(":<>/-[", *end)))
			end++;
		if (end > q && (starts_with(end, " - ") || starts_with(end, "] ")))
			p = end + (*end == ']' ? 2 : 3);
		else if (isdigit((unsigned char)*q) && *end == ' ' && n < 60 && q[n] == ']')
			p = q + n + 1;
		else
			return q;
	}
	return p + strspn(p, " ");
}

bool bare_may(const char *text)
{
	return strstr(text, "Error: ") || strstr(text, "Exception: ") ||
	       behind_level(text, strnlen(text, HEAD_MOST)) || *text == 'E' || *text == 'F' ||
	       strstr(text, "[E");
}

const char *bare_named(const struct log_line *l, bool is_pasted)
{
	const char *e = exception_in(l->text);
	size_t n = e ? (size_t)(e - l->text) : 0;

	if (!n || n > HEAD_MOST || e <= l->body || is_mild(l->text, n) || !strchr(" :-]|", e[-1]))
		return NULL;
	if (goes_on(e))
		return NULL;
	return is_pasted || behind_level(l->text, n) || is_glog(l) ||
			       starts_with(l->body, "Error: ") ||
			       starts_with(l->body, "Exception: ") ||
			       memmem(l->text, n, "failed: ", 8)
		       ? e
		       : NULL;
}

/* A level that is no error's, anywhere in it. */
static bool is_low(const char *line)
{
	static const char *const words[] = {"WARN",  "arning", "<warn>", "INFO", "DEBUG",
					    "NCCL ", "UCX ",   "<!--",	 NULL};

	return said_any(line, strlen(line), words);
}

/* Of another level, or a program's text. */
static bool is_remark(const char *said)
{
	static const char *const begins[] = {"WARN", "Warn", "warn", "INFO", "DEBUG", "[W",
					     "[I",   "W ",   "http", "#",    "$ ",    "print"};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (starts_with(said, begins[i]))
			return true;
	return false;
}

static bool has_words(const char *p)
{
	size_t n = 0;

	for (; *p; n++) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return n >= WORDS_LEAST;
}

/* "[Bug]: ", "RuntimeError " and a quote, as the titles of questions begin. */
static const char *skip_title(const char *p)
{
	size_t n = strcspn(p, " ");

	if (*p == '[' && n > 2 && n < 24 && !starts_with(p, "[Errno") &&
	    (p[n - 1] == ']' || starts_with(p + n - 2, "]:")) && p[n] == ' ') {
		p += n + 1;
		n = strcspn(p, " ");
	}
	if ((n > 5 && n < 60 && p[n] == ' ' && !strncmp(p + n - 5, "Error", 5)) ||
	    starts_with(p, "Bug: "))
		p += n + 1;
	return p + strspn(p, "`\"");
}

const char *bare_unnamed(const struct log_line *l, bool is_pasted)
{
	const char *p, *said = NULL;

	if (exception_in(l->text))
		return NULL;
	p = behind_level(l->text, strnlen(l->text, HEAD_MOST));
	if (p && !is_mild(l->text, (size_t)(p - l->text)))
		said = p <= l->body && l->body > l->text ? skip_logger(l->body) : skip_logger(p);
	else if (is_glog(l))
		said = l->body;
	else if (starts_with(l->body, "Error: "))
		said = l->body + strlen("Error: ");
	else if (is_pasted && !glog_level(l) && !is_low(l->text))
		said = skip_title(l->body);
	return said && has_words(said) && !is_remark(said) && !goes_on(said) ? said : NULL;
}
