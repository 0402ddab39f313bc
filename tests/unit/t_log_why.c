/* The stream: literals found wherever they are, lines counted, memory bounded,
 * and the labelled logs explained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "lib/core/text.h"
#include "probes/log/explain.h"

static const char boom[] = "[rank3]: RuntimeError: CUDA error: invalid device ordinal";

/* Whatever the pieces it comes in, the line number and the cause are the same. */
static void pieces_do_not_matter(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	char *text = arena_printf(&a, "one\ntwo\r\n\n%s\nfive\nsix %s", boom, boom);

	for (size_t piece = 1; piece < strlen(text) + 1; piece += 7) {
		struct why w;
		struct why_stream s;
		struct explanation x;

		why_init(&w);
		why_open(&s, &w, "log");
		for (size_t i = 0; i < strlen(text); i += piece)
			why_feed(&s, text + i, strlen(text + i) < piece ? strlen(text + i) : piece);
		why_close(&s);
		explain(&w, &a, &x);
		assert_int_equal(w.lines, 6);
		assert_string_equal(x.causes.v[0].sig->id, "GPU-003");
		assert_int_equal(x.causes.v[0].first->line, 4);
		assert_int_equal(x.causes.v[0].first->who.rank, 3);
		assert_int_equal(x.causes.v[0].record->count, 2);
		assert_int_equal(x.causes.v[0].record->events.v[1].line, 6);
		why_done(&w);
	}
}

/* A line of a megabyte, and what is found at its end. */
static void endless_lines_are_bounded(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct explanation x;
	struct why_stream s;
	char junk[4096];
	struct why w;

	memset(junk, 'x', sizeof(junk));
	why_init(&w);
	why_open(&s, &w, "log");
	for (int i = 0; i < 256; i++)
		why_feed(&s, junk, sizeof(junk));
	why_feed(&s, boom + 9, strlen(boom + 9));
	why_feed(&s, "\nnext\n", 6);
	assert_true(s.cap < 1 << 20);
	why_close(&s);
	explain(&w, &a, &x);
	assert_int_equal(w.lines, 2);
	assert_int_equal(x.causes.n, 1);
	assert_int_equal(x.causes.v[0].first->line, 1);
	why_done(&w);
}

/* Thousands of the same are counted, a few are kept; the earliest by the clock comes first. */
static void many_are_counted_few_are_kept(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct explanation x;
	struct why_stream s;
	struct why w;

	why_init(&w);
	why_open(&s, &w, "log");
	for (int i = 0; i < 5000; i++) {
		const char *line = arena_printf(&a, "[2025-10-15 13:%02d:%02d] [rank%d]: %s\n",
						59 - i / 60 % 60, 59 - i % 60, i % 100, boom + 9);
		why_feed(&s, line, strlen(line));
	}
	why_close(&s);
	explain(&w, &a, &x);
	assert_int_equal(x.causes.v[0].record->count, 5000);
	assert_int_equal(x.causes.v[0].record->events.n, EVENTS_KEPT);
	assert_int_equal(x.causes.v[0].record->nranks, RANKS_KEPT);
	/* the clock of the thousand that were looked at runs backwards */
	assert_int_equal(x.causes.v[0].first->line, 1000);
	why_done(&w);
}

static void read_log(struct why *w, const char *name)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	struct why_stream s;
	char *text;
	size_t n;

	assert_int_equal(
		file_read(arena_printf(&a, "tests/logs/%s", name), 1 << 20, &a, &text, &n, &e), 0);
	why_open(&s, w, name);
	why_feed(&s, text, n);
	why_close(&s);
}

static size_t position(const struct explanation *x, const char *id, size_t n)
{
	for (size_t i = 0; i < x->causes.n; i++)
		if (strlen(x->causes.v[i].head->id) == n &&
		    !strncmp(x->causes.v[i].head->id, id, n))
			return i;
	return SIZE_MAX;
}

