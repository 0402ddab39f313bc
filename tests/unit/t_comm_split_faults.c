/* Parts of a communicator when something goes wrong in one: it is known to all, in every part,
 * by its own name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/tcp_core.h"
#include "tests/unit/ranks.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { COUNT = 1 << 18 }; /* floats */

struct fault {
	int who, signal, parts;
	size_t count;
	bool nested;
	uint64_t deadline_ns; /* 0: a second */
	bool away;	      /* ranks 2 and 4 are, when the others hear of it */
	atomic_int *ready;    /* ranks that have split and left the barrier after it */
};

struct parts {
	struct comm *part, *inner; /* of which the last one works */
};

static struct comm *part_of(struct comm *c, const struct fault *f, struct parts *p, struct err *e)
{
	if (comm_split(c, c->rank % f->parts, -c->rank, &p->part, e))
		return NULL;
	if (f->nested && comm_split(p->part, 0, p->part->rank, &p->inner, e))
		return NULL;
	return f->nested ? p->inner : p->part;
}

static void free_parts(struct parts *p)
{
	comm_free(p->inner);
	comm_free(p->part);
}

/* A request that is asked for and then left alone; rank 0's is young at the deadline. */
static int come_late(struct comm *c, struct comm *part, const struct fault *f,
		     const struct comm_request *q, struct err *e)
{
	static const int percent[] = {[0] = 75, [2] = 140, [4] = 130, [5] = 0};
	int ms = (int)(f->deadline_ns / NS_PER_MS) * percent[c->rank] / 100;

	if (!c->rank)
		(void)poll(NULL, 0, ms);
	if (comm_start(part, q, e))
		return -1;
	if (c->rank)
		(void)poll(NULL, 0, ms);
	return comm_wait(part, e);
}

/* Who dies while another one is still in the barrier fails that, not what comes after it. */
static void end_when_all_are_ready(const struct comm *c, const struct fault *f)
{
	for (int ms = 0; ms < 60000 && atomic_load(f->ready) < c->size; ms++)
		(void)poll(NULL, 0, 1);
	(void)raise(f->signal);
}

/* Until it fails, or in vain; returns how long that took, from the fault on. */
static uint64_t work(struct comm *c, struct comm *part, const struct fault *f, struct err *e)
{
	static float a[COUNT], b[COUNT];
	struct comm_request q = {.send = a, .recv = b, .count = f->count, .type = DT_FLOAT};
	uint64_t start = now_ns();

	for (int i = 0; now_ns() - start < 60 * NS_PER_S; i++) {
		if (c->rank == f->who && i == 20)
			end_when_all_are_ready(c, f);
		if (i < 20)
			start = now_ns();
		if (f->away && i == 20 ? come_late(c, part, f, &q, e) : comm_run(part, &q, e))
			break;
	}
	return now_ns() - start;
}

/* Every survivor, whichever part it is in, names the one, by the name that all know. */
static const char *until_fault(struct comm *c, struct local *w, void *arg)
{
	AUTO(free_parts) struct parts parts = {0};
	const struct fault *f = arg;
	struct comm_request q = {.kind = COLL_BARRIER};
	struct err e = {0}, again = {0};
	struct comm *part = part_of(c, f, &parts, &e);
	uint64_t took;
	bool gone;
	char name[32];

	(void)w;
	if (!part || comm_barrier(c, &e))
		return "cannot be split";
	atomic_fetch_add(f->ready, 1);
	(void)snprintf(name, sizeof(name), "rank %d (here, 127.0.0.1", f->who);
	took = work(c, part, f, &e);
	if (f->away && !c->rank) /* others begin to wait later, and are waited for a second only */
		(void)poll(NULL, 0, 1500);
	if (!strstr(e.msg, name)) {
		fprintf(stderr, "rank %d: %s\n", c->rank, e.msg);
		return "not named";
	}
	if (comm_culprit(part, &gone) != f->who || comm_culprit(c, NULL) != f->who ||
	    gone != (f->signal == SIGKILL))
		return "somebody else is the culprit";
	if (took > (f->signal == SIGKILL ? 5 : 8) * local_slowness() * NS_PER_S)
		return "it took too long";
	if (!comm_run(c, &q, &again) || !streq(again.msg, e.msg))
		return "the whole went on after it";
	return NULL;
}

