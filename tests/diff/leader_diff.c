/*
 * The lean reading against the whole one: what `ifprobe --suggest` says on
 * random hosts, to the byte, with its reason. Each host is a network
 * namespace of its own, with a second one at the other end of some cables.
 * Prints TAP; a host on which they disagree is printed whole.
 *
 *	leader_diff IFPROBE SEED FIRST COUNT JOBS
 */
#include "probes/iface/emit.h"
#include "probes/iface/facts.h"
#include "tests/diff/leader_layout.h"
#include "tests/diff/nccl_host.h"
#include "tests/diff/nccl_real.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { TRIES = 8, TO_CHOOSE = FACTS_NET | FACTS_RDMA | FACTS_SETTINGS };

struct run {
	char *ifprobe;
	uint64_t seed;
	struct host_dir dir;
};

/* Shared with the workers. */
static struct tally {
	unsigned done, bad, lean, whole, nothing, changing;
} * tally;

const char *real_path(void) { return ""; } /* no libnccl takes part */

static void count(unsigned *which) { __atomic_add_fetch(which, 1, __ATOMIC_RELAXED); }

/* --- both answers ------------------------------------------------------------- */

/* What --suggest prints, then the line that it says; "" where it has to look at everything. */
static void print(const struct suggestion *s, struct text *ret)
{
	emit_find("shell")->render(s, ret);
	text_addf(ret,
		  "ifprobe: suggest.interface %s: %s; chosen by rank, no peer tested: add --peer "
		  "HOST\n",
		  s->iface->name, s->why);
}

/* -1: it cannot even be read. */
static int answer(bool lean, struct arena *a, struct text *ret)
{
	AUTO(facts_done) struct facts f = {0};
	struct suggestion s;
	struct err e;

	text_init(ret, a);
	if (facts_read(&f, TO_CHOOSE | (lean ? FACTS_LEADER : 0), a, &e))
		return -1;
	if (!lean)
		suggest_by_rank(&f.in, &s);
	else if (!f.leader_only || !suggest_leader(&f.in, &f.ranked, &s))
		return 0;
	if (s.iface && !s.unnamed)
		print(&s, ret);
	return 0;
}

/* The program's stdout, then its stderr. */
static void program(const struct run *run, struct arena *a, struct text *ret)
{
	static char script[] = "{ \"$1\" --suggest 2>&3 | cat; } 3>&1 | sort";
	char *const argv[] = {(char *)"sh", (char *)"-c", script, (char *)"sh", run->ifprobe, NULL};

	text_init(ret, a);
	(void)host_run(argv, NULL, ret);
}

/* What --suggest should have said, as the program's lines come: sorted. */
static void sorted(struct arena *a, const struct text *in, struct text *ret)
{
	char *const argv[] = {(char *)"sort", NULL};

	text_init(ret, a);
	(void)host_run(argv, in, ret);
}

struct answers {
	struct text whole, lean, program, expected;
};

/* False: the host changed meanwhile. */
static bool ask(const struct run *run, struct arena *a, struct answers *x)
{
	struct text after;

	if (answer(false, a, &x->whole) || answer(true, a, &x->lean))
		return false;
	program(run, a, &x->program);
	sorted(a, &x->whole, &x->expected);
	return answer(false, a, &after) == 0 && streq(x->whole.s, after.s);
}

static bool agree(const struct answers *x)
{
	if (*x->lean.s && !streq(x->lean.s, x->whole.s))
		return false;
	return !*x->whole.s || streq(x->program.s, x->expected.s);
}

/* --- one host ------------------------------------------------------------------ */

static void say_lines(struct text *out, const char *title, const char *s)
{
	text_addf(out, "# %s:\n", title);
	for (size_t n; *s; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		text_addf(out, "#   %.*s\n", (int)n, s);
	}
}

