/*
 * What carries gradients while a rank computes: a communicator made asynchronous, and
 * sharded parameters on their way, also over a library that has no reduce_scatter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>

#include "bench/comm/async.h"
#include "bench/ranks/relay.h"
#include "bench/train/shards.h"
#include "lib/core/units.h"
#include "tests/unit/comm_local.h"

#include <math.h>

typedef const char *body(struct comm *c);

struct carried {
	body *fn;
	bool is_async;
};

/* The built-in one, with a thread around it: it is a plug-in like any other. */
static const char *connected(const struct comm_world *o, struct local *w UNUSED, void *arg)
{
	const struct carried *how = arg;
	struct err e = {0};
	int culprit = -2;
	struct comm *c = how->is_async ? async_comm_new(&comm_tcp, o, &dev_host, &culprit, &e)
				       : comm_tcp.comm_new(o, &dev_host, &culprit, &e);
	const char *wrong = c ? how->fn(c) : "no communicator";

	if (wrong)
		fprintf(stderr, "rank %d of %d: %s %s\n", o->rank, o->size, wrong, e.msg);
	comm_free(c);
	return wrong;
}

static void on_ranks(int size, bool is_async, body *fn)
{
	on_local_ranks(size, 20 * NS_PER_S, connected, &(struct carried){fn, is_async});
}

/* --- asynchronous -------------------------------------------------------------------------- */

enum { MANY = 200, LENGTH = 300 };
static float buffers[MANY][LENGTH];

static struct comm_request sum_of(int i)
{
	return (struct comm_request){.kind = COLL_ALL_REDUCE,
				     .send = buffers[i],
				     .recv = buffers[i],
				     .count = LENGTH,
				     .type = DT_FLOAT,
				     .op = OP_SUM};
}

/* More than are taken at a time; each after the one before it. */
static const char *many_at_once(struct comm *c)
{
	float ranks = (float)c->size, expected;
	struct err e = {0};
	bool finished = false;

	for (int i = 0; i < MANY; i++) {
		const struct comm_request q = sum_of(i);

		for (int k = 0; k < LENGTH; k++)
			buffers[i][k] = (float)(i * k % 97 + c->rank);
		if (comm_start(c, &q, &e) || comm_start(c, &q, &e))
			return "cannot be started";
	}
	if (comm_wait(c, &e) || comm_test(c, &finished, &e) || !finished)
		return "does not finish";
	for (int i = 0; i < MANY; i++)
		for (int k = 0; k < LENGTH; k++) {
			expected = ranks * (float)(i * k % 97) + ranks * (ranks - 1) / 2;
			if (buffers[i][k] != expected * ranks)
				return "another sum";
		}
	return streq(comm_caps(c)->backend, "tcp") && streq(comm_peer(c, 0)->host, "here")
		       ? NULL
		       : "no faces";
}

static void all_requests_are_done_in_order(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= 4; ranks++)
		on_ranks(ranks, true, many_at_once);
}

static int reduce_for_ever(struct comm *c, struct err *e)
{
	const struct comm_request q = sum_of(0);

	while (!comm_start(c, &q, e))
		;
	return comm_wait(c, e);
}

static const char *one_dies(struct comm *c)
{
	struct err e = {0}, again = {0};
	bool gone = false, finished = true;

	(void)!comm_barrier(c, &e); /* all are connected; some may miss the dead one here already */
	if (c->rank == 1)
		(void)kill(getpid(), SIGKILL);
	if (!reduce_for_ever(c, &e))
		return "nobody was missed";
	if (!comm_test(c, &finished, &again) || finished || !streq(e.msg, again.msg))
		return "the failure is forgotten";
	return comm_culprit(c, &gone) == 1 && gone && strstr(e.msg, "rank 1") ? NULL : "not named";
}

static const char *one_aborts(struct comm *c)
{
	struct err e = {0};

	(void)!comm_barrier(c, &e);
	if (!c->rank)
		comm_abort(c, "that was enough");
	return reduce_for_ever(c, &e) && strstr(e.msg, "that was enough") ? NULL : "not obeyed";
}

static const char *a_wrong_request(struct comm *c)
{
	struct comm_request q = sum_of(0);
	struct err e = {0};

	q.root = 99;
	return comm_run(c, &q, &e) && e.kind == ERR_USAGE ? NULL : "taken";
}

static void failures_come_through(void **state)
{
	(void)state;
	on_ranks(3, true, one_dies);
	on_ranks(2, true, one_aborts);
	on_ranks(2, true, a_wrong_request);
}

