/* A line of the kernel's log in the words of ncclwhy's catalogue. */
#include "probes/log/catalogue.h"
#include "probes/preflight/xid.h"

#include <regex.h>

const char *xid_catalogued(const char *line, const char **ret_meaning)
{
	const struct signature *best = NULL;

	for (size_t i = 0; i < signature_count; i++) {
		const struct signature *s = &signatures[i];
		bool hit;
		regex_t re;

		if (!streq(s->component, "the kernel") || (best && best->weight >= s->weight) ||
		    regcomp(&re, s->ere, REG_EXTENDED | REG_NOSUB))
			continue;
		hit = !regexec(&re, line, 0, NULL, 0);
		regfree(&re);
		best = hit ? s : best;
	}
	*ret_meaning = best ? best->meaning : NULL;
	return best ? best->id : NULL;
}
