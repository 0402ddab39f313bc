#ifndef PROBES_LOG_CATALOGUE_H
#define PROBES_LOG_CATALOGUE_H
/* The failures that can be recognised in a log: data only, see catalogue.def. */
#include "probes/log/ere.h"

enum tier { TIER_ROOT, TIER_EFFECT, TIER_GENERIC, TIER_WRAPPER, TIER_HINT };

struct signature {
	const char *id; /* "CON-001": API, never renamed */
	enum tier tier;
	int weight;	     /* 0 to 100 */
	const char *anchors; /* parted by | */
	const char *ere;
	const char *component, *meaning;
	const char *causes, *confirm, *fix; /* lists, one element per line */
};

enum { CONFIDENT = 50, ANCHOR_MIN = 6 };

extern const struct signature signatures[];
extern const size_t signature_count;

/* Its index, or -1. */
int signature_find(const char *id);

/* Parts of an expression: what must match, and what must not. */
#define SIGNATURE_BUT " !! "

struct signature_re {
	const struct ere *yes, *no; /* no: or NULL */
	bool is_either;		    /* some of its alternatives begin with ^ */
};

/* 0, or -1 where it is ill formed. It lives in @a. */
int signature_compile(struct arena *a, const struct signature *g, struct signature_re *ret);
/* Which of the two it matches, or NULL. @body: what of @text remains without rank, time and host.
 */
const char *signature_where(const struct signature *g, const struct signature_re *re,
			    const char *text, const char *body);
/* The same, also where the line says that there is no such thing: denied.h. */
const char *signature_says(const struct signature *g, const struct signature_re *re,
			   const char *text, const char *body);
/* It has what must not match. */
bool signature_refuses(const struct signature_re *re, const char *text, const char *body);
bool signature_match(const struct signature *g, const struct signature_re *re, const char *text,
		     const char *body);
/* False: it does not match, wherever in @text the body begins. */
bool signature_may(const struct signature *g, const struct signature_re *re, const char *text);

#endif
