/* Hand-written because libcurl costs ifprobe 3.5 times `ip -j` before it does anything. */
#include "lib/net/http.h"

enum { HEAD_MAX = 16 << 10, CHUNK_LINE_MAX = 256 };

struct head {
	int status;
	const char *lines, *end; /* header lines, each with its CRLF */
	bool chunked, has_length;
	size_t length;
};

struct span {
	const char *at, *end;
};

/* One line without its CRLF; false: there is no whole line. */
static bool next_line(struct span *rest, struct span *ret)
{
	const char *crlf = memmem(rest->at, (size_t)(rest->end - rest->at), "\r\n", 2);

	if (!crlf)
		return false;
	*ret = (struct span){rest->at, crlf};
	rest->at = crlf + 2;
	return true;
}

static bool blank(char c) { return c == ' ' || c == '\t'; }

static struct span trimmed(struct span s)
{
	while (s.at < s.end && blank(*s.at))
		s.at++;
	while (s.at < s.end && blank(s.end[-1]))
		s.end--;
	return s;
}

/* "Name: value" where the name is @name: its value. */
static bool header_is(struct span line, const char *name, struct span *ret)
{
	size_t n = strlen(name);

	if ((size_t)(line.end - line.at) <= n || line.at[n] != ':' ||
	    strncasecmp(line.at, name, n) != 0)
		return false;
	*ret = trimmed((struct span){line.at + n + 1, line.end});
	return true;
}

static int digit(char c, unsigned base)
{
	char low = c | 32;
	int d = -1;

	if (c >= '0' && c <= '9')
		d = c - '0';
	else if (low >= 'a' && low <= 'f')
		d = low - 'a' + 10;
	return d < (int)base ? d : -1;
}

static int number(struct span s, unsigned base, size_t *ret)
{
	size_t n = 0;

	if (s.at == s.end)
		return -1;
	for (; s.at < s.end; s.at++) {
		if (digit(*s.at, base) < 0)
			return -1;
		n = n * base + (size_t)digit(*s.at, base);
		if (n > HTTP_BODY_MAX)
			return -1;
	}
	*ret = n;
	return 0;
}

static int framing(struct head *h, struct span line)
{
	struct span value;
	size_t n;

	if (header_is(line, "Content-Length", &value)) {
		if (number(value, 10, &n) || (h->has_length && n != h->length))
			return -1;
		h->has_length = true;
		h->length = n;
	} else if (header_is(line, "Transfer-Encoding", &value)) {
		if (h->chunked || value.end - value.at != 7 ||
		    strncasecmp(value.at, "chunked", 7) != 0)
			return -1;
		h->chunked = true;
	}
	/* Both is how answers are smuggled past a proxy (RFC 9112, 6.3). */
	return h->chunked && h->has_length ? -1 : 0;
}

static int status_line(struct span line, int *ret)
{
	size_t status;

	if (line.end - line.at < 12 || memcmp(line.at, "HTTP/1.", 7) != 0 ||
	    digit(line.at[7], 10) < 0 || line.at[8] != ' ' ||
	    (line.end - line.at > 12 && line.at[12] != ' ') ||
	    number((struct span){line.at + 9, line.at + 12}, 10, &status))
		return -1;
	/* 1xx announces another answer; nobody sends it to a request without "Expect:". */
	*ret = (int)status;
	return status >= 200 && status <= 599 ? 0 : -1;
}

static bool is_printable(struct span s)
{
	for (; s.at < s.end; s.at++)
		if (((unsigned char)*s.at < ' ' && *s.at != '\t') || *s.at == 0x7f)
			return false;
	return true;
}

static int parse_lines(struct head *h, struct span all)
{
	struct span line, name;

	if (!next_line(&all, &line) || !is_printable(line) || status_line(line, &h->status))
		return -1;
	h->lines = all.at;
	h->end = all.end;
	while (next_line(&all, &line)) {
		name = line;
		name.end = memchr(line.at, ':', (size_t)(line.end - line.at));
		if (!name.end || name.end == name.at || blank(*name.at) || blank(name.end[-1]) ||
		    !is_printable(line) || framing(h, line))
			return -1;
	}
	return 0;
}

