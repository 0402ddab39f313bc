/* What members of a run say to their leader: nothing, a little, and more than a value may be. */
#include "lib/cluster/rdzv_messages.h"
#include "probes/preflight/crew_say.h"
#include "tests/unit/rdzv_world.h"

#include <math.h>

#define WELL(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			say(p, #x);                                                                \
			say(p, e.msg);                                                             \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* A text of @n bytes that differs everywhere. */
static cJSON *long_document(size_t n)
{
	cJSON *doc = cJSON_CreateObject();
	char *text = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + (i * 7 + i / 1000) % 26);
	text[n] = '\0';
	cJSON_AddStringToObject(doc, "text", text);
	free(text);
	return doc;
}

static const struct {
	const char *key;
	size_t bytes, members; /* bytes 0: nothing */
	bool arrives;
} rows[] = {
	{"node/1", 0, 2, false},
	{"node/2", 10, 2, true},
	{"node/3", RDZV_VALUE_MAX - 11, 2, true}, /* with {"text":""} it is just a value */
	{"node/4", RDZV_VALUE_MAX - 10, 2, true},
	{"node/5", 3 << 20, 2, true},
	{"node/6", 17 << 20, 2, false},
	{"node/7", 3 << 20, 100, false}, /* so many cannot say so much, all at a time */
	{"node/8", 10, 4096, true},
};

static void talk(struct process *p)
{
	struct err e = {0};
	struct rdzv *r = enter(p, &e);

	WELL(r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cJSON *doc = rows[i].bytes ? long_document(rows[i].bytes) : NULL, *got;

		if (p->rank) {
			WELL(!crew_say(r, rows[i].key, doc, rows[i].members, &e));
		} else {
			WELL(!crew_listen(r, rows[i].key, &got, &e));
			WELL(rows[i].arrives ? cJSON_Compare(doc, got, true) : !got);
			cJSON_Delete(got);
		}
		cJSON_Delete(doc);
	}
	WELL(!rdzv_set(r, p->rank ? "strange" : "fine", "pieces 99999999", 15, &e));
	if (!p->rank) {
		cJSON *got;

		WELL(!crew_listen(r, "strange", &got, &e));
		WELL(!got);
	}
	WELL(!rdzv_barrier(r, &e));
	rdzv_leave(r, NULL);
}

static void t_all_lengths(void **state)
{
	(void)state;
	launch_begin(2, 0, false, &test_token);
	for (int i = 0; i < 2; i++)
		start_rank(i, talk);
	launch_watch(60 * NS_PER_S);
	assert_int_equal(L.left, 0);
	for (int i = 0; i < L.n; i++)
		assert_string_equal(L.v[i].said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(t_all_lengths, launch_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
