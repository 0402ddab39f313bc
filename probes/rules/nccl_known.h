#ifndef PROBES_RULES_NCCL_KNOWN_H
#define PROBES_RULES_NCCL_KNOWN_H
/*
 * Every variable that NCCL itself reads: what its value is, and which releases look at it.
 * Made from NCCL's sources, the tags from 2.3.5 to 2.30.7 (NCCL_PARAM, getenv and their kin);
 * of 2.31.2 and 2.32.3 the libraries alone show names, and not what their values are. Names that
 * others read are told apart: those of plug-ins, RCCL, nccl-tests, PyTorch, installers.
 */
#include "lib/core/base.h"

enum { NCCL_KNOWN_NEWEST = 23203 };

enum nccl_kind {
	NCCL_NUMBER,  /* as strtoll(value, 0) reads it */
	NCCL_BOOLEAN, /* a number; since 2.30.7 1, T, TRUE, 0, F or FALSE */
	NCCL_LEVEL,   /* how far apart: LOC ... SYS */
	NCCL_WORDS,   /* one or more of some words */
	NCCL_LIST,    /* names or numbers */
	NCCL_TEXT,    /* or who knows what */
};

struct nccl_known {
	const char *name;
	enum nccl_kind kind;
	unsigned since; /* the first release that looks at it; 0: 2.3.5, or one that is older */
	unsigned gone;	/* the first that does not any more; 0: all others do */
};
extern const struct nccl_known nccl_known[];
extern const size_t nccl_known_n;

const struct nccl_known *nccl_known_find(const char *name); /* NULL: NCCL has none such */
bool nccl_known_elsewhere(const char *name);		    /* read by something beside NCCL */
/* Which of NCCL's @name was meant to be, by its letters or as many have it; NULL: none. */
const char *nccl_known_meant(const char *name);
/* The same of any words; capitals are no errors. */
const char *nccl_word_meant(const char *got, const char *const *words, size_t n);

#endif
