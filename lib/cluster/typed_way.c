#include "lib/cluster/typed_way.h"

#include "lib/cluster/rsh.h"
#include "lib/core/quote.h"
#include "lib/report/line.h"

#include <ctype.h>

const char *typed_there(struct arena *a, const char *way, const char *host, const char *line)
{
	return arena_printf(a, "%s %s %s", way, shell_quote(a, host), line);
}

/* Words alone: the host gets the same of them, whether they are one word here or several. */
static bool is_plain(const char *line)
{
	for (; *line; line++)
		if (!isalnum((unsigned char)*line) && !strchr(" _@%+:,./=-", *line))
			return false;
	return true;
}

/* With "" where it has '' and nothing that "" would let through: that is easier to read. */
static const char *as_one_word(struct arena *a, const char *line)
{
	if (is_plain(line))
		return line;
	if (strchr(line, '\'') && !strpbrk(line, "\"$`\\!"))
		return arena_printf(a, "\"%s\"", line);
	return shell_quote(a, line);
}

const char *typed_on(struct arena *a, const char *way, const char *host, const char *command)
{
	const char *remark = strchr(command, '\n') ? "" : line_remark(command), *end = remark;

	if (!*remark)
		return typed_there(a, way, host, as_one_word(a, command));
	while (end > command && end[-1] == ' ')
		end--;
	command = arena_strndup(a, command, (size_t)(end - command));
	return arena_printf(a, "%s%s", typed_there(a, way, host, as_one_word(a, command)), end);
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