static void report_bad(const struct run *run, uint64_t number, const struct layout *l,
		       const struct answers *x, struct arena *a)
{
	struct text out;

	text_init(&out, a);
	layout_print(l, run->seed, number, &out);
	say_lines(&out, "all read", x->whole.s);
	say_lines(&out, "lean", x->lean.s);
	say_lines(&out, "the program, sorted", x->program.s);
	if (write(STDOUT_FILENO, out.s, out.n) < 0)
		_exit(1);
}

/* A network namespace that lives as long as its process: the other end of cables. */
static pid_t make_elsewhere(void)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		(void)close(ready[0]);
		if (unshare(CLONE_NEWNET) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	if (read(ready[0], &c, 1) != 1) {
		(void)waitpid(pid, NULL, 0);
		pid = -1;
	}
	(void)close(ready[0]);
	return pid;
}

static void bring_up(pid_t elsewhere, const struct text *ip, struct arena *a)
{
	char *const argv[] = {(char *)"ip", (char *)"-force", (char *)"-batch", (char *)"-", NULL};
	const char *path = arena_printf(a, "/proc/%d/ns/net", (int)elsewhere);
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		_exit(fd < 0 || setns(fd, CLONE_NEWNET) || host_run(argv, ip, NULL) < 0);
	}
	(void)waitpid(pid, NULL, 0);
}

static int compare(const struct run *run, uint64_t number, pid_t elsewhere)
{
	AUTO(arena_done) struct arena a = {0};
	struct answers x;
	struct layout l;
	struct text there;
	int tries = 0;

	leader_layout(&l, &there, run->seed, number, elsewhere, &a);
	if (host_build(&run->dir, &l, &a)) {
		printf("# layout %llu cannot be built: %s\n", (unsigned long long)number,
		       strerror(errno));
		return -1;
	}
	bring_up(elsewhere, &there, &a);
	while (!ask(run, &a, &x) && ++tries < TRIES)
		;
	if (tries == TRIES) {
		count(&tally->changing);
		return 0;
	}
	count(*x.lean.s ? &tally->lean : *x.whole.s ? &tally->whole : &tally->nothing);
	if (agree(&x))
		return 0;
	report_bad(run, number, &l, &x, &a);
	return -1;
}

static int one_layout(void *arg, uint64_t number)
{
	const struct run *run = arg;
	pid_t elsewhere = make_elsewhere();
	int bad = elsewhere < 0 ? -1 : compare(run, number, elsewhere);

	if (elsewhere > 0) {
		(void)kill(elsewhere, SIGKILL);
		(void)waitpid(elsewhere, NULL, 0);
	}
	return bad;
}

static int work(struct run *run, uint64_t first, uint64_t end, unsigned jobs)
{
	return host_work(&run->dir, first, end, jobs, one_layout, run, &tally->done, &tally->bad);
}

int main(int argc, char **argv)
{
	struct run run = {.ifprobe = argv[1]};
	uint64_t first, end;
	unsigned jobs;
	bool same, most;

	if (argc != 6)
		return 2;
	run.seed = strtoull(argv[2], NULL, 0);
	first = strtoull(argv[3], NULL, 0);
	end = first + strtoull(argv[4], NULL, 0);
	jobs = (unsigned)strtoul(argv[5], NULL, 0);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 3;
	printf("1..2\n# SEED=%llu\n", (unsigned long long)run.seed);
	(void)fflush(stdout);
	for (unsigned j = 0; j < jobs; j++)
		if (fork() == 0)
			_exit(work(&run, first + j, end, jobs) ? 1 : 0);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	same = !tally->bad && tally->done == end - first;
	printf("%s 1 - %u layouts: the lean reading says what the whole one says\n",
	       same ? "ok" : "not ok", tally->done);
	most = tally->done < 50 || tally->lean > tally->done / 3; /* else little was compared */
	printf("%s 2 - more than a third can be told leanly\n", most ? "ok" : "not ok");
	printf("# %u leanly, %u took the whole reading, %u without a suggestion, %u were still "
	       "changing, %u bad\n",
	       tally->lean, tally->whole, tally->nothing, tally->changing, tally->bad);
	return !same || !most;
}
