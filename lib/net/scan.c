#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/processors.h"
#include "lib/net/scan_worker.h"

#include <sys/resource.h>

enum {
	WINDOW = 16000, /* connects in flight, all workers together */
	MAX_WORKERS = 4,
	MAX_TRIES = 5,
	SPARE_FDS = 64,
	GROUP = 16384, /* probes of many hosts taken together */
};

static unsigned count_workers(const struct scan *s, size_t n)
{
	unsigned want = s->o->workers ? s->o->workers : processors_usable();

	if (!s->adaptive || n < SCAN_FEW)
		return 1;
	return want < MAX_WORKERS ? want : MAX_WORKERS;
}

/* Every worker takes a stretch of @todo; the caller is the first one. */
static int run_workers(struct scan *s, struct scan_probe *v, const uint32_t *todo, size_t n,
		       int window, struct err *e)
{
	struct worker w[MAX_WORKERS] = {0};
	unsigned many = count_workers(s, n), started = 1;
	size_t each = (n + many - 1) / many;
	int rc = 0;

	for (unsigned i = 0; i < many && !rc; i++) {
		size_t from = i * each < n ? i * each : n;

		w[i] = (struct worker){.scan = s, .v = v, .todo = todo + from, .is_main = !i};
		w[i].n = n - from < each ? n - from : each;
		rc = worker_init(&w[i], window / (int)many, e);
	}
	for (; !rc && started < many; started++)
		if (pthread_create(&w[started].thread, NULL, worker_run, &w[started]))
			break;
	if (!rc)
		worker_run(&w[0]);
	for (unsigned i = 1; !rc && i < started; i++)
		(void)pthread_join(w[i].thread, NULL);
	for (unsigned i = started; !rc && i < many; i++) /* no thread was to be had */
		worker_run(&w[i]);
	for (unsigned i = 0; i < many; i++) {
		if (!rc && w[i].e.kind != ERR_NONE) {
			*e = w[i].e;
			rc = -1;
		}
		worker_done(&w[i]);
	}
	return rc;
}

/* What stayed silent, for the next try. */
static size_t silent(const struct scan_probe *v, size_t n, uint32_t *todo)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].state == TCP_FILTERED)
			todo[left++] = (uint32_t)i;
	return left;
}

/* One try, cut short where others are answered: its SYN may have been lost. */
static void doubt(struct scan_probe *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].state == TCP_FILTERED)
			v[i].state = TCP_PENDING;
}

/* A first try, a second one for what was silent, and more while they find something. */
static int scan_group(struct scan *s, struct scan_probe *v, size_t n, int window, struct err *e)
{
	AUTO_FREE uint32_t *todo = calloc(n, sizeof(*todo));
	size_t left = n;

	if (!todo)
		return err_set(e, ERR_SYS, "no memory for %zu ports", n);
	for (size_t i = 0; i < n; i++)
		todo[i] = (uint32_t)i;
	atomic_store(&s->rtt_us, 0);
	for (s->attempt = 0; left && s->attempt < MAX_TRIES; s->attempt++) {
		atomic_store(&s->found, 0);
		if (run_workers(s, v, todo, left, window, e))
			return -1;
		if (s->adaptive && interrupt_pending() && !s->attempt && atomic_load(&s->rtt_us))
			doubt(v, n);
		if (!s->adaptive || interrupt_pending() || (s->attempt && !atomic_load(&s->found)))
			break;
		left = silent(v, n, todo);
	}
	return 0;
}

static bool same_host(const struct scan_probe *a, const struct scan_probe *b)
{
	return addr_equal(&a->to, &b->to);
}

static size_t run_of_host(const struct scan_probe *v, size_t n, size_t from)
{
	size_t end = from + 1;

	while (end < n && same_host(&v[from], &v[end]))
		end++;
	return end - from;
}

/* The next group: many ports of one host, or few of several. */
static size_t next_group(const struct scan_probe *v, size_t n, size_t from, bool *ret_many)
{
	size_t run = run_of_host(v, n, from), end = from;

	*ret_many = run > SCAN_FEW;
	if (*ret_many)
		return run;
	while (end < n && end - from + run <= GROUP && run <= SCAN_FEW) {
		end += run;
		run = end < n ? run_of_host(v, n, end) : 0;
	}
	return end - from;
}

static int room_for_descriptors(struct rlimit *ret_old)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, ret_old))
		return WINDOW / 64;
	more = *ret_old;
	more.rlim_cur = more.rlim_max < WINDOW + SPARE_FDS ? more.rlim_max : WINDOW + SPARE_FDS;
	if (more.rlim_cur > ret_old->rlim_cur && setrlimit(RLIMIT_NOFILE, &more))
		more = *ret_old;
	if (more.rlim_cur >= WINDOW + SPARE_FDS)
		return WINDOW;
	return more.rlim_cur > 2 * SPARE_FDS ? (int)more.rlim_cur - SPARE_FDS : SPARE_FDS / 2;
}

int scan_tcp(struct scan_probe *v, size_t n, const struct scan_opts *o, struct err *e)
{
	struct scan s = {
		.o = o, .patience_ns = o->patience_ns ?: SCAN_PATIENCE_S * NS_PER_S, .total = n};
	struct rlimit old;
	int window = room_for_descriptors(&old), rc = 0;
	size_t group;

	for (size_t i = 0; i < n; i++)
		v[i].state = TCP_PENDING;
	for (size_t i = 0; i < n && !rc && !interrupt_pending(); i += group) {
		group = next_group(v, n, i, &s.adaptive);
		rc = scan_group(&s, v + i, group, window, e);
	}
	(void)setrlimit(RLIMIT_NOFILE, &old); /* our children must not inherit it */
	return rc;
}