/* The confirmed cause first in nine of ten, among the first three in all. */
static void labelled_logs(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	size_t n, all = 0, first = 0;
	struct err e = {0};
	char *text;

	assert_int_equal(file_read("tests/logs/labels.tsv", 1 << 20, &a, &text, &n, &e), 0);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t name = strcspn(line, "\t"), id = strcspn(line + name + 1, "\t"), at;
		struct explanation x;
		struct why w;

		if (*line == '#')
			continue;
		why_init(&w);
		read_log(&w, arena_strndup(&a, line, name));
		explain(&w, &a, &x);
		at = position(&x, line + name + 1, id);
		if (at > 2)
			fail_msg("%.*s is not among the first three", (int)(name + 1 + id), line);
		if (x.causes.v[0].weight < CONFIDENT)
			fail_msg("%.*s: nothing confident", (int)name, line);
		if (at)
			print_message("%.*s: first is %s\n", (int)(name + 1 + id), line,
				      x.causes.v[0].sig->id);
		first += at == 0;
		all++;
		why_done(&w);
	}
	assert_true(all >= 36);
	assert_true(first * 10 >= all * 9);
}

static void who_failed_first(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct explanation x;
	struct why w;

	why_init(&w);
	read_log(&w, "made/exception-first.log");
	explain(&w, &a, &x);
	assert_true(x.has_first);
	assert_int_equal(x.first.rank, 3);
	assert_string_equal(x.first.host, "node1");
	why_done(&w);

	/* the echoes come first in the file, but not by the clock */
	why_init(&w);
	read_log(&w, "made/echo-before-cause.log");
	explain(&w, &a, &x);
	assert_int_equal(x.first.rank, 0);
	why_done(&w);
}

static void advice_names_what_was_found(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct explanation x;
	struct why w;

	why_init(&w);
	read_log(&w, "made/virtual-offer.log");
	explain(&w, &a, &x);
	assert_non_null(strstr(x.causes.v[0].meaning, "172.19.0.1"));
	assert_non_null(strstr(x.causes.v[0].because, "offered by GPU 0 of node1 on br-5f2a1c"));
	assert_string_equal(x.causes.v[0].fix.v[0],
			    "export NCCL_SOCKET_IFNAME='=ens3'   # on every host");
	why_done(&w);
}

static struct cause first_of(const char *text, size_t n, size_t *ret_n)
{
	static struct arena a;
	struct explanation x;
	struct why_stream s;
	static struct why w;

	why_done(&w);
	why_init(&w);
	why_open(&s, &w, "log");
	why_feed(&s, text, n);
	why_close(&s);
	explain(&w, &a, &x);
	*ret_n = x.causes.n;
	return x.causes.n ? x.causes.v[0] : (struct cause){0};
}

/* What refuses is the neighbour: the interface that is in use is no cure. */
static void a_neighbour_refuses(void **state UNUSED)
{
	static const char text[] =
		"n1:7:7 [0] NCCL INFO Bootstrap : Using bond0:10.7.0.3<0>\n"
		"n1:7:9 [0] misc/socket.cc:576 NCCL WARN socketPollConnect: Connect to "
		"10.7.0.4<50655> returned 113(No route to host) errno 115(Operation now in "
		"progress)\n"
		"RuntimeError: NCCL error: unhandled system error\n";
	struct cause c;
	size_t n;

	c = first_of(text, strlen(text), &n);
	assert_string_equal(c.sig->id, "CON-001");
	assert_non_null(c.because);
	assert_non_null(strstr(c.because, "neighbour of 10.7.0.3 on bond0"));
	for (size_t i = 0; i < c.fix.n; i++)
		assert_null(strstr(c.fix.v[i], "bond0"));
	assert_non_null(strstr(c.fix.v[c.fix.n - 1], "firewall-cmd"));
}

/* Who offered it is up. */
static void a_neighbour_that_offered_it_refuses(void **state UNUSED)
{
	static const char text[] =
		"n2:7:7 [0] NCCL INFO Bootstrap: Using bond0:10.7.0.4<0>\n"
		"n1:7:7 [0] NCCL INFO Bootstrap: Using bond0:10.7.0.3<0>\n"
		"n1:7:9 [0] misc/socket.cc:577 NCCL WARN socketStartConnect: connect to "
		"10.7.0.4<50655> returned No route to host, exceeded error retry count\n";
	struct cause c;
	size_t n;

	c = first_of(text, strlen(text), &n);
	assert_string_equal(c.sig->id, "CON-002");
	assert_non_null(strstr(c.because, "offered by GPU 0 of n2 on bond0"));
	assert_non_null(strstr(c.because, "its firewall refuses"));
	assert_null(strstr(c.because, "it is down"));
}

/* torch says of every rank what it began and ended last: one that waits for nothing was absent.
 * Of other groups than the world that says nothing. */
