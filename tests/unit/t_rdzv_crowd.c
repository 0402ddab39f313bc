/*
 * Ten thousand ranks over real sockets, played by one process; and a run that
 * goes on while a thousand connections of every bad kind come in.
 */
#include "lib/cluster/rdzv_messages.h"
#include "lib/core/version.h"
#include "tests/unit/rdzv_world.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- ten thousand ---- */
enum { CROWD = 10000, AT_ONCE = 1000 };
#if defined(__has_feature)
#define ASKED(x) __has_feature(x)
#else
#define ASKED(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || ASKED(address_sanitizer) ||   \
	ASKED(thread_sanitizer)
enum { MEASURED = 0 };
#else
enum { MEASURED = 1 };
#endif

#define PATIENCE_NS ((MEASURED ? 60 : 600) * NS_PER_S)

struct one {
	struct channel channel;
	int rank;
};
static struct crowd {
	struct one *v;
	int n, started, joined, met, ended;
	const struct token *token;
	union addr at;
	uint64_t started_ns, all_here_ns, barrier_ns;
	pid_t server;
	long peak_kib;
} C;

static long status_kib(pid_t pid, const char *field)
{
	char path[64], line[256];
	long kib = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	AUTO_FILE FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (starts_with(line, field))
			kib = strtol(line + strlen(field) + 1, NULL, 10);
	return kib;
}

static void send_msg(struct channel *c, uint16_t type, const struct wire_out *w)
{
	assert_int_equal(channel_send(c, type, w->p, w->n), 0);
}

static void one_opened(struct channel *c)
{
	unsigned char buf[512];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	struct one *o = CONTAINER_OF(c, struct one, channel);
	char host[32];

	snprintf(host, sizeof(host), "gpu-node-%04d", o->rank / 8);
	rdzv_put_join(&w, &(struct rdzv_join_msg){WINDSOCK_VERSION, "", o->rank, C.n, o->rank % 8,
						  host, "10.1.2.3", "cuda", 0, NULL});
	send_msg(c, RDZV_JOIN, &w);
}

static void start_more(void);

static void all_say(uint16_t type, uint32_t seq)
{
	unsigned char buf[16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_u32(&w, type == RDZV_MEET ? seq : RDZV_GAVE_UP);
	wire_put_bytes(&w, NULL, 0);
	for (int i = 0; i < C.n; i++)
		send_msg(&C.v[i].channel, type, &w);
}

static void one_met(void)
{
	if (++C.met == C.n) {
		C.all_here_ns = now_ns();
		all_say(RDZV_MEET, 1);
	} else if (C.met == 2 * C.n) {
		C.barrier_ns = now_ns();
		C.peak_kib = status_kib(C.server, "VmHWM:");
		all_say(RDZV_LEAVE, 0);
	}
}

static int one_told(struct channel *c, uint16_t type, const void *data, size_t n)
{
	(void)c, (void)data, (void)n;
	assert_true(type == RDZV_WELCOME || type == RDZV_MET || type == RDZV_BEAT);
	if (type == RDZV_WELCOME) {
		C.joined++;
		start_more();
	} else if (type == RDZV_MET) {
		one_met();
	}
	return 0;
}

static void one_closed(struct channel *c, const struct err *why)
{
	(void)c;
	if (C.met < 2 * C.n)
		fail_msg("a rank was closed: %s", why->msg);
	if (++C.ended == C.n)
		loop_stop(&L.loop);
}

static void start_more(void)
{
	struct err e = {0};

	for (; C.started < C.n && C.started - C.joined < AT_ONCE; C.started++) {
		struct one *o = &C.v[C.started];

		*o = (struct one){.rank = C.started,
				  .channel = {.on_open = one_opened,
					      .on_message = one_told,
					      .on_closed = one_closed}};
		assert_int_equal(
			channel_connect(&o->channel, &L.loop, &C.at, C.token, 20 * NS_PER_S, &e),
			0);
	}
}

static int as_many_as_allowed(void)
{
	struct rlimit l;
	const char *n = getenv("CROWD");
	uint64_t wanted = CROWD;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	if (n)
		assert_int_equal(parse_uint(n, &wanted), 0);
	return wanted + 100 < l.rlim_cur ? (int)wanted : (int)l.rlim_cur - 100;
}

/* Others may have the processors: then what ours did for it counts. */
static uint64_t worked_ns(pid_t pid)
{
	struct timespec t = {0};
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void t_ten_thousand(void **state)
{
	struct rdzv_host h;
	struct err e = {0};
	long before;

	(void)state;
	C = (struct crowd){.n = as_many_as_allowed(), .token = &test_token};
	assert_int_equal(rdzv_host_start(&h,
					 &(struct rdzv_server_opts){
						 .size = C.n,
						 .token = C.token,
						 .at = loopback(0),
						 .heartbeat_ns = PATIENCE_NS /* they send none */},
					 &e),
			 0);
	before = status_kib(h.pid, "VmHWM:");
	L.limit.fire = too_long;
	assert_int_equal(loop_init(&L.loop, &e), 0);
	C.at = loopback(h.port);
	C.server = h.pid;
	C.v = calloc((size_t)C.n, sizeof(*C.v));
	C.started_ns = now_ns();
	start_more();
	launch_watch(PATIENCE_NS);
	assert_int_equal(C.ended, C.n);
	print_message("# %d ranks: all here in %.2f s, a barrier in %.0f ms, server %ld KiB, "
		      "%.1f KiB for each\n",
		      C.n, (double)(C.all_here_ns - C.started_ns) / 1e9,
		      (double)(C.barrier_ns - C.all_here_ns) / 1e6, C.peak_kib,
		      (double)(C.peak_kib - before) / C.n);
	assert_true(C.all_here_ns - C.started_ns < 10 * NS_PER_S ||
		    worked_ns(getpid()) + worked_ns(h.pid) < 10 * NS_PER_S || !MEASURED);
	assert_true(C.peak_kib - before < C.n * 4 || !MEASURED);
	rdzv_host_done(&h);
	free(C.v);
}

/* ---- a thousand bad ones ---- */
enum { BAD = 1000, KINDS = 10 };

static void bad_closed(struct channel *c, const struct err *why) { (void)c, (void)why; }

static void bad_opened(struct channel *c)
{
	unsigned char buf[4096] = {0};
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	struct one *o = CONTAINER_OF(c, struct one, channel);
	struct rdzv_join_msg m = {WINDSOCK_VERSION, "", o->rank % 4, 4, 0, "evil", "", "", 0, NULL};

	switch (o->rank % 6) {
	case 0: /* a rank that is taken */
		break;
	case 1:
		m.size = 1;
		break;
	case 2:
		m.version = "0.0.0";
		break;
	case 3: /* truncated */
		w.n = 0;
		(void)!channel_send(c, RDZV_JOIN, buf, 9);
		return;
	case 4: /* no JOIN at all */
		(void)!channel_send(c, RDZV_LEAVE, buf, sizeof(buf));
		return;
	default: /* says nothing */
		return;
	}
	rdzv_put_join(&w, &m);
	(void)!channel_send(c, RDZV_JOIN, buf, w.n);
}

static void bad_socket(int kind, const union addr *at)
{
	static const char *const text[] = {
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x8fwindsck\x01",
		"\x8fwindsck\x01\x00\x00\x00 and then something else that is no nonce at all",
		"\xff\xff\xff\xff\xff\xff\xff\xff", "\x16\x03\x01\x02"};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, &at->sa, addr_len(at)))
		return;
	if (kind < (int)ARRAY_LEN(text))
		(void)!send(fd, text[kind], strlen(text[kind]), MSG_NOSIGNAL);
	if (kind == 6)
		(void)close(fd); /* the others stay open: half a thousand slow ones */
}

