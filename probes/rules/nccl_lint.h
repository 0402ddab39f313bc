#ifndef PROBES_RULES_NCCL_LINT_H
#define PROBES_RULES_NCCL_LINT_H
/* What the files of NCCL's lint share; nobody else needs it. */
#include "probes/rules/nccl.h"

struct lint {
	const struct rules_input *in;
	struct report *r;
};

/* A finding about one setting; its subject is "NAME (origin)". */
struct finding *lint_find(const struct lint *l, const char *check, const struct setting *s);
/* The command that sets @name right where @s came from: an export, or an edit of the file. */
void lint_fix(struct finding *f, const struct setting *s, const char *name, const char *value);
void lint_unset(struct finding *f, const struct setting *s);
/*
 * A list without blanks and quotes, and with signs only where NCCL reads them: "eth0,^docker"
 * becomes eth0, "^docker,^lo" becomes ^docker,lo.
 */
const char *lint_cleaned(struct arena *a, const char *value);
/* Sets @s to such a list; NCCL ignores one that is shorter than two characters. */
void lint_fix_list(struct finding *f, const struct setting *s, const char *list);
/*
 * Blanks, quotes and signs inside a list, as @family.blank, .quote,
 * .caret-inside, .too-many. True when one of the first three was found.
 */
bool lint_list_text(const struct lint *l, const struct setting *s, const char *family,
		    const struct nccl_ifspec *spec);

/* Says that @wrong is none of @words, parted by blanks; another than @s's value is not corrected.
 */
void lint_not_a_word(const struct lint *l, const struct setting *s, enum status st,
		     const char *words, const char *wrong, const char *then);

struct nccl_known; /* probes/rules/nccl_known.h */
/* What @s is called; @k: it in NCCL's list. True: this release looks at its value. */
bool lint_name(const struct lint *l, const struct setting *s, const struct nccl_known *k);
/* One function per kind of value. */
void lint_number(const struct lint *l, const struct setting *s);
void lint_words(const struct lint *l, const struct setting *s);

/* One function per variable; see the table in nccl_check.c. */
void lint_ifname(const struct lint *l, const struct setting *s);
void lint_family(const struct lint *l, const struct setting *s);
void lint_comm_id(const struct lint *l, const struct setting *s);
void lint_ib_hca(const struct lint *l, const struct setting *s);
void lint_ib_disable(const struct lint *l, const struct setting *s);
void lint_net(const struct lint *l, const struct setting *s);
void lint_algo(const struct lint *l, const struct setting *s);
void lint_proto(const struct lint *l, const struct setting *s);
void lint_oob_ifname(const struct lint *l, const struct setting *s);
void lint_ib_addr_range(const struct lint *l, const struct setting *s);
void lint_gid_index(const struct lint *l, const struct setting *s);
void lint_topology(const struct lint *l, const struct setting *s);
void lint_graph(const struct lint *l, const struct setting *s);
void lint_written(const struct lint *l, const struct setting *s);
void lint_plugin(const struct lint *l, const struct setting *s);
/* The same: true where none of those that it names is here. */
bool lint_plugin_missing(const struct lint *l, const struct setting *s);
void lint_conf(const struct lint *l);
const char *lint_device_names(const struct lint *l); /* "mlx5_0, mlx5_1" */
/* Ports that NCCL counts devices, whatever is set; 0 where none can be opened here. */
size_t lint_active_ports(const struct rules_input *in);

#endif
