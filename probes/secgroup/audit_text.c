/* Texts of any kind of file: `--audit -` and `--audit <(aws ...)` are pipes. */
#include "lib/core/interrupt.h"
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "probes/secgroup/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

enum { TEXT_MAX = 64 << 20, PART = 64 << 10 };

static int silent(const char *name, uint64_t deadline_ns, struct err *e)
{
	struct unit_buf b;

	if (interrupt_err(e))
		return -1;
	err_set(e, ERR_SYS, "%.200s said nothing for %s", name, format_duration(&b, deadline_ns));
	return err_hint(e, "pipe something into it, or name a file");
}

static int wait_for(int fd, const char *name, uint64_t deadline_ns, struct err *e)
{
	uint64_t until = now_ns() + deadline_ns, now;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = 0;

	while (!interrupt_pending() && n <= 0 && (now = now_ns()) < until) {
		uint64_t ms = (until - now) / NS_PER_MS + 1;

		n = poll(&p, 1, ms < 1000 ? (int)ms : 1000);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "waiting for %.200s", name);
	}
	return n > 0 ? 0 : silent(name, deadline_ns, e);
}

int cloud_read_text(const char *path, uint64_t deadline_ns, struct arena *a, char **ret,
		    size_t *ret_n, struct err *e)
{
	bool is_stdin = streq(path, "-");
	AUTO_CLOSE int fd =
		is_stdin ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *name = is_stdin ? "stdin" : path;
	char part[PART];
	struct text t;
	ssize_t n;

	if (fd < 0)
		return err_sys(e, "cannot read %.200s", name);
	text_init(&t, a);
	do {
		if (wait_for(fd, name, deadline_ns, e))
			return -1;
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_sys(e, "cannot read %.200s", name);
		text_addn(&t, part, n > 0 ? (size_t)n : 0);
		if (t.n > TEXT_MAX)
			return err_set(e, ERR_SYS, "%.200s is larger than %d MiB", name,
				       TEXT_MAX >> 20);
	} while (n);
	*ret = t.s;
	*ret_n = t.n;
	return 0;
}
