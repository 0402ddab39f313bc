/* The two processes of an agent: which signal is for whom, and that neither outlives the other. */
#include "lib/cluster/agent.h"

#include <signal.h>
#include <sys/prctl.h>

/* Whom a terminal does not tell: somebody's kill -INT means us both. */
static volatile sig_atomic_t working;

static void pass_on(int sig, siginfo_t *from, void *context UNUSED)
{
	if (from->si_code <= 0 && working)
		(void)kill((pid_t)working, sig);
}

void agent_hear_interrupts(bool joined, pid_t worker)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_RESTART};

	working = worker;
	if (joined)
		sa.sa_sigaction = pass_on;
	else
		sa.sa_handler = SIG_IGN; /* the launcher says when */
	(void)sigaction(SIGINT, &sa, NULL);
}

/* Whose end is whose; guardian 0: it was said already. Between vfork() and exec() a rank has our
 * memory and this handler, and another parent than we have. */
static volatile sig_atomic_t guardian, ward;

static void on_continued(int sig UNUSED)
{
	if (getpid() != (pid_t)ward || !guardian || getppid() == (pid_t)guardian)
		return;
	guardian = 0;
	(void)raise(SIGTERM);
}

/* Whoever is stopped would not take the SIGTERM for its parent's end; this lets it go on, too. */
void agent_end_with(pid_t parent)
{
	struct sigaction sa = {.sa_handler = on_continued, .sa_flags = SA_RESTART};

	guardian = parent;
	ward = getpid();
	(void)sigaction(SIGCONT, &sa, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
}

/* Does whoever started us want us to end with it? */
bool agent_is_child(void)
{
	int sig = 0;

	return !prctl(PR_GET_PDEATHSIG, &sig) && sig == SIGTERM;
}