static atomic_bool *met; /* between processes: the true ranks have met */

static void evil_enough(struct loop *l, struct timer *t)
{
	(void)t;
	loop_stop(l);
}

static void be_evil(struct process *p)
{
	static struct one v[BAD];
	struct timer limit = {.fire = evil_enough};
	struct loop loop;
	struct err e = {0};

	/* In an open world whoever comes first is rank 0: the true ones shall be. */
	while (!atomic_load(met))
		(void)poll(NULL, 0, 1);
	if (loop_init(&loop, &e) || loop_arm(&loop, &limit, NS_PER_S, &e))
		say(p, e.msg);
	for (int i = 0; i < BAD; i++) {
		const struct token *token = i % KINDS == 8 ? L.join.token : NULL;

		v[i] = (struct one){.rank = i / KINDS,
				    .channel = {.on_open = bad_opened, .on_closed = bad_closed}};
		if (i % KINDS < 7)
			bad_socket(i % KINDS, &L.join.server);
		else if (channel_connect(&v[i].channel, &loop, &L.join.server, token, NS_PER_S, &e))
			say(p, e.msg);
	}
	if (loop_run(&loop, &e))
		say(p, e.msg);
}

/* Meets all the time, until rank 0 has seen enough. */
static void go_on(struct process *p)
{
	struct err e = {0};
	struct rdzv *r = enter(p, &e);
	uint64_t until = now_ns() + 1500 * NS_PER_MS;
	int rounds = 0, more[4] = {1};

	while (r && more[0]) {
		int mine = now_ns() < until;

		if (rdzv_all_gather(r, &mine, sizeof(mine), more, &e) < 0)
			break;
		rounds++;
		atomic_store(met, true);
	}
	if (rounds < 20 || *e.msg)
		say(p, *e.msg ? e.msg : "too slow");
	rdzv_leave(r, NULL);
}

static void t_hostile(void **state)
{
	long before;

	(void)state;
	met = mmap(NULL, sizeof(*met), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(met != MAP_FAILED);
	for (int sealed = 0; sealed < 2; sealed++) {
		atomic_store(met, false);
		launch_begin(4, 2 * NS_PER_S, false, sealed ? &test_token : NULL);
		for (int i = 0; i < 4; i++)
			start_rank(i, go_on);
		start_rank(99, be_evil);
		before = status_kib(getpid(), "VmRSS:");
		launch_watch(20 * NS_PER_S);
		assert_int_equal(L.left, 0);
		for (int i = 0; i < 5; i++)
			assert_string_equal(L.v[i].said, "");
		assert_null(rdzv_server_failure(L.server));
		assert_true(rdzv_server_finished(L.server));
		print_message("# %s: the server grew by %ld KiB\n", sealed ? "sealed" : "open",
			      status_kib(getpid(), "VmRSS:") - before);
		assert_true(status_kib(getpid(), "VmRSS:") - before < 32 << 10);
		launch_end(NULL);
	}
}

#define T(f) cmocka_unit_test_teardown(f, launch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {T(t_ten_thousand), T(t_hostile)};

	return cmocka_run_group_tests_name("rdzv_crowd", tests, NULL, NULL);
}
