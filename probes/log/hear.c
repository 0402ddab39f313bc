#include "probes/log/hear.h"

#include "probes/log/said.h"

#include <ctype.h>

void hear_network(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	const char *p = said_after(l, "Using network ");

	if (a && *p)
		said_word(a->network, sizeof(a->network), p, "\t\n");
}

void hear_bootstrap(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	const char *p = strstr(l->text, "Bootstrap"), *name;

	if (!a || !(p = strstr(p ? p : "", "Using ")))
		return;
	p += strlen("Using ");
	name = *p == '[' && strchr(p, ']') ? strchr(p, ']') + 1 : p;
	said_word(a->boot, sizeof(a->boot), name, ": <");
	actors_offer(t, a, p);
}

void hear_sockets(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);

	if (a)
		actors_offer(t, a, said_after(l, "Using "));
}

/* "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.5<0>" -> "mlx5_0:1 mlx5_1:1 ". False
 * where the line was cut, or has several cards made one ("{...}", "a+b"). */
static bool ports_of(const char *list, char *out, size_t size)
{
	const char *end = strstr(list, "OOB "), *p = list;
	size_t at = 0;

	if (!end || !strchr(end, '>'))
		return false;
	while (p < end && *p == '[' && isdigit((unsigned char)p[1])) {
		const char *name = p + strcspn(p, "] "), *slash;

		name += *name == ']';
		slash = name + strcspn(name, "/ ;{}+=");
		if (*slash != '/' || slash == name || at + (size_t)(slash - name) + 2 > size)
			return false;
		memcpy(out + at, name, (size_t)(slash - name));
		at += (size_t)(slash - name);
		out[at++] = ' ';
		p = slash + strcspn(slash, " ;{}+=");
		p += strspn(p, " ");
	}
	out[at] = '\0';
	return at && (p == end || *p == ';' || starts_with(p, "[RO]"));
}

void hear_ports(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	char ports[1024];

	if (a && ports_of(said_after(l, "Using "), ports, sizeof(ports)))
		a->ports = actors_text(t, ports);
}

void hear_hca(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	const char *p = strstr(said_after(l, "NCCL_IB_HCA set"), "to ");
	char value[256];

	if (!a || !p)
		return;
	said_word(value, sizeof(value), p + strlen("to "), " \t\r\n");
	if (*value)
		a->hca = actors_text(t, value);
}

void hear_version(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	const char *p = said_version(l);

	if (!a || !*p)
		return;
	said_word(a->version, sizeof(a->version), p, " +,;)");
	a->is_rccl = strstr(l->text, "RCCL version") != NULL;
}

bool hear_init(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	long rank, nranks;
	bool complete = strstr(l->text, "Init COMPLETE");

	if (!a || !said_number(l, " rank ", &rank) || !said_number(l, " nranks ", &nranks))
		return complete;
	a->ready |= complete;
	if (nranks < a->nranks || nranks > INT32_MAX || rank >= nranks)
		return complete;
	a->nranks = (int)nranks;
	a->who.rank = (int)rank;
	a->who.rank_by = RANK_BY_ITSELF;
	a->gpu = said_hex(l, " busId ");
	a->comm = said_hex(l, " commId ");
	return complete;
}

void hear_channel(struct actors *t, const struct log_line *l)
{
	struct log_who nobody = {.rank = -1, .local = -1, .pid = 1};
	struct actor *a = actors_get(t, &l->who);

	if (!a)
		a = actors_get(t, &nobody);
	if (a && strstr(l->text, "/GDRDMA"))
		a->direct++;
	else if (a)
		a->bounced++;
}

void hear_socket_channel(struct actors *t, const struct log_line *l)
{
	struct actor *a = actors_get(t, &l->who);
	long card;

	if (a && said_number(l, "via NET/Socket/", &card) && card >= 0 && card < CARDS)
		a->cards |= 1u << card;
}

void hear_timed_out_work(struct actors *t, const struct log_line *l)
{
	struct log_who who = line_speaker(l);
	struct actor *a;
	long seq;

	if (who.rank < 0 || !said_number(l, "SeqNum=", &seq))
		return;
	a = actors_get(t, &who);
	if (!a || a->seq >= 0)
		return;
	a->seq = seq;
	a->clock = l->clock;
	a->gave_up_ms = l->time_ms;
	if (!said_number(l, "NumelIn=", &a->numel))
		a->numel = -1;
	said_word(a->group, sizeof(a->group), said_after(l, "PG GUID "), " (]");
	said_word(a->op, sizeof(a->op), said_after(l, "OpType="), ", )");
}

void hear_last_work(struct actors *t, const struct log_line *l)
{
	struct log_who who = line_speaker(l);
	const char *group = strstr(l->text, "PG ID ");
	struct actor *a;
	long begun, ended, at;

	a = who.rank < 0 ? NULL : actors_get(t, &who);
	if (a && !*a->group &&
	    (said_number(l, "watchdog at work: ", &at) ||
	     said_number(l, "watchdog at work sequence id: ", &at)) &&
	    at == a->seq)
		said_word(a->group, sizeof(a->group), said_after(l, "PG GUID "), " (]");
	if (who.rank < 0 || (group && !starts_with(group, "PG ID 0 ")) ||
	    (!said_number(l, "enqueued NCCL work: ", &begun) &&
	     !said_number(l, "enqueued work: ", &begun)) ||
	    (!said_number(l, "completed NCCL work: ", &ended) &&
	     !said_number(l, "completed work: ", &ended)))
		return;
	if (!a || a->begun >= 0)
		return;
	a->begun = begun;
	a->ended = ended;
}
