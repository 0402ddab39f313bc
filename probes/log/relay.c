#include "probes/log/relay.h"

#include "lib/core/interrupt.h"
#include "probes/log/witness.h"

#include <errno.h>
#include <unistd.h>

static const int relayed[RELAYED] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static volatile sig_atomic_t command; /* 0: there is none */
static volatile sig_atomic_t is_leader, told;

/* What a terminal sends comes from the kernel, and to the whole group: the command has it. But
 * that it hangs up is told to the leader of its session only. */
static bool has_it(int sig, const siginfo_t *from)
{
	if (from->si_code == SI_KERNEL)
		return sig != SIGHUP || !is_leader;
	/* a command that left our group is not sent what is sent to that */
	return witness_saw(sig) && getpgid((pid_t)command) == getpgrp();
}

static void on_signal(int sig, siginfo_t *from, void *context UNUSED)
{
	int saved = errno;

	if (command <= 0)
		told = sig;
	else if (!has_it(sig, from) && command > 0)
		(void)kill((pid_t)command, sig);
	errno = saved;
}

void relay_start(struct relay *r)
{
	struct sigaction take = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t held;

	command = told = 0;
	is_leader = getsid(0) == getpid();
	(void)sigemptyset(&held);
	for (size_t i = 0; i < RELAYED; i++)
		(void)sigaddset(&held, relayed[i]);
	(void)sigprocmask(SIG_BLOCK, &held, &r->mask);
	witness_start(&held);
	take.sa_mask = held;
	for (size_t i = 0; i < RELAYED; i++) {
		(void)sigaction(relayed[i], NULL, &r->was[i]);
		if (r->was[i].sa_handler != SIG_IGN) /* of nohup: ours and the command's */
			(void)sigaction(relayed[i], &take, NULL);
	}
}

void relay_to(const struct relay *r, pid_t pid)
{
	command = pid;
	(void)sigprocmask(SIG_SETMASK, &r->mask, NULL);
}

void relay_forget(const struct relay *r)
{
	sigset_t mask = r->mask;

	interrupt_as_started(&mask);
	for (size_t i = 0; i < RELAYED; i++)
		if (r->was[i].sa_handler != SIG_IGN)
			(void)signal(relayed[i], SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

void relay_ended(void) { command = 0; }

bool relay_told(void) { return told; }

void relay_done(const struct relay *r)
{
	command = 0;
	for (size_t i = 0; i < RELAYED; i++)
		(void)sigaction(relayed[i], &r->was[i], NULL);
	witness_end();
}
