#include "probes/log/line.h"

#include "probes/log/bar.h"
#include "probes/log/prefix.h"
#include "probes/log/said.h"
#include "probes/log/unwrap.h"

bool log_hosts_fit(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	if (!*a || !*b || (!a[n] && !b[n]))
		return true;
	return (!a[n] && b[n] == '.') || (!b[n] && a[n] == '.');
}

/* Escape sequences: CSI ... letter, OSC ... BEL, and two-byte ones. */
static size_t escape_length(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 2)
		return n;
	if (s[1] == '[') {
		while (i < n && !(s[i] >= '@' && s[i] <= '~'))
			i++;
		return i < n ? i + 1 : n;
	}
	if (s[1] == ']') {
		while (i < n && s[i] != '\a' && s[i] != '\033')
			i++;
		return i < n ? i + 1 : n;
	}
	return 2;
}

/* How many bytes are no control characters. Eight at a time where none of them is: a byte above '~'
 * gets a highest bit by one more, and a byte below ' ' does by what it lacks of that. */
static size_t plain_length(const char *s, size_t n)
{
	const uint64_t ones = UINT64_MAX / 255, high = 0x80 * ones;
	size_t i = 0;
	uint64_t v;

	for (; i + sizeof(v) <= n; i += sizeof(v)) {
		memcpy(&v, s + i, sizeof(v));
		if (((v - ' ' * ones) | (v + ones)) & high)
			break;
	}
	while (i < n && (unsigned char)s[i] >= ' ' && s[i] != 0x7f)
		i++;
	return i;
}

static void clean(const char *raw, size_t n, char *out)
{
	size_t k = 0;

	for (size_t i = 0; i < n && k + 1 < LINE_MAX_TEXT;) {
		size_t room = LINE_MAX_TEXT - 1 - k;
		size_t plain = plain_length(raw + i, n - i < room ? n - i : room);
		char c;

		if (plain) {
			memcpy(out + k, raw + i, plain);
			i += plain;
			k += plain;
			continue;
		}
		c = raw[i];
		if (c == '\033') {
			i += escape_length(raw + i, n - i);
			continue;
		}
		i++;
		if (c != '\r')
			out[k++] = ' ';
	}
	while (k && out[k - 1] == ' ')
		k--;
	if (k > 3 && memcmp(out + k - 3, PREFIX_FRAME, 3) == 0) /* the right side of a box */
		for (k -= 3; k && out[k - 1] == ' ';)
			k--;
	out[k] = '\0';
}

/* Ray tells a line of many workers once: "... [repeated 7x across cluster]" and a hint. */
static void drop_repeats(char *text)
{
	for (char *p = text; (p = strchr(p, '[')); p++)
		if (p > text && p[-1] == ' ' && starts_with(p, "[repeated ") &&
		    strstr(p, "x across cluster]")) {
			p[-1] = '\0';
			return;
		}
}

/* Containerd and the kubelet put a message between quotes, and one within that again: its own have
 * backslashes before them. */
static void drop_escapes(char *text)
{
	char *out = strchr(text, '\\');

	for (const char *p = out; p && *p;) {
		size_t n = strspn(p, "\\");

		p += p[n] == '"' ? n : 0;
		n = n && *p == '\\' ? n : 1;
		memmove(out, p, n);
		out += n;
		p += n;
	}
	if (out)
		*out = '\0';
}

/* "[Rank 3]" and, unless it must be in brackets, "(rank=3, size=8"; -1: neither. */
static int rank_said(const char *text, bool in_brackets)
{
	for (const char *p = said_anyhow(text, "rank"); p; p = said_anyhow(p + 4, "rank")) {
		const char *q = p + 4 + strspn(p + 4, " ");
		bool equals = *q == '=',
		     own = p == text || !strchr("_abcdefghijklmnopqrstuvwxyz", p[-1]);
		long v;

		q += equals;
		if (own && (q = prefix_number(q, &v)) && (*q == ']' || (equals && !in_brackets)))
			return (int)v;
	}
	return -1;
}

struct log_who line_speaker(const struct log_line *l)
{
	struct log_who who = l->who;
	int said;

	if (who.rank >= 0 && who.rank_by == RANK_BY_ITSELF)
		return who;
	said = rank_said(l->body, who.rank >= 0);
	if (said >= 0) {
		who.rank = said;
		who.rank_by = RANK_BY_ITSELF;
	}
	return who;
}

/* What another process says while a progress bar is drawn follows the bar. */
static const char *after_bar(const char *text)
{
	struct bar b;

	if (!bar_last(text, strlen(text), &b))
		return text;
	return b.end[strspn(b.end, " ")] ? b.end : text;
}

void line_clean(const char *raw, size_t n, struct log_line *ret)
{
	char plain[LINE_MAX_TEXT];

	ret->who = (struct log_who){.rank = -1, .local = -1};
	ret->clock = CLOCK_KIND_NONE;
	ret->time_ms = 0;
	ret->body = NULL;
	if (unwrap_json(raw, n, plain, sizeof(plain), &ret->who))
		clean(plain, strlen(plain), ret->text);
	else
		clean(raw, n, ret->text);
	drop_repeats(ret->text);
	drop_escapes(ret->text);
}

void line_place(struct log_line *l)
{
	const char *p;

	if (l->body)
		return;
	p = after_bar(l->text);
	l->body = prefix_skip(p, l);
	/* it says itself who speaks; else it is whoever drew the bar */
	if (p != l->text && l->who.rank < 0 && !*l->who.host && !l->clock)
		(void)prefix_skip(l->text, l);
}

/* A prefix has one blank behind it. */
bool line_is_indented(const struct log_line *l)
{
	const char *p = l->body, *q;

	while (p > l->text && p[-1] == ' ')
		p--;
	for (q = p; q > l->text && q[-1] == ' '; q--)
		;
	return l->body - p > (q > l->text);
}

void line_parse(const char *raw, size_t n, struct log_line *ret)
{
	line_clean(raw, n, ret);
	line_place(ret);
}
