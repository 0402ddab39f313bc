#ifndef PROBES_SECGROUP_AUDIT_H
#define PROBES_SECGROUP_AUDIT_H
/*
 * `portcheck --cloud`: who the cloud says we are; with --audit, whether the
 * security groups let a training cluster through, from files that the aws
 * command wrote or by asking EC2; with --apply, the rules that are missing are
 * added (never one taken away).
 */
#include "lib/core/opt.h"
#include "lib/host/cloud.h"
#include "lib/report/report.h"

struct cloud_config {
	bool cloud, apply;
	const char *audit; /* NULL: not asked for; "EC2": by EC2, or the files among the operands */
	str_list groups;
	const char *profile, *region, *efa;
};

/* The option table of it; its cfg is a struct cloud_config. */
enum { CLOUD_NROWS = 8 };
extern const struct opt cloud_rows[CLOUD_NROWS];

struct cloud_run {
	const struct cloud_config *c;
	const str_list *files; /* the command's operands */
	struct arena *a;
	struct report *r;
	uint64_t deadline_ns;
	uint16_t master, first, last; /* MASTER_PORT, and the range that the kernel hands out */
};

bool cloud_is_wanted(const struct cloud_config *c);
/* What a table cannot say: ERR_USAGE, nothing printed yet. Operands are files, with --audit only.
 */
int cloud_prepare(struct cloud_config *c, str_list *operands, struct arena *a,
		  struct err *e) MUST_CHECK;
int cloud_run(const struct cloud_run *q, struct err *e) MUST_CHECK;

/* What lists the rules of a cloud ("gcp") where its command works, and has them judged. */
const char *cloud_audit_line(const char *provider);

/* Its parts. */
int cloud_identity(const struct cloud_run *q, struct cloud *ret, struct err *e) MUST_CHECK;
void cloud_identity_report(const struct cloud_run *q, const struct cloud *c);
/* Its line for a look at this host, and data.cloud. */
void cloud_identity_brief(const struct cloud_run *q, const struct cloud *c);
/* Every group of this instance once. */
void cloud_groups_of(struct arena *a, const struct cloud *c, str_list *ret);
void cloud_add_once(struct arena *a, str_list *l, const char *s);
/* NULL for none. */
const char *cloud_join(struct arena *a, const str_list *l, const char *separator);
int cloud_audit_files(const struct cloud_run *q, struct err *e) MUST_CHECK;
int cloud_audit_live(const struct cloud_run *q, const struct cloud *here, struct err *e) MUST_CHECK;
/* The same in one finding, cloud.rules, that warns at the utmost: nobody said that it is a cluster.
 */
int cloud_audit_brief(const struct cloud_run *q, const struct cloud *here,
		      struct err *e) MUST_CHECK;

#endif
