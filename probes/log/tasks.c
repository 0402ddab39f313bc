#include "probes/log/tasks.h"

#include "lib/core/text.h"
#include "probes/log/said.h"

#include <ctype.h>

enum { NAMED = 8 /* of more it says how many there are */ };

void tasks_hear(struct tasks *t, const struct log_line *l)
{
	const char *p = said_after(l, "/task:"), *body = l->body;
	char *end;
	unsigned long task = strtoul(p, &end, 10);

	end += strspn(end, " \r");
	/* "[task0] /job:..": behind what a launcher calls its tasks */
	if (*body == '[')
		body += strcspn(body, " ") + strspn(body + strcspn(body, " "), " ");
	if (!starts_with(body, "/job:") || !isdigit((unsigned char)*p) || *end ||
	    task >= TASKS_MAX || t->late[task / 64] & UINT64_C(1) << task % 64)
		return;
	t->late[task / 64] |= UINT64_C(1) << task % 64;
	t->n++;
}

bool tasks_is_late(const struct tasks *t, int task)
{
	return task >= 0 && task < TASKS_MAX && t->late[task / 64] & UINT64_C(1) << task % 64;
}

const char *tasks_text(const struct tasks *t, struct arena *a)
{
	struct text s;
	unsigned n = 0;

	if (!t->n)
		return NULL;
	text_init(&s, a);
	text_add(&s, t->n == 1 ? "task" : "tasks");
	for (unsigned task = 0; task < TASKS_MAX && n < NAMED; task++) {
		if (!(t->late[task / 64] & UINT64_C(1) << task % 64))
			continue;
		n++;
		text_addf(&s, "%s%u", n == 1 ? " " : n == t->n ? " and " : ", ", task);
	}
	text_more(&s, "", t->n, NAMED);
	return s.s;
}
