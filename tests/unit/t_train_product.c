/*
 * What starts one's own script: whatever shell it is typed into (zsh takes what stands
 * behind == for a command), and whatever the interface is called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/product.h"
#include "lib/report/json.h"

static const char *emitted(struct arena *a, const char *card)
{
	static const char ranks[] = "[{\"host\":\"node0\",\"address\":\"10.0.0.1\"},"
				    "{\"host\":\"node1\",\"address\":\"10.0.0.2\"}]";
	cJSON *data = cJSON_CreateObject(), *world = cJSON_AddObjectToObject(data, "world");
	const char *said;

	cJSON_AddItemToObject(world, "ranks", cJSON_Parse(ranks));
	cJSON_AddStringToObject(world, "interface", card);
	said = product_emit(data, "torchrun", a);
	cJSON_Delete(data);
	return said;
}

static void any_shell_sets_the_interface(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	assert_non_null(strstr(emitted(&a, "eth0"), "\nexport NCCL_SOCKET_IFNAME='=eth0' "
						    "GLOO_SOCKET_IFNAME=eth0 # rank 0's"));
	assert_non_null(strstr(emitted(&a, "a b"), "\nexport NCCL_SOCKET_IFNAME='=a b' "
						   "GLOO_SOCKET_IFNAME='a b' # rank 0's"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_shell_sets_the_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
