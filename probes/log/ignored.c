#include "probes/log/ignored.h"

enum {
	NEXT = 3, /* lines; other ranks speak between them */
	FAR = 80  /* of a deep traceback, and what others say meanwhile */
};

static bool is_its(const struct ignored *g, const struct log_line *l)
{
	return g->who.rank == l->who.rank && streq(g->who.host, l->who.host);
}

void ignored_begin(struct ignored *g, uint64_t line, const struct log_line *l)
{
	if (!is_its(g, l) || line - g->said > FAR)
		g->left = 0;
	g->who = l->who;
	g->said = line;
	g->left++;
}

void ignored_traceback(struct ignored *g, uint64_t line, const struct log_line *l)
{
	if (g->left && is_its(g, l) && line - g->said > NEXT)
		g->left = 0;
}

bool ignored_has(struct ignored *g, uint64_t line, const struct log_line *l)
{
	if (!g->said || !is_its(g, l))
		return false;
	if (line == g->over)
		return true; /* another entry knows the same line */
	if (!g->left || line - g->said > FAR)
		return false;
	if (line_is_indented(l))
		return true;
	g->left--;
	g->over = line;
	return true;
}