static int no_exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	(void)arg;
	(void)mine;
	(void)n;
	(void)all;
	return err_set(e, ERR_SYS, "nobody is there");
}

static void a_meeting_that_fails(void **state)
{
	struct comm_world o = {.size = 2, .stop_fds = {-1, -1}, .exchange = no_exchange};
	struct err e = {0};
	int culprit;

	(void)state;
	assert_int_equal(addr_parse("127.0.0.1", &o.at), 0);
	assert_null(async_comm_new(&comm_tcp, &o, &dev_host, &culprit, &e));
	assert_int_equal(e.kind, ERR_SYS);
	assert_string_equal(e.msg, "nobody is there");
}

/* --- sharded ---------------------------------------------------------------------------------- */

static float param(size_t i) { return (float)(i % 1009) / 64; }
static float gradient(int rank, size_t i) { return (float)((i * 7 + (size_t)rank) % 128); }

/* That layer is whole, and of no other one there is anything. */
static const char *only(const struct net *n, int layer)
{
	for (int l = 0; l < n->nparts; l++)
		for (size_t i = n->first[l]; i < n->first[l + 1]; i++)
			if (l == layer ? n->params[i] != param(i) : !isnan(n->params[i]))
				return l == layer ? "a wrong parameter" : "a stale parameter";
	return NULL;
}

static const char *pass_over(struct shards *s, int rank)
{
	struct net *n = s->net;
	const char *wrong = NULL;

	for (int l = 0; l < n->nparts && !wrong; l++)
		wrong = shards_hold(s, l) ? "not gathered" : only(n, l);
	for (int l = n->nparts - 1; l >= 0 && !wrong; l--) {
		wrong = shards_hold(s, l) ? "not gathered again" : only(n, l);
		for (size_t i = n->first[l]; i < n->first[l + 1]; i++)
			n->grads[i] = gradient(rank, i);
		if (!wrong && (shards_reduce(s, -1) || shards_reduce(s, l)))
			wrong = "not reduced";
		for (size_t i = n->first[l]; i < n->first[l + 1]; i++)
			n->grads[i] = NAN; /* it has taken what it needs */
	}
	return wrong;
}

static const char *updated(struct shards *s, int ranks)
{
	struct net *n = s->net;

	shards_update(s, (struct sgd){.lr = 1});
	if (shards_gather(s))
		return "not gathered for a look";
	for (size_t i = 0; i < n->nparams; i++) {
		float mean = 0;

		for (int r = 0; r < ranks; r++)
			mean += gradient(r, i) / (float)ranks;
		if (!(fabsf(n->params[i] - (param(i) - mean)) < 1e-3f))
			return "a wrong update";
	}
	return NULL;
}

static const char *one_step(struct comm *c, struct net *n, bool late)
{
	struct err e = {0};
	struct shards s;
	const char *wrong;

	if (!n || shards_new(&s, c, n, &e))
		return "no memory";
	s.late = late;
	for (size_t i = 0; i < n->nparams; i++)
		n->params[i] = param(i);
	shards_take(&s);
	wrong = shards_begin(&s) ? "cannot begin" : pass_over(&s, c->rank);
	if (!wrong && shards_end(&s))
		wrong = "does not end";
	if (!wrong)
		wrong = updated(&s, c->size);
	if (!wrong && shards_hold(&s, 1)) /* it is whole: all have it, and nobody asks */
		wrong = "asked for what is here";
	shards_done(&s);
	return wrong;
}

static const char *steps(struct comm *c)
{
	const char *wrong = NULL;
	struct err e = {0};

	for (int m = 0; model_names[m] && !wrong; m++) {
		const struct model *model = model_find(model_names[m]);

		for (int late = 0; late < 2 && !model->graph && !wrong; late++) {
			struct net *n = net_new(model, kernels_best(), NULL, 2, &e);

			wrong = one_step(c, n, late);
			net_free(n);
		}
	}
	return wrong;
}

static const char *steps_without_scatter(struct comm *c)
{
	struct comm_impl poorer = *c->impl;
	const struct comm_impl *was = c->impl;
	const char *wrong;

	poorer.caps.kinds &= ~(1u << COLL_REDUCE_SCATTER);
	c->impl = &poorer;
	wrong = steps(c);
	c->impl = was;
	return wrong;
}

static void layers_come_and_go(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= 3; ranks++) {
		on_ranks(ranks, false, steps);
		on_ranks(ranks, true, steps);
		on_ranks(ranks, true, steps_without_scatter);
	}
}

