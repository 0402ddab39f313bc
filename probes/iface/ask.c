#include "probes/iface/ask.h"

#include "probes/iface/peers.h"
#include "probes/rules/nccl.h"

#define AT(field) .off = offsetof(struct iface_ask, field)

static const char *const computed_or_fixed[] = {"computed", "fixed", NULL};

const struct opt iface_ask_rows[IFACE_ASK_NROWS] = {
	{.help = "What to do (without any: show this host's network and judge it)"},
	{.name = "suggest",
	 .metavar = "FORM",
	 .type = OPT_CHOICE,
	 AT(suggest),
	 .choices = emit_print_names,
	 .if_bare = "shell",
	 .help = "print the settings that make every stack use the right interface"},
	{.name = "predict",
	 .type = OPT_BOOL,
	 AT(predict),
	 .help = "say what NCCL, Gloo, torchrun, Open MPI and UCX would use as things are"},
	{.name = "check",
	 .type = OPT_BOOL,
	 AT(check),
	 .help = "judge the settings in the environment, in NCCL's conf files and in "
		 "accelerate's"},
	{.name = "ip",
	 .metavar = "ADDR",
	 .type = OPT_STR,
	 AT(ip),
	 .help = "say which interface has this address; a public one is answered with the private "
		 "one"},
	{.name = "bashrc",
	 .metavar = "HOW",
	 .type = OPT_CHOICE,
	 AT(bashrc),
	 .choices = computed_or_fixed,
	 .if_bare = "computed",
	 .help = "put a marked block into ~/.bashrc: a line that asks again in every shell, or "
		 "fixed values"},
	{.name = "write",
	 .metavar = "KIND",
	 .type = OPT_CHOICE,
	 AT(write),
	 .choices = emit_write_names,
	 .help = "write the settings where that kind of reader finds them"},

	{.help = "How to choose"},
	{.name = "peer",
	 .metavar = "HOST[:PORT]",
	 .type = OPT_LIST,
	 AT(peers),
	 .complete = OPT_C_HOST,
	 .help = "prove the choice: this host must be reachable through it"},
	{OPT_HOSTS("ask all of these hosts"), AT(hosts)},
	{OPT_RSH, AT(rsh)},
	{OPT_COPY_SELF, AT(copy_self)},
	{OPT_KEEP, AT(keep)},
	{.name = "name-only",
	 .type = OPT_BOOL,
	 AT(name_only),
	 .help = "print the bare interface name"},
	{.name = "nccl-version",
	 .metavar = "VERSION",
	 .type = OPT_STR,
	 AT(nccl_version),
	 .help = "follow the rules of this NCCL, for example 2.27.7"},
	{.name = "accelerate",
	 .metavar = "FILE",
	 .type = OPT_STR,
	 AT(accelerate),
	 .complete = OPT_C_FILE,
	 .help = "--check this file of accelerate's, as for accelerate launch --config_file"},

	{.help = "How to write"},
	{.name = "fixed",
	 .type = OPT_BOOL,
	 AT(fixed),
	 .help = "write the values found now instead of a line that asks again"},
	{.name = "to",
	 .metavar = "PATH",
	 .type = OPT_STR,
	 AT(to),
	 .complete = OPT_C_FILE,
	 .help = "write to this file instead of the kind's own place"},
	{.name = "unit",
	 .metavar = "SERVICE",
	 .type = OPT_STR,
	 AT(unit),
	 .help = "the service that --write systemd is for"},
	{.name = "dry-run",
	 .type = OPT_BOOL,
	 AT(dry_run),
	 .help = "print the difference and change nothing"},
	{.name = "undo",
	 .type = OPT_BOOL,
	 AT(undo),
	 .help = "take out what --bashrc or --write put in"},
};

bool iface_ask_writes(const struct iface_ask *q) { return q->bashrc || q->write; }

/* Names the modes that were asked for; more than one is a usage error. */
static int count_modes(const struct iface_ask *q, const char **ret_first, const char **ret_second)
{
	const struct {
		bool on;
		const char *name;
	} modes[] = {{q->suggest, "--suggest"}, {q->predict, "--predict"}, {q->check, "--check"},
		     {q->ip, "--ip"},		{q->bashrc, "--bashrc"},   {q->write, "--write"}};
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (modes[i].on)
			*(n++ ? ret_second : ret_first) = modes[i].name;
	return n;
}

