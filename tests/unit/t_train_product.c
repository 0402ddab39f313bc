/*
 * What starts one's own script: whatever shell it is typed into (zsh takes what stands
 * behind == for a command), and whatever the interface is called. How much is kept of a
 * long run, and what is heard of a report that is too large. Whose processors a slow rank
 * shares.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/hear.h"
#include "bench/train/history.h"
#include "bench/train/product.h"
#include "bench/train/say_run.h"
#include "lib/report/json.h"
#include "tests/unit/report_file.h"

#define RANK(host, address) "{\"host\":\"" host "\",\"address\":\"" address "\"}"

#define CARD(host, address, card)                                                                  \
	"{\"host\":\"" host "\",\"address\":\"" address "\",\"interface\":\"" card "\"}"

static const char *emitted_of(struct arena *a, const char *ranks, const char *card,
			      const char *launcher)
{
	cJSON *data = cJSON_CreateObject(), *world = cJSON_AddObjectToObject(data, "world");
	const char *said;

	cJSON_AddItemToObject(world, "ranks", cJSON_Parse(ranks));
	if (card)
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

/* @nodes: which each rank is on, "0011" */
static const char *laid_out(struct arena *a, const char *nodes, const char *launcher)
{
	const char *ranks = "";

	for (const char *p = nodes; *p; p++)
		ranks = arena_printf(a, "%s%s" RANK("node%c", "10.0.0.%c"), ranks,
				     p > nodes ? "," : "", *p, *p);
	return emitted_of(a, arena_printf(a, "[%s]", ranks), "eth0", launcher);
}

/* Slurm's -m cyclic, mpirun's --map-by node: rank 1 is not beside rank 0. */
static void hosts_are_counted_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const char *said = laid_out(&a, "0101", "torchrun");

	(void)state;
	assert_non_null(strstr(said, "# on each of node0,node1, with NODE=0 to 1"));
	assert_non_null(strstr(said, "torchrun --nnodes 2 --nproc_per_node 2 "));
	assert_null(strstr(said, "unlike"));
	assert_non_null(strstr(laid_out(&a, "0101", "srun"),
			       "srun --nodes 2 --ntasks 4 --ntasks-per-node 2 -m cyclic "
			       "--nodelist node0,node1 sh"));
	assert_non_null(strstr(laid_out(&a, "0011", "srun"),
			       "--ntasks-per-node 2 --nodelist node0,node1 sh"));
	assert_non_null(strstr(laid_out(&a, "001", "torchrun"), "unlike numbers"));
	assert_non_null(strstr(laid_out(&a, "010", "torchrun"), "unlike numbers"));
	/* of accelerate's number each host starts its part, in whole ones */
	assert_non_null(strstr(laid_out(&a, "001", "accelerate"), "this starts 2 on each"));
	assert_non_null(
		strstr(laid_out(&a, "001", "accelerate"), "--num_machines 2 --num_processes 4 "));
}

static void machines_of_one_name_are_as_many(void **state)
{
	static const char clones[] =
		"[" RANK("ubuntu", "10.0.0.1") "," RANK("ubuntu", "10.0.0.1") "," RANK(
			"ubuntu", "10.0.0.2") "," RANK("node2", "10.0.0.3") "]";
	AUTO(arena_done) struct arena a = {0};
	const char *said = emitted_of(&a, clones, "eth0", "srun");

	(void)state;
	assert_null(strstr(said, "unlike"));
	assert_non_null(strstr(said, "srun --nodes 3 --ntasks 4 --ntasks-per-node 2 "
				     "--nodelist 10.0.0.1,10.0.0.2,node2 "));
}

