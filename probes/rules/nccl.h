#ifndef PROBES_RULES_NCCL_H
#define PROBES_RULES_NCCL_H
/*
 * NCCL's own rules as pure functions, tested against the real libnccl:
 * the interface list grammar, the conf file grammar, the automatic choice.
 */
#include "probes/rules/rules.h"

enum { NCCL_MAX_IFS = 16, NCCL_VERSION_VIRBR = 22803 };

struct nccl_ifspec {
	char prefix[NCCL_MAX_IFS][64];
	int port[NCCL_MAX_IFS];
	size_t n;
	bool exact, negate;
	bool truncated; /* more than 16 were given */
};
/* parseStringList and the ^ and = in front, as libnccl reads them. Never fails. */
void nccl_ifspec_parse(const char *value, struct nccl_ifspec *ret);
/* True when an interface of this name passes (XOR with ^ included). */
bool nccl_ifspec_match(const struct nccl_ifspec *spec, const char *name);

/* One line of nccl.conf as libnccl reads it: true when it sets a variable. */
bool nccl_conf_line(const char *line, size_t n, struct arena *a, const char **ret_name,
		    const char **ret_value);
/* strtoll(value, 0) as NCCL_PARAM does; false when NCCL would ignore it. */
bool nccl_param_parse(const char *value, int64_t *ret);
/* "2.28.9" or "22809" -> 22809. */
int nccl_version_parse(const char *s, unsigned *ret) MUST_CHECK;

#endif
