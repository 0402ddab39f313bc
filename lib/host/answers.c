#include "lib/host/answers.h"

#include "lib/core/arena.h"
#include "lib/core/compat.h"
#include "lib/core/units.h"
#include "lib/core/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 3000, ENDING_MS = 500 };
static struct arena ours; /* as long as we live: what was asked once is known */

/* It may be there for ever, and nobody is to wait for the end of what we write meanwhile. */
static _Noreturn void look(const char *path, int news)
{
	struct stat st;

	(void)dup2(news, 0);
	close_fds(1, UINT_MAX);
	(void)!stat(path, &st);
	_exit(0);
}

/* It, or nothing, until then: as poll(). */
static int wait_for(int news, int patience_ms)
{
	uint64_t until = now_ns() + (uint64_t)patience_ms * NS_PER_MS;
	struct pollfd p = {.fd = news, .events = POLLIN};
	int rc;

	do {
		rc = poll(&p, 1, ms_until(until));
	} while (rc < 0 && errno == EINTR);
	return rc;
}

/* One that the dead server holds does not end before that answers: it is nobody's zombie then, if
 * we are still here. */
static void take_leave(pid_t who, int news)
{
	static LIST(pid_t) left;
	size_t kept = 0;

	for (size_t i = 0; i < left.n; i++)
		if (!waitpid(left.v[i], NULL, WNOHANG))
			left.v[kept++] = left.v[i];
	left.n = kept;
	if (who <= 0)
		return;
	if (news >= 0)
		(void)kill(who, SIGKILL);
	if (news < 0 || wait_for(news, ENDING_MS) > 0)
		(void)wait_child(who);
	else if (!waitpid(who, NULL, WNOHANG))
		*LIST_ADD(&ours, &left) = who;
}

/* True also where nobody could be sent to look. */
static bool ask(const char *path)
{
	int news[2], rc;
	pid_t who;

	if (pipe2(news, O_CLOEXEC))
		return true;
	who = fork();
	if (!who)
		look(path, news[1]);
	(void)close(news[1]);
	rc = who < 0 ? 1 : wait_for(news[0], PATIENCE_MS);
	take_leave(who, rc > 0 ? -1 : news[0]);
	(void)close(news[0]);
	return rc;
}

bool folder_answers(const char *path)
{
	static LIST(struct known {
		const char *path;
		bool answers;
	}) known;
	bool answers;

	for (size_t i = 0; i < known.n; i++)
		if (streq(known.v[i].path, path))
			return known.v[i].answers;
	answers = ask(path);
	*LIST_ADD(&ours, &known) = (struct known){arena_strdup(&ours, path), answers};
	return answers;
}
