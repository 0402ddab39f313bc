/* Traps in Open MPI's lists of interfaces. */
#include "lib/core/quote.h"
#include "lib/host/leads.h"
#include "probes/rules/names.h"
#include "probes/rules/ompi.h"

/* Adds the command that takes a parameter away from where it was set. */
static void fix_remove(struct finding *f, const struct ompi_param *p)
{
	if (p->file)
		finding_fix(f, "sed -i '/^ *%s *=/d' %s", p->name, shell_quote(f->a, p->file));
	else
		finding_fix(f, "unset %s", p->env);
}

static void fix_set(struct finding *f, const struct ompi_param *p, const char *value)
{
	const char *script = arena_printf(f->a, "s|^ *%s *=.*|%s = %s|", p->name, p->name, value);

	if (p->file && !strpbrk(value, "|&\\\n"))
		finding_fix(f, "sed -i %s %s", shell_quote(f->a, script),
			    shell_quote(f->a, p->file));
	else if (p->file)
		fix_remove(f, p);
	else
		finding_fix(f, "export %s=%s", p->env, shell_quote(f->a, value));
}

static void check_both(const struct ompi_param *include, const struct ompi_param *exclude,
		       struct report *r)
{
	struct finding *f;

	if (!include->value || !exclude->value)
		return;
	f = report_find(r, "lint.ompi.exclusive", include->name);
	finding_set(f, ST_FAIL, "%s and %s are both set: Open MPI %s", include->name, exclude->name,
		    starts_with(include->name, "btl") ? "refuses to use TCP at all"
						      : "does not start");
	fix_remove(f, exclude);
	report_add(r, f);
}

/* What becomes of a name that no interface has, where @nbefore entries are before it. */
static const char *unknown_name(const struct ompi_params *o, const struct ompi_param *p,
				size_t nbefore)
{
	if (p == &o->prte_include)
		return "is no interface with an address here (exact names only): it is dropped, "
		       "and where nothing is left mpirun does not start";
	return ompi_goes_on(o, nbefore) ? "is no interface with an address here (exact names "
					  "only): it is dropped with all that follows it"
					: "is no interface with an address here (exact names "
					  "only): TCP is given up";
}

static const char *include_trouble(const ompi_ifs *ifs, const char *entry, const char *unknown,
				   struct arena *a)
{
	str_list names = {0};

	switch (ompi_resolve(ifs, entry, a, &names)) {
	case OMPI_NAME:
		return ompi_find(ifs, entry) ? NULL : unknown;
	case OMPI_BAD_SUBNET:
		return "is neither a name nor a subnet like 10.0.0.0/24: it is dropped";
	case OMPI_EVERYTHING:
		return "takes every IPv4 interface: Open MPI's mask for /32 and /0 is empty";
	default:
		return names.n ? NULL
			       : "holds no address of this host: it is dropped, and where "
				 "nothing is left every interface is used";
	}
}

/* The first of what the entries stand for that no peer reaches; NULL: all can be reached. */
static const struct ompi_if *unreached(const struct rules_input *in, const ompi_ifs *ifs,
				       const char *list, const char **ret_why)
{
	str_list names;

	ompi_resolve_list(ifs, list, in->inv->a, &names);
	for (size_t i = 0; i < names.n; i++) {
		const struct ompi_if *one = ompi_find(ifs, names.v[i]);
		const struct iface_addr *ia = one ? one->ia : NULL;

		*ret_why = ia ? leads_nowhere(in->inv, ia->iface, &ia->addr) : NULL;
		if (*ret_why && !names_must_be(in, ia))
			return one;
	}
	return NULL;
}

static void judge_reach(const struct rules_input *in, const ompi_ifs *ifs,
			const struct ompi_param *p, struct finding *f)
{
	const struct ompi_if *one;
	struct addr_text t;
	const char *why;

	one = unreached(in, ifs, p->value, &why);
	if (!one)
		return;
	finding_set(f, ST_WARN, "%s=%s lets %s in, whose address %s %s", p->name, p->value,
		    one->name, addr_print(&one->ia->addr, &t), why);
	if (!names_mend_linklocal(in, one->ia, f))
		fix_set(f, p, names_best(in));
}

