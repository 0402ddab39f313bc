#ifndef PROBES_LOG_EXTRACT_H
#define PROBES_LOG_EXTRACT_H
/* What a line names, and putting it into advice. */
#include "lib/core/arena.h"
#include "probes/log/catalogue.h"

struct extract {
	char addr[64], port[8], iface[24]; /* "": the line names none */
};

/* The first address, its port, and the interface that NCCL writes before one. */
void extract_line(const char *line, struct extract *ret);

/* {name|else} -> value. */
struct term_value {
	const char *name, *value; /* NULL: not known */
};

/*
 * Fills a template. {1}..{9} are the groups of @sig's expression in @line.
 * NULL when a placeholder is unknown and has no "else". "{{" is a brace.
 */
const char *fill_template(struct arena *a, const char *tpl, const struct term_value *v, size_t n,
			  const char *ere, const char *line);

/* The placeholders that may be used; NULL-terminated. */
extern const char *const template_names[];

#endif