static int parse_head(const char *text, size_t n, struct head *h, const char **ret_body)
{
	size_t most = n < HEAD_MAX ? n : HEAD_MAX;
	const char *end = memmem(text, most, "\r\n\r\n", 4);

	if (memcmp(text, "HTTP/1.", n < 7 ? n : 7) != 0)
		return -1;
	if (!end)
		return n < HEAD_MAX ? 0 : -1;
	*ret_body = end + 4;
	return parse_lines(h, (struct span){text, end + 2}) ? -1 : 1;
}

/* 1: @ret is the chunk (empty: the last one), @rest stands behind it; else as http_parse(). */
static int next_chunk(struct span *rest, struct span *ret)
{
	struct span line, at = *rest;
	const char *semicolon;
	size_t n;

	if (!next_line(&at, &line))
		return rest->end - rest->at < CHUNK_LINE_MAX ? 0 : -1;
	if (line.end - line.at >= CHUNK_LINE_MAX - 1)
		return -1;
	semicolon = memchr(line.at, ';', (size_t)(line.end - line.at));
	if (semicolon)
		line.end = semicolon;
	if (number(trimmed(line), 16, &n))
		return -1;
	*ret = (struct span){at.at, at.at + (n <= (size_t)(at.end - at.at) ? n : 0)};
	*rest = at;
	if (!n)
		return 1;
	if ((size_t)(at.end - at.at) < n + 2)
		return 0;
	rest->at += n + 2;
	return memcmp(ret->end, "\r\n", 2) == 0 ? 1 : -1;
}

/* Trailer lines up to the empty one. */
static int end_of_chunks(struct span rest)
{
	const char *from = rest.at;
	struct span line;

	while (next_line(&rest, &line)) {
		if (line.end + 2 - from > HEAD_MAX)
			return -1;
		if (line.at == line.end)
			return 1;
	}
	return rest.end - from < HEAD_MAX ? 0 : -1;
}

/* With @out NULL it only measures. */
static int unchunk(struct span rest, char *out, size_t *ret_n)
{
	struct span chunk;
	size_t n = 0;
	int rc;

	while ((rc = next_chunk(&rest, &chunk)) > 0 && chunk.at != chunk.end) {
		if (out)
			memcpy(out + n, chunk.at, (size_t)(chunk.end - chunk.at));
		n += (size_t)(chunk.end - chunk.at);
		if (n > HTTP_BODY_MAX)
			return -1;
	}
	*ret_n = n;
	return rc > 0 ? end_of_chunks(rest) : rc;
}

static int measure_body(const struct head *h, struct span rest, bool closed, size_t *ret_n)
{
	size_t have = (size_t)(rest.end - rest.at);

	*ret_n = 0;
	if (h->status == 204 || h->status == 304)
		return 1;
	if (h->chunked)
		return unchunk(rest, NULL, ret_n);
	*ret_n = h->has_length ? h->length : have;
	if (h->has_length)
		return have >= h->length;
	return have > HTTP_BODY_MAX ? -1 : closed;
}

int http_parse(const char *text, size_t n, bool closed, struct arena *a, struct http_answer *ret)
{
	struct head h = {0};
	const char *at = NULL;
	int rc = parse_head(text, n, &h, &at);
	struct span rest = {at, text + n};
	size_t body_n;
	char *body;

	if (rc > 0)
		rc = measure_body(&h, rest, closed, &body_n);
	if (rc <= 0)
		return closed ? -1 : rc;
	body = arena_alloc(a, body_n + 1);
	if (h.chunked && body_n)
		(void)unchunk(rest, body, &body_n);
	else if (body_n)
		memcpy(body, at, body_n);
	*ret = (struct http_answer){
		.status = h.status,
		.connected = true,
		.headers = arena_strndup(a, h.lines, (size_t)(h.end - h.lines)),
		.body = body,
		.n = body_n,
	};
	return 1;
}

const char *http_header(const struct http_answer *answer, const char *name, struct arena *a)
{
	const char *all = answer->headers ? answer->headers : "";
	struct span rest = {all, all + strlen(all)}, line, value;

	while (next_line(&rest, &line))
		if (header_is(line, name, &value))
			return arena_strndup(a, value.at, (size_t)(value.end - value.at));
	return NULL;
}
