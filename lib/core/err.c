#include "lib/core/err.h"

#include <errno.h>
#include <stdarg.h>

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	e->kind = kind;
	*e->hint = '\0';
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t n;

	e->kind = ERR_SYS;
	*e->hint = '\0';
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return -1;
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
