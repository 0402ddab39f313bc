/*
 * --init file://PATH: rank 0 writes its address and a fresh token into the
 * file, for its user's eyes only, and the others look until it is there. No
 * lock is needed, since every rank has its number; but PyTorch's own file store
 * needs them, so rank 0 holds one, and a rank on another host that gets it all
 * the same says so. A file left over by an earlier run is known by its address,
 * where nobody answers any more, or somebody else: it is read again until it is the next
 * run's. It goes when all have joined: whoever comes then belongs to the next run.
 */
#include "lib/cluster/launch_world.h"

#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { STEP_MS = 50, CONNECT_MS = 1000, TEXT_MAX = 256, ADDRESSES = 2 };

/*
 * The file is replaced now and removed at the end: nothing that may be somebody's, such as a
 * device, a script or the store of another program. What a run of ours has left begins so.
 */
static const char ours[] = "windsock 1\n";

static int check_place(const char *path, struct err *e)
{
	char head[sizeof(ours)] = "";
	AUTO_CLOSE int fd = -1;
	struct stat st;
	ssize_t n;

	if (lstat(path, &st))
		return 0; /* nothing there; or writing will say why */
	if (S_ISREG(st.st_mode) && !st.st_size)
		return 0;
	fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (S_ISREG(st.st_mode) && fd < 0 && errno == ENOENT)
		return 0; /* the run before this one has just ended */
	if (S_ISREG(st.st_mode) && fd < 0)
		return err_sys(e, "--init: cannot read %s", path);
	n = fd >= 0 ? read(fd, head, sizeof(ours) - 1) : -1;
	if (n == sizeof(ours) - 1 && streq(head, ours))
		return 0;
	err_set(e, ERR_USAGE, "--init: %s is there already, and is nothing that a run of ours left",
		path);
	return err_hint(e, "name a file that does not exist: it is written now and removed when "
			   "the run ends");
}

static int write_file(struct meeting *m, const char *temporary, const char *text, struct err *e)
{
	const char *path = m->run->world.init_file;
	int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(e, "cannot write %s", temporary);
	m->run->lock = fd;
	(void)flock(fd, LOCK_EX | LOCK_NB);
	if (!file_write_all(fd, text, strlen(text)) && !fsync(fd) && !rename(temporary, path)) {
		m->run->file = path;
		return 0;
	}
	err_sys(e, "cannot write %s", path);
	(void)unlink(temporary);
	return -1;
}

static int offer(struct meeting *m, struct err *e)
{
	union addr any = {.v6 = {.sin6_family = AF_INET6}};
	union addr any4 = {.v4 = {.sin_family = AF_INET}};
	char code[TOKEN_CODE_SIZE];
	const char *temporary;

	if (!m->sealed && token_new(&m->token, e) < 0)
		return -1;
	m->sealed = true;
	if (meeting_host(m, &any, 1, e) < 0 && meeting_host(m, &any4, 1, e) < 0)
		return -1;
	m->data_addr = agent_data_addr(NULL, m->a);
	if (addr_parse("127.0.0.1", &m->join.server) < 0)
		return -1;
	addr_set_port(&m->join.server, m->run->server.port);
	token_code(&m->token, code);
	temporary = arena_printf(m->a, "%s.%d", m->run->world.init_file, (int)getpid());
	return write_file(
		m, temporary,
		arena_printf(m->a, "%s%s\n%u\n%s\n", ours, m->data_addr, m->run->server.port, code),
		e);
}

/* True when it is whole, and somebody answers there. */
static bool answers(const union addr *at)
{
	AUTO_CLOSE int fd = socket(at->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int why = -1;
	socklen_t n = sizeof(why);

	if (fd < 0 || (connect(fd, &at->sa, addr_len(at)) && errno != EINPROGRESS))
		return false;
	return poll(&p, 1, CONNECT_MS) == 1 && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) &&
	       !why;
}

