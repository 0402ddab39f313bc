/* Of a port that is taken it is said whose it is, and how that one is given another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/told.h"

static const struct {
	const char *line, *whose, *fix; /* NULL: nobody's that is known */
} all[] = {
	{"ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): "
	 "address "
	 "already in use",
	 "vLLM's server", "vllm serve MODEL --port 8001"},
	{"OSError: [Errno 98] Address already in use: ('0.0.0.0', 30000)", "SGLang's server",
	 "launch_server --model MODEL --port 30001"},
	{"E0502 10:00:01.1 12 program.py:298] TensorBoard could not bind to port 6007, it was "
	 "already in use",
	 "TensorBoard", "--port 0"},
	{"ERROR: the Jupyter server could not be started because port 8888 is not available.",
	 "Jupyter", "jupyter server stop 8888"},
	{"OSError: [Errno 98] Address already in use: ('10.0.0.4', 6379)", "Ray's head",
	 "ray stop; ray start --head --port 6380"},
	{"OSError: Cannot find empty port in range: 7860-7860. You can specify a different port by "
	 "setting the GRADIO_SERVER_PORT environment variable",
	 "Gradio", "GRADIO_SERVER_PORT="},
	{"listen tcp 0.0.0.0:9400: bind: address already in use", "dcgm-exporter",
	 "dcgm-exporter --address :9401"},
	{"E0525 11:05:47.003614210 21877 server_chttp2.cc:40] {\"description\":\"No address added "
	 "out "
	 "of total 1 resolved\",\"referenced_errors\":[{\"description\":\"Address already in "
	 "use\",\"errno\":98,\"os_error\":\"Address already in use\",\"syscall\":\"bind\"}]}",
	 "a gRPC server", "TF_CONFIG"},
	{"RuntimeError: http port 4711 is unavailable and --strict-ports is enabled.", NULL,
	 "give the server that failed another port"},
};

static void others_ports_are_theirs(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(told_done) struct told t = {0};
		const struct cause *c;

		tell_of(&t, all[i].line);
		assert_true(t.x.causes.n > 0);
		c = &t.x.causes.v[0];
		assert_string_equal(c->sig->id, "PT-001");
		if (all[i].whose)
			assert_non_null(strstr(c->because, all[i].whose));
		else
			assert_null(c->because);
		assert_non_null(strstr(c->fix.v[0], all[i].fix));
		assert_null(strstr(c->meaning, "MASTER_PORT"));
		for (size_t k = 0; k < c->fix.n; k++) {
			assert_null(strstr(c->fix.v[k], "torchrun"));
			assert_null(strstr(c->fix.v[k], "MASTER_PORT"));
		}
	}
}

/* Whatever its number is; and where no number is said, it may be. */
static void torchs_own_stays(void **state UNUSED)
{
	static const char *const lines[] = {
		("[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:8000 "
		 "(errno: 98 - Address already in use)."),
		"RuntimeError: Address already in use",
		"OSError: [Errno 98] Address already in use: ('', 29411)",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		AUTO(told_done) struct told t = {0};

		tell_of(&t, lines[i]);
		assert_string_equal(t.x.causes.v[0].sig->id, "PT-001");
		assert_non_null(strstr(t.x.causes.v[0].fix.v[0], "torchrun"));
		assert_null(t.x.causes.v[0].because);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_ports_are_theirs),
		cmocka_unit_test(torchs_own_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
