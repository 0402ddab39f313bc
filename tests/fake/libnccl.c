/*
 * A stand-in for NCCL, for tests of error paths: ranks on one host reduce in
 * shared memory. No result of it is ever a measurement.
 *
 *	WINDSOCK_FAKE_NCCL=init-hang    a communicator is never ready
 *	                   slow-init    it takes 6 s, and the log tells of progress
 *	                   async-error  the third operation meets a dead peer
 *	                   part-error   likewise, in a communicator that was split off
 *	                   wrong-sum    rank 1's result has one wrong element
 *	                   any-order    sums are rounded otherwise each time, for all alike
 *	                   duplicate    two ranks on one GPU are refused
 *	                   late-death   rank 1 dies after some operations: its peers see their
 *	                                connections closed long before its process is gone
 *	                   init-death   rank 1 is killed while it begins
 *	                   says         a communicator fails, and it says WINDSOCK_FAKE_SAYS
 *	                   rank1-says   that of rank 1 does
 *	                   too-new      it is made for a newer CUDA than the driver's
 *	                   one-sided    GPUDirect does not work where rank 1 receives
 *	                   receives     GPUDirect is used only where a rank receives
 *	                   sockets      what travels takes sockets
 *	                   late-sockets what is sent and received does, when it first is
 *	                   old          2.13.4 everywhere
 *	                   carried      its bytes go to the next rank over a real connection
 *	                   split-hang   a communicator that is split is never ready again
 *	                   late-hang    operations stand still after the third, and all ranks live
 *	                   end-hang     one that is finalized likewise
 *	                   abort-hang   aborting it does not end
 *	                   drop-hang    one that blocks never gives memory back
 *	                   destroy-hang a part that blocks is never destroyed
 *	                   call-hang    the call of an operation after the third, likewise
 *	                   one-host     all ranks are of one host: none may claim to be another
 *	                   no-window    it can use no memory of others directly: no window is made,
 *	                                and that is no failure
 *	                   no-graphs    is made for no driver that is captured
 *	                   replay-death rank 1 is killed while a graph's operation is at work
 *	                   replay-hang  likewise, and it stays at work
 *	                   wrong-replay rank 1's result of one has a wrong element
 *	                   tells        what a group or a newer call has, on stderr
 *	WINDSOCK_FAKE_COUNT=FILE        who asks second (a rank) has another version
 * Compiled with -DWITHOUT_ABORT it lacks ncclCommAbort, with -DOLD it is 2.16.
 * A communicator that blocks (also by NCCL_COMM_BLOCKING) does what hangs without coming back.
 * Whoever asks for more than it would take where a real one is in use is refused, and told
 * on stderr.
 */
#include "tests/fake/libnccl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

/* As the real one has it: who does not load it reads this. */
#ifdef OLD
const char fake_version[] = "NCCL version 2.16.2+cuda11.8";
#else
const char fake_version[] = "NCCL version 2.28.9+cuda13.0";
#endif

static const char *last_error = "";

bool fake_mode(const char *name)
{
	const char *set = getenv("WINDSOCK_FAKE_NCCL");

	return set && streq(set, name);
}

static int version_of_text(void)
{
	int major = 0, minor = 0, patch = 0;

	(void)sscanf(fake_version, "NCCL version %d.%d.%d", &major, &minor, &patch);
	return major * 10000 + minor * 100 + patch;
}

