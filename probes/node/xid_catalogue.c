/* A line of the kernel's log in the words of ncclwhy's catalogue. */
#include "probes/log/catalogue.h"
#include "probes/node/xid.h"

const char *xid_catalogued(const char *line, const char **ret_meaning)
{
	const struct signature *best = NULL;

	for (size_t i = 0; i < signature_count; i++) {
		const struct signature *s = &signatures[i];
		bool hit;
		AUTO(arena_done) struct arena tmp = {0};
		struct signature_re re;

		if (!streq(s->component, "the kernel") || (best && best->weight >= s->weight) ||
		    signature_compile(&tmp, s, &re))
			continue;
		hit = signature_match(s, &re, line, line);
		best = hit ? s : best;
	}
	*ret_meaning = best ? best->meaning : NULL;
	return best ? best->id : NULL;
}