static void a_rank_that_never_came(void **state UNUSED)
{
	static const char dump[] =
		"[rank0]:[E1015 13:40:53.1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught "
		"collective operation timeout: WorkNCCL(SeqNum=15, OpType=ALLREDUCE, "
		"Timeout(ms)=600000) ran for 600083 milliseconds before timing out.\n"
		"[rank0]:[E1015 13:40:54.1 ProcessGroupNCCL.cpp:1] [PG ID %c PG GUID 0 Rank 0] "
		"Received a dump signal due to a collective timeout from this local rank. "
		"Last enqueued NCCL work: 15, last completed NCCL work: 14.\n"
		"[rank3]:[E1015 13:40:54.2 ProcessGroupNCCL.cpp:1] [PG ID %c PG GUID 0 Rank 3] "
		"Received a dump signal due to a collective timeout from rank 0. "
		"Last enqueued NCCL work: 14, last completed NCCL work: 14.\n";
	char text[sizeof(dump)];
	struct cause c;
	size_t n;

	(void)snprintf(text, sizeof(text), dump, '0', '0');
	c = first_of(text, strlen(text), &n);
	assert_string_equal(c.sig->id, "PT-006");
	assert_non_null(c.because);
	assert_non_null(strstr(c.because, "rank 3 has begun only 14"));
	(void)snprintf(text, sizeof(text), dump, '4', '4');
	c = first_of(text, strlen(text), &n);
	assert_string_equal(c.sig->id, "PT-006");
	assert_null(c.because);
}

/* A failure after which the job goes on is no cause; the same one at the end is. */
static void what_was_outlived(void **state UNUSED)
{
	static const char survived[] = "| WARNING: attempt failed: CUDA out of memory. Retrying\n"
				       "step 1 loss: 3.1\nstep 2 loss: 3.0\nstep 3 loss: 2.9\n";
	static const char fatal[] =
		"step 1 loss: 3.1\nstep 2 loss: 3.0\nstep 3 loss: 2.9\n"
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n";
	static const char both[] = "torch.OutOfMemoryError: CUDA out of memory.\n"
				   "step 1 loss: 3.1\nstep 2 loss: 3.0\nstep 3 loss: 2.9\n"
				   "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT "
				   "2025-10-15T13:20:53 DUE TO TIME LIMIT ***\n";
	static const char kernel[] = "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"
				     "step 1 loss: 3.1\nstep 2 loss: 3.0\nstep 3 loss: 2.9\n";
	static const char bye[] =
		"{'train_runtime': 31.2, 'train_loss': 1.1}\n"
		"[rank1]:[W TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=62): "
		"Connection reset by peer\n";
	struct cause c;
	size_t n;

	c = first_of(survived, strlen(survived), &n);
	assert_true(n == 1 && c.is_over && c.weight < CONFIDENT);
	c = first_of(fatal, strlen(fatal), &n);
	assert_string_equal(c.sig->id, "GPU-017");
	assert_true(c.weight >= CONFIDENT);
	c = first_of(both, strlen(both), &n);
	assert_string_equal(c.sig->id, "SLM-001");
	c = first_of(kernel, strlen(kernel), &n);
	assert_true(c.weight >= CONFIDENT);
	c = first_of(bye, strlen(bye), &n);
	assert_true(c.weight < CONFIDENT);
}

/* A job that came up and then said nothing may hang: what it may hang on is named, but not
 * blamed. One that went on is well. */
static void silence_after_the_start(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char up[] =
		"n1:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
		"n1:7:9 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n";
	const char *went_on = arena_printf(&a, "%sstep 1 loss: 3.1\n", up);
	struct cause c;
	size_t n;

	c = first_of(up, strlen(up), &n);
	assert_int_equal(n, 1);
	assert_string_equal(c.sig->id, "GPU-015");
	assert_true(c.weight < CONFIDENT);
	(void)first_of(went_on, strlen(went_on), &n);
	assert_int_equal(n, 0);
}

/* An engine's ranks meet once more, over messages of its own. */
static void silence_between_an_engines_hosts(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char up[] =
		"n1:7:9 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n"
		"[2026-01-02 10:00:00 TP0] CustomAllreduce is disabled because this process group "
		"spans across nodes.\n";
	const char *went_on = arena_printf(&a, "%sApplication startup complete.\n", up);
	struct cause c;
	size_t n;

	c = first_of(up, strlen(up), &n);
	assert_int_equal(n, 1);
	assert_string_equal(c.sig->id, "HNG-007");
	assert_true(c.weight < CONFIDENT);
	(void)first_of(went_on, strlen(went_on), &n);
	assert_int_equal(n, 0);
}

