/* The lines that ddpsmoke proposes to type are about its own run: the same ranks, the same
 * network, the same library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/ranks/where.h"
#include "bench/train/ask.h"
#include "bench/train/lines.h"

#include <stdlib.h>

enum { RANKS = 4 };

static const char *const typed[] = {"ddpsmoke", "--hosts", "a,b",    "--np", "4",
				    "--model",	"mlp",	   "--json", NULL};

/* Ranks 0 to @on_a - 1 are on a, the others on b. */
static struct who world(struct who_peer *peers, int on_a)
{
	for (int i = 0; i < RANKS; i++)
		peers[i] =
			(struct who_peer){.host = i < on_a ? "a" : "b", .at = i < on_a ? "a" : "b"};
	return (struct who){
		.size = RANKS, .hosts = on_a < RANKS ? 2 : 1, .backend = "tcp", .peers = peers};
}

static struct train_opts run(const struct where *w)
{
	return (struct train_opts){.np = RANKS,
				   .batch = 8,
				   .backend = "auto",
				   .argv = typed,
				   .typed = " --model mlp",
				   .where = w};
}

static void those_of_one_host_stay_here(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct who_peer peers[RANKS];
	struct who w = world(peers, RANKS);
	struct train_opts o = run(NULL);
	const struct lines l = {&o, &w, &a};

	assert_string_equal(lines_bench(&l, " -b 1M"), "ncclbench --np 4 --backend tcp -b 1M");
	assert_string_equal(lines_alone(&l, 1, " --epochs 20"),
			    "ddpsmoke --np 1 --model mlp --epochs 20");
	assert_string_equal(lines_there(&l, 1, " --checkpoint x"),
			    "ddpsmoke --hosts a,b --np 4 --model mlp");
	peers[1].gpu = "GPU 3";
	o.batch_is_shared = true;
	assert_string_equal(lines_alone(&l, 1, ""),
			    "CUDA_VISIBLE_DEVICES=3 ddpsmoke --np 1 --model mlp --batch 8");
}

static void those_of_several_hosts_go_there(void **state UNUSED)
{
	static const struct where by_ssh = {.hosts = "a,b", .np = 4, .copy_self = true};
	static const struct where by_pipe = {.hosts = "-", .rsh = "ssh -p 2222"};
	AUTO(arena_done) struct arena a = {0};
	struct who_peer peers[RANKS];
	struct who w = world(peers, 2);
	struct train_opts o = run(NULL);
	const struct lines l = {&o, &w, &a};

	assert_string_equal(lines_bench(&l, ""),
			    "ncclbench --hosts a,b --np-per-host 2 --backend tcp");
	assert_string_equal(lines_hosts(&l, "ncclbench"), "ncclbench --hosts a,b");
	assert_string_equal(lines_alone(&l, 3, ""), "ddpsmoke --hosts b --np 1 --model mlp");
	assert_string_equal(lines_there(&l, 3, " --checkpoint /x"),
			    "ddpsmoke --hosts b --np 2 --model mlp --checkpoint /x");
	peers[3].gpu = "GPU 1"; /* which no variable of here would choose there */
	assert_string_equal(lines_alone(&l, 3, ""), "ddpsmoke --hosts b --np 2 --model mlp");
	peers[3].gpu = NULL;
	o.where = &by_ssh;
	assert_string_equal(lines_bench(&l, ""),
			    "ncclbench --hosts a,b --np 4 --copy-self --backend tcp");
	assert_string_equal(lines_alone(&l, 3, ""),
			    "ddpsmoke --hosts b --copy-self --np 1 --model mlp");
	o.where = &by_pipe;
	assert_string_equal(lines_bench(&l, ""), "ncclbench --rsh 'ssh -p 2222' --hosts a,b "
						 "--np-per-host 2 --backend tcp");
	assert_string_equal(lines_again(&l, "--lr", "0.1"),
			    "ddpsmoke --hosts a,b --np 4 --model mlp --lr 0.1");
	w = world(peers, 3);
	o.backend = "gloo";
	o.where = NULL;
	assert_string_equal(lines_bench(&l, ""), "ncclbench --hosts a:3,b:1 --backend gloo");
}

/* What two of them exchange on one processor, one GPU is not to be shared for: it may let in one
 * process alone, and NCCL goes another way then. */
static void of_a_host_with_one_gpu_all_ranks_go_again(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct who_peer peers[RANKS];
	struct who w = world(peers, RANKS - 1);
	struct train_opts o = run(NULL);
	const struct lines l = {&o, &w, &a};

	assert_string_equal(lines_there(&l, RANKS - 1, ""),
			    "ddpsmoke --hosts b --np 2 --model mlp");
	for (int i = 0; i < RANKS; i++)
		peers[i].gpu = i < RANKS - 1 ? arena_printf(&a, "GPU %d", i) : "GPU 0";
	assert_string_equal(lines_there(&l, RANKS - 1, " --checkpoint x"),
			    "ddpsmoke --hosts a,b --np 4 --model mlp");
	assert_string_equal(lines_there(&l, 0, ""), "ddpsmoke --hosts a --np 3 --model mlp");
}

/* No line of ours starts them. */
static void those_of_another_launcher_are_said_in_words(void **state UNUSED)
{
	static const char *const bare[] = {"ddpsmoke", "--lr", "1", NULL};
	AUTO(arena_done) struct arena a = {0};
	struct who_peer peers[RANKS];
	struct who w = world(peers, 2);
	struct train_opts o = run(NULL);
	const struct lines l = {&o, &w, &a};

	o.is_foreign = true;
	o.argv = bare;
	assert_string_equal(lines_again(&l, "--lr", "0.1"),
			    "- ddpsmoke --lr 0.1, started as these ranks were");
	assert_string_equal(lines_bench(&l, ""),
			    "ncclbench --hosts a,b --np-per-host 2 --backend tcp");
}

static void what_is_computed_is_typed_once_more(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct train_ask q = train_ask_defaults;

	assert_string_equal(train_ask_typed(&q, &a), "");
	q.model = "resnet18";
	q.engine.amp = "bf16";
	q.pattern = "fsdp";
	q.batch = 16;
	q.train.lr = 0.1;
	q.train.seed = 7;
	q.train.epochs = 5;
	q.fault = "1:flip";
	q.plot = "x.svg";
	assert_string_equal(train_ask_typed(&q, &a),
			    " --model resnet18 --amp bf16 --pattern fsdp --batch 16 --seed 7 --lr "
			    "0.1");
}

static int alone(void **state UNUSED)
{
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("WINDSOCK_RSH");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_one_host_stay_here),
		cmocka_unit_test(those_of_several_hosts_go_there),
		cmocka_unit_test(of_a_host_with_one_gpu_all_ranks_go_again),
		cmocka_unit_test(those_of_another_launcher_are_said_in_words),
		cmocka_unit_test(what_is_computed_is_typed_once_more),
	};

	return cmocka_run_group_tests(tests, alone, NULL);
}
