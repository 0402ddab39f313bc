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

#define RANK(host, address) "{\"host\":\"" host "\",\"address\":\"" address "\"}"

static const char *emitted_of(struct arena *a, const char *ranks, const char *card,
			      const char *launcher)
{
	cJSON *data = cJSON_CreateObject(), *world = cJSON_AddObjectToObject(data, "world");
	const char *said;

	cJSON_AddItemToObject(world, "ranks", cJSON_Parse(ranks));
	cJSON_AddStringToObject(world, "interface", card);
	said = product_emit(data, launcher, a);
	cJSON_Delete(data);
	return said;
}

static const char *emitted(struct arena *a, const char *card)
{
	return emitted_of(a, "[" RANK("node0", "10.0.0.1") "," RANK("node1", "10.0.0.2") "]", card,
			  "torchrun");
}

static void machines_of_one_name_are_as_many(void **state)
{
	static const char clones[] =
		"[" RANK("ubuntu", "10.0.0.1") "," RANK("ubuntu", "10.0.0.1") "," RANK(
			"ubuntu", "10.0.0.2") "," RANK("node2", "10.0.0.3") "]";
	AUTO(arena_done) struct arena a = {0};
	const char *said = emitted_of(&a, clones, "eth0", "srun");

	(void)state;
	assert_non_null(strstr(said, "unlike numbers of ranks; this starts 2 on each"));
	assert_non_null(strstr(said, "srun --nodes 3 --ntasks 4 --ntasks-per-node 2 "
				     "--nodelist 10.0.0.1,10.0.0.2,node2 "));
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
		cmocka_unit_test(machines_of_one_name_are_as_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
