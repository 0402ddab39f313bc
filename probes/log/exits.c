#include "probes/log/exits.h"

#include "probes/log/said.h"

#include <ctype.h>

/* "E1122 23:36:01.321000 20 torch/distributed/...": torchrun's own number; 0: not said. */
static long agent_of(const char *text)
{
	const char *p = strstr(text, " torch/distributed/"), *d = p;

	while (d && d > text && isdigit((unsigned char)d[-1]))
		d--;
	return d && d < p ? strtol(d, NULL, 10) : 0;
}

void exits_hear(struct exits *t, unsigned file, uint64_t line, uint64_t order,
		const struct log_line *l)
{
	const char *p = said_after(l, "failed (exitcode: ");
	struct exit_said *x = &t->v[t->n];
	char *end;
	long code = strtol(p, &end, 10), local;

	if (end == p || *end != ')' || t->n == EXITS_MAX || code < -64 || code > 255)
		return;
	*x = (struct exit_said){.line = line,
				.order = order,
				.file = file,
				.who = l->who,
				.agent = agent_of(l->text),
				.code = (int)(code > 128 && code < 193 ? 128 - code : code),
				.clock = l->clock,
				.time_ms = l->time_ms};
	x->who.local = said_number(l, "local_rank: ", &local) ? (int)local : -1;
	(void)said_number(l, "(pid: ", &x->pid);
	said_word(x->text, sizeof(x->text), strstr(l->text, "failed (exitcode: "), "");
	t->n++;
}

void exits_restart(struct exits *t, unsigned file, uint64_t line, uint64_t order,
		   const struct log_line *l)
{
	if (t->is_restarted)
		return;
	t->is_restarted = true;
	t->restart = (struct exit_said){.line = line,
					.order = order,
					.file = file,
					.who = l->who,
					.clock = l->clock,
					.time_ms = l->time_ms};
}

void exits_force(struct exits *t, struct arena *a, unsigned file, const struct log_line *l)
{
	const struct exit_forced *last = t->forced.n ? &t->forced.v[t->forced.n - 1] : NULL;
	const char *host = last && streq(last->host, l->who.host) ? last->host : NULL;
	long pid;

	if (t->forced.n == FORCED_MAX || !said_number(l, " process ", &pid))
		return;
	host = host ? host : arena_strdup(a, l->who.host);
	*LIST_ADD(a, &t->forced) = (struct exit_forced){pid, file, host};
}

bool exits_was_forced(const struct exits *t, long pid, unsigned file, const char *host)
{
	for (size_t i = 0; i < t->forced.n; i++)
		if (t->forced.v[i].pid == pid && t->forced.v[i].file == file &&
		    log_hosts_fit(t->forced.v[i].host, host))
			return true;
	return false;
}