static void check_include(const struct rules_input *in, const ompi_ifs *ifs,
			  const struct ompi_params *o, const struct ompi_param *p, struct report *r)
{
	struct finding *f;
	str_list entries;

	if (!p->value)
		return;
	names_split(p->value, ",", false, in->inv->a, &entries);
	f = report_find(r, "lint.ompi.if_include", p->name);
	finding_set(f, ST_PASS, "%s=%s: every entry is here", p->name, p->value);
	for (size_t i = 0; i < entries.n; i++) {
		const char *trouble =
			include_trouble(ifs, entries.v[i], unknown_name(o, p, i), in->inv->a);

		if (!trouble)
			continue;
		finding_set(f, ST_FAIL, "%s=%s: %s %s", p->name, p->value, entries.v[i], trouble);
		fix_set(f, p, names_best(in));
		break;
	}
	if (f->status == ST_PASS)
		judge_reach(in, ifs, p, f);
	report_add(r, f);
}

/* An interface that an entry takes along with the one it names ("eth1": eth10), or NULL. */
static const char *overmatch(const ompi_ifs *ifs, const str_list *names)
{
	for (size_t j = 0; j < names->n; j++) {
		const struct ompi_if *meant = ompi_find(ifs, names->v[j]);

		for (size_t i = 0; meant && i < ifs->n; i++)
			if (ifs->v[i].ia->iface != meant->ia->iface &&
			    starts_with(ifs->v[i].name, names->v[j]))
				return ifs->v[i].name;
	}
	return NULL;
}

static void check_exclude(const struct rules_input *in, const ompi_ifs *ifs,
			  const struct ompi_param *p, struct report *r)
{
	const char *more;
	str_list names;
	struct finding *f;

	if (!p->value)
		return;
	ompi_resolve_list(ifs, p->value, in->inv->a, &names);
	more = overmatch(ifs, &names);
	f = report_find(r, "lint.ompi.if_exclude", p->name);
	finding_set(f, ST_PASS, "%s=%s", p->name, p->value);
	if (ompi_find(ifs, "lo") && !ompi_excluded(&names, "lo")) {
		finding_set(f, ST_FAIL,
			    "%s=%s lets lo in: it replaces the default %s, and peers are "
			    "offered 127.0.0.1",
			    p->name, p->value, OMPI_DEFAULT_EXCLUDE);
		fix_set(f, p, arena_printf(in->inv->a, "127.0.0.0/8,%s", p->value));
	} else if (more) {
		finding_set(f, ST_WARN, "%s=%s also leaves out %s: entries match as prefixes",
			    p->name, p->value, more);
	}
	report_add(r, f);
}

/* What 4's mpirun heeds, and what became of it. */
static void check_moved(const struct ompi_params *o, const struct ompi_param *was,
			const struct ompi_param *is, struct report *r)
{
	struct finding *f;

	if (!was->value || is->value)
		return;
	f = report_find(r, "lint.ompi.moved", was->name);
	finding_set(f, o->release ? ST_WARN : ST_INFO,
		    "%s=%s is not heeded by Open MPI 5, whose mpirun has %s for it", was->name,
		    was->value, is->env);
	finding_fix(f, "export %s=%s", is->env, shell_quote(f->a, was->value));
	report_add(r, f);
}

/* mpirun's own connections to its daemons: a rank's are btl's. */
static void check_mpirun(const struct rules_input *in, const ompi_ifs *ifs,
			 const struct ompi_params *o, struct report *r)
{
	if (o->release != 5) {
		check_both(&o->oob_include, &o->oob_exclude, r);
		check_include(in, ifs, o, &o->oob_include, r);
	}
	if (o->release == 4)
		return;
	check_moved(o, &o->oob_include, &o->prte_include, r);
	check_moved(o, &o->oob_exclude, &o->prte_exclude, r);
	check_both(&o->prte_include, &o->prte_exclude, r);
	check_include(in, ifs, o, &o->prte_include, r);
}

void ompi_check(const struct rules_input *in, struct report *r)
{
	struct ompi_params o;
	ompi_ifs ifs;

	ompi_params_read(in->inv->a, &o);
	ompi_ifs_read(in->inv, &ifs);
	check_both(&o.btl_include, &o.btl_exclude, r);
	check_include(in, &ifs, &o, &o.btl_include, r);
	if (!o.btl_include.value)
		check_exclude(in, &ifs, &o.btl_exclude, r);
	check_mpirun(in, &ifs, &o, r);
}
