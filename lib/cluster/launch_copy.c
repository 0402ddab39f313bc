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
 * sh reads a script from its argument: no stdin is used up. Everything after the
 * question comes only when it was asked, and orders only when the agent has
 * greeted, so nobody reads what is not theirs. /tmp may be mounted noexec. One
 * line without an exclamation mark: the account's own shell may be a csh.
 */
static const char script[] =
	"n=%s own=%s sum=%s all=%s size=%zu keep=%d; "
	"same() { [ -x \"$1\" ] && [ \"$(sha256sum <\"$1\" 2>/dev/null)\" = \"$sum  -\" ]; }; "
	"good() { (cd \"$1\" && sha256sum -c SHA256SUMS) >/dev/null 2>&1; }; "
	"agent() { LD_LIBRARY_PATH=$1/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; "
	"export LD_LIBRARY_PATH; \"$1/bin/$n\" --version </dev/null >/dev/null || exit 1; "
	"exec \"$1/bin/$n\" --agent; }; "
	"if same \"$own\"; then exec \"$own\" --agent; fi; "
	"p=$(command -v \"$n\") && same \"$p\" && exec \"$p\" --agent; "
	"kept=${XDG_CACHE_HOME:-$HOME/.cache}/windsock/$all; "
	"if good \"$kept\"; then agent \"$kept\"; fi; "
	"umask 077; d=; "
	"trap '[ -z \"$d\" ] || rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT PIPE TERM; "
	"for t in \"${TMPDIR:-/tmp}\" \"$HOME\" /var/tmp; do "
	"d=$(mktemp -d \"$t/windsock.XXXXXX\" 2>/dev/null) || continue; "
	"d=$(cd \"$d\" && pwd -P); printf '#\\041/bin/sh\\012' >\"$d/x\"; chmod 700 \"$d/x\"; "
	"\"$d/x\" 2>/dev/null && break; rm -rf \"$d\"; d=; "
	"done; "
	"[ \"$d\" ] || { echo \"no folder there takes programs: tried TMPDIR, HOME, /var/tmp\" "
	">&2; "
	"exit 1; }; "
	"rm \"$d/x\"; printf '\\012%%s\\012' '" ASKS "'; "
	"head -c \"$size\" | tar -xf - -C \"$d\" || { "
	"echo \"our folder does not fit into $d: is that disk full?\" >&2; exit 1; }; "
	"if command -v sha256sum >/dev/null; then good \"$d\" || { "
	"echo \"the copy arrived damaged: is its disk full?\" >&2; exit 1; }; fi; "
	"if [ $keep = 1 ]; then mkdir -p \"${kept%%/*}\" && rm -rf \"$kept\" && "
	"mv \"$d\" \"$kept\" && d= && agent \"$kept\"; exit 1; fi; "
	"WINDSOCK_COPY=$d; export WINDSOCK_COPY; agent \"$d\"";

int copy_prepare(struct launch *L, struct err *e)
{
	const char *command = L->o.argv[0], *slash = strrchr(command, '/');

	return L->parcel.n ? 0 : parcel_pack(slash ? slash + 1 : command, L->a, &L->parcel, e);
}

const char *copy_script(const struct launch *L, const char *own, const char *name)
{
	struct arena *a = L->a;

	return arena_printf(a, script, shell_quote(a, name), shell_quote(a, own), L->parcel.own_sum,
			    L->parcel.sum, L->parcel.n, L->o.keep);
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
