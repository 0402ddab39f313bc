#include "lib/report/report.h"

#include <math.h>

const char *status_name(enum status st)
{
	static const char *const names[ST_COUNT] = {
		[ST_PASS] = "pass", [ST_INFO] = "info", [ST_WARN] = "warn",
		[ST_FAIL] = "fail", [ST_SKIP] = "skip", [ST_ERROR] = "error",
	};

	return names[st];
}

void finding_set(struct finding *f, enum status st, const char *fmt, ...)
{
	va_list ap;

	f->status = st;
	va_start(ap, fmt);
	f->message = arena_vprintf(f->a, fmt, ap);
	va_end(ap);
}

void finding_fix(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*LIST_ADD(f->a, &f->fix) = arena_vprintf(f->a, fmt, ap);
	va_end(ap);
}

void finding_value(struct finding *f, double value, const char *unit)
{
	f->value = value;
	f->unit = isfinite(value) ? unit : NULL;
}

void finding_expect(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	f->expected = arena_vprintf(f->a, fmt, ap);
	va_end(ap);
}
