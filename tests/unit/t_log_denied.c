/* What a line says that there is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/arena.h"
#include "probes/log/denied.h"

/* Each denied part as "<...>". */
static const char *marked(struct arena *a, const char *text)
{
	struct denial v[DENIALS_MAX];
	const char *all = "";
	size_t n = denied_find(text, false, v);

	for (size_t i = 0; i < n; i++)
		all = arena_printf(a, "%s<%.*s>", all, (int)v[i].n, text + v[i].from);
	return all;
}

static void parts(void **state UNUSED)
{
	static const struct {
		const char *text, *want;
	} all[] = {
		{"GPU 0: no row remapping is pending", "< row remapping is pending>"},
		{"No Xid errors and a CUDA error", "< Xid errors >"},
		{"without ECC errors, but lost", "< ECC errors>"},
		{"Detected 0 ECC errors on GPU 3", "< ECC errors on GPU 3>"},
		{"rank 0 CUDA errors", ""},
		{"only have 0 participants, need 4", ""},
		{"only have 0 participants, need min_replicas 2", ""},
		{"found 0 GPUs, expected at least 8", ""},
		{"found 0 ECC errors, no reset needed for GPU 3", "< ECC errors>< reset needed >"},
		{"found 0 ECC errors, and needs no care", "< ECC errors>< care>"},
		{"found 0 of it", ""},
		{"Row remapping is pending: no", "<Row remapping is pending>"},
		{"GPU 3: ECC errors: 0", "<ECC errors>"},
		{"fallen off the bus, GPU: 0", ""},
		{"steps: 0 has to be greater", ""},
		{"a=1 is_preempted=False", "<is_preempted>"},
		{"{\"preempted\": false, \"a\": 1}", "<\"preempted>"},
		{"RuntimeError: No module named x", ""},
		{"no node of 00:1b.0 can serve it", "< node of 00:1b.0 >"},
		{"it was not killed due to it", "< killed>"},
		{"it is not enough, could not loaded", ""},
		{"never been preempted", "< been preempted>"},
		{"restarts it if it is lost; else", "< it is lost>"},
		{"as if it is lost", ""},
		{"#if A", ""},
		{"n: 0 2 errors", ""},
		{"ray: 0 workers killed", "< workers killed>"},
		{"already in use? no, free", "<already in use>"},
		{"nothing, notably, at noon", ""},
		{"If you see \"a: Connection refused\", set it",
		 "<a: Connection refused>< you see \"a>"},
		{"- Fixed: `Connection refused` (#7)", "<Connection refused>"},
		{"failed: \"Connection refused\"", ""},
		{"your \"bf16\" is not", ""},
		{"{\"error\": \"if you see refused\"}", ""},
		{"", ""},
		{"no", ""},
		{": no", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(arena_done) struct arena a = {0};
		const char *is = marked(&a, all[i].text);

		if (strcmp(is, all[i].want) != 0)
			fail_msg("%s: '%s', not '%s'", all[i].text, is, all[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
