/*
 * --copy-self: a host that has not the same program asks for it, gets our folder
 * as a tar archive over the stdin that the orders come by later, and becomes the
 * agent out of it. What it needs for that is sh, mktemp, head, tar and sha256sum.
 */
#include "lib/cluster/launch_agents.h"

#include "lib/core/opt.h"

#define ASKS "windsock-copy " WINDSOCK_VERSION
static const char asks[] = "\n" ASKS "\n";

/*
 * Several hosts may share a home and come at once: the copy is made beside its place and
 * gets there in one step, which fails where another host was quicker. A damaged one is put away
 * first, and comes back if it was another's good one by then. Builds that nobody has used for
 * a month go. Where it cannot be kept, the run still has $d.
 */
#define KEEPS                                                                                      \
	"keeps() { t=${kept%%/*}; mkdir -p \"$t\" && b=$(mktemp -d \"$t/new.XXXXXX\") && "         \
	"mkdir \"$b/new\" && tar -cf - -C \"$d\" . | tar -xf - -C \"$b/new\" && good \"$b/new\" "  \
	"|| return; "                                                                              \
	"good \"$kept\" || if [ -e \"$kept\" ]; then mv -T \"$kept\" \"$b/old\"; "                 \
	"if good \"$b/old\"; then mv -T \"$b/old\" \"$kept\"; fi; fi; "                            \
	"mv -T \"$b/new\" \"$kept\" || good \"$kept\" || return; "                                 \
	"for t in \"$t\"/*; do if [ -f \"$t/SHA256SUMS\" ] || [ -d \"$t/new\" ]; then "            \
	"[ -z \"$(find \"$t\" -prune -type d -mtime +30)\" ] || rm -rf \"$t\"; fi; done; } "       \
	"2>/dev/null; "

/*
 * sh reads a script from its argument: no stdin is used up. Everything after the
 * question comes only when it was asked, and orders only when the agent has
 * greeted, so nobody reads what is not theirs. /tmp may be mounted noexec. One
 * line without an exclamation mark: the account's own shell may be a csh.
 */
static const char script[] =
	"n=%s own=%s sum=%s all=%s size=%zu keep=%d run=%s; "
	"same() { [ -x \"$1\" ] && [ \"$(sha256sum <\"$1\" 2>/dev/null)\" = \"$sum  -\" ]; }; "
	/* what has its sums is whole where nobody can count: it came there in one step */
	"good() { if command -v sha256sum >/dev/null; then "
	"(cd \"$1\" && sha256sum -c SHA256SUMS) >/dev/null 2>&1; "
	"else [ -f \"$1/SHA256SUMS\" ]; fi; }; "
	"agent() { LD_LIBRARY_PATH=$1/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; "
	"export LD_LIBRARY_PATH; \"$1/bin/$n\" --version </dev/null >/dev/null || exit 1; "
	"exec \"$1/bin/$n\" --agent; }; "
	/* a dead file server keeps nothing of ours from another folder */
	ANSWERS "answers \"${own%%/*}\" || own=; "
	"if same \"$own\"; then exec \"$own\" --agent; fi; "
	/* what is started later in a run that carries takes what is at our own path (carry.c) */
	"[ \"$run\" ] && [ -x \"$own\" ] || { p=$(command -v \"$n\") && same \"$p\" && "
	"exec \"$p\" --agent; }; "
	"kept=${XDG_CACHE_HOME:-$HOME/.cache}/windsock/$all; "
	"answers \"${XDG_CACHE_HOME:-$HOME}\" || keep=0 kept=; "
	"if good \"$kept\"; then touch \"$kept\" 2>/dev/null; agent \"$kept\"; fi; "
	"for t in mktemp head tar; do command -v $t >/dev/null || { "
	"echo \"$n: there is no $t there, which --copy-self takes: install it\" >&2; exit 1; }; "
	"done; "
	"if [ -t 0 ]; then echo \"$n: " TROUBLE_TERMINAL "\" >&2; exit 1; fi; "
	"if [ -c /dev/stdin ]; then echo \"$n: " TROUBLE_UNFED "\" >&2; exit 1; fi; "
	"new() { answers \"$1\" || return; if [ \"$run\" ]; then mkdir \"$1/windsock.$run.$h\" && "
	"echo \"$1/windsock.$run.$h\"; "
	"else mktemp -d \"$1/windsock.XXXXXX\"; fi 2>/dev/null; }; " KEEPS
	"umask 077; d= b= h=$(uname -n); "
	"trap '[ -z \"$d$b\" ] || rm -rf \"$d\" \"$b\"' EXIT; trap 'exit 1' HUP INT PIPE TERM; "
	"for t in \"${TMPDIR:-/tmp}\" \"$HOME\" /var/tmp; do "
	"d=$(new \"$t\") || continue; "
	"d=$(cd \"$d\" && pwd -P); printf '#\\041/bin/sh\\012' >\"$d/x\"; chmod 700 \"$d/x\"; "
	"\"$d/x\" 2>/dev/null && break; rm -rf \"$d\"; d=; "
	"done; "
	"[ \"$d\" ] || { echo \"$n: no folder there takes programs: tried TMPDIR, HOME, /var/tmp\" "
	">&2; "
	"exit 1; }; "
	"rm \"$d/x\"; printf '\\012%%s\\012' '" ASKS "'; "
	"head -c \"$size\" | tar -xf - -C \"$d\" || { "
	"echo \"$n: our folder does not fit into $d: is that disk full?\" >&2; exit 1; }; "
	"good \"$d\" || { "
	"echo \"$n: the copy arrived damaged: is its disk full?\" >&2; exit 1; }; "
	"if [ $keep = 1 ] && keeps; then rm -rf \"$d\" \"$b\"; d= b=; agent \"$kept\"; fi; "
	"rm -rf \"$b\"; b=; "
	"WINDSOCK_COPY=$d; export WINDSOCK_COPY; agent \"$d\"";

int copy_prepare(struct launch *L, struct err *e)
{
	const char *command = L->o.argv[0], *slash = strrchr(command, '/');
	const char *const with[] = {slash ? slash + 1 : command, NULL};

	return L->parcel.n ? 0 : parcel_pack(with, L->a, &L->parcel, e);
}

const char *copy_script(const struct launch *L, const char *own, const char *name)
{
	struct arena *a = L->a;

	return arena_printf(a, script, shell_quote(a, name), shell_quote(a, own), L->parcel.own_sum,
			    L->parcel.sum, L->parcel.n, L->o.keep, L->run_id);
}

static void on_asked(struct link *l)
{
	const struct parcel *p = &CONTAINER_OF(l, struct agent_host, link)->of->parcel;

	link_send_raw(l, p->p, p->n);
}

void copy_offer(struct agent_host *h)
{
	if (!h->of->o.copy_self || h->local)
		return;
	h->link.asks = asks;
	h->link.on_asked = on_asked;
}