/* Slurm sorts its nodes, so rank 0 is not where it was; and it says nothing of an "elsewhere". */
static void srun_finds_rank_0_and_its_cards_itself(void **state)
{
	static const char reversed[] =
		"[" RANK("node2", "10.0.0.2") "," RANK("node1", "10.0.0.1") "]";
	AUTO(arena_done) struct arena a = {0};
	const char *said = emitted_of(&a, reversed, "ens5", "srun");

	(void)state;
	assert_string_equal(
		said,
		"export MASTER_PORT=29500\n"
		"srun --nodes 2 --ntasks 2 --ntasks-per-node 1 --nodelist node2,node1 sh -c \\\n"
		"  'export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_STEP_NODELIST\" | "
		"head -n 1)\n"
		"   eval \"$(ifprobe --suggest)\"\n"
		"   RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID exec "
		"python3 train.py'\n");
}

/* What runs on another host says which; what runs here needs none. */
static void one_other_host_is_named(void **state)
{
	static const char two[] = "[" RANK("node1", "10.0.0.2") "," RANK("node1", "10.0.0.2") "]";
	static const char here[] =
		"[" RANK("node0", "127.0.0.1") "," RANK("node0", "127.0.0.1") "]";
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	assert_string_equal(emitted_of(&a, two, "eth0", "torchrun"),
			    "# on node1\ntorchrun --standalone --nproc_per_node 2 train.py\n");
	assert_non_null(strstr(emitted_of(&a, two, "eth0", "srun"), " --nodelist node1 sh"));
	assert_string_equal(emitted_of(&a, here, NULL, "torchrun"),
			    "torchrun --standalone --nproc_per_node 2 train.py\n");
	assert_null(strstr(emitted_of(&a, here, NULL, "srun"), "--nodelist"));
}

static void any_shell_sets_the_interface(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	assert_non_null(strstr(emitted(&a, "eth0"), "\nexport NCCL_SOCKET_IFNAME='=eth0' "
						    "GLOO_SOCKET_IFNAME=eth0\ntorchrun "));
	assert_non_null(strstr(emitted(&a, "a b"), "\nexport NCCL_SOCKET_IFNAME='=a b' "
						   "GLOO_SOCKET_IFNAME='a b'\ntorchrun "));
}

/* One block is pasted on all of them. */
static void each_host_sets_its_own_name_of_the_interface(void **state)
{
	static const char mixed[] = "[" CARD("ubuntu", "10.0.0.1", "eth0") "," CARD(
		"ubuntu", "10.0.0.2", "ens5") "," CARD("ubuntu", "10.0.0.2",
						       "ens5") "," RANK("node2", "10.0.0.3") "]";
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	assert_non_null(strstr(emitted_of(&a, mixed, "eth0", "torchrun"),
			       "in this order\n"
			       "case $NODE in\n"
			       "0|2) export NCCL_SOCKET_IFNAME='=eth0' GLOO_SOCKET_IFNAME=eth0 ;;\n"
			       "1) export NCCL_SOCKET_IFNAME='=ens5' GLOO_SOCKET_IFNAME=ens5 ;;\n"
			       "esac\ntorchrun "));
}

static void a_long_run_is_thinned_and_ends_with_its_last(void **state)
{
	enum { EPOCHS = 5 * HISTORY_EPOCHS + 3, EACH = 3 };
	AUTO(arena_done) struct arena a = {0};
	struct history h = HISTORY_EMPTY;

	(void)state;
	for (uint64_t i = 0; i < EPOCHS; i++) {
		struct train_epoch ep = {.wrong_shard = i == 9 || i == 11 ? 1 : -1};

		for (uint64_t k = 0; k < EACH; k++)
			history_step(&h, &a,
				     &(struct train_step){.step = i * EACH + k, .loss = (double)k});
		history_epoch(&h, &a, &ep, ep.wrong_shard >= 0);
	}
	assert_true(h.nsteps == EPOCHS * EACH && h.nepochs == EPOCHS);
	assert_true(h.steps.n < HISTORY_STEPS && h.epochs.n < HISTORY_EPOCHS);
	assert_true(h.steps.n >= HISTORY_STEPS / 2 && h.epochs.n >= HISTORY_EPOCHS / 2);
	for (size_t i = 0; i < h.steps.n; i++)
		assert_int_equal(h.steps.v[i].step, i * h.steps_every);
	for (size_t i = 0; i < h.epochs.n; i++)
		assert_true(h.epochs.v[i].number == i * h.epochs_every &&
			    h.epochs.v[i].step == h.epochs.v[i].number * EACH + EACH - 1);
	assert_true(h.has_odd && h.odd.number == 9);
	assert_true(h.first.number == 0 && h.last.number == EPOCHS - 1 && h.last.loss > 0.99);
	assert_int_equal(h.last_step.step, EPOCHS * EACH - 1);
	assert_true(history_adds_step(&h) == ((EPOCHS * EACH - 1) % h.steps_every != 0));
}

