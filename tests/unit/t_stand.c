/* Who waits for whom, by where ranks stand. */
#include "probes/stacks/judge.h"
#include "tests/unit/stand_ground.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct job {
	struct arena a;
	stand_list all;
	enum brief_kind kind;
	const char *fix;
};

static void job_done(struct job *j) { arena_done(&j->a); }

static struct stand *put(struct job *j, size_t rank, struct stand s)
{
	struct stand *at = &j->all.v[rank];

	*at = s;
	at->rank = (int)rank;
	at->pid = 100 + at->rank;
	stand_classify(at);
	return at;
}

static struct stand *add(struct job *j, struct stand s)
{
	(void)LIST_ADD(&j->a, &j->all);
	return put(j, j->all.n - 1, s);
}

/* As many as are there are all. */
static const char *brief(struct job *j)
{
	struct stacks_brief b;

	for (size_t i = 0; i < j->all.n; i++)
		j->all.v[i].size = j->all.v[i].size ? j->all.v[i].size : (int)j->all.n;
	b = stacks_brief(&j->all, &j->a);
	j->kind = b.kind;
	j->fix = b.fix;
	return b.said;
}

static struct py_frame all_reduce[] = {IN("all_reduce"), {"step", "/home/me/train.py", 41}, MAIN};
static struct py_frame broadcast[] = {IN("broadcast"), {"step", "/home/me/train.py", 43}, MAIN};
static struct py_frame gather_object[] = {
	IN("all_gather"), IN("all_gather_object"), {"evaluate", "/home/me/train.py", 70}, MAIN};
static struct py_frame sending[] = {IN("send"), {"forward", "/home/me/pipe.py", 5}, MAIN};
static struct py_frame receiving[] = {IN("recv"), {"forward", "/home/me/pipe.py", 9}, MAIN};
static struct py_frame meeting[] = {
	{"_store_based_barrier", TORCH "distributed/distributed_c10d.py", 800},
	IN("init_process_group"),
	MAIN};
static struct py_frame breaking[] = {{"Pdb.interaction", "/usr/lib/python3.12/pdb.py", 435}, MAIN};
static struct py_frame backward[] = {{"_engine_run_backward", TORCH "autograd/graph.py", 768},
				     {"Tensor.backward", TORCH "_tensor.py", 500},
				     {"step", "/home/me/train.py", 40},
				     MAIN};

static void one_that_stands_elsewhere_is_named(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce));
	add(&j, AT(own));
	add(&j, AT(all_reduce));
	assert_string_equal(brief(&j),
			    "rank 1 (pid 101) is in tokenize (data.py:7) and did not move for 2 s; "
			    "ranks 0 and 2 wait in all_reduce (train.py:41)");
	assert_non_null(strstr(j.fix, "make every rank come to that collective"));
}

static void what_its_worker_does_is_told(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};
	struct stand_worker w = {.pid = 7,
				 .state = 'D',
				 .wchan = "nfs_wait",
				 .own = {"Set.read", "/home/me/d.py", 3}};

	struct stand *one;

	add(&j, AT(backward));
	one = add(&j, AT(loading));
	one->workers = &w;
	one->n_workers = 1;
	add(&j, AT(backward));
	assert_string_equal(brief(&j), "rank 1 (pid 101) is waiting for data (train.py:30) and did "
				       "not move for 2 s; ranks 0 "
				       "and 2 wait in backward (train.py:40); its worker 7 is in "
				       "Set.read (d.py:3), stuck in "
				       "the kernel nfs_wait");
}

static void other_collectives_are_out_of_order(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(broadcast));
	add(&j, AT(all_reduce));
	add(&j, AT(all_reduce));
	assert_string_equal(
		brief(&j),
		"ranks wait in different collectives, and none moved for 2 s: ranks 1 and 2 in "
		"all_reduce (train.py:41); rank 0 (pid 100) in broadcast (train.py:43)");
	assert_non_null(strstr(j.fix, "same order on every rank"));
}

/* Two pairs may be two groups. */
static void groups_are_not_called_wrong(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(broadcast));
	add(&j, AT(broadcast));
	add(&j, AT(all_reduce));
	add(&j, AT(all_reduce));
	assert_non_null(strstr(brief(&j), "different collectives"));
	assert_non_null(strstr(j.fix, "where these are several groups"));
}

