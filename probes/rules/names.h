#ifndef PROBES_RULES_NAMES_H
#define PROBES_RULES_NAMES_H
/*
 * What the programs other than NCCL have in common: lists of exact interface
 * names, addresses that a host name leads to, and the question whether a peer
 * could reach what was chosen.
 */
#include "probes/iface/suggest.h"
#include "probes/rules/rules.h"

/*
 * Cuts @value at @separators. With @keep_empty as C++'s getline: pieces are kept
 * as written, empty ones too, but not one after the last comma; without, as
 * Open MPI: empty pieces are dropped.
 */
void names_split(const char *value, const char *separators, bool keep_empty, struct arena *a,
		 str_list *ret);
/* The first address whose label is exactly @name (as strcmp on getifaddrs' names), or NULL. */
const struct iface_addr *names_addr(const struct inventory *inv, const char *name);
/* The label a peer's log would show for an address of ours, or NULL; all of 127/8 is one. */
const struct iface_addr *names_owner(const struct inventory *inv, const union addr *addr);
/* True when a socket of this host can be bound to it: tried on the real root. */
bool names_can_bind(const struct inventory *inv, const union addr *addr);

/* Appends to interfaces and addresses; the first becomes interface and address. */
void predict_add(const struct rules_input *in, struct prediction *p, const char *name,
		 const union addr *addr);
/* Decides reachable from the interface and address that peers are told. */
void predict_reach(const struct rules_input *in, struct prediction *p, const struct iface *iface,
		   const union addr *addr);
/* Then of the @k-th that carries data: one that peers cannot use spoils the job. */
void predict_reach_also(const struct rules_input *in, struct prediction *p, size_t k,
			const struct iface *iface, const union addr *addr);
/* The address that peers would be told; NULL: none, or none of an interface. */
const struct iface_addr *predict_told(const struct inventory *inv, const struct prediction *p);
void predict_fail(const struct rules_input *in, struct prediction *p, enum outcome o,
		  const char *rule, const char *fmt, ...) PRINTF(5, 6);

/*
 * Judges one exact name: 0 fine, else @f is set (fail: absent, no address, NCCL's
 * syntax, blanks; warn: no peer could reach it) with the command that sets @var right:
 * to what is right of @entries, all that stand there; NULL: to one name.
 */
int names_judge(const struct rules_input *in, struct finding *f, const char *var, const char *name,
		const str_list *entries);
/* @name as a list of exact names; NULL where a comma in it forbids that. */
const char *names_entry(struct arena *a, const char *name, bool one_char_is_ignored);
/* The name a fix should propose: the best interface here whose name needs no quotes, or "NAME". */
const char *names_best(const struct rules_input *in);
/* @x is of that one, and a peer could use it: no setting is to blame for what it cannot reach, as
 * in a NAT. */
bool names_must_be(const struct rules_input *in, const struct iface_addr *x);
/* @of has an address that is not link-local. */
bool names_has_better(const struct inventory *inv, const struct iface *of);
/*
 * What makes peers be told another address than @x, which is link-local, where no setting does:
 * the best interface is that same one. False: it is another, or another family.
 */
bool names_mend_linklocal(const struct rules_input *in, const struct iface_addr *x,
			  struct finding *f);
/* The same whatever is best: take @x away, or give its interface another. */
void names_advise_linklocal(const struct inventory *inv, const struct iface_addr *x,
			    struct finding *f);
/* True when @host's name leads, by /etc/hosts alone, to exactly @addr. */
bool names_host_is(const struct inventory *inv, const union addr *addr);

#endif
