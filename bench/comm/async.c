#include "bench/comm/async.h"

#include <pthread.h>
#include <signal.h>

enum { QUEUE = 64 };

struct async {
	struct comm comm;
	struct comm_impl impl; /* with the capabilities of @inner */
	struct comm *inner;    /* the thread's, but for what any thread may ask */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct comm_request queue[QUEUE]; /* the first of @n is under way */
	size_t first, n;
	bool made, ending;
	struct err failure; /* kind ERR_NONE: healthy */
	/* of comm_new() */
	const struct comm_plugin *plugin;
	const struct comm_world *world;
	struct dev *dev;
	int culprit;
};

static struct async *async_of(const struct comm *c) { return CONTAINER_OF(c, struct async, comm); }

/* --- the thread --------------------------------------------------------------------- */

/* What a person or a clock sends is for the thread that waits for it; a plug-in may signal itself.
 */
static void leave_signals_to_others(void)
{
	static const int theirs[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGWINCH};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(theirs); i++)
		(void)sigaddset(&set, theirs[i]);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void make(struct async *a)
{
	struct err e = {0};
	struct comm *c = a->plugin->comm_new(a->world, a->dev, &a->culprit, &e);

	pthread_mutex_lock(&a->lock);
	a->inner = c;
	a->failure = e;
	a->made = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

/* Locked. False: there is nothing more to come. */
static bool next(struct async *a, struct comm_request *ret)
{
	while (!a->n && !a->ending)
		pthread_cond_wait(&a->changed, &a->lock);
	*ret = a->queue[a->first];
	return a->n && !a->failure.kind;
}

static void serve(struct async *a)
{
	struct comm_request q;
	struct err e = {0};
	int result;

	pthread_mutex_lock(&a->lock);
	while (next(a, &q)) {
		pthread_mutex_unlock(&a->lock);
		result = comm_run(a->inner, &q, &e);
		pthread_mutex_lock(&a->lock);
		a->first = (a->first + 1) % QUEUE;
		a->n--;
		if (result)
			a->failure = e;
		pthread_cond_broadcast(&a->changed);
	}
	while (!a->ending) /* it failed: until somebody has seen that */
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

static void *live(void *arg)
{
	struct async *a = arg;

	leave_signals_to_others();
	make(a);
	if (a->inner)
		serve(a);
	comm_free(a->inner);
	return NULL;
}

/* --- whoever asks --------------------------------------------------------------------- */

static const struct comm_peer *peer(const struct comm *c, int rank)
{
	return comm_peer(async_of(c)->inner, rank);
}

static const char *transport(const struct comm *c) { return comm_transport(async_of(c)->inner); }

/* Locked. */
static int health(const struct async *a, struct err *e)
{
	if (!a->failure.kind)
		return 0;
	*e = a->failure;
	return -1;
}

static int start(struct comm *c, const struct comm_request *q, struct err *e)
{
	struct async *a = async_of(c);
	int result;

	pthread_mutex_lock(&a->lock);
	while (a->n == QUEUE && !a->failure.kind)
		pthread_cond_wait(&a->changed, &a->lock);
	result = health(a, e);
	if (!result) {
		a->queue[(a->first + a->n++) % QUEUE] = *q;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return result;
}

static int test(struct comm *c, bool *ret_finished, struct err *e)
{
	struct async *a = async_of(c);
	int result;

	pthread_mutex_lock(&a->lock);
	result = health(a, e);
	*ret_finished = !result && !a->n;
	pthread_mutex_unlock(&a->lock);
	return result;
}

static int wait_for(struct comm *c, struct err *e)
{
	struct async *a = async_of(c);
	int result;

	pthread_mutex_lock(&a->lock);
	while (a->n && !a->failure.kind)
		pthread_cond_wait(&a->changed, &a->lock);
	result = health(a, e);
	pthread_mutex_unlock(&a->lock);
	return result;
}

static void abort_comm(struct comm *c, const char *reason)
{
	comm_abort(async_of(c)->inner, reason);
}

static int culprit(const struct comm *c, bool *ret_gone)
{
	return comm_culprit(async_of(c)->inner, ret_gone);
}

static void release(struct async *a)
{
	(void)pthread_cond_destroy(&a->changed);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

static void free_comm(struct comm *c)
{
	struct async *a = async_of(c);

	pthread_mutex_lock(&a->lock);
	a->ending = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	(void)pthread_join(a->thread, NULL);
	release(a);
}

static void face(struct async *a)
{
	a->impl = (struct comm_impl){.caps = *comm_caps(a->inner),
				     .peer = peer,
				     .transport = transport,
				     .start = start,
				     .test = test,
				     .wait = wait_for,
				     .abort = abort_comm,
				     .culprit = culprit,
				     .free = free_comm};
	a->comm = (struct comm){.impl = &a->impl, .rank = a->inner->rank, .size = a->inner->size};
}

struct comm *async_comm_new(const struct comm_plugin *p, const struct comm_world *w, struct dev *d,
			    int *ret_culprit, struct err *e)
{
	struct async *a = calloc(1, sizeof(*a));
	int error;

	*ret_culprit = -1;
	if (!a) {
		err_sys(e, "cannot make a communicator");
		return NULL;
	}
	a->plugin = p;
	a->world = w;
	a->dev = d;
	a->culprit = -1;
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_cond_init(&a->changed, NULL);
	error = pthread_create(&a->thread, NULL, live, a);
	if (error) {
		err_set(e, ERR_SYS, "cannot start a thread: %s", strerror(error));
		release(a);
		return NULL;
	}
	pthread_mutex_lock(&a->lock);
	while (!a->made)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
	if (a->inner) {
		face(a);
		return &a->comm;
	}
	(void)pthread_join(a->thread, NULL);
	*ret_culprit = a->culprit;
	*e = a->failure;
	release(a);
	return NULL;
}