static bool take(struct meeting *m, char *text)
{
	char *line[4], *rest = text;
	struct err ignored;
	uint64_t port;

	for (size_t i = 0; i < ARRAY_LEN(line); i++) {
		line[i] = strsep(&rest, "\n");
		if (!rest)
			return false; /* not whole yet */
	}
	if (!streq(line[0], "windsock 1") || addr_parse(line[1], &m->join.server) < 0 ||
	    parse_uint(line[2], &port) < 0 || !port || port > UINT16_MAX ||
	    token_parse(line[3], &m->token, &ignored) < 0)
		return false;
	addr_set_port(&m->join.server, (uint16_t)port);
	return answers(&m->join.server);
}

/* Rank 0 holds it as long as it lives: who gets it too shows that locks are only for show. */
static void try_lock(struct meeting *m)
{
	AUTO_CLOSE int fd = open(m->run->world.init_file, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		meeting_note(m,
			     "locks on the file system of %s do not work between hosts: PyTorch's "
			     "own file:// will fail there; use tcp:// for it",
			     m->run->world.init_file);
}

/* Whom a file of ours belongs to there: a file server may make another user of ours (root_squash).
 */
static bool is_ours_there(const char *path, uid_t owner, struct arena *a)
{
	char *probe = arena_printf(a, "%s.XXXXXX", path);
	AUTO_CLOSE int fd = mkostemp(probe, O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return false;
	(void)unlink(probe);
	return !fstat(fd, &st) && st.st_uid == owner;
}

/* Whoever wrote it is whom we would join: in a folder for all that may be anybody. NULL: we did, or
 * root. */
static const char *whose_else(int fd, const char *path, struct meeting *m)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_uid == geteuid() || !st.st_uid || (m->is_mapped && st.st_uid == m->mapped))
		return NULL;
	if (is_ours_there(path, st.st_uid, m->a)) {
		m->mapped = st.st_uid;
		m->is_mapped = true;
		return NULL;
	}
	return arena_printf(m->a, "belongs to user %u, and this is user %u", (unsigned)st.st_uid,
			    (unsigned)geteuid());
}

/* False: not yet, or (*ret_wrong) it is not to be followed. */
static bool is_there(struct meeting *m, bool *ret_seen, const char **ret_wrong)
{
	AUTO_CLOSE int fd =
		open(m->run->world.init_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[TEXT_MAX + 1];
	ssize_t n;

	if (fd < 0)
		return false;
	*ret_wrong = whose_else(fd, m->run->world.init_file, m);
	if (*ret_wrong)
		return false;
	n = read(fd, text, TEXT_MAX);
	*ret_seen |= n > 0;
	text[n > 0 ? n : 0] = '\0';
	return take(m, text);
}

static int refuse_file(const char *path, const char *wrong, struct err *e)
{
	err_set(e, ERR_USAGE, "--init: %s %s: it is not followed", path, wrong);
	return err_hint(e,
			"name a file in a folder that is yours alone; all ranks run as one user");
}

static int look(struct meeting *m, struct err *e)
{
	const char *path = m->run->world.init_file;
	const char *wrong = NULL;
	bool seen = false;

	if (m->join.ret_stale)
		(void)poll(NULL, 0, STEP_MS); /* it was that of the run before */
	while (now_ns() < m->until_ns && !interrupt_pending()) {
		if (is_there(m, &seen, &wrong)) {
			m->sealed = true;
			m->data_addr = agent_data_addr(&m->join.server, m->a);
			if (!m->join.ret_stale)
				try_lock(m);
			return 0;
		}
		if (wrong)
			return refuse_file(path, wrong, e);
		(void)poll(NULL, 0, STEP_MS);
	}
	if (interrupt_err(e) < 0)
		return -1;
	m->run->missing = true;
	err_set(e, ERR_SYS,
		seen ? "%s names a rank 0 that does not answer" : "rank 0 has not written %s",
		path);
	return err_hint(e, "start rank 0 too; the folder must be shared by all hosts and %s",
			seen ? "the file may be an old one: remove it" : "writable");
}

void meeting_end_file(struct world_run *r)
{
	if (r->file)
		(void)unlink(r->file);
	r->file = NULL;
}

int meeting_by_file(struct meeting *m, struct err *e)
{
	if (check_place(m->run->world.init_file, e) < 0)
		return -1;
	return m->run->world.rank == 0 ? offer(m, e) : look(m, e);
}
