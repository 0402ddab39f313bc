#include "probes/log/tested.h"

#include "probes/log/why.h"

#include <ctype.h>

static bool is_word(const char *p, const char *word)
{
	return starts_with(p, word) && !isalnum((unsigned char)p[strlen(word)]);
}

static bool is_good(const char *p)
{
	return is_word(p, "PASSED") || is_word(p, "XFAIL") || is_word(p, "SKIPPED");
}

static const char *next_word(const char *p)
{
	p += strcspn(p, " \t");
	return p + strspn(p, " \t");
}

/* "tests/a.py::test_b PASSED", "XFAIL tests/a.py::test_b - why", "[gw0] [ 33%] PASSED tests/..." */
static bool is_pytest(const char *p)
{
	const char *name = strstr(p, "::"), *end;

	while (*p == '[' && (end = strchr(p, ']')) && end < name)
		p = end + 1 + strspn(end + 1, " ");
	if (!name || name < p)
		return false;
	if (is_good(p))
		p = next_word(p);
	else if (!is_good(next_word(p)))
		return false;
	return name < p + strcspn(p, " \t");
}

static bool is_last_said(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return n >= k && !strncmp(s + n - k, end, k);
}

/* "2/7 Test #2: remote_error .....   Passed    0.31 sec" */
static bool is_ctest(const char *p)
{
	const char *test = strstr(p, "Test "), *number = test ? strchr(test, '#') : NULL;

	return number && isdigit((unsigned char)number[1]) && strstr(number, " Passed ") &&
	       is_last_said(p, " sec");
}

static bool is_unittest(const char *p)
{
	return starts_with(p, "test") &&
	       (is_last_said(p, " ... ok") || is_last_said(p, " ... expected failure"));
}

/* "checking for "GPU has fallen off the bus" in dmesg ... 0 hits", "oom test: expect
 * torch.OutOfMemoryError ... PASS (caught)": somebody's own check, and how it went. */
static bool is_check(const char *p)
{
	static const char *const good[] = {"PASS", "PASSED",  "passed",	  "Passed", "pass",
					   "OK",   "ok",      "none",	  "None",   "clean",
					   "SKIP", "skipped", "not found"};
	const char *verdict = NULL, *end;

	for (const char *q = p; (q = strstr(q, "... ")); verdict = q += 4)
		;
	if (!verdict)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (is_word(verdict, good[i])) {
			end = verdict + strlen(good[i]);
			end += strspn(end, " \t\r\n");
			return !*end || *end == '(';
		}
	return is_word(verdict, "0") &&
	       (starts_with(verdict, "0 hits") || starts_with(verdict, "0 match") ||
		starts_with(verdict, "0 found"));
}

/* "[ OK ] no Xid errors", "grep -c "NCCL WARN" train.log: 0", "No "ECC error" lines found": looked
 * for, and not there. */
static bool is_absence(const char *p)
{
	static const char *const good[] = {"[ OK ] ", "[OK] ", "[PASS] ", "[  OK  ] "};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (starts_with(p, good[i]))
			return true;
	if (starts_with(p, "grep "))
		return is_last_said(p, ": 0") || is_last_said(p, "-> 0") || is_last_said(p, "= 0");
	return (starts_with(p, "No ") || starts_with(p, "no ")) && strchr("\"'`", p[3]) && p[3] &&
	       strstr(p, " found");
}

/* What looks for it, as it was typed or stands in a script: "$ dmesg | grep 'fallen off the bus'",
 * "#define CUDA_ERROR_ECC_UNCORRECTABLE 214". */
static bool is_shown(const char *p)
{
	static const char *const starts[] = {"$ ", "+ ", "# ", "dmesg ", "sudo dmesg "};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (starts_with(p, starts[i]))
			return strstr(p, "grep ") != NULL;
	return starts_with(p, "grep -q") || starts_with(p, "#define ");
}

bool tested_well(const struct log_line *l)
{
	const char *p = l->body + strspn(l->body, " \t");

	return is_pytest(p) || is_ctest(p) || is_unittest(p) || is_check(p) || is_absence(p) ||
	       is_shown(p) || starts_with(p, "--- PASS: ") ||
	       (starts_with(p, "ok ") && isdigit((unsigned char)p[3])) ||
	       strstr(l->text, "[       OK ] ");
}

/* "3 passed, 4 warnings in 61.20s", with or without a frame of "=" */
static int sum_of_pytest(const char *p)
{
	static const char *const kinds[] = {"passed",  "failed",     "error",  "errors",
					    "skipped", "deselected", "xfailed"};
	const char *word, *in;
	bool is_one = false;

	p += strspn(p, "= ");
	word = p + strspn(p, "0123456789");
	if (word == p || *word++ != ' ')
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		is_one |= is_word(word, kinds[i]);
	in = strstr(word, " in ");
	if (!is_one || !in || !isdigit((unsigned char)in[4]))
		return -1;
	if (strstr(p, " failed") || strstr(p, " error"))
		return 1;
	return strstr(p, " passed") ? 0 : -1;
}

int tested_sum(const struct log_line *l)
{
	const char *p = strstr(l->text, "% tests passed, ");

	if (!p)
		return sum_of_pytest(l->body);
	return strstr(p, ", 0 tests failed ") ? 0 : 1;
}

/* --- what a test says while it runs ------------------------------------------------------- */
/* "tests/a.py::test_b " without a verdict, as with -s and log_cli; googletest; go. */
static bool is_begin(const char *p)
{
	const char *name = strstr(p, ".py::");

	if (starts_with(p, "[ RUN      ] ") || starts_with(p, "=== RUN "))
		return true;
	return name && name < p + strcspn(p, " \t") && !strstr(p, "PASSED") &&
	       !strstr(p, "FAILED") && !strstr(p, "SKIPPED") && !strstr(p, "ERROR");
}

/* The verdict alone: "PASSED      [ 18%]". */
static bool is_good_end(const char *p)
{
	const char *end = next_word(p);

	return (is_good(p) && (!*end || strchr("[(\r\n", *end))) || starts_with(p, "--- PASS: ") ||
	       starts_with(p, "[       OK ] ");
}

static bool is_bad_end(const char *p)
{
	return is_word(p, "FAILED") || is_word(p, "ERROR") || starts_with(p, "--- FAIL: ") ||
	       starts_with(p, "[  FAILED  ] ");
}

bool tested_frames(const char *text)
{
	return is_begin(text) || is_good_end(text) || is_bad_end(text);
}

static void forget_since(struct record *r, unsigned file, uint64_t line)
{
	size_t n = 0;

	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].file != file || r->events.v[i].line < line)
			r->events.v[n++] = r->events.v[i];
	r->count -= r->events.n - n;
	r->events.n = n;
	if (n)
		return;
	r->count = 0;
	r->nranks = 0;
	r->open_ranks = 0;
	r->is_open = false;
}

void tested_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	const char *p = l->body + strspn(l->body, " \t");

	if (is_begin(p)) {
		s->test = s->line;
	} else if (s->test && is_good_end(p)) {
		for (size_t i = 0; i < signature_count; i++)
			if (w->records[i].events.n && w->records[i].last_file == s->file &&
			    w->records[i].last_line >= s->test)
				forget_since(&w->records[i], s->file, s->test);
		s->test = 0;
	} else if (is_bad_end(p)) {
		s->test = 0;
	}
}
