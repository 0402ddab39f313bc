#include "lib/report/report.h"

#include "lib/report/json.h"
#include "lib/report/typed.h"

#include <ctype.h>
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

bool finding_wants_root(const struct finding *f, const char *line)
{
	if (starts_with(line, "sudo "))
		return true;
	for (size_t i = 0; i < f->fix.n && i < 64; i++)
		if (f->as_root >> i & 1 && streq(f->fix.v[i], line))
			return true;
	return false;
}

/* "(node1, 10.0.0.2)": is it one of these? */
static bool is_bracketed(const char *names, const char *host)
{
	size_t n = strlen(host);

	while (*names == '(' || *names == ',') {
		names += *names == '(' ? 1 : strspn(names, ", ");
		if (starts_with(names, host) && strchr(",)", names[n]))
			return true;
		names += strcspn(names, ",)");
	}
	return false;
}

/* "rank 1 (node1, 10.0.0.2) died", "after 8 steps rank 1 (node1, ..." */
static bool names_host(const char *message, const char *host)
{
	const char *at = message;

	while ((at = strstr(at, "rank "))) {
		at += strlen("rank ");
		at += strspn(at, "0123456789");
		if (starts_with(at, " (") && is_bracketed(at + 1, host))
			return true;
	}
	return false;
}

const char *finding_host(const struct finding *f)
{
	if (!f->host || (f->subject && streq(f->host, f->subject)) ||
	    names_host(f->message, f->host))
		return NULL;
	return f->host;
}

/* "the others wait for rank 2 (node1, ..." */
static bool names_rank_first(const char *message, const char *rank)
{
	const char *first = strstr(message, "rank ");

	return first && starts_with(first, rank) && !isdigit((unsigned char)first[strlen(rank)]);
}

int finding_rank(const struct finding *f)
{
	const char *rank = f->rank < 0 ? "" : arena_printf(f->a, "rank %d", f->rank);

	if (f->rank < 0 || (f->subject && streq(f->subject, rank)) ||
	    names_rank_first(f->message, rank))
		return -1;
	return f->rank;
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

static void json_fix(cJSON *o, const struct finding *f)
{
	cJSON *as_root;

	fix_json(o, &f->fix);
	if (!f->fix.n || !f->as_root)
		return;
	as_root = json_array(o, "as_root");
	for (size_t i = 0; i < 64; i++)
		if (f->as_root >> i & 1)
			cJSON_AddItemToArray(as_root, cJSON_CreateNumber((double)i));
}

void finding_json(cJSON *list, const struct finding *f, const char *own)
{
	cJSON *o = json_push_object(list);

	json_str(o, "check", f->check);
	json_str(o, "status", status_name(f->status));
	json_str(o, "subject", f->subject);
	json_str(o, "host", f->host ? f->host : own);
	json_num(o, "rank", f->rank >= 0 ? f->rank : NAN);
	json_str(o, "message", f->message);
	json_fix(o, f);
	json_num(o, "value", f->value);
	json_str(o, "unit", f->unit);
	json_str(o, "expected", f->expected);
	if (f->seconds >= 0 && f->seconds < 1e9) /* not round(): all of libm for one call */
		json_num(o, "seconds", (double)(int64_t)(f->seconds * 1e6 + 0.5) / 1e6);
}