/* A pipeline's neighbours call different functions, and that is right. */
static void messages_are_no_order(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(sending));
	add(&j, AT(receiving));
	assert_null(strstr(brief(&j), "different collectives"));
}

static void all_in_one_wait_for_no_rank(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	for (int i = 0; i < 3; i++)
		add(&j, AT(gather_object));
	assert_string_equal(brief(&j), "ranks 0-2 are in all_gather_object (train.py:70), and did "
				       "not move for 2 s: no rank is elsewhere");
	assert_non_null(strstr(j.fix, "windsock --hosts"));
}

static void some_may_be_on_other_hosts(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(meeting))->size = 4;
	add(&j, AT(meeting))->size = 4;
	assert_string_equal(
		brief(&j), "ranks 0 and 1 are waiting for the others in init_process_group "
			   "(train.py:99), and did not move for 2 s: no rank that was looked at is "
			   "elsewhere");
	assert_non_null(strstr(j.fix, "--stacks --hosts"));
}

static void who_comes_late_to_the_meeting_is_named(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(meeting));
	add(&j, AT(own));
	assert_non_null(strstr(brief(&j), "rank 1 (pid 101) is in tokenize"));
	assert_non_null(strstr(j.fix, "before it meets the others"));
}

static void a_rank_that_has_ended_is_missed(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce))->local_size = 2;
	j.all.v[0].size = 2;
	j.all.v[0].present = 1;
	assert_string_equal(
		brief(&j),
		"of 2 ranks only 1 is there, rank 0 (pid 100); rank 1 has ended, or not begun; "
		"rank 0 (pid 100) waits in all_reduce (train.py:41)");
	j.all.v[0].size = 4; /* who is on the other host is not known */
	assert_non_null(strstr(brief(&j), "; the processes of the others have ended"));
}

static void plain_reasons_come_first(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce));
	add(&j, AT(all_reduce))->state = 'T';
	add(&j, AT(own));
	assert_string_equal(brief(&j),
			    "rank 1 (pid 101) is stopped, in all_reduce (train.py:41); rank "
			    "0 (pid 100) waits in all_reduce (train.py:41)");
	assert_string_equal(j.fix, "kill -CONT 101");
	j.all.v[1].state = 'D';
	j.all.v[1].wchan = "rpc_wait";
	assert_non_null(strstr(brief(&j), "stuck in the kernel"));
	put(&j, 1, AT(breaking));
	assert_non_null(strstr(brief(&j), "at a breakpoint (train.py:99)"));
}

static void who_moves_hangs_not(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	for (int i = 0; i < 3; i++)
		add(&j, AT(all_reduce))->moved = true;
	assert_null(brief(&j)); /* a healthy job: nothing to say */
	put(&j, 1, AT(own));
	j.all.v[1].moved = true;
	assert_null(brief(&j));
	j.all.v[0].moved = j.all.v[2].moved = false; /* two wait for one that works */
	assert_non_null(strstr(brief(&j), "and gets on"));
}

/* Who was asked for alone is no proof that the others have ended. */
static void others_of_its_host_are_counted(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce))->local_size = 2;
	j.all.v[0].size = 2;
	j.all.v[0].present = 2;
	assert_null(strstr(brief(&j), "have ended"));
}

static void of_each_host_its_own_are_counted(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	for (int i = 0; i < 3; i++) {
		struct stand *s = add(&j, AT(all_reduce));

		s->host = i < 2 ? "h0" : "h1";
		s->local_size = 2;
		s->present = i < 2 ? 2 : 1;
		s->size = 4;
	}
	assert_non_null(
		strstr(brief(&j), "of 2 ranks on h1 only 1 is there, rank 2 (h1, pid 102)"));
}

static void one_collective_in_two_places_is_one(void **state UNUSED)
{
	static struct py_frame first[] = {
		IN("barrier"), {"prepare", "/home/me/train.py", 10}, MAIN};
	static struct py_frame rest[] = {IN("barrier"), {"prepare", "/home/me/train.py", 20}, MAIN};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(first));
	add(&j, AT(rest));
	add(&j, AT(rest));
	assert_null(strstr(brief(&j), "different collectives"));
}

/* It works, or does what takes its time: that is no proof. */
static void who_works_is_not_accused(void **state UNUSED)
{
	static struct py_frame saving[] = {{"save", TORCH "serialization.py", 440}, MAIN};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce));
	add(&j, AT(own))->busy = 0.9;
	assert_non_null(strstr(brief(&j), "is in tokenize (data.py:7), and works; rank 0"));
	put(&j, 1, AT(saving));
	assert_non_null(strstr(brief(&j), "at a checkpoint"));
}

