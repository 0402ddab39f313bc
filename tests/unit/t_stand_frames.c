/* What a stack is busy with, what of it is shown, and how a document brings it. */
#include "lib/report/json.h"
#include "probes/stacks/veil.h"
#include "tests/unit/stand_ground.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_programs_own_frame_is_found(void **state UNUSED)
{
	struct py_frame checkout[] = {
		{"all_reduce", "/src/pytorch/torch/distributed/distributed_c10d.py", 1}, MAIN};
	struct py_frame installed[] = {
		IN("barrier"),
		{"Trainer.train", "/opt/lib/python3.10/site-packages/transformers/trainer.py", 9},
		{"_run_code", "<frozen runpy>", 88}};
	struct stand s = AT(checkout);

	stand_classify(&s);
	assert_int_equal(s.own, 1);
	s = AT(installed);
	stand_classify(&s);
	assert_string_equal(s.what, "barrier");
	assert_int_equal(s.own, 2);
	s = (struct stand){STAND, .unread = NULL};
	stand_classify(&s);
	assert_int_equal(s.kind, STAND_ENDING); /* no frame is left */
}

/* A module of one's own may be called pdb; a program may be run by a debugger, and imported. */
static void what_runs_a_program_is_not_what_it_does(void **state UNUSED)
{
	struct py_frame mine[] = {{"interaction", "/home/me/data/pdb.py", 3}, MAIN};
	struct py_frame run[] = {
		{"load", "/home/me/data.py", 3},
		MAIN,
		{"_call_with_frames_removed", "<frozen importlib._bootstrap>", 228},
		{"run_file", "/opt/lib/python3.12/site-packages/debugpy/server/cli.py", 9},
	};
	struct stand s = AT(mine);

	stand_classify(&s);
	assert_int_equal(s.kind, STAND_ELSEWHERE);
	s = AT(run);
	stand_classify(&s);
	assert_int_equal(s.kind, STAND_ELSEWHERE);
	assert_int_equal(s.own, 0);
}

static void a_number_comes_from_the_gpu(void **state UNUSED)
{
	struct stand s = AT(own);

	s.line = "total += loss.item()";
	stand_classify(&s);
	assert_int_equal(s.kind, STAND_DEVICE);
	assert_true(stand_waits(&s));
	s = AT(loading); /* no line of one's own says it: the innermost does */
	s.frames = (struct py_frame[]){{"GradScaler.step", TORCH "amp/grad_scaler.py", 9}, MAIN};
	s.n = 2;
	s.inner = "return sum(v.item() for v in found_inf)";
	stand_classify(&s);
	assert_int_equal(s.kind, STAND_DEVICE);
}

static void keys_in_a_source_line_are_not_shown(void **state UNUSED)
{
	static const struct {
		const char *line, *shown;
	} all[] = {
		{"f(h={\"Authorization\": \"Bearer hf_AbCdEf0123456789\"})",
		 "f(h={\"Authorization\": \"... ...\"})"},
		{"login(token='abc/def')", "login(token='...')"},
		{"get(\"https://h/?key=abc&n=3\")", "get(\"https://h/?key=...&n=3\")"},
		{"g('sk-proj-0123456789abcdef', 1)", "g('...', 1)"},
		{"connect(password=f\"{who}pw\", port=1)", "connect(password=f\"...\", port=1)"},
		{"post('https://u:0123456789abcdef0@h/x", "post('https://u:...@h/x"},
		{"x = d[key]; y = load(\"/data/imagenet/train_set_of_all\", token=token)",
		 "x = d[key]; y = load(\"/data/imagenet/train_set_of_all\", token=token)"},
		{"time.sleep(600)  # don't wait", "time.sleep(600)  # don't wait"},
		{"", ""},
	};
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		assert_string_equal(veil(&a, all[i].line), all[i].shown);
}

static void a_document_brings_it_all(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct stand_worker w = {.pid = 9, .state = 'S', .wchan = "", .own = {"f", "/x.py", 0}};
	struct stand s = AT(loading), t;
	cJSON *o;

	s.rank = 3;
	s.size = 8;
	s.pid = 4711;
	s.busy = 0.5;
	s.busy_below = 1.5;
	s.moved = true;
	s.line = "for x in loader:";
	s.threads = 2;
	s.python = 0x030c;
	s.workers = &w;
	s.n_workers = 1;
	stand_classify(&s);
	o = stand_json(&s);
	assert_true(stand_from_json(o, "node1", &a, &t));
	cJSON_Delete(o);
	assert_string_equal(t.host, "node1");
	assert_true(t.rank == 3 && t.size == 8 && t.pid == 4711 && t.local_size == -1 && t.moved);
	assert_true(t.busy > 0.49 && t.busy_below > 1.4 && t.state == 'S' && t.python == 0x030c &&
		    t.threads == 2);
	assert_true(stand_same(&s, &t) && t.n == s.n && t.n_workers == 1);
	assert_string_equal(t.workers[0].own.function, "f");
	assert_string_equal(t.line, s.line);
	assert_false(stand_from_json(NULL, "x", &a, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_programs_own_frame_is_found),
		cmocka_unit_test(what_runs_a_program_is_not_what_it_does),
		cmocka_unit_test(a_number_comes_from_the_gpu),
		cmocka_unit_test(keys_in_a_source_line_are_not_shown),
		cmocka_unit_test(a_document_brings_it_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
