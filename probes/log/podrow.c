#include "probes/log/podrow.h"

#include "lib/core/text.h"
#include "probes/log/kubetime.h"
#include "probes/log/said.h"

#include <ctype.h>

enum { OLDER = 2 }; /* times as old: not of one start with the other */

/* "0/1": where containers are counted. */
static bool is_ready(const char *p)
{
	size_t of = strspn(p, "0123456789"), have = of && p[of] == '/' ? of + 1 : 0;
	size_t all = have ? strspn(p + have, "0123456789") : 0;

	return all && strchr(" \t", p[have + all]) && p[have + all];
}

/* "ns/vllm-7f9c-" of vllm-7f9c-x2k9p. */
static void owner_of(struct podrow *r, const char *space, const char *name)
{
	size_t n = 0;
	char *dash;

	if (space) {
		said_word(r->owner, sizeof(r->owner) / 2, space, " \t");
		n = strlen(r->owner);
		r->owner[n++] = '/';
	}
	said_word(r->owner + n, sizeof(r->owner) - n, name, " \t");
	dash = strrchr(r->owner + n, '-');
	if (dash && dash[1 + strspn(dash + 1, "0123456789")] && !strstr(r->owner, "daemon"))
		dash[1] = '\0';
}

/* It does not come back by itself. */
static bool has_ended(const char *status)
{
	static const char *const ends[] = {
		"Evicted",	   "Error",	"OOMKilled",
		"Failed",	   "Completed", "ContainerStatusUnknown",
		"NodeShutdown",	   "Shutdown",	"UnexpectedAdmissionError",
		"DeadlineExceeded"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (streq(status, ends[i]))
			return true;
	return false;
}

/* Behind RESTARTS, which may be "3 (2d ago)". */
static const char *age_column(const char *restarts)
{
	const char *p = said_next(restarts);

	return *p == '(' ? said_next(p + strcspn(p, ")")) : p;
}

bool podrow_parse(const char *text, struct podrow *ret)
{
	const char *name = said_spaces(text), *ready = said_next(name), *space = NULL;
	const char *status, *restarts, *age;

	if (*ready && !is_ready(ready)) { /* -A has a column more */
		space = name;
		name = ready;
		ready = said_next(name);
	}
	if (!is_ready(ready))
		return false;
	status = said_next(ready);
	restarts = said_next(status);
	if (!isdigit((unsigned char)*restarts))
		return false;
	age = age_column(restarts);
	*ret = (struct podrow){.age_s = kubetime_duration(&age)};
	owner_of(ret, space, name);
	said_word(ret->pod, sizeof(ret->pod), name, " \t");
	said_word(ret->status, sizeof(ret->status), status, " \t");
	return ret->age_s > 0;
}

void podrows_hear(struct podrows *p, struct arena *a, const struct log_line *l, uint64_t order)
{
	struct podrow row;

	if (p->running.n < PODROWS_MAX && podrow_parse(l->text, &row) &&
	    streq(row.status, "Running")) {
		row.order = order;
		*LIST_ADD(a, &p->running) = row;
	}
}

bool podrows_runs(const struct podrows *p, const char *space, const char *pod, uint64_t order)
{
	for (size_t i = 0; i < p->running.n; i++) {
		const struct podrow *r = &p->running.v[i];
		const char *slash = strchr(r->owner, '/');
		size_t n = slash ? (size_t)(slash - r->owner) : 0;

		if (r->order >= order && streq(r->pod, pod) &&
		    (!n || !*space || (strlen(space) == n && starts_with(r->owner, space))))
			return true;
	}
	return false;
}

bool podrows_replaced(const struct podrows *p, const struct podrow *failed, long *ret_age_s)
{
	if (!has_ended(failed->status))
		return false;
	for (size_t i = 0; i < p->running.n; i++) {
		const struct podrow *r = &p->running.v[i];

		if (!streq(r->owner, failed->owner) || r->age_s > failed->age_s / OLDER)
			continue;
		*ret_age_s = r->age_s;
		return true;
	}
	return false;
}
