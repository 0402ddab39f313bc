/*
 * A rank and nothing else, for the tests of the rendezvous and its benchmark.
 *
 *	rdzv_rank world      what the environment says about this process
 *	rdzv_rank start N    starts N ranks here and prints how long it took
 *	                     until all had joined and met once, and a barrier
 *	rdzv_rank fork N     the same, ranks forked instead of spawned
 *	rdzv_rank rank       one of those
 *	rdzv_rank now        the clock, in seconds
 *	rdzv_rank host       rank 0 hosts the server; all join by the environment,
 *	                     meet, and print the ranks that they found
 */
#include "lib/cluster/rendezvous.h"
#include "lib/core/units.h"
#include "lib/host/hostname.h"

#include <arpa/inet.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static const char *env(const char *name, void *arg UNUSED) { return getenv(name); }

static int bad(const struct err *e)
{
	fprintf(stderr, "rdzv_rank: %s\n", e->msg);
	if (*e->hint)
		fprintf(stderr, "  -> %s\n", e->hint);
	return err_exit_code(e);
}

static const char *or_dash(const char *s) { return s ? s : "-"; }

static int print_world(void)
{
	AUTO(arena_done) struct arena a = {0};
	struct world w;

	world_from_env(env, NULL, &a, &w);
	printf("%s rank=%d size=%d local=%d/%d node=%d/%d master=%s port=%s run=%s\n",
	       launcher_name(w.launcher), w.rank, w.size, w.local_rank, w.local_size, w.node_rank,
	       w.nodes, or_dash(w.master_addr), w.master_port ? "yes" : "no", or_dash(w.run));
	printf("from %s\n", or_dash(w.from));
	if (w.note)
		printf("note %s\n", w.note);
	if (w.trouble)
		printf("trouble %s\n", w.trouble);
	return 0;
}

static union addr loopback(uint16_t port)
{
	union addr a = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

	addr_set_port(&a, port);
	return a;
}

static uint64_t number(const char *s)
{
	uint64_t n = 0;

	return s && !parse_uint(s, &n) ? n : 0;
}

/* ---- the benchmark ---- */
struct times {
	uint64_t met_ns, barrier_ns;
};

static int be_timed(struct rdzv *r, int size, struct err *e)
{
	AUTO_FREE struct times *all = calloc((size_t)size, sizeof(*all));
	struct times mine = {0}, max = {0};
	uint64_t t;

	if (!all || rdzv_barrier(r, e) < 0)
		return -1;
	t = now_ns();
	mine.met_ns = t - number(getenv("STARTED_NS"));
	if (rdzv_barrier(r, e) < 0)
		return -1;
	mine.barrier_ns = now_ns() - t;
	if (rdzv_all_gather(r, &mine, sizeof(mine), all, e) < 0)
		return -1;
	for (int i = 0; i < size; i++) {
		max.met_ns = all[i].met_ns > max.met_ns ? all[i].met_ns : max.met_ns;
		max.barrier_ns =
			all[i].barrier_ns > max.barrier_ns ? all[i].barrier_ns : max.barrier_ns;
	}
	if (rdzv_rank(r) == 0)
		printf("%d\t%.4f\t%.3f\n", size, (double)max.met_ns / 1e9,
		       (double)max.barrier_ns / 1e6);
	return 0;
}

static int be_rank(void)
{
	AUTO(arena_done) struct arena a = {0};
	const struct token token = {{1}};
	struct err e = {0};
	struct world w;
	struct rdzv *r;
	int rc;

	world_from_env(env, NULL, &a, &w);
	r = rdzv_join(&(struct rdzv_join_opts){.server = loopback(w.master_port),
					       .token = &token,
					       .rank = -1,
					       .size = w.size,
					       .deadline_ns = 60 * NS_PER_S},
		      &e);
	if (!r)
		return bad(&e);
	rc = be_timed(r, w.size, &e);
	rdzv_leave(r, rc ? e.msg : NULL);
	return rc ? bad(&e) : 0;
}

static void over(struct rdzv_server *s, void *arg)
{
	if (rdzv_server_finished(s))
		loop_stop(arg);
}

static void put_env(const char *name, uint64_t value)
{
	char s[32];

	snprintf(s, sizeof(s), "%llu", (unsigned long long)value);
	(void)setenv(name, s, 1);
}

