#include "lib/cluster/typed_way.h"

#include "lib/cluster/rsh.h"
#include "lib/core/quote.h"

const char *typed_there(struct arena *a, const char *way, const char *host, const char *line)
{
	return arena_printf(a, "%s %s %s", way, shell_quote(a, host), line);
}

/* In one step: what runs there now goes on. */
const char *typed_copy(struct arena *a, const char *way, const char *host, const char *file,
		       const char *to)
{
	const char *at = shell_quote(a, to), *new = shell_quote(a, arena_printf(a, "%s.new", to));
	const char *there =
		arena_printf(a, "cat >%s && chmod +x %s && mv %s %s", new, new, new, at);

	return arena_printf(a, "%s <%s", typed_there(a, way, host, shell_quote(a, there)), file);
}

const char *typed_for(struct arena *a, const char *command, const char *rsh, const char *hosts)
{
	rsh = rsh ?: getenv(RSH_TYPED);
	rsh = rsh && *rsh ? arena_printf(a, " --rsh %s", shell_quote(a, rsh_shown(a, rsh))) : "";
	return arena_printf(a, "%s%s --hosts %s", command, rsh, shell_quote(a, hosts));
}