static void fault(struct fault f, int size)
{
	struct ranks r = {.fn = until_fault, .arg = &f};
	const char *wrong;

	f.ready = mmap(NULL, sizeof(*f.ready), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_ptr_not_equal(f.ready, MAP_FAILED);
	r.deadline_ns = f.deadline_ns ? f.deadline_ns : local_slowness() * NS_PER_S;
	wrong = ranks_run(&r, size);
	(void)munmap(f.ready, sizeof(*f.ready));
	if (wrong)
		fail_msg("%s", wrong);
	for (int i = 1; i < size; i++)
		if (i != f.who && r.ended[i])
			fail_msg("rank %d of %d ended with %d", i, size, r.ended[i]);
	assert_int_equal(r.ended[f.who], -SIGKILL);
}

static void a_death_in_a_part_is_known_to_all(void **state)
{
	(void)state;
	fault((struct fault){.who = 3, .signal = SIGKILL, .parts = 2, .count = 2}, 6);
	fault((struct fault){.who = 2, .signal = SIGKILL, .parts = 2, .count = COUNT}, 5);
	fault(
		(struct fault){
			.who = 5, .signal = SIGKILL, .parts = 3, .count = 1000, .nested = true},
		7);
}

static void a_stopped_rank_is_named_in_every_part(void **state)
{
	(void)state;
	fault((struct fault){.who = 1, .signal = SIGSTOP, .parts = 2, .count = 2}, 4);
	fault((struct fault){.who = 4, .signal = SIGSTOP, .parts = 2, .count = COUNT}, 6);
	fault(
		(struct fault){
			.who = 2, .signal = SIGSTOP, .parts = 3, .count = 1000, .nested = true},
		7);
}

/*
 * Ranks 2 and 4 wait for each other only because they were away, and hear first what
 * rank 0, of their part, says of a rank of another part: that is to be believed.
 */
static void a_stopped_rank_is_named_by_who_hears_late(void **state)
{
	(void)state;
	fault((struct fault){.who = 1,
			     .signal = SIGSTOP,
			     .parts = 2,
			     .count = 2,
			     .deadline_ns = 2 * NS_PER_S,
			     .away = true},
	      6);
}

/* Rank 0, of the other part, has heard that rank 3 is waited for; that waits for rank 1. */
static const char *be_blamed(struct comm *c, struct local *w, void *arg)
{
	AUTO(free_parts) struct parts parts = {0};
	struct comm_request q = {.kind = COLL_BARRIER};
	const struct fault f = {.parts = 2};
	struct err e = {0};
	struct comm *part = part_of(c, &f, &parts, &e);
	const int *over = arg; /* a sign each that the barrier is over */
	char sign;

	(void)w;
	if (!part || comm_barrier(c, &e))
		return "cannot be split";
	if (c->rank && write(over[1], "x", 1) != 1)
		return "no sign";
	if (c->rank == 1)
		(void)raise(SIGSTOP);
	for (int i = 1; c->rank == 0 && i < c->size; i++)
		if (read(over[0], &sign, 1) != 1)
			return "no sign";
	if (c->rank == 0)
		tcp_tell_waited(CONTAINER_OF(c, struct tcp, comm), 3);
	if (c->rank == 3 && (!comm_run(part, &q, &e) || comm_culprit(c, NULL) != 1)) {
		fprintf(stderr, "rank 3: %s\n", e.msg);
		return "rank 1 is not named";
	}
	return NULL;
}

static void nobody_blames_himself(void **state)
{
	int over[2];
	struct ranks r = {.fn = be_blamed, .arg = over, .deadline_ns = 3 * NS_PER_S};
	const char *wrong;

	(void)state;
	assert_int_equal(pipe(over), 0);
	wrong = ranks_run(&r, 4);
	(void)close(over[0]);
	(void)close(over[1]);
	if (wrong)
		fail_msg("%s", wrong);
	assert_int_equal(r.ended[3], 0);
	assert_int_equal(r.ended[1], -SIGKILL); /* it was stopped all the time */
}

static const char *abort_one(struct comm *c, struct local *w, void *arg)
{
	struct comm_request q = {.kind = COLL_BARRIER};
	struct comm *part;
	struct err e = {0};

	(void)w;
	(void)arg;
	if (!comm_split(c, c->rank % 2, 0, &part, &e)) { /* one may hear of it in there */
		if (c->rank == 1)
			comm_abort(part, "the reactor is too hot");
		while (!comm_run(part, &q, &e))
			;
	}
	comm_free(part);
	if (!strstr(e.msg, "the reactor is too hot") || comm_culprit(c, NULL) != -1)
		return "another reason";
	return NULL;
}

static void an_abort_ends_all(void **state)
{
	(void)state;
	ranks_all_well(&(struct ranks){.fn = abort_one}, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_death_in_a_part_is_known_to_all),
		cmocka_unit_test(a_stopped_rank_is_named_in_every_part),
		cmocka_unit_test(a_stopped_rank_is_named_by_who_hears_late),
		cmocka_unit_test(nobody_blames_himself),
		cmocka_unit_test(an_abort_ends_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