/* Nothing of it is some library's output, and what follows it is. */
static void what_is_too_large_is_swallowed(void **state)
{
	enum { LINE = 60000, LINES = 1200 }; /* 72 MB */
	static char line[LINE];
	struct err e = {0};
	struct hear h;
	FILE *to;

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	assert_int_equal(hear_start(&h, &e), 0);
	to = fdopen(dup(h.out[1]), "w");
	assert_non_null(to);
	(void)fputs("{\n", to);
	for (int i = 0; i < LINES; i++)
		(void)fprintf(to, "%s\n", line);
	(void)fputs("}\n", to);
	assert_int_equal(fclose(to), 0);
	hear_stop(&h);
	assert_true(h.is_too_large && h.is_whole && !h.n);
	hear_done(&h);
}

/* Of three ranks, each of which has one machine's processor 0, the last is slow. Is it told of, or
 * does it share that processor? */
static bool is_judged(struct who_peer last)
{
	static const struct model model = {.name = "mlp"};
	const struct train_opts o = {.model = &model};
	struct who_peer peers[] = {
		{.host = "ubuntu", .address = "10.0.0.1", .at = "10.0.0.1"},
		{.host = "node1", .address = "10.0.0.2", .at = "node1"},
		last,
	};
	const struct who w = {.size = 3, .hosts = 3, .peers = peers};
	struct train_word words[] = {{.processors = 1}, {.processors = 1}, {.processors = 1}};
	struct train_total totals[] = {{.seconds = {[PHASE_FORWARD] = 1}, .samples = 1},
				       {.seconds = {[PHASE_FORWARD] = 1}, .samples = 1},
				       {.seconds = {[PHASE_FORWARD] = 9}, .samples = 1}};
	const struct train_result res = {.history = {.last = {.words = words}}, .totals = totals};
	char out[64];
	const struct run x = {report_file_new(out, "ddpsmoke", "json"), &o, &w, &res, NULL};
	bool warned;

	say_pace(&x);
	warned = report_count(x.r, ST_WARN);
	(void)report_file_done(x.r, out);
	return warned;
}

static void processors_are_shared_on_one_machine_alone(void **state)
{
	(void)state;
	assert_true(is_judged(
		(struct who_peer){.host = "node2", .address = "10.0.0.3", .at = "node2"}));
	assert_false(is_judged(
		(struct who_peer){.host = "node1", .address = "10.0.0.2", .at = "node1"}));
	/* a clone */
	assert_true(is_judged(
		(struct who_peer){.host = "ubuntu", .address = "10.0.0.3", .at = "10.0.0.3"}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srun_finds_rank_0_and_its_cards_itself),
		cmocka_unit_test(one_other_host_is_named),
		cmocka_unit_test(any_shell_sets_the_interface),
		cmocka_unit_test(each_host_sets_its_own_name_of_the_interface),
		cmocka_unit_test(machines_of_one_name_are_as_many),
		cmocka_unit_test(hosts_are_counted_once),
		cmocka_unit_test(a_long_run_is_thinned_and_ends_with_its_last),
		cmocka_unit_test(what_is_too_large_is_swallowed),
		cmocka_unit_test(processors_are_shared_on_one_machine_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
