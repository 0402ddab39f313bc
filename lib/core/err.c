#include "lib/core/err.h"

#include "lib/core/arena.h"
#include "lib/core/fix.h"

#include <errno.h>
#include <stdarg.h>

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	e->kind = kind;
	*e->hint = '\0';
	e->typed = false;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return -1;
}

static void set_sys(struct err *e, const char *fmt, va_list ap) PRINTF(2, 0);
static void set_sys(struct err *e, const char *fmt, va_list ap)
{
	int saved = errno;
	size_t n;

	e->kind = ERR_SYS;
	*e->hint = '\0';
	e->typed = false;
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(saved));
	errno = saved;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_sys(e, fmt, ap);
	va_end(ap);
	return -1;
}

int err_fork(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_sys(e, fmt, ap);
	va_end(ap);
	if (errno == EMFILE)
		return err_hint(e, "no more files may be open in this process: raise `ulimit -n` "
				   "(or LimitNOFILE= of the service that it came from)");
	if (errno != EAGAIN)
		return -1;
	return err_hint(e, "no more processes may be started here: raise `ulimit -u`, or the "
			   "container's limit (docker run --pids-limit, pids.max of its cgroup)");
}

int err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	e->typed = false;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int err_hint_of(struct err *e, const struct err *of)
{
	memmove(e->hint, of->hint, sizeof(e->hint));
	e->typed = of->typed;
	return -1;
}

int err_command(struct err *e, const char *fmt, ...)
{
	va_list ap;

	e->typed = true;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return -1;
}

const char *err_fix(const struct err *e, struct arena *a)
{
	return *e->hint ? arena_printf(a, "%s%s", e->typed ? "" : FIX_WORDS, e->hint) : NULL;
}

int err_take_fix(struct err *e, const char *fix)
{
	return fix_is_typed(fix) ? err_command(e, "%s", fix) : err_hint(e, "%s", fix_text(fix));
}

int err_exit_code(const struct err *e)
{
	switch (e->kind) {
	case ERR_NONE:
		return 0;
	case ERR_USAGE:
		return 2;
	case ERR_SYS:
		return 3;
	case ERR_ABSENT:
		return 4;
	}
	return 3;
}