/* A cable that was pulled while RDMA ran explains what RDMA missed. */
static void a_link_explains_rdma(void **state UNUSED)
{
	static const char text[] =
		"Nov 04 02:11:07 n1 kernel: mlx5_core 0000:9a:00.0 enp154s0: Link down\n"
		"n1:88:93 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5301> with "
		"status=12 opcode=0 len=0 vendor err 129\n";
	struct cause c;
	size_t n;

	c = first_of(text, strlen(text), &n);
	assert_string_equal(c.sig->id, "KRN-003");
}

/* An exception without its traceback counts where the log ends with it. */
static void exceptions_at_the_end(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char boom_[] = "ValueError: no such thing\n";
	struct text t;
	struct cause c;
	size_t n;

	c = first_of(boom_, strlen(boom_), &n);
	assert_string_equal(c.sig->id, "APP-001");
	assert_true(c.weight >= CONFIDENT);
	text_init(&t, &a);
	text_add(&t, boom_);
	for (int i = 0; i < 100; i++)
		text_add(&t, "doing something\n");
	c = first_of(t.s, t.n, &n);
	assert_true(c.weight < CONFIDENT);
}

/* As a shell of Windows redirects, with and without a mark. */
static void wide_text_is_read(void **state UNUSED)
{
	char wide[2 + 2 * sizeof(boom) + 2];
	struct cause c;
	size_t n;

	for (int kind = 0; kind < 4; kind++) {
		bool be = kind & 1, mark = kind < 2;
		size_t k = 0;

		if (mark) {
			wide[k++] = be ? '\xfe' : '\xff';
			wide[k++] = be ? '\xff' : '\xfe';
		}
		for (const char *p = boom; *p; p++) {
			wide[k++] = be ? '\0' : *p;
			wide[k++] = be ? *p : '\0';
		}
		c = first_of(wide, k, &n);
		assert_true(n > 0);
		assert_string_equal(c.sig->id, "GPU-003");
		assert_int_equal(c.first->who.rank, 3);
	}
}

static void a_group_is_found_behind_a_prefix(void **state UNUSED)
{
	const char line[] = "[rank0]: KeyError: 'LOCAL_RANK'\n";
	size_t n;

	assert_non_null(strstr(first_of(line, strlen(line), &n).meaning, "LOCAL_RANK"));
}

/* Of two logs that are read side by side, each has its own "first observed failure". */
static void blocks_do_not_mix(void **state UNUSED)
{
	static const char *const lines[] = {"Root Cause (first observed failure):\n",
					    "  rank      : 7 (local_rank: 7)\n",
					    "  rank      : 3 (local_rank: 3)\n"};
	struct why_stream s[2];
	struct why w;

	why_init(&w);
	for (size_t i = 0; i < 2; i++)
		why_open(&s[i], &w, i ? "b" : "a");
	why_feed(&s[1], "\n", 1);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		why_feed(&s[i == 1], lines[i], strlen(lines[i]));
	for (size_t i = 0; i < 2; i++)
		why_close(&s[i]);
	assert_int_equal(w.elastic.who.rank, 3);
	why_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_do_not_matter),
		cmocka_unit_test(endless_lines_are_bounded),
		cmocka_unit_test(many_are_counted_few_are_kept),
		cmocka_unit_test(labelled_logs),
		cmocka_unit_test(who_failed_first),
		cmocka_unit_test(what_was_outlived),
		cmocka_unit_test(silence_after_the_start),
		cmocka_unit_test(silence_between_an_engines_hosts),
		cmocka_unit_test(a_link_explains_rdma),
		cmocka_unit_test(exceptions_at_the_end),
		cmocka_unit_test(wide_text_is_read),
		cmocka_unit_test(advice_names_what_was_found),
		cmocka_unit_test(a_neighbour_refuses),
		cmocka_unit_test(a_neighbour_that_offered_it_refuses),
		cmocka_unit_test(a_rank_that_never_came),
		cmocka_unit_test(a_group_is_found_behind_a_prefix),
		cmocka_unit_test(blocks_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