/* What it started works: it waits for that, and the others for it. */
static void who_waits_for_its_own_processes_is_not_accused(void **state UNUSED)
{
	static struct py_frame pool[] = {
		{"Condition.wait", "/usr/lib/python3.12/threading.py", 9},
		{"Pool.map", "/usr/lib/python3.12/multiprocessing/pool.py", 367},
		{"prepare", "/home/me/train.py", 11},
		MAIN};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce));
	add(&j, AT(pool))->busy_below = 1.9;
	assert_string_equal(
		brief(&j),
		"rank 1 (pid 101) is in prepare (train.py:11), and waits for processes that it "
		"started, which work; rank 0 (pid 100) waits in all_reduce (train.py:41)");
	assert_null(strstr(j.fix, "make every rank come"));
	put(&j, 1, AT(loading))->busy_below = 1;
	assert_non_null(strstr(brief(&j), "waiting for data (train.py:30), and waits for"));
	assert_non_null(strstr(j.fix, "num_workers"));
}

static void an_answer_from_the_network_is_another_service(void **state UNUSED)
{
	static struct py_frame asking[] = {
		{"SocketIO.readinto", "/usr/lib/python3.12/socket.py", 707},
		{"HTTPResponse.begin", "/usr/lib/python3.12/http/client.py", 331},
		{"post", "/opt/lib/python3.12/site-packages/requests/api.py", 115},
		{"generate", "/home/me/rl.py", 8},
		MAIN};
	static struct py_frame uploading[] = {{"SSLSocket.read", "/usr/lib/python3.12/ssl.py", 9},
					      {"save", TORCH "serialization.py", 440},
					      MAIN};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce));
	add(&j, AT(asking));
	assert_non_null(strstr(brief(&j), "is waiting for another service (rl.py:8) and did not "
					  "move for 2 s; rank 0"));
	assert_null(strstr(j.fix, "make every rank come"));
	put(&j, 1, AT(uploading));
	assert_non_null(strstr(brief(&j), "at a checkpoint"));
}

/* One that is through ends before one that saves the last checkpoint. */
static void whom_nobody_waits_for_may_have_ended(void **state UNUSED)
{
	static struct py_frame saving[] = {{"save", TORCH "serialization.py", 440}, MAIN};
	AUTO(job_done) struct job j = {0};
	struct stand *s = add(&j, AT(saving));

	s->local_size = s->size = 2;
	s->present = 1;
	s->moved = true;
	assert_null(brief(&j));
}

/* DDP's buffers go over the network, too. */
static void buffers_are_a_collective(void **state UNUSED)
{
	static struct py_frame buffers[] = {
		{"DistributedDataParallel._distributed_broadcast_coalesced",
		 TORCH "nn/parallel/distributed.py", 1900},
		{"DistributedDataParallel._sync_buffers", TORCH "nn/parallel/distributed.py", 1950},
		{"step", "/home/me/train.py", 9},
		MAIN};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(own));
	add(&j, AT(buffers));
	assert_non_null(strstr(brief(&j), "rank 0 (pid 100) is in tokenize"));
}

static void a_rank_that_is_there_twice_makes_nothing_sure(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce))->size = 2;
	add(&j, AT(own))->rank = 0;
	j.all.v[1].size = 2;
	assert_string_equal(brief(&j),
			    "rank 0 is there twice (pids 100 and 101): left by an earlier "
			    "run, or of another job that is called alike; nothing is sure "
			    "then");
}

static void loading_from_a_slow_disk_is_not_stuck(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	for (int i = 0; i < 2; i++) {
		struct stand *s = add(&j, AT(own));

		s->state = 'D';
		s->moved = true;
	}
	assert_null(brief(&j));
}

static void whose_memory_is_not_ours_is_said(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	add(&j, AT(all_reduce));
	add(&j, (struct stand){STAND, .unread = "not permitted", .unread_fix = "- as root"});
	assert_string_equal(brief(&j), "rank 1 (pid 101) was not looked at: not permitted");
	assert_int_equal(j.kind, BRIEF_UNREAD);
	assert_string_equal(j.fix, "- as root");
}