/* One rank alone, that writes down what it is asked for: G2 gathers layer 2, R2 reduces it, w
 * waits. Layers are told apart by their sizes. */
struct diary {
	struct comm comm;
	const struct shards *shards;
	char text[256];
};

static void note(const struct comm *c, const char *what)
{
	struct diary *d = CONTAINER_OF(c, struct diary, comm);

	(void)snprintf(d->text + strlen(d->text), sizeof(d->text) - strlen(d->text), "%s", what);
}

static int diary_start(struct comm *c, const struct comm_request *q, struct err *e)
{
	const struct shards *s = CONTAINER_OF(c, struct diary, comm)->shards;
	char what[8];
	int layer = 0;

	(void)e;
	while (s->first[layer + 1] - s->first[layer] != q->count)
		layer++;
	(void)snprintf(what, sizeof(what), "%c%d", q->kind == COLL_ALL_GATHER ? 'G' : 'R', layer);
	note(c, what);
	memcpy(q->recv, q->send, q->count * sizeof(float));
	return 0;
}

static int diary_test(struct comm *c, bool *ret_finished, struct err *e)
{
	(void)c;
	(void)e;
	*ret_finished = true;
	return 0;
}

static int diary_wait(struct comm *c, struct err *e)
{
	(void)e;
	note(c, "w ");
	return 0;
}

static const char *diary_of_a_step(bool late)
{
	static const struct comm_impl impl = {
		.caps = {.kinds = 1u << COLL_ALL_GATHER | 1u << COLL_REDUCE_SCATTER,
			 .types = 1u << DT_FLOAT,
			 .ops = 1u << OP_AVG | 1u << OP_SUM},
		.start = diary_start,
		.test = diary_test,
		.wait = diary_wait,
	};
	static struct diary d;
	struct err e = {0};
	struct net *n = net_new(model_find("cnn"), kernels_best(), NULL, 2, &e);
	struct shards s;

	d = (struct diary){.comm = {.impl = &impl, .size = 1}, .shards = &s};
	assert_non_null(n);
	assert_int_equal(shards_new(&s, &d.comm, n, &e), 0);
	s.late = late;
	for (size_t i = 0; i < n->nparams; i++)
		n->params[i] = param(i);
	shards_take(&s);
	assert_int_equal(shards_begin(&s), 0);
	assert_null(pass_over(&s, 0));
	assert_int_equal(shards_end(&s), 0);
	shards_done(&s);
	net_free(n);
	return d.text;
}

/*
 * While a layer is computed, which is between two waits, the next one is on its way, and
 * so are the gradients of the one before: nothing is waited for that was just begun.
 */
static void the_next_layer_is_on_its_way(void **state)
{
	(void)state;
	assert_string_equal(diary_of_a_step(false), "G0w G1w G2w G3w G2w G1R3w G0R2w R1R0w ");
	assert_string_equal(diary_of_a_step(true),
			    "G0w G1w G2w G3w R3w G2w R2w G1w R1w G0w R0w w ");
}

/* --- what is heard of it --------------------------------------------------------------------- */

static char heard[256];

static void hear_event(const cJSON *event, void *arg)
{
	(void)arg;
	(void)snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "<%s>",
		       cJSON_GetObjectItem(event, "ev")->valuestring);
}

static void hear_line(const char *line, void *arg)
{
	(void)arg;
	(void)snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s|", line);
}

/* A launcher passes on pieces: one rank's event stands in the middle of another one's line. */
static void events_do_not_cut_a_document(void **state)
{
	static const char text[] = "{\n  \"a\x1e{\"ev\":\"died\"}\n\": 1,\n\x1e{\"ev\":\"lost\"}\n"
				   "\x1e{\"ev\":\"b\x1e{\"ev\":\"cut\"}\n}\n";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct relay_in in = {.event = hear_event, .other = hear_line, .is_mixed = true};

		*heard = '\0';
		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			relay_feed(&in, text + at,
				   sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece);
		relay_in_done(&in);
		assert_string_equal(heard, "{|<died>  \"a\": 1,|<lost>}|");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_requests_are_done_in_order),
		cmocka_unit_test(failures_come_through),
		cmocka_unit_test(a_meeting_that_fails),
		cmocka_unit_test(layers_come_and_go),
		cmocka_unit_test(the_next_layer_is_on_its_way),
		cmocka_unit_test(events_do_not_cut_a_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
