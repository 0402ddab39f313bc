#include "probes/log/start.h"

#include "lib/core/quote.h"
#include "probes/log/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* It stays in our process group: Ctrl-C on a terminal reaches both of us, as without us. */
static _Noreturn void become(char *const *argv, int out, int err, int told,
			     const struct relay *relay)
{
	int why;

	relay_forget(relay);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
		(void)execvp(*argv, argv);
	why = errno;
	if (write(told, &why, sizeof(why)) < 0)
		dprintf(STDERR_FILENO, "ncclwhy: cannot start %s: %s\n", *argv, strerror(why));
	_exit(why == ENOENT ? 127 : 126);
}

int start_command(char *const *argv, int out, int err_fd, struct relay *relay, struct started *ret,
		  struct err *e)
{
	int end[2];

	(void)signal(SIGCHLD, SIG_DFL);
	relay_start(relay);
	/* where a limit lets us have no more files, it says so itself */
	if (pipe2(end, O_CLOEXEC | O_NONBLOCK))
		end[0] = end[1] = -1;
	ret->pid = fork();
	if (ret->pid == 0)
		become(argv, out, err_fd, end[1], relay);
	if (ret->pid < 0)
		err_fork(e, "cannot start %s", *argv);
	relay_to(relay, ret->pid > 0 ? ret->pid : 0);
	auto_closep(&end[1]);
	ret->told = end[0];
	if (ret->pid > 0)
		return 0;
	auto_closep(&ret->told);
	relay_done(relay);
	return -1;
}

/* --- what helps ------------------------------------------------------------------------------ */
static const char *interpreter(const char *path)
{
	return ends_with(path, ".py") ? "python3" : ends_with(path, ".sh") ? "bash" : NULL;
}

/* Found, and not to be run. */
static int forbidden(const char *path, const struct stat *st, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *by = interpreter(path), *typed = shell_quote_path(&a, path);

	if (S_ISDIR(st->st_mode))
		return err_hint(e, "%s is a folder", path);
	if (S_ISREG(st->st_mode) && ends_with(path, ".py"))
		return err_command(e, "ncclwhy -- %s %s", by, typed);
	if (S_ISREG(st->st_mode) && !(st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return err_command(e, "chmod +x %s", typed);
	return err_hint(e, "who may run it? ls -l %s; is its file system mounted noexec?", typed);
}

/* Not on PATH, and here. */
static int beside(const char *name, const struct stat *st, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *by = interpreter(name), *typed = shell_quote(&a, name);

	if (st->st_mode & S_IXUSR)
		return err_command(e, "ncclwhy -- ./%s", typed);
	return err_command(e, "ncclwhy -- %s %s", by ? by : "bash", typed);
}

static int advise(const char *program, int why, struct err *e)
{
	bool is_path = strchr(program, '/') != NULL;
	struct stat st;
	bool is_here = !stat(program, &st);

	if (is_path && is_here && why == EACCES)
		return forbidden(program, &st, e);
	if (is_path && is_here && why == ENOENT)
		return err_hint(e, "its first line names a program that is not here");
	if (!is_path && is_here && S_ISREG(st.st_mode) && why == ENOENT)
		return beside(program, &st, e);
	return -1;
}

int start_done(struct started *s, char *const *argv, struct err *e)
{
	int why;
	bool failed = read(s->told, &why, sizeof(why)) == sizeof(why);

	auto_closep(&s->told);
	if (!failed)
		return 0;
	errno = why;
	err_sys(e, "cannot start %s", *argv);
	return advise(*argv, why, e);
}
