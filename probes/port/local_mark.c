/* What this host's own rules give a mark, and its policy rules throw away because of that. */
#include "probes/port/local.h"

#include "lib/report/here.h"
#include "probes/iface/facts.h"

enum { MOST_MARKS = 8 };

const char *local_throws_away(const struct local *l, bool answer, const union addr *from,
			      const union addr *to, const char **ret_fix)
{
	const struct iface_addr *mine = inventory_by_addr(&l->f->inv, from);
	const struct nft_packet p = {.answer = answer,
				     .from = *from,
				     .to = *to,
				     .iface = mine ? mine->iface->name : NULL};
	struct arena *a = l->f->a;
	struct marked_rule v[MOST_MARKS];
	/* rules that mark nothing of it are soon known, and there may be thousands of the others */
	size_t n = l->fw.known && nft_marks(&l->fw.nft, &p, 0, 0)
			   ? netlink_marked_rules(&l->f->nl, to, v, MOST_MARKS, a)
			   : 0;

	for (size_t i = 0; i < n; i++) {
		const struct nft_rule *r = nft_marks(&l->fw.nft, &p, v[i].mark, v[i].mask);

		if (!r)
			continue;
		*ret_fix = here_line(a, arena_printf(a, "sudo %s", v[i].undo));
		return arena_printf(
			a,
			"%s gives it the mark 0x%x, and a policy rule throws away what "
			"has that",
			nft_describe(&(struct nft_answer){.rule = r, .chain = r->chain}, a),
			v[i].mark);
	}
	return NULL;
}
