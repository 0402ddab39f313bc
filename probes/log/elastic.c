#include "probes/log/elastic.h"

#include "probes/log/said.h"

void elastic_begun(struct elastic *e, unsigned file, uint64_t line)
{
	*e = (struct elastic){
		.is_there = true, .file = file, .line = line, .who = {.rank = -1, .local = -1}};
}

void elastic_hear(struct elastic *e, unsigned file, uint64_t line, const struct log_line *l)
{
	enum { BLOCK = 12 /* lines */ };
	long rank;

	if (!e->is_there || file != e->file || line <= e->line || line >= e->line + BLOCK)
		return;
	if (e->who.rank < 0 && said_number(l, "rank      :", &rank))
		e->who.rank = (int)rank;
	if (!e->pid && strstr(l->text, "exitcode  :"))
		(void)said_number(l, "(pid: ", &e->pid);
	if (!*e->who.host)
		said_word(e->who.host, sizeof(e->who.host), said_after(l, "host      : "), " ");
}