/* Of whom nothing is known it is not known that they are well. */
static void nobody_who_could_be_looked_at_is_not_well(void **state UNUSED)
{
	AUTO(job_done) struct job j = {0};

	for (int i = 0; i < 2; i++)
		add(&j, (struct stand){STAND, .unread = "process has ended"});
	assert_string_equal(brief(&j), "ranks 0 and 1 were not looked at: process has ended");
	assert_int_equal(j.kind, BRIEF_UNREAD);
	put(&j, 0, AT(all_reduce));
	put(&j, 1, AT(own));
	assert_non_null(brief(&j));
	assert_int_equal(j.kind, BRIEF_WRONG);
	put(&j, 0, AT(own))->moved = put(&j, 1, AT(own))->moved = true;
	assert_null(brief(&j));
	assert_int_equal(j.kind, BRIEF_WELL);
}

/* SGLang's first rank sleeps, and the others wait for what it hands on. */
static void an_engine_without_work_is_well(void **state UNUSED)
{
	static struct py_frame sleeping[] = {
		{"Poller.poll", "/opt/lib/python3.12/site-packages/zmq/sugar/poll.py", 106},
		{"IdleSleeper.maybe_sleep",
		 "/opt/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", 200},
		{"launch", "/home/me/serve.py", 3}};
	static struct py_frame taking[] = {
		IN("broadcast"),
		{"broadcast_pyobj", "/opt/lib/python3.12/site-packages/sglang/srt/utils.py", 900},
		{"Scheduler.recv_requests",
		 "/opt/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", 800},
		{"launch", "/home/me/serve.py", 3}};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(sleeping));
	add(&j, AT(taking));
	assert_null(brief(&j));
	put(&j, 0, AT(own)); /* it hangs itself */
	assert_non_null(strstr(brief(&j), "rank 0 (pid 100) is in tokenize"));
	put(&j, 0, AT(sleeping));
	put(&j, 1, AT(all_reduce)); /* has work */
	assert_non_null(strstr(brief(&j), "rank 0 (pid 100) is waiting for work"));
}

/* That nobody may hold any more. */
static void a_lock_is_not_compiling(void **state UNUSED)
{
	static struct py_frame locked[] = {{"FileBaton.wait", TORCH "utils/file_baton.py", 42},
					   {"_jit_compile", TORCH "utils/cpp_extension.py", 1500},
					   MAIN};
	AUTO(job_done) struct job j = {0};

	add(&j, AT(locked));
	add(&j, AT(locked));
	assert_string_equal(brief(&j), "ranks 0 and 1 are waiting for another process's lock "
				       "(train.py:99), and did not move for 2 s");
	put(&j, 1, AT(all_reduce));
	assert_non_null(strstr(brief(&j), "rank 0 (pid 100) is waiting for another process's"));
	assert_non_null(strstr(j.fix, "was killed left its lock"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_stands_elsewhere_is_named),
		cmocka_unit_test(what_its_worker_does_is_told),
		cmocka_unit_test(other_collectives_are_out_of_order),
		cmocka_unit_test(groups_are_not_called_wrong),
		cmocka_unit_test(messages_are_no_order),
		cmocka_unit_test(all_in_one_wait_for_no_rank),
		cmocka_unit_test(some_may_be_on_other_hosts),
		cmocka_unit_test(who_comes_late_to_the_meeting_is_named),
		cmocka_unit_test(a_rank_that_has_ended_is_missed),
		cmocka_unit_test(plain_reasons_come_first),
		cmocka_unit_test(who_moves_hangs_not),
		cmocka_unit_test(others_of_its_host_are_counted),
		cmocka_unit_test(of_each_host_its_own_are_counted),
		cmocka_unit_test(one_collective_in_two_places_is_one),
		cmocka_unit_test(who_works_is_not_accused),
		cmocka_unit_test(who_waits_for_its_own_processes_is_not_accused),
		cmocka_unit_test(an_answer_from_the_network_is_another_service),
		cmocka_unit_test(whom_nobody_waits_for_may_have_ended),
		cmocka_unit_test(buffers_are_a_collective),
		cmocka_unit_test(a_rank_that_is_there_twice_makes_nothing_sure),
		cmocka_unit_test(loading_from_a_slow_disk_is_not_stuck),
		cmocka_unit_test(whose_memory_is_not_ours_is_said),
		cmocka_unit_test(nobody_who_could_be_looked_at_is_not_well),
		cmocka_unit_test(an_engine_without_work_is_well),
		cmocka_unit_test(a_lock_is_not_compiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