ncclResult_t ncclGetVersion(int *version)
{
	const char *count = getenv("WINDSOCK_FAKE_COUNT"); /* a file: one byte for each who asked */
	int fd = count ? open(count, O_RDWR | O_CREAT | O_APPEND, 0600) : -1;
	bool second = fd >= 0 && write(fd, "x", 1) == 1 && lseek(fd, 0, SEEK_END) == 2;

	if (fd >= 0)
		(void)close(fd);
	*version = fake_mode("old") ? 21304 : second ? 22703 : version_of_text();
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	memset(id, 0, sizeof(*id));
	(void)snprintf(id->internal, sizeof(id->internal), "%.90s/windsock-fake-%d",
		       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
	return ncclSuccess;
}

bool fake_has_context(const char *what)
{
	int (*current)(void **) = NULL;
	void *context = NULL;

	*(void **)&current = dlsym(RTLD_DEFAULT, "cuCtxGetCurrent");
	if (!current || (!current(&context) && context))
		return true;
	(void)fprintf(stderr, "stand-in for NCCL: %s without a current context\n", what);
	return false;
}

static bool is_busy(const struct ncclComm *c)
{
	return (c->op.kind != FAKE_NOTHING && !c->on_stream) || c->splitting || c->finalizing;
}

bool fake_is_ready(struct ncclComm *c, const char *what)
{
	fake_is_outside(what);
	if (!is_busy(c))
		return true;
	(void)fprintf(stderr, "stand-in for NCCL: %s while the call before is under way\n", what);
	last_error = "Attempt to use communicator before the previous operation returned "
		     "ncclSuccess";
	return false;
}

void fake_meet(struct ncclComm *c)
{
	unsigned target = ++c->round * (unsigned)c->size;

	__atomic_add_fetch(&c->shared->arrived, 1, __ATOMIC_ACQ_REL);
	for (int i = 0; __atomic_load_n(&c->shared->arrived, __ATOMIC_ACQUIRE) < target; i++)
		(void)(i < 100 ? sched_yield() : usleep(50));
}

/* Becomes a communicator of those who name the same file. */
bool fake_join(struct ncclComm *c, const char *path, int size, int rank)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(struct shared)))
		return false;
	*c = (struct ncclComm){.rank = rank, .size = size};
	(void)snprintf(c->path, sizeof(c->path), "%s", path);
	c->shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	fake_graphs_join(c);
	return c->shared != MAP_FAILED && fake_carry_join(c);
}

static void write_log(int rank, int size)
{
	const char *path = getenv("NCCL_DEBUG_FILE"), *level = getenv("NCCL_DEBUG");
	const char *parts = getenv("NCCL_DEBUG_SUBSYS");
	FILE *f = path && level ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "NCCL version 2.28.9\n\n[2026-01-01] vm:1:1 [0] x.cc:1 NCCL WARN well\n");
	if (strcmp(level, "INFO") != 0 || (parts && !strstr(parts, "INIT"))) {
		(void)fclose(f);
		return;
	}
	if (fake_mode("init-hang"))
		fprintf(f, "vm:1:1 [0] NCCL INFO Bootstrap: Using docker0:172.17.0.1<0>\n");
	fprintf(f, "vm:1:1 [0] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [send] via NET/%s\n", rank,
		(rank + 1) % size,
		fake_mode("sockets")	? "Socket/0"
		: fake_mode("receives") ? "IB/0"
					: "IB/0/GDRDMA");
	fprintf(f, "vm:1:1 [0] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [receive] via NET/%s%s\n",
		(rank + size - 1) % size, rank, fake_mode("sockets") ? "Socket/0" : "IB/0",
		fake_mode("sockets") || (fake_mode("one-sided") && rank == 1) ? "" : "/GDRDMA");
	(void)fclose(f);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *ret, int size, ncclUniqueId id, int rank,
				    ncclConfig_t *config)
{
	const char *set = getenv("NCCL_COMM_BLOCKING");
	struct ncclComm *c;
	ncclResult_t r;

	if (fake_mode("one-host") && getenv("NCCL_HOSTID")) {
		last_error = "this host claims to be another one";
		return ncclInvalidUsage;
	}
	if (fake_mode("says") || (fake_mode("rank1-says") && rank == 1)) {
		last_error = getenv("WINDSOCK_FAKE_SAYS");
		return ncclSystemError;
	}
	if (fake_mode("too-new")) {
		last_error = "Cuda failure 'CUDA driver version is insufficient for CUDA runtime "
			     "version'";
		return ncclUnhandledCudaError;
	}
	if (fake_mode("duplicate")) {
		last_error = "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000";
		return ncclInvalidUsage;
	}
	c = calloc(1, sizeof(*c));
	if (!c || !fake_has_context("ncclCommInitRankConfig") ||
	    !fake_join(c, id.internal, size, rank)) {
		free(c);
		return ncclSystemError;
	}
	*ret = c;
	c->blocks = set ? streq(set, "1") : config->blocking;
	write_log(rank, size);
	if (fake_mode("init-death") && rank == 1)
		(void)raise(SIGKILL);
	r = fake_mode("init-hang") ? ncclInProgress
				   : fake_begin(c, &(struct fake_op){.kind = FAKE_JOIN}, "");
	return c->blocks && r == ncclInProgress ? fake_finish(c) : r;
}

/* For 6 seconds, with a line each. */
static bool goes_slowly(void)
{
	static time_t began, said;
	time_t now = time(NULL);
	const char *path = getenv("NCCL_DEBUG_FILE");
	FILE *f = NULL;

	if (!fake_mode("slow-init"))
		return false;
	began = began ? began : now;
	if (said != now && path)
		f = fopen(path, "a");
	said = now;
	if (f) {
		fprintf(f, "vm:1:1 [0] NCCL INFO Bootstrap: going on\n");
		(void)fclose(f);
	}
	return now - began < 6;
}

