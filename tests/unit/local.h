#ifndef TESTS_UNIT_LOCAL_H
#define TESTS_UNIT_LOCAL_H
/*
 * A world of ranks on this machine: the calling process is rank 0, the others
 * are its forked children and end when it ends, however it ends. Enough to
 * meet: an all-gather of small blobs through pairs of sockets.
 */
#include "lib/core/err.h"
#include "lib/core/units.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct local {
	int rank, size;
	int lost; /* the rank that an exchange failed of, -1: none */
	uint64_t deadline_ns;
	int *fds;    /* rank 0: to each rank; others: fds[0] to rank 0 */
	pid_t *pids; /* rank 0 only; 0: has ended */
	int *status; /* as waitpid() gave it; -1: not ended */
};

/* Limits are as many times longer: where all is slow, who is not stopped may stand still, too. */
static inline uint64_t local_slowness(void)
{
	const char *said = getenv("WINDSOCK_SLOW");
	uint64_t times;

	return said && !parse_uint(said, &times) && times ? times : 1;
}

/* To end by themselves: far longer than any deadline that a rank waits for here. */
#define LOCAL_GRACE_NS (10 * local_slowness() * NS_PER_S)

static inline void local_become_rank(struct local *w, int rank, pid_t parent)
{
	int up = w->fds[rank * 2 + 1];

	for (int i = 1; i < w->size; i++) {
		if (w->fds[i * 2] >= 0)
			(void)close(w->fds[i * 2]);
		if (i != rank && w->fds[i * 2 + 1] >= 0)
			(void)close(w->fds[i * 2 + 1]);
	}
	w->fds[0] = up;
	w->rank = rank;
	/* Ctrl-C reaches the whole group: rank 0 alone decides what it means */
	(void)signal(SIGINT, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(3);
}

static inline int local_start_rank(struct local *w, int rank, struct err *e)
{
	pid_t parent = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &w->fds[rank * 2]))
		return err_sys(e, "cannot start rank %d", rank);
	pid = fork();
	if (pid < 0)
		return err_sys(e, "cannot start rank %d", rank);
	if (!pid) {
		local_become_rank(w, rank, parent);
		return 0;
	}
	(void)close(w->fds[rank * 2 + 1]);
	w->fds[rank * 2 + 1] = -1;
	w->pids[rank] = pid;
	return 0;
}

static inline void local_done(struct local *w);

/* Returns 0 in every rank, with its own rank set; -1 in the caller alone. */
static inline int local_start(struct local *w, int size, uint64_t deadline_ns, struct err *e)
{
	*w = (struct local){.size = size, .lost = -1, .deadline_ns = deadline_ns};
	w->fds = malloc((size_t)size * 2 * sizeof(*w->fds));
	w->pids = calloc((size_t)size, sizeof(*w->pids));
	w->status = malloc((size_t)size * sizeof(*w->status));
	if (!w->fds || !w->pids || !w->status) {
		local_done(w);
		return err_sys(e, "cannot start %d ranks", size);
	}
	for (int i = 0; i < size * 2; i++)
		w->fds[i] = -1;
	for (int i = 0; i < size; i++)
		w->status[i] = -1;
	(void)fflush(NULL); /* what is buffered must not be written twice */
	for (int i = 1; i < size && !w->rank; i++) {
		if (local_start_rank(w, i, e)) {
			local_done(w);
			return -1;
		}
	}
	return 0;
}

/* All @n bytes, or -1 with errno: ETIMEDOUT, EPIPE when the other end is gone. */
static inline int local_transfer(int fd, bool out, void *data, size_t n, uint64_t deadline_ns)
{
	uint64_t until = now_ns() + deadline_ns, now;

	for (size_t at = 0; at < n;) {
		struct pollfd p = {.fd = fd, .events = out ? POLLOUT : POLLIN};
		ssize_t k = out ? send(fd, (char *)data + at, n - at, MSG_DONTWAIT | MSG_NOSIGNAL)
				: recv(fd, (char *)data + at, n - at, MSG_DONTWAIT);

		if (k > 0) {
			at += (size_t)k;
			continue;
		}
		if (!k)
			errno = EPIPE;
		if (!k || (errno != EAGAIN && errno != EINTR))
			return -1;
		now = now_ns();
		if (now >= until) {
			errno = ETIMEDOUT;
			return -1;
		}
		(void)poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1);
	}
	return 0;
}

static inline int local_lost(struct local *w, int rank, struct err *e)
{
	w->lost = rank;
	return err_sys(e, "no word from rank %d", rank);
}

/* As tcp_opts.exchange wants it. Collective. */
static inline int local_exchange(void *local, const void *mine, size_t n, void *all, struct err *e)
{
	struct local *w = local;

	memmove((char *)all + (size_t)w->rank * n, mine, n);
	if (w->rank) {
		if (local_transfer(w->fds[0], true, (char *)all + (size_t)w->rank * n, n,
				   w->deadline_ns) ||
		    local_transfer(w->fds[0], false, all, n * (size_t)w->size, w->deadline_ns))
			return local_lost(w, 0, e);
		return 0;
	}
	for (int i = 1; i < w->size; i++)
		if (local_transfer(w->fds[i * 2], false, (char *)all + (size_t)i * n, n,
				   w->deadline_ns))
			return local_lost(w, i, e);
	for (int i = 1; i < w->size; i++)
		if (local_transfer(w->fds[i * 2], true, all, n * (size_t)w->size, w->deadline_ns))
			return local_lost(w, i, e);
	return 0;
}

static inline bool local_reap(struct local *w, int rank)
{
	pid_t pid = w->pids[rank];
	int *status = &w->status[rank];

	if (!pid)
		return true;
	pid = waitpid(pid, status, WNOHANG | WUNTRACED | WCONTINUED);
	if (!pid || (pid > 0 && (WIFSTOPPED(*status) || WIFCONTINUED(*status))))
		return false;
	w->pids[rank] = 0;
	return true;
}

/* Who is stopped is not waited for: nobody is left who would let it go on. */
static inline bool local_is_running(const struct local *w, int rank)
{
	return w->pids[rank] && !(w->status[rank] != -1 && WIFSTOPPED(w->status[rank]));
}

static inline void local_end_ranks(struct local *w)
{
	uint64_t until = now_ns() + LOCAL_GRACE_NS;
	bool left = true, running = true;

	while (left) {
		bool late = !running || now_ns() > until;

		left = running = false;
		for (int i = 1; i < w->size; i++) {
			if (late && w->pids[i])
				(void)kill(w->pids[i], SIGKILL);
			left |= !local_reap(w, i);
			running |= local_is_running(w, i);
		}
		if (left)
			(void)poll(NULL, 0, 2);
	}
}

/* Rank 0: as local_done(), and says how each rank ended: its exit code, or minus the signal. */
static inline void local_end(struct local *w, int *ret_status)
{
	local_end_ranks(w);
	for (int i = 1; i < w->size; i++)
		ret_status[i] = WIFSIGNALED(w->status[i]) ? -WTERMSIG(w->status[i])
							  : WEXITSTATUS(w->status[i]);
	local_done(w);
}

/* Rank 0: waits for the others, but for who is stopped, then ends them. Others: closes. */
static inline void local_done(struct local *w)
{
	if (w->pids && !w->rank)
		local_end_ranks(w);
	for (int i = 0; w->fds && i < (w->rank ? 1 : w->size * 2); i++)
		if (w->fds[i] >= 0)
			(void)close(w->fds[i]);
	free(w->fds);
	free(w->pids);
	free(w->status);
	*w = (struct local){0};
}

#endif
