/* Which of NCCL's settings have to be alike, and what they are here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/host/nccl_alike.h"
#include "tests/unit/made_root.h"

static void the_list(void **state)
{
	static const char *const compared[] = {
		"NCCL_ALGO",	    "NCCL_PROTO",      "NCCL_NET",	     "NCCL_P2P_DISABLE",
		"NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_NVLS_ENABLE",   "NCCL_CROSS_NIC",
		"NCCL_BUFFSIZE",    "NCCL_NTHREADS",   "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
		"NCCL_COMM_ID",
	};
	static const char *const free_ones[] = {"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_DEBUG",
						"NCCL_HOSTID",	      "NCCL_ALG",    "ALGO"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(compared); i++)
		assert_false(nccl_may_differ(compared[i]));
	for (size_t i = 0; i < ARRAY_LEN(free_ones); i++)
		assert_true(nccl_may_differ(free_ones[i]));
	assert_true(nccl_settings_n <= 64); /* as many as ranks tell each other */
	for (size_t i = 0; i < nccl_settings_n; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(nccl_settings[i].name, nccl_settings[j].name);
}

static void is(const char *want)
{
	AUTO(arena_done) struct arena a = {0};
	const char *v = nccl_setting_here("NCCL_NTHREADS", &a);

	if (want)
		assert_string_equal(v ? v : "(none)", want);
	else
		assert_null(v);
}

static void as_nccl_reads_them(void **state)
{
	(void)state;
	made_root_begin("");
	(void)unsetenv("NCCL_CONF_FILE");
	(void)unsetenv("NCCL_NTHREADS");
	(void)setenv("HOME", "/home/u", 1);
	is(NULL);
	made_root_put("/etc/nccl.conf", "#NCCL_NTHREADS=1\n NCCL_NTHREADS=2\nNCCL_NTHREADS2=3\n"
					"NCCL_NTHREADS=64\nNCCL_NTHREADS=5\n");
	is("64");
	made_root_put("/home/u/.nccl.conf", "NCCL_NTHREADS=0x80\n");
	is("128");
	made_root_put("/else/where", "NCCL_ALGO=Ring\n"); /* instead of that at home */
	(void)setenv("NCCL_CONF_FILE", "/else/where", 1);
	is("64");
	(void)setenv("NCCL_NTHREADS", "Ring,TREE", 1);
	is("ring,tree");
	(void)setenv("NCCL_NTHREADS", "256", 1);
	is("256");
	(void)setenv("NCCL_NTHREADS", "", 1);
	is(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list),
		cmocka_unit_test(as_nccl_reads_them),
	};

	return cmocka_run_group_tests(tests, made_root, made_root_remove);
}
