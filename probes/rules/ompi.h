#ifndef PROBES_RULES_OMPI_H
#define PROBES_RULES_OMPI_H
/*
 * Open MPI's parameters as it finds them (environment, then ~/.openmpi, then
 * the file for all users of the one in PATH) and its choice of interfaces for btl/tcp as a pure
 * function, tested against the real mpirun.
 */
#include "probes/rules/rules.h"

struct ompi_param {
	const char *name;  /* "btl_tcp_if_include" */
	const char *value; /* NULL: not set */
	const char *file;  /* NULL: the environment */
	const char *env;   /* "OMPI_MCA_btl_tcp_if_include" */
};
struct ompi_params {
	struct ompi_param btl, btl_include, btl_exclude, oob_include, oob_exclude;
	struct ompi_param prte_include, prte_exclude; /* what 5's mpirun heeds in place of oob's */
	unsigned release; /* 4, or 5 and later, by the programs beside ompi_info in PATH; 0: it is
			     not there */
};
#define OMPI_DEFAULT_EXCLUDE "127.0.0.1/8,sppp"

void ompi_params_read(struct arena *a, struct ompi_params *ret);
/* "name = value" among comments: the last assignment of @name in @text, or NULL. */
const char *ompi_conf_get(const char *text, size_t n, const char *name, struct arena *a);

/* One entry of Open MPI's own list: an address with the name it goes by. */
struct ompi_if {
	const char *name;
	const struct iface_addr *ia;
};
typedef LIST(struct ompi_if) ompi_ifs;
void ompi_ifs_read(const struct inventory *inv, ompi_ifs *ret);

/* What one entry of an if_include / if_exclude list is. */
enum ompi_entry { OMPI_NAME, OMPI_SUBNET, OMPI_BAD_SUBNET, OMPI_EVERYTHING /* /32, /0 */ };
/* Names that @entry stands for, appended once each to @names. */
enum ompi_entry ompi_resolve(const ompi_ifs *ifs, const char *entry, struct arena *a,
			     str_list *names);
/* An entry that names no interface: 4 gives TCP up, 5 (and who is not known) what follows it. */
bool ompi_goes_on(const struct ompi_params *o, size_t nbefore);
/* All entries of a comma list. */
void ompi_resolve_list(const ompi_ifs *ifs, const char *list, struct arena *a, str_list *ret);
const struct ompi_if *ompi_find(const ompi_ifs *ifs, const char *name);
/* The entry an interface is known by, IPv4 before IPv6. False: Open MPI does not see it. */
bool ompi_first(const struct iface *iface, struct ompi_if *ret);
/* Entries of an exclude list match as prefixes. */
bool ompi_excluded(const str_list *names, const char *name);

void ompi_check(const struct rules_input *in, struct report *r);

#endif