/* An option that its mode would not look at is a misunderstanding: say so. */
static int check_options(const struct iface_ask *q, struct err *e)
{
	bool writes = iface_ask_writes(q);
	const struct opt_need only[] = {
		{q->name_only, q->suggest || q->ip, "--name-only", "--suggest or --ip"},
		{q->fixed, writes, "--fixed", "--bashrc or --write KIND"},
		{q->to, writes, "--to", "--bashrc or --write KIND"},
		{q->dry_run, writes, "--dry-run", "--bashrc or --write KIND"},
		{q->undo, writes, "--undo", "--bashrc or --write KIND"},
		{q->accelerate, q->check, "--accelerate", "--check"},
		{q->unit, q->write && streq(q->write, "systemd"), "--unit", "--write systemd"},
		{q->peers.n, !q->check && !q->ip, "--peer", "a mode that chooses an interface"},
		{q->hosts, !q->ip, "--hosts", "a mode that concerns other hosts"},
		{q->copy_self, q->hosts, "--copy-self", "--hosts"},
		{q->keep, q->hosts, "--keep", "--hosts"},
		{q->peers.n, !q->hosts, "--peer", "one host: --hosts names the peers already"},
	};

	if ((q->to && !*q->to) || (q->accelerate && !*q->accelerate))
		return err_set(e, ERR_USAGE, "%s: the name of the file is empty",
			       q->to && !*q->to ? "--to" : "--accelerate");
	return opt_check_needs(only, ARRAY_LEN(only), e);
}

static bool is_fixed(const struct iface_ask *q)
{
	const struct emit_form *form = emit_find(q->bashrc ? "bashrc" : q->write);

	return q->fixed || (q->bashrc && streq(q->bashrc, "fixed")) || !form->render_computed;
}

struct write_request iface_ask_write(const struct iface_ask *q)
{
	return (struct write_request){.form = emit_find(q->bashrc ? "bashrc" : q->write),
				      .how = is_fixed(q) ? EMIT_FIXED : EMIT_COMPUTED,
				      .to = q->to,
				      .unit = q->unit,
				      .peers = q->peers,
				      .dry_run = q->dry_run,
				      .undo = q->undo};
}

/* Where it would be written, as far as the command line must say it. */
static int check_write(const struct iface_ask *q, struct arena *a, struct err *e)
{
	const struct write_request w = iface_ask_write(q);
	struct err why = {0};
	const char *path;

	if (!write_path(&w, a, &path, &why) || why.kind != ERR_USAGE)
		return 0;
	*e = why;
	return -1;
}

int iface_ask_check(struct iface_ask *q, struct arena *a, struct err *e)
{
	const char *first = NULL, *second = NULL;

	if (count_modes(q, &first, &second) > 1)
		return err_set(e, ERR_USAGE, "%s and %s cannot be combined", first, second);
	if (q->name_only && !first)
		q->suggest = "shell";
	if (check_options(q, e))
		return -1;
	if (q->nccl_version && nccl_version_parse(q->nccl_version, &q->version)) {
		err_set(e, ERR_USAGE, "--nccl-version: '%s' is not a version", q->nccl_version);
		return err_hint(e, "for example 2.28.9 or 22809");
	}
	if ((q->copy_self || q->keep) && iface_ask_writes(q) && !q->undo && !is_fixed(q)) {
		err_set(e, ERR_USAGE,
			"what this writes asks ifprobe again, which is on no PATH there after "
			"%s",
			q->copy_self ? "--copy-self" : "--keep");
		return err_hint(e, "write the values found now, with --fixed, or install windsock "
				   "there");
	}
	if (peers_validate(&q->peers, a, e) || (iface_ask_writes(q) && check_write(q, a, e)))
		return -1;
	return 0;
}

void iface_ask_remote(const struct iface_ask *q, struct arena *a, str_list *args)
{
	if (q->predict)
		*LIST_ADD(a, args) = "--predict";
	if (q->check)
		*LIST_ADD(a, args) = "--check";
	if (q->accelerate)
		*LIST_ADD(a, args) = arena_printf(a, "--accelerate=%s", q->accelerate);
	if (q->bashrc)
		*LIST_ADD(a, args) = arena_printf(a, "--bashrc=%s", q->bashrc);
	if (q->write)
		*LIST_ADD(a, args) = arena_printf(a, "--write=%s", q->write);
	if (q->to)
		*LIST_ADD(a, args) = arena_printf(a, "--to=%s", q->to);
	if (q->unit)
		*LIST_ADD(a, args) = arena_printf(a, "--unit=%s", q->unit);
	if (q->fixed)
		*LIST_ADD(a, args) = "--fixed";
	if (q->dry_run)
		*LIST_ADD(a, args) = "--dry-run";
	if (q->undo)
		*LIST_ADD(a, args) = "--undo";
	if (q->nccl_version)
		*LIST_ADD(a, args) = arena_printf(a, "--nccl-version=%s", q->nccl_version);
}