static int start_rank(bool forked)
{
	char *const argv[] = {(char[]){"rdzv_rank"}, (char[]){"rank"}, NULL};
	pid_t pid;

	if (!forked)
		return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) ? -1 : 0;
	pid = fork();
	if (!pid)
		exit(be_rank());
	return pid < 0 ? -1 : 0;
}

static int start(int n, bool forked)
{
	const struct token token = {{1}};
	struct loop loop;
	struct rdzv_server_opts o = {
		.size = n, .token = &token, .at = loopback(0), .changed = over, .arg = &loop};
	struct rdzv_server *s;
	struct err e = {0};
	int status, failed = 0;

	put_env("STARTED_NS", now_ns());
	if (loop_init(&loop, &e) < 0 || !(s = rdzv_server_new(&loop, &o, &e)))
		return bad(&e);
	put_env("WINDSOCK_RANK", 0);
	put_env("WINDSOCK_WORLD_SIZE", (uint64_t)n);
	put_env("WINDSOCK_MASTER_PORT", rdzv_server_port(s));
	for (int i = 0; i < n; i++)
		if (start_rank(forked) < 0)
			return 3;
	if (loop_run(&loop, &e) < 0)
		return bad(&e);
	if (rdzv_server_failure(s))
		fprintf(stderr, "%s\n", rdzv_server_failure(s));
	while (wait(&status) > 0)
		failed += status != 0;
	rdzv_server_free(s);
	loop_done(&loop);
	return failed ? 1 : 0;
}

/* ---- under a foreign launcher ---- */
static int find_master(const struct world *w, struct arena *a, union addr *ret, struct err *e)
{
	struct name_answer got;

	if (w->trouble || w->rank < 0 || !w->master_addr || !w->master_port)
		return err_set(e, ERR_USAGE, "%s",
			       w->trouble ? w->trouble
			       : w->note  ? w->note
					  : "no world here");
	name_resolve(w->master_addr, 0, a, &got);
	if (got.trouble)
		return err_set(e, ERR_SYS, "%s %s", w->master_addr, got.trouble);
	*ret = got.addrs.v[0];
	addr_set_port(ret, (uint16_t)(w->master_port + w->master_port_held));
	return 0;
}

static int meet_others(const struct world *w, const struct rdzv_join_opts *o, struct err *e)
{
	struct rdzv *r = rdzv_join(o, e);
	const struct rdzv_member *m;
	size_t n;
	int rc = r ? 0 : -1;

	if (!rc)
		rc = rdzv_members(r, &m, &n, e);
	for (size_t i = 0; !rc && i < n; i++)
		printf("%s%s:%d", i ? " " : "", m[i].host, m[i].local_rank);
	if (!rc) {
		printf(" seen by %d under %s\n", w->rank, launcher_name(w->launcher));
		rc = rdzv_barrier(r, e);
	}
	rdzv_leave(r, rc ? e->msg : NULL);
	return rc;
}

static int be_hosted(void)
{
	AUTO(arena_done) struct arena a = {0};
	char host[256] = "";
	struct world w;
	struct rdzv_host h = {.alive = -1};
	struct rdzv_join_opts o = {.host = host, .deadline_ns = 20 * NS_PER_S, .ports = 4};
	struct rdzv_server_opts so = {.ports = 4};
	struct err e = {0};
	int rc;

	world_from_env(env, NULL, &a, &w);
	(void)gethostname(host, sizeof(host) - 1);
	if (find_master(&w, &a, &o.server, &e) < 0)
		return bad(&e);
	so.at = o.server;
	so.size = o.size = w.size;
	so.run = o.run = w.run;
	o.rank = w.rank;
	o.local_rank = w.local_rank;
	if (!w.rank && rdzv_host_start(&h, &so, &e) < 0)
		return bad(&e);
	rc = meet_others(&w, &o, &e);
	rdzv_host_done(&h);
	return rc ? bad(&e) : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (streq(what, "world"))
		return print_world();
	if (streq(what, "rank"))
		return be_rank();
	if (streq(what, "host"))
		return be_hosted();
	if (streq(what, "now"))
		return printf("%.6f\n", (double)now_ns() / 1e9) < 0;
	if ((streq(what, "start") || streq(what, "fork")) && argc > 2)
		return start((int)number(argv[2]), *what == 'f');
	fprintf(stderr, "usage: rdzv_rank world|rank|host|now|start N|fork N\n");
	return 2;
}
