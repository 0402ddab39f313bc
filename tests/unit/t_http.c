/* HTTP: the parser on every prefix of every answer; one request against servers that misbehave. */
#include "lib/core/units.h"
#include "lib/net/http.h"
#include "tests/unit/stub_server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct err err;

#define OK "HTTP/1.1 200 OK\r\n"

static const struct {
	const char *text;
	int status;	  /* 0: malformed */
	const char *body; /* NULL: more is needed while the connection is open */
	bool needs_close;
} answers[] = {
	{OK "Content-Length: 5\r\n\r\nhello", 200, "hello", false},
	{OK "content-length:5 \r\n\r\nhellotrailing", 200, "hello", false},
	{OK "Content-Length: 0\r\n\r\n", 200, "", false},
	{OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{OK "\r\nhello", 200, "hello", true},
	{OK "\r\n", 200, "", true},
	{OK "Server: EC2ws\r\n\r\n", 200, "", true},
	{"HTTP/1.0 404 Not Found\r\n\r\nno", 404, "no", true},
	{"HTTP/1.1 401\r\nContent-Length: 0\r\n\r\n", 401, "", false},
	{"HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, "", false},
	{OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, "hello", false},
	{OK "transfer-encoding: Chunked\r\n\r\n2;x=y\r\nhe\r\n03 \r\nllo\r\n0\r\nT: v\r\n\r\n", 200,
	 "hello", false},
	{OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "", false},
	{OK "Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", 200, "0123456789",
	 false},
	{OK "Content-Length: 5\r\n\r\nhell", 200, NULL, false},
	{OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 200, NULL, false},
	{OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", 200, NULL, false},
	{OK "Content-Length: 5\r\n", 200, NULL, false},
	{"HTTP/1", 200, NULL, false},
	{.text = "SSH-2.0-OpenSSH_9.2\r\n"},
	{.text = "HTTP/2 200\r\n\r\n"},
	{.text = "HTTP/1.1 2OO OK\r\n\r\n"},
	{.text = "HTTP/1.1 099 OK\r\n\r\n"},
	{.text = "HTTP/1.1 600 OK\r\n\r\n"},
	{.text = "HTTP/1.1 2000 OK\r\n\r\n"},
	{.text = "HTTP/1.1 100 Continue\r\n\r\n" OK "\r\n"},
	{.text = OK "Content-Length: -1\r\n\r\n"},
	{.text = OK "Content-Length:\r\n\r\n"},
	{.text = OK "Content-Length: 5x\r\n\r\nhello"},
	{.text = OK "Content-Length: 1048577\r\n\r\n"},
	{.text = OK "Content-Length: 18446744073709551621\r\n\r\nhello"},
	{.text = OK "Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello"},
	{.text = OK
	 "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{.text = OK "Transfer-Encoding: gzip, chunked\r\n\r\n"},
	{.text = OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{.text = OK "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"},
	{.text = OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n"},
	{.text = OK "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"},
	{.text = OK "Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n"},
	{.text = OK "no colon\r\n\r\n"},
	{.text = OK ": no name\r\n\r\n"},
	{.text = OK "Name : value\r\n\r\n"},
	{.text = OK "A: b\r\n folded\r\n\r\n"},
	{.text = OK "A: b\nC: d\r\n\r\n"},
	{.text = OK "A: \x1b[31m\r\n\r\n"},
};

/* What is decided about a prefix stays decided, whatever follows. */
static void check_prefixes(const char *text, size_t n, int whole, struct arena *a)
{
	for (size_t k = 0; k < n; k++) {
		struct http_answer part = {0};
		AUTO_FREE char *copy = malloc(k + 1); /* exact: a sanitizer sees one byte too far */
		int rc;

		memcpy(copy, text, k);
		rc = http_parse(copy, k, false, a, &part);
		if (rc && rc != whole)
			fail_msg("%zu bytes gave %d, all gave %d: %s", k, rc, whole, text);
		if (rc != 1)
			assert_null(part.body);
	}
}

static void t_parse(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const char *text = answers[i].text;
		bool more = answers[i].status && !answers[i].body;
		int open_rc = !answers[i].status ? -1 : more || answers[i].needs_close ? 0 : 1;
		struct http_answer got = {0};
		int rc = http_parse(text, strlen(text), false, &a, &got);

		if (rc != open_rc)
			fail_msg("gave %d: %s", rc, text);
		check_prefixes(text, strlen(text), rc, &a);
		rc = http_parse(text, strlen(text), true, &a, &got);
		assert_int_equal(rc, answers[i].body ? 1 : -1);
		if (rc < 0)
			continue;
		assert_int_equal(got.status, answers[i].status);
		assert_string_equal(got.body, answers[i].body);
		assert_int_equal(got.n, strlen(answers[i].body));
	}
}

static void t_parse_bounds(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	size_t n = HTTP_BODY_MAX + 4096;
	AUTO_FREE char *text = malloc(n);
	size_t head = strlen(OK "\r\n");
	struct http_answer got;

	(void)state;
	memset(text, 'x', n);
	memcpy(text, OK "\r\n", head);
	assert_int_equal(http_parse(text, head + HTTP_BODY_MAX, false, &a, &got), 0);
	assert_int_equal(http_parse(text, head + HTTP_BODY_MAX, true, &a, &got), 1);
	assert_int_equal(got.n, HTTP_BODY_MAX);
	assert_int_equal(http_parse(text, head + HTTP_BODY_MAX + 1, false, &a, &got), -1);
	memset(text, 'x', n); /* a head that never ends */
	memcpy(text, OK "A: ", head + 1);
	assert_int_equal(http_parse(text, 16383, false, &a, &got), 0);
	assert_int_equal(http_parse(text, 16384, false, &a, &got), -1);
	text[100] = '\0';
	memcpy(text + 1000, "\r\n\r\n", 4);
	assert_int_equal(http_parse(text, 2000, true, &a, &got), -1);
}

static void t_header(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct http_answer got, none = {0};
	const char *text = OK "Metadata-Flavor:\t Google \r\nX: 1\r\nX: 2\r\nEmpty:\r\n"
			      "Content-Length: 0\r\n\r\n";

	(void)state;
	assert_int_equal(http_parse(text, strlen(text), false, &a, &got), 1);
	assert_string_equal(http_header(&got, "metadata-FLAVOR", &a), "Google");
	assert_string_equal(http_header(&got, "X", &a), "1");
	assert_string_equal(http_header(&got, "Empty", &a), "");
	assert_string_equal(http_header(&got, "Content-Length", &a), "0");
	assert_null(http_header(&got, "Metadata", &a));
	assert_null(http_header(&got, "1", &a));
	assert_null(http_header(&none, "X", &a));
}

/* What the server does is told by the path. */
static void behave(int fd, const char *request)
{
	static const char hello[] = OK "Content-Length: 5\r\n\r\nhello";
	static char big[300000];

	if (strstr(request, " /stall "))
		(void)pause();
	if (strstr(request, " /dribble "))
		for (size_t i = 0; i + 1 < sizeof(hello); i++, (void)usleep(500))
			stub_say(fd, hello + i, 1);
	else if (strstr(request, " /slow "))
		for (size_t i = 0; i + 1 < sizeof(hello); i++, (void)usleep(100000))
			stub_say(fd, hello + i, 1);
	else if (strstr(request, " /nothing "))
		return;
	else if (strstr(request, " /cut "))
		stub_say(fd, hello, sizeof(hello) - 3);
	else if (strstr(request, " /ssh "))
		stub_say(fd, "SSH-2.0-x\r\n", 11);
	else if (strstr(request, " /big "))
		for (unsigned i = 0; i < 5; i++)
			stub_say(fd, i ? big : OK "\r\n", i ? sizeof(big) : strlen(OK "\r\n"));
	else if (strstr(request, " /echo "))
		stub_say(fd, OK "\r\n", strlen(OK "\r\n")), stub_say(fd, request, strlen(request));
	else
		stub_say(fd, hello, strlen(hello));
}

static struct http_request ask(const struct stub *s, const char *path)
{
	struct http_request q = {
		.method = "GET",
		.host = "169.254.169.254",
		.path = path,
		.connect_ns = 300 * NS_PER_MS,
		.total_ns = 5 * NS_PER_S,
	};

	assert_int_equal(addr_parse("127.0.0.1", &q.to), 0);
	addr_set_port(&q.to, s->port);
	return q;
}

static void t_do(void **state)
{
	static const struct {
		const char *path;
		int status, error;
		bool timed_out;
		unsigned total_ms;
	} rows[] = {
		{"/", 200, 0, false, 5000},
		{"/dribble", 200, 0, false, 5000},
		{"/slow", 0, 0, true, 250},
		{"/stall", 0, 0, true, 150},
		{"/nothing", 0, ECONNRESET, false, 5000},
		{"/cut", 0, EBADMSG, false, 5000},
		{"/ssh", 0, EBADMSG, false, 5000},
		{"/big", 0, EBADMSG, false, 5000},
	};
	AUTO(arena_done) struct arena a = {0};
	struct stub s = stub_start(behave);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_request q = ask(&s, rows[i].path);
		uint64_t start = now_ns(), took;
		struct http_answer got;

		q.total_ns = rows[i].total_ms * NS_PER_MS;
		assert_int_equal(http_do(&q, &a, &got, &err), 0);
		took = now_ns() - start;
		if (got.status != rows[i].status || got.error != rows[i].error ||
		    got.timed_out != rows[i].timed_out || !got.connected)
			fail_msg("%s: status %d error %d timed_out %d connected %d", rows[i].path,
				 got.status, got.error, got.timed_out, got.connected);
		if (got.timed_out)
			assert_true(took >= q.total_ns && took < q.total_ns + NS_PER_S);
		else
			assert_true(took < 3 * NS_PER_S);
		if (got.status)
			assert_string_equal(got.body, "hello");
	}
	stub_stop(&s);
}

static void t_request_as_sent(void **state)
{
	static const char *const headers[] = {"X-One: 1", "X-Two: 2", NULL};
	AUTO(arena_done) struct arena a = {0};
	struct stub s = stub_start(behave);
	struct http_request q = ask(&s, "/echo");
	struct http_answer got;

	(void)state;
	q.headers = headers;
	assert_int_equal(http_do(&q, &a, &got, &err), 0);
	assert_string_equal(
		got.body, "GET /echo HTTP/1.1\r\nHost: 169.254.169.254\r\nUser-Agent: windsock\r\n"
			  "Connection: close\r\nX-One: 1\r\nX-Two: 2\r\n\r\n");
	q.method = "PUT";
	q.headers = NULL;
	assert_int_equal(http_do(&q, &a, &got, &err), 0);
	assert_string_equal(
		got.body, "PUT /echo HTTP/1.1\r\nHost: 169.254.169.254\r\nUser-Agent: windsock\r\n"
			  "Connection: close\r\nContent-Length: 0\r\n\r\n");
	stub_stop(&s);
}

static void t_no_injection(void **state)
{
	static const char *const bad[] = {"X: 1\r\nEvil: 1", NULL};
	AUTO(arena_done) struct arena a = {0};
	struct stub nobody = {.port = 1};
	struct http_request q = ask(&nobody, "/");
	struct http_answer got;

	(void)state;
	q.headers = bad;
	assert_int_equal(http_do(&q, &a, &got, &err), -1);
	q = ask(&nobody, "/\n");
	assert_int_equal(http_do(&q, &a, &got, &err), -1);
	q = ask(&nobody, "/");
	q.host = "h\r";
	assert_int_equal(http_do(&q, &a, &got, &err), -1);
}

static void t_refused(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct stub s = stub_start(behave);
	struct http_request q = ask(&s, "/");
	struct http_answer got;

	(void)state;
	stub_stop(&s);
	assert_int_equal(http_do(&q, &a, &got, &err), 0);
	assert_int_equal(got.status, 0);
	assert_int_equal(got.error, ECONNREFUSED);
	assert_false(got.connected);
	assert_false(got.timed_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_parse),	     cmocka_unit_test(t_parse_bounds),
		cmocka_unit_test(t_header),	     cmocka_unit_test(t_do),
		cmocka_unit_test(t_request_as_sent), cmocka_unit_test(t_no_injection),
		cmocka_unit_test(t_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
