/* How long the driver's library is waited for: silence is the driver's where it had its time, and
 * ours where a budget, an interrupt or this machine's limits ended the waiting. */
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/nvml.h"
#include "tests/unit/gpu_world.h"

#include <signal.h>
#include <sys/resource.h>

static const struct finding *answer(struct gpu_world *w, const struct preflight *how)
{
	gpu_run_so(w, how);
	assert_non_null(gpu_found(w, "gpu.nvml", NULL));
	return gpu_found(w, "gpu.nvml", NULL);
}

static void t_silent(void **state)
{
	struct gpu_world w;
	const struct finding *f;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "hang init\n");
	f = answer(&w, &(struct preflight){.deadline_ns = NS_PER_S});
	assert_int_equal(f->status, ST_FAIL);
	assert_non_null(
		strstr(f->message, "gave no answer at its start for 1 s: the driver hangs"));
	f = answer(&w, &(struct preflight){.deadline_ns = 10 * NS_PER_S,
					   .until_ns = now_ns() + 500 * NS_PER_MS});
	assert_int_equal(f->status, ST_SKIP);
	assert_non_null(strstr(f->message, "the budget"));
	assert_null(strstr(f->message, "10 s"));
	assert_null(strstr(f->message, "hangs"));
	gpu_done(&w);
}

/* A crash is one, however little time there was. */
static void t_crash(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "crash init\n");
	assert_int_equal(answer(&w, &(struct preflight){.deadline_ns = 60 * NS_PER_S,
							.until_ns = now_ns() + 30 * NS_PER_S})
				 ->status,
			 ST_FAIL);
	gpu_done(&w);
}

static void t_no_process(void **state)
{
	struct gpu_world w;
	struct nvml n;
	struct rlimit was, none;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "");
	nvml_read(&w.c.a, 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_FINE); /* and it stays loaded */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	nvml_read(&w.c.a, 20 * NS_PER_S, &n);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(n.answer, NVML_CUT);
	gpu_done(&w);
}

/* The last one: it cannot be taken back. */
static void t_interrupted(void **state)
{
	struct gpu_world w;
	const struct finding *f;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "hang 2\n");
	interrupt_install();
	assert_int_equal(raise(SIGINT), 0);
	f = answer(&w, &(struct preflight){.deadline_ns = 20 * NS_PER_S});
	assert_int_equal(f->status, ST_SKIP);
	assert_non_null(strstr(f->message, "interrupted"));
	gpu_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_silent),
		cmocka_unit_test(t_crash),
		cmocka_unit_test(t_no_process),
		cmocka_unit_test(t_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
