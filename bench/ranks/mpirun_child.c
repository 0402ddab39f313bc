#include "bench/ranks/mpirun_child.h"

#include "bench/ranks/mpirun_guard.h"
#include "bench/ranks/relay.h"
#include "lib/cluster/child.h"
#include "lib/cluster/world.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/core/wait.h"
#include "lib/report/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { LOOK_MS = 20 };
static const uint64_t GIVE_UP_NS = 3 * NS_PER_S; /* for the ranks to say goodbye */
/* By force mpirun leaves its files in /dev/shm; on a crowded machine it takes seconds. */
static const uint64_t CLEAN_UP_NS = 10 * NS_PER_S;
/* A rank 0 that heeds us says what was finished, after its rendezvous has waited for the others. */
static const uint64_t LAST_WORDS_NS = 8 * NS_PER_S;
enum { ENDINGS = 30, ENDING_MS = 1000 };

/*
 * Until somebody watches over it. Of its parent's end the kernel tells it once for each of the
 * parent's threads, and of two SIGTERMs mpirun leaves all as it is.
 */
static void wait_for_guard(const int line[2])
{
	char is_guarded = 0;

	(void)close(line[1]);
	if (read(line[0], &is_guarded, 1) != 1)
		_exit(1);
	if (is_guarded)
		(void)prctl(PR_SET_PDEATHSIG, 0);
}

/*
 * A session of its own is a scheduling group of its own. Where the ranks' threads wake each other
 * all the time, Linux 6.18 was seen to give such a group every processor for 12 to 60 s on end:
 * whoever was outside, this process with a Ctrl-C to pass on included, waited. Not so where the
 * group weighs less; with nobody else to run that takes nothing from it.
 */
static void let_others_run(void)
{
	static const char nice[] = "5"; /* 3 was not enough */
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, nice, sizeof(nice) - 1);
	(void)close(fd);
}

