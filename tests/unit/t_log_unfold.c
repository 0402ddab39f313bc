/* Messages that YAML folded are read as they were, whatever the pieces; other texts are left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "probes/log/unfold.h"
#include "tests/unit/told.h"

#define ITEM(count, first, last, message)                                                          \
	"- apiVersion: v1\n"                                                                       \
	"  count: " count "\n"                                                                     \
	"  eventTime: null\n"                                                                      \
	"  firstTimestamp: \"2026-05-02T" first "Z\"\n"                                            \
	"  involvedObject:\n"                                                                      \
	"    kind: Pod\n"                                                                          \
	"    name: bert-w-0\n"                                                                     \
	"  kind: Event\n"                                                                          \
	"  lastTimestamp: \"2026-05-02T" last "Z\"\n"                                              \
	"  message: " message "\n"                                                                 \
	"  metadata:\n"                                                                            \
	"    name: bert-w-0.17a3\n"                                                                \
	"  reason: FailedCreatePodSandBox\n"                                                       \
	"  type: Warning\n"
#define REFUSED                                                                                    \
	"'Failed to create pod sandbox: rpc error: code = Unavailable desc = connection\n"         \
	"    error: desc = \"transport: Error while dialing dial unix "                            \
	"/run/containerd/containerd.sock:\n"                                                       \
	"    connect: connection refused\"'"
#define NO_RUNTIME                                                                                 \
	"'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get\n"          \
	"    sandbox runtime: no runtime\n"                                                        \
	"    for \"nvidia\" is configured'"

static const char again[] = "apiVersion: v1\nitems:\n" ITEM("1", "09:58:10", "09:58:10", REFUSED)
	ITEM("93", "09:58:40", "10:18:40", NO_RUNTIME) "kind: List\n";
static const char before[] = "apiVersion: v1\nitems:\n" ITEM("93", "09:58:40", "10:18:40", REFUSED)
	ITEM("1", "09:58:10", "09:58:10", NO_RUNTIME) "kind: List\n";

static uint64_t line_of(const char *text, const char *word)
{
	uint64_t n = 1;

	for (const char *p = text, *at = strstr(text, word); p < at; p++)
		n += *p == '\n';
	return n;
}

static void expect(const char *text, size_t piece, const char *id, const char *word)
{
	AUTO(told_done) struct told t;
	struct why_stream s;

	told_begin(&t, &s);
	s.is_text = true;
	for (size_t i = 0; i < strlen(text); i += piece)
		why_feed(&s, text + i, strlen(text + i) < piece ? strlen(text + i) : piece);
	told_end(&t, &s);
	assert_true(t.x.causes.n >= 2);
	assert_string_equal(t.x.causes.v[0].sig->id, id);
	assert_int_equal(t.x.causes.v[0].first->line, line_of(text, word));
	for (size_t i = 1; i < t.x.causes.n; i++) /* the other of the two */
		if (starts_with(t.x.causes.v[i].sig->id, "CTR-"))
			assert_true(t.x.causes.v[i].weight < CONFIDENT && t.x.causes.v[i].because);
	assert_int_equal(t.w.lines, line_of(text, "kind: List"));
}

static void folded_messages_are_whole(void **state UNUSED)
{
	for (size_t piece = 1; piece < sizeof(again); piece += 97) {
		expect(again, piece, "CTR-042",
		       "'Failed to create pod sandbox: rpc error: code = "
		       "Unknown");
		expect(before, piece, "CTR-010", "'Failed to create pod sandbox");
	}
}

/* Behind what is looked at before it is known what text it is. */
static void of_a_long_list_too(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct text t;

	text_init(&t, &a);
	text_add(&t, "apiVersion: v1\nitems:\n");
	for (int i = 0; i < 400; i++)
		text_add(&t,
			 ITEM("1", "09:58:10", "09:58:10", "Successfully pulled\n    the image"));
	text_add(&t, again + strlen("apiVersion: v1\nitems:\n"));
	expect(t.s, 100, "CTR-042", "'Failed to create pod sandbox: rpc error: code = Unknown");
}

static void lines_keep_their_number(void **state UNUSED)
{
	char text[] = "apiVersion: v1\n  message: one\n    two\n    three\n  reason: x\n";
	size_t n = strlen(text);

	assert_true(unfold_is_due(text, n));
	unfold(text, n);
	assert_int_equal(strlen(text), n);
	assert_string_equal(text,
			    "apiVersion: v1\n  message: one two three      \n\n\n  reason: x\n");
}

static void others_are_left_alone(void **state UNUSED)
{
	static const char other[] = "message: one\n    two\n", block[] = "apiVersion: v1\n"
									 "  message: |\n"
									 "    one\n"
									 "    two\n";
	char text[sizeof(block)];

	assert_false(unfold_is_due(other, strlen(other)));
	memcpy(text, block, sizeof(block));
	unfold(text, strlen(text));
	assert_string_equal(text, block);
}

/* What may go on is kept for what comes. */
static void an_open_message_waits(void **state UNUSED)
{
	static const char text[] = "kind: x\n  message: one\n    two\n";

	assert_int_equal(unfold_whole(text, strlen(text)), strlen("kind: x\n"));
	assert_int_equal(unfold_whole(text, strlen("kind: x\n")), strlen("kind: x\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_messages_are_whole),
		cmocka_unit_test(of_a_long_list_too),
		cmocka_unit_test(lines_keep_their_number),
		cmocka_unit_test(others_are_left_alone),
		cmocka_unit_test(an_open_message_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
