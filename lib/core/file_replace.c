/*
 * The temporary file has one fixed name beside its target and is locked while
 * in use: what a killed run left is recognised (nobody holds the lock) and
 * removed by the next, so leftovers never pile up, and two runs at once cannot
 * take each other's half-written file for their own.
 */
#include "lib/core/file.h"

#include "lib/core/hash.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { MAX_LINKS = 40, RETRY_MS = 10 };
static const uint64_t PATIENCE_NS = 5 * NS_PER_S;

struct replacement {
	struct arena arena;
	const char *path;   /* as the caller wrote it, for messages */
	const char *target; /* where the links end */
	const char *dir, *temp;
	bool exists;
	struct stat st; /* of the target, when it exists */
	int fd;		/* the locked temporary file */
};

static void replacement_done(struct replacement *r)
{
	int saved = errno;

	if (r->fd >= 0) {
		(void)unlink(r->temp);
		(void)close(r->fd);
	}
	arena_done(&r->arena);
	errno = saved;
}

/* Where the last component of @path begins. */
static size_t base_offset(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

const char *file_folder(const char *path, struct arena *a)
{
	size_t n = base_offset(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return n ? arena_strndup(a, path, n) : ".";
}

int file_advise(const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *dir = file_folder(path, &a), *typed = shell_quote_line(&a, dir);
	int why = errno;
	struct stat st;

	if (!stat(dir, &st) && !S_ISDIR(st.st_mode))
		(void)err_hint(e, "%s is a file, not a folder; choose another place", dir);
	else if (why == EROFS)
		(void)err_hint(e, "%s is on a read-only file system; choose another place", dir);
	else if (why == ENOSPC || why == EDQUOT)
		(void)err_hint(e, "free some space (`df -h %s`), or choose another place", typed);
	else if (why == EFBIG)
		(void)err_hint(e, "a limit ends files of that size: see `ulimit -f`");
	else if (why == ENOENT && access(dir, F_OK))
		(void)err_command(e, "mkdir -p %s", typed);
	else if (why == ENOENT || !access(dir, W_OK | X_OK))
		(void)err_hint(e, "%s takes no new file from anybody; choose another place", dir);
	else
		(void)err_hint(e, "you need write permission in %s (`ls -ld %s`), or another place",
			       dir, typed);
	errno = why;
	return -1;
}

int file_advise_stdout(struct err *e)
{
	int why = errno;
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/fd/1", path, sizeof(path) - 1);

	errno = why;
	if (n <= 0 || *path != '/' || (why != ENOSPC && why != EDQUOT && why != EFBIG))
		return -1;
	path[n] = '\0';
	return file_advise(path, e);
}

static const char *left(const struct replacement *r)
{
	return r->exists ? "the file is as it was" : "no file was made";
}

static int refused(const struct replacement *r, const char *doing, struct err *e)
{
	struct err room;

	err_sys(e, "cannot replace %s: %s", r->path, doing);
	switch (errno) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		(void)file_advise(r->target, e);
		room = *e;
		return err_hint(e, "%s; %s", room.hint, left(r));
	case EROFS:
	case EACCES:
	case EPERM:
	case ENOENT:
	case ENOTDIR:
		return file_advise(r->target, e);
	case EBUSY:
		return err_hint(e, "it is mounted by itself (a container's bind mount?); "
				   "change the file it comes from");
	case ELOOP:
		return err_hint(e, "the symbolic link leads to itself (`ls -l %s`)", r->path);
	}
	return err_hint(e, "%s", left(r));
}

/* In a folder where everybody may write (/tmp), somebody else's link leads where he wants us to
 * write. The kernel may refuse such a one (fs.protected_symlinks), but we read links ourselves. */
static bool is_trap(struct replacement *r)
{
	size_t at = base_offset(r->target);
	struct stat link, dir;

	return lstat(r->target, &link) == 0 &&
	       stat(at ? arena_strndup(&r->arena, r->target, at) : ".", &dir) == 0 &&
	       (dir.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
	       link.st_uid != geteuid() && link.st_uid != dir.st_uid;
}

static int follow_links(struct replacement *r, struct err *e)
{
	char link[PATH_MAX];

	r->target = r->path;
	for (int i = 0; i < MAX_LINKS; i++) {
		ssize_t n = readlink(r->target, link, sizeof(link));

		if (n < 0 && (errno == EINVAL || errno == ENOENT))
			return 0; /* not a link, or nothing there yet */
		if (n < 0 || n == (ssize_t)sizeof(link))
			return refused(r, "cannot follow it", e);
		if (is_trap(r)) {
			err_set(e, ERR_SYS, "cannot replace %s: it is another user's link",
				r->path);
			errno = EACCES;
			return err_hint(e, "choose a folder of your own (`ls -l %s`)", r->path);
		}
		link[n] = '\0';
		r->target = *link == '/'
				    ? arena_strdup(&r->arena, link)
				    : arena_printf(&r->arena, "%.*s%s", (int)base_offset(r->target),
						   r->target, link);
	}
	errno = ELOOP;
	return refused(r, "cannot follow it", e);
}

static int not_regular(const struct replacement *r, struct err *e)
{
	errno = EINVAL;
	err_set(e, ERR_SYS, "%s is not a regular file", r->path);
	return err_hint(e, "name a regular file, not a folder or a device");
}

/* Beside a name that leaves no room for ours it has a number for it. */
static const char *temp_name(struct replacement *r, const char *name)
{
	static const char ours[] = "..windsock-new";
	const size_t n = strlen(name);

	if (n + sizeof(ours) - 1 > NAME_MAX)
		name = arena_printf(&r->arena, "%08x", (unsigned)hash32_add(HASH32, name, n));
	return arena_printf(&r->arena, "%s.%s.windsock-new", r->dir, name);
}

static int look_at_target(struct replacement *r, struct err *e)
{
	struct stat seen;
	size_t at;

	/* Before the links: that of a pipe (/dev/stdout) leads nowhere that has a name. */
	if (!stat(r->path, &seen) && !S_ISREG(seen.st_mode))
		return not_regular(r, e);
	if (follow_links(r, e) < 0)
		return -1;
	at = base_offset(r->target);
	r->dir = at ? arena_strndup(&r->arena, r->target, at) : "./";
	r->temp = temp_name(r, r->target + at);
	r->exists = lstat(r->target, &r->st) == 0;
	if (!r->exists && errno != ENOENT)
		return refused(r, "cannot look at it", e);
	return (r->exists && !S_ISREG(r->st.st_mode)) || !r->target[at] ? not_regular(r, e) : 0;
}

static int make_folders(struct replacement *r, struct err *e)
{
	char *dir = arena_strdup(&r->arena, r->dir);

	for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
			r->target = dir;
			return refused(r, "cannot make its folder", e);
		}
		*slash = '/';
	}
	return 0;
}