/* A GPU takes its time to give back what a process had. */
static bool meets_a_death(struct ncclComm *c)
{
	if (!fake_mode("late-death"))
		return false;
	if (c->rank == 1 && c->operations >= 3) {
		__atomic_store_n(&c->shared->closed, true, __ATOMIC_RELEASE);
		(void)usleep(1500 * 1000);
		(void)raise(SIGKILL);
	}
	return __atomic_load_n(&c->shared->closed, __ATOMIC_ACQUIRE);
}

static ncclResult_t state_of(ncclComm_t c)
{
	bool fails = fake_mode("async-error") || (fake_mode("part-error") && c->is_part);

	fake_split_goes_on(c);
	if (goes_slowly())
		return ncclInProgress;
	if (c->finalizing > 1 && !fake_mode("end-hang"))
		c->finalizing--;
	if (!c->on_stream)
		fake_go_on(c);
	return c->failed	  ? c->failed
	       : meets_a_death(c) ? ncclRemoteError
	       : fake_mode("init-hang") || (c->op.kind && !c->on_stream) || c->splitting ||
			       c->finalizing > 1
		       ? ncclInProgress
	       : fails && c->operations >= 3 ? ncclRemoteError
					     : ncclSuccess;
}

/* Who left a call may ask nothing any more: the call had locks. */
static bool inside;

void fake_is_outside(const char *what)
{
	if (inside)
		(void)fprintf(stderr, "stand-in for NCCL: %s after a call was left\n", what);
}

ncclResult_t fake_finish(ncclComm_t c)
{
	ncclResult_t r;

	inside = true;
	while ((r = state_of(c)) == ncclInProgress)
		(void)usleep(20);
	inside = false;
	return r;
}

/* Does not come back, where that is asked for. */
void fake_hang(const char *mode, const struct ncclComm *c)
{
	inside = true;
	while (c->blocks && fake_mode(mode))
		(void)usleep(20);
	inside = false;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *state)
{
	fake_is_outside(__func__);
	*state = state_of(c);
	if (*state == ncclRemoteError)
		last_error = "Call to recv from 127.0.0.1<40000> failed : Connection reset by peer";
	return ncclSuccess;
}

static ncclResult_t done(ncclComm_t c)
{
	fake_graphs_leave(c);
	if (c->splitting && c->part) { /* nobody has been given it */
		(void)munmap(c->part->shared, sizeof(*c->shared));
		free(c->part);
	}
	(void)munmap(c->shared, sizeof(*c->shared));
	fake_at_work = fake_at_work == c ? NULL : fake_at_work;
	free(c);
	return ncclSuccess;
}

#ifndef WITHOUT_ABORT
/* The real one gives memory back, and that waits for the kernel of another one. */
ncclResult_t ncclCommAbort(ncclComm_t c)
{
	fake_is_outside(__func__);
	if (fake_at_work && fake_at_work != c)
		(void)fprintf(stderr, "stand-in for NCCL: aborted beside a kernel that runs\n");
	while (fake_mode("abort-hang"))
		(void)pause();
	return done(c);
}
#endif
ncclResult_t ncclCommFinalize(ncclComm_t c)
{
	if (!fake_is_ready(c, "ncclCommFinalize"))
		return ncclInvalidArgument;
	c->finalizing = 3;
	return c->blocks ? fake_finish(c) : ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t c)
{
	if (!c->is_part)
		fake_nothing_is_left();
	fake_is_outside(__func__);
	if (c->is_part)
		fake_hang("destroy-hang", c);
	if (c->finalizing != 1)
		(void)fprintf(stderr, "stand-in for NCCL: destroyed without being finalized\n");
	for (int i = 0; i < MADE; i++)
		if (c->made[i].is_there)
			(void)fprintf(stderr, "stand-in for NCCL: an operation is left over\n");
	return done(c);
}
const char *ncclGetErrorString(ncclResult_t r)
{
	return r == ncclRemoteError ? "remote process exited or there was a network error"
	       : r == ncclSystemError
		       ? "unhandled system error (run with NCCL_DEBUG=INFO for details)"
	       : r == ncclInvalidUsage ? "invalid usage (run with NCCL_DEBUG=WARN for details)"
				       : "internal error";
}
const char *ncclGetLastError(ncclComm_t c)
{
	(void)c;
	return last_error;
}
