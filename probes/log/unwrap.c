#include "probes/log/unwrap.h"

#include "lib/core/span.h"
#include "probes/log/line.h"

#include <ctype.h>

static const char *const messages[] = {"log", "message", "msg", "MESSAGE", "line", "text",
				       "textPayload", "event", "@message", "body",
				       /* what was raised is longer than what is said of it */
				       "exc_info", "exc_text", "exception", "exception.stacktrace",
				       "traceback", "stack_trace", "stacktrace", "stack",
				       "error.stack_trace", NULL};
static const char *const times[] = {"time", "timestamp", "@timestamp", "ts", NULL};
static const char *const hosts[] = {"_HOSTNAME", "hostname", "host", "pod_name", "pod", NULL};

static bool is_one_of(struct span key, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		if (strlen(names[i]) == key.n && memcmp(names[i], key.s, key.n) == 0)
			return true;
	return false;
}

/* From after the opening quote; @ret_next is after the closing one, or the end. */
static struct span string_at(const char *p, const char *end, const char **ret_next)
{
	struct span v = {.s = p};

	while (p < end && *p != '"')
		p += *p == '\\' && p + 1 < end ? 2 : 1;
	v.n = (size_t)((p < end ? p : end) - v.s);
	*ret_next = p < end ? p + 1 : end;
	return v;
}

static int hex(const char *p, const char *end)
{
	int v = 0;

	for (int i = 0; i < 4; i++, p++) {
		if (p >= end || !isxdigit((unsigned char)*p))
			return -1;
		v = v * 16 + (isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);
	}
	return v;
}

/* Appends what the string means, newlines kept. */
static size_t unescape(struct span v, char *out, size_t at, size_t size)
{
	const char *p = v.s, *end = v.s + v.n;

	while (p < end && at + 1 < size) {
		int c = (unsigned char)*p++;

		if (c == '\\' && p < end) {
			c = (unsigned char)*p++;
			if (c == 'u') {
				int u = hex(p, end);

				p += u < 0 ? 0 : 4;
				c = u < 0 ? '?' : u < 0x80 ? u : '?';
			} else {
				c = c == 'n' ? '\n' : c == 't' || c == 'r' ? ' ' : c;
			}
		}
		out[at++] = (char)c;
	}
	out[at] = '\0';
	return at;
}

/* A traceback in one string: what was raised stands in its last line. */
static void last_line_first(char *text, size_t size)
{
	size_t n = strlen(text);
	char *nl, copy[LINE_MAX_TEXT];

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	nl = strrchr(text, '\n');
	if (nl && strstr(text, "Traceback (most recent call last)") && n < sizeof(copy)) {
		memcpy(copy, text, n + 1);
		*(copy + (nl - text)) = '\0';
		(void)snprintf(text, size, "%s | %s", copy + (nl - text) + 1, copy);
	}
	for (char *p = text; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
}

static void keep(struct log_who *who, struct span key, struct span value)
{
	static const char *const ranks[] = {"rank", "RANK", "global_rank", NULL};

	if (is_one_of(key, hosts) && !*who->host && value.n && value.n < sizeof(who->host)) {
		memcpy(who->host, value.s, value.n);
		who->host[value.n] = '\0';
	} else if (is_one_of(key, ranks) && value.n && value.n < 7 &&
		   isdigit((unsigned char)*value.s)) {
		char number[8] = "";

		memcpy(number, value.s, value.n);
		who->rank = (int)strtol(number, NULL, 10);
		who->rank_by = RANK_BY_ITSELF;
	}
}

static struct span plain_at(const char *p, const char *end)
{
	struct span v = {.s = p};

	while (p < end && !strchr(",}] ", *p))
		p++;
	v.n = (size_t)(p - v.s);
	return v;
}

/* {"key": value, ...}, whatever is nested in it. */
static bool object(const char *p, const char *end, struct span *ret_time, struct span *ret_message,
		   struct log_who *who)
{
	while (p < end) {
		struct span key, value;

		if (*p++ != '"')
			continue;
		key = string_at(p, end, &p);
		while (p < end && *p == ' ')
			p++;
		if (p >= end || *p != ':')
			continue;
		for (p++; p < end && *p == ' '; p++)
			;
		if (p < end && *p == '"')
			value = string_at(p + 1, end, &p);
		else
			value = plain_at(p, end);
		if (is_one_of(key, messages) && value.n > ret_message->n && value.s[-1] == '"')
			*ret_message = value;
		else if (is_one_of(key, times) && !ret_time->n && value.n < 40)
			*ret_time = value;
		keep(who, key, value);
	}
	return ret_message->n > 0;
}

bool unwrap_json(const char *raw, size_t n, char *out, size_t size, struct log_who *who)
{
	const char *p = raw, *end = raw + n, *next;
	struct span time = {0}, message = {0};
	size_t at = 0;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (end - p < 4 || (*p != '{' && *p != '"'))
		return false;
	if (*p == '"') { /* "...\n", of a notebook */
		message = string_at(p + 1, end, &next);
		if (end - next > 1 || (end > next && *next != ',') || message.n < 3 ||
		    !memchr(message.s, '\\', message.n))
			return false;
	} else if (!object(p + 1, end, &time, &message, who)) {
		return false;
	}
	if (time.n && isdigit((unsigned char)*time.s) && memchr(time.s, ':', time.n)) {
		at = unescape(time, out, at, size);
		at = unescape((struct span){" ", 1}, out, at, size);
	}
	(void)unescape(message, out + at, 0, size - at);
	last_line_first(out + at, size - at);
	return true;
}