/* Never main's exit: this is a copy of a process with a report. */
static _Noreturn void become(const char *const *argv, const int line[2], int out, int err,
			     pid_t parent)
{
	struct err e = {0};

	/* our handlers would take what is meant for mpirun, which would begin all the same */
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	/* not by force: it has files in /dev/shm to remove, and ranks that heed the line */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	wait_for_guard(line);
	/*
	 * A terminal's Ctrl-C is for us. A group of our session would do for that; but where we
	 * are killed while mpirun is stopped, the kernel sends such a group a SIGHUP beside the
	 * SIGTERM, and of two signals mpirun leaves all as it is.
	 */
	(void)setsid();
	let_others_run();
	(void)dup2(line[0], STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	(void)mpirun_exec(argv, &e);
	log_error("%s", e.msg);
	_exit(1);
}

/* Before our end of what it waits at is closed: it may be dead already. */
static void set_guard(struct mpirun_child *m)
{
	char is_guarded;

	m->guard = mpirun_guard_start(m->pid);
	is_guarded = m->guard > 0;
	(void)!write(m->line, &is_guarded, sizeof(is_guarded));
}

int mpirun_child_start(struct mpirun_child *m, const char *const *argv, int out, int err,
		       struct err *e)
{
	pid_t parent = getpid();
	int line[2];

	if (pipe2(line, O_CLOEXEC))
		return err_sys(e, "cannot start mpirun");
	(void)fflush(NULL); /* what is buffered must not be written twice */
	m->pid = fork();
	if (!m->pid)
		become(argv, line, out, err, parent);
	m->line = line[1];
	if (m->pid > 0)
		set_guard(m);
	(void)close(line[0]);
	if (m->pid > 0)
		return 0;
	(void)close(m->line);
	return err_sys(e, "cannot start mpirun");
}

static void hang_up(struct mpirun_child *m)
{
	if (m->line >= 0)
		(void)close(m->line);
	m->line = -1;
}

/* It is alive, and about to say what was finished. */
static void be_patient(struct mpirun_child *m)
{
	int n = m->ending ? __atomic_load_n(m->ending, __ATOMIC_ACQUIRE) : 0;

	if (n != m->heard && m->told == 1 && !m->is_over)
		m->give_up_ns = now_ns() + LAST_WORDS_NS;
	m->heard = n;
}

/*
 * Intel MPI's mpirun is a script: of a signal for it alone the one that it waits for learns
 * nothing, and goes on holding our pipes.
 */
static void end_all(const struct mpirun_child *m, int sig)
{
	if (kill(-m->pid, sig)) /* it has not come to lead its group yet */
		(void)kill(m->pid, sig);
}

void mpirun_child_hurry(struct mpirun_child *m)
{
	bool late;

	be_patient(m);
	late = !m->patient && m->give_up_ns && now_ns() > m->give_up_ns;
	if (interrupt_pending() && !m->told) {
		m->told = 1;
		m->give_up_ns = now_ns() + (m->heeded ? LAST_WORDS_NS : GIVE_UP_NS);
		if (m->heeded)
			hang_up(m);
		else
			(void)kill(m->pid, SIGINT);
	} else if (late && m->told < 2) {
		m->told = 2;
		m->give_up_ns = now_ns() + CLEAN_UP_NS;
		end_all(m, SIGTERM);
	} else if (late) {
		end_all(m, SIGKILL);
	}
}

void mpirun_child_over(struct mpirun_child *m)
{
	uint64_t until = now_ns() + GIVE_UP_NS;

	m->is_over = true;
	if (!m->give_up_ns || (m->told < 2 && until < m->give_up_ns))
		m->give_up_ns = until;
}

int mpirun_child_end(struct mpirun_child *m, const int *over)
{
	int status = 0;
	pid_t pid;

	while (!(pid = waitpid(m->pid, &status, WNOHANG)) || (pid < 0 && errno == EINTR)) {
		if (over && __atomic_load_n(over, __ATOMIC_ACQUIRE))
			mpirun_child_over(m);
		mpirun_child_hurry(m);
		(void)poll(NULL, 0, LOOK_MS);
	}
	mpirun_guard_end(m->guard);
	hang_up(m);
	return status;
}

/* --- its ranks --------------------------------------------------------------------------- */

static void tell_death(int signal, int events)
{
	AUTO(arena_done) struct arena a = {0};
	struct relay to = {.fd = events};
	cJSON *event = relay_event("died");
	struct world w;

	world_from_env(world_own_env, NULL, &a, &w);
	json_num(event, "rank", w.rank);
	json_str(event, "cause", child_ending(-1, signal, &a));
	relay_send(&to, event);
}

/* Of all that mpirun (@above) sends to its ranks, this is for us: the rank goes with us. */
static void wait_like(pid_t rank, pid_t above, int events)
{
	sigset_t others;
	int status;

	/* prterun, Open MPI 5's mpirun, ends without a rank that was stopped */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != above)
		_exit(1);
	(void)signal(SIGTERM, SIG_DFL);
	(void)sigfillset(&others);
	(void)sigdelset(&others, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &others, NULL);
	status = wait_child(rank);
	if (WIFSIGNALED(status))
		tell_death(WTERMSIG(status), events);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void mpirun_shelter(int events)
{
	pid_t parent = getpid(), above = getppid(), rank;

	if (!mpirun_relays())
		return;
	/* Hydra's way to tell survivors, which ends whom its library does not protect */
	(void)signal(SIGUSR1, SIG_IGN);
	(void)fflush(NULL);
	rank = fork();
	if (rank > 0)
		wait_like(rank, above, events);
	if (!rank) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
}

static void *listen_for_the_end(void *arg)
{
	struct relay *to = arg;
	char ignored[64];
	ssize_t n;

	while ((n = read(STDIN_FILENO, ignored, sizeof(ignored))) > 0 || (n < 0 && errno == EINTR))
		;
	(void)kill(getpid(), SIGINT);
	for (int i = 0; i < ENDINGS; i++) {
		relay_send(to, relay_event("ending"));
		(void)poll(NULL, 0, ENDING_MS);
	}
	_exit(3); /* nobody is left who would hear us */
}

void mpirun_heed(int events)
{
	static struct relay to;
	sigset_t all, before;
	pthread_t thread;

	if (!mpirun_relays())
		return;
	to.fd = events;
	(void)sigfillset(&all); /* for the thread that waits for them */
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, listen_for_the_end, &to))
		(void)pthread_detach(thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