/* The lock is only worth something while the name still means this very file. */
static bool lock_and_verify(const char *path, int fd)
{
	struct stat mine, named;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	if (fstat(fd, &mine) == 0 && lstat(path, &named) == 0 && mine.st_dev == named.st_dev &&
	    mine.st_ino == named.st_ino)
		return true;
	errno = EAGAIN;
	return false;
}

/* Removes what a killed run left; leaves alone what a living one holds. */
static int remove_leftover(struct replacement *r, struct err *e)
{
	AUTO_CLOSE int fd = open(r->temp, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 ? !lock_and_verify(r->temp, fd) : errno == ENOENT)
		return 0;
	if (unlink(r->temp) == 0 || errno == ENOENT)
		return 0;
	err_sys(e, "cannot replace %s: %s is in the way", r->path, r->temp);
	return err_hint(e, "remove it: `rm -f %s`", r->temp);
}

static int open_temp(struct replacement *r, struct err *e)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	while (now_ns() < give_up_ns) {
		int fd = open(r->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0 && errno != EEXIST)
			return refused(r, "cannot write beside it", e);
		/* without locks (some network file systems) O_EXCL alone must do */
		if (fd >= 0 &&
		    (lock_and_verify(r->temp, fd) || errno == ENOLCK || errno == EOPNOTSUPP)) {
			r->fd = fd;
			return 0;
		}
		if (fd >= 0)
			(void)close(fd);
		else if (remove_leftover(r, e) < 0)
			return -1;
		(void)poll(NULL, 0, RETRY_MS);
	}
	errno = EBUSY;
	err_set(e, ERR_SYS, "cannot replace %s: another program is replacing it", r->path);
	return err_hint(e, "try again; if nothing else runs: `rm -f %s`", r->temp);
}

/*
 * Without its list the mode's middle bits, which were the list's mask, would be the group's own:
 * more than it had. And what the folder gives new files by default is none of an old one's.
 */
static int keep_access_list(const struct replacement *r, struct err *e)
{
	static const char name[] = "system.posix_acl_access";
	char list[4096];
	ssize_t n = getxattr(r->target, name, list, sizeof(list));

	if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) {
		(void)fremovexattr(r->fd, name);
		return 0;
	}
	if (n < 0 || fsetxattr(r->fd, name, list, (size_t)n, 0) < 0)
		return refused(r, "cannot keep who else may read it (`getfacl`)", e);
	return 0;
}

static int keep_owner_and_mode(struct replacement *r, const struct file_replace_opts *o,
			       struct err *e)
{
	mode_t mode = o && o->create_mode ? o->create_mode : 0644;
	struct stat now;

	if (!r->exists)
		return fchmod(r->fd, mode) < 0 ? refused(r, "cannot set its mode", e) : 0;
	if (fstat(r->fd, &now) < 0)
		return refused(r, "cannot look at the new file", e);
	if ((now.st_uid != r->st.st_uid || now.st_gid != r->st.st_gid) &&
	    fchown(r->fd, r->st.st_uid, r->st.st_gid) < 0) {
		err_sys(e, "cannot replace %s: its owner (uid %u, gid %u) would change", r->path,
			(unsigned)r->st.st_uid, (unsigned)r->st.st_gid);
		return err_hint(e, "run this as its owner, or as root");
	}
	if (keep_access_list(r, e) < 0)
		return -1;
	/* after the owner: chown clears set-uid */
	return fchmod(r->fd, r->st.st_mode & 07777) < 0 ? refused(r, "cannot set its mode", e) : 0;
}

int file_sync_folder(const char *path)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_CLOSE int fd = open(file_folder(path, &a), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return fsync(fd) && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

static int commit(struct replacement *r, struct err *e)
{
	if (rename(r->temp, r->target) < 0)
		return refused(r, "cannot rename the new file", e);
	(void)close(r->fd);
	r->fd = -1;
	(void)!file_sync_folder(r->target); /* the new text is in place all the same */
	return 0;
}

int file_replace(const char *path, const char *data, size_t n, const struct file_replace_opts *o,
		 struct err *e)
{
	AUTO(replacement_done) struct replacement r = {.path = path, .fd = -1};

	if (look_at_target(&r, e) < 0 || (o && o->make_parents && make_folders(&r, e) < 0) ||
	    open_temp(&r, e) < 0)
		return -1;
	if (file_write_all(r.fd, data, n) < 0)
		return refused(&r, "cannot write the new text", e);
	if (keep_owner_and_mode(&r, o, e) < 0)
		return -1;
	if (fsync(r.fd) < 0)
		return refused(&r, "cannot write the new text", e);
	return commit(&r, e);
}
