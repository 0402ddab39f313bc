#include "lib/cluster/rsh.h"

#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

static const char *named_way(const char *given) { return given ?: getenv("WINDSOCK_RSH"); }

bool rsh_is_named(const char *given)
{
	given = named_way(given);
	return given && *given;
}

bool rsh_is_ssh(const char *program)
{
	const char *slash = strrchr(program, '/');

	return streq(slash ? slash + 1 : program, "ssh");
}

bool rsh_is_exact(const struct rsh_way *w) { return w->here || rsh_is_ssh(w->name); }

/* Nothing but options behind "ssh": what follows them is still ssh's to read. */
static bool is_open_ssh(const str_list *words)
{
	static const char take_value[] = "BbcDEeFIiJLlmOoPpQRSWw";
	size_t i = 1;

	if (!rsh_is_ssh(words->v[0]))
		return false;
	for (; i < words->n; i++) {
		const char *w = words->v[i];

		if (*w != '-' || !w[1] || w[1] == '-')
			return false;
		for (w++; *w && !strchr(take_value, *w); w++)
			;
		i += *w && !w[1];
	}
	return i == words->n;
}

static void add_option(struct arena *a, str_list *ret, const char *option)
{
	*LIST_ADD(a, ret) = "-o";
	*LIST_ADD(a, ret) = option;
}

/* All that ssh is told by us; host keys are checked as the user set it up. An ssh that somebody
 * named with a key or a port waits as long for a host as ours does, and asks as little. Its own
 * words stand first, and of one option ssh takes the first; but of -t and -T the last. No command
 * of ours has use for a terminal, or for what is forwarded; and RemoteCommand would keep each of
 * them out (ssh before 7.6 does not know it, and says so: way.c). */
static void add_options(uint64_t deadline_ns, struct arena *a, str_list *ret)
{
	uint64_t s = deadline_ns / NS_PER_S;

	*LIST_ADD(a, ret) = "-T";
	*LIST_ADD(a, ret) = "-x";
	add_option(a, ret, "ClearAllForwardings=yes");
	add_option(a, ret, "RemoteCommand=none");
	add_option(a, ret, "BatchMode=yes");
	s = s > 10 ? 10 : s > 2 ? s - 1 : 1; /* it gives up first where it can: it knows why */
	add_option(a, ret, arena_printf(a, "ConnectTimeout=%llu", (unsigned long long)s));
	add_option(a, ret, "ServerAliveInterval=5");
}

/* `sshpass -p PW ssh`, `sshpass -pPW ssh`: true where there was one. */
static bool hide_password(str_list *words)
{
	const char *slash = words->n ? strrchr(words->v[0], '/') : NULL;
	bool found = false;

	if (!words->n || !streq(slash ? slash + 1 : words->v[0], "sshpass"))
		return false;
	for (size_t i = 1; i < words->n && *words->v[i] == '-'; i++) {
		if (!starts_with(words->v[i], "-p"))
			continue;
		found = true;
		if (words->v[i][2])
			words->v[i] = "-p...";
		else if (++i < words->n)
			words->v[i] = "...";
	}
	return found;
}

int rsh_words(const char *given, uint64_t deadline_ns, struct arena *a, str_list *ret,
	      struct rsh_way *ret_way, struct err *e)
{
	const char *rsh = named_way(given);
	bool named = rsh_is_named(given);
	str_list words = {0};

	if (split_words(named ? rsh : "ssh", a, &words, e) < 0)
		return -1;
	if (!words.n)
		return err_set(e, ERR_USAGE, "the remote shell (--rsh, WINDSOCK_RSH) is blank");
	for (size_t i = 0; i < words.n; i++)
		*LIST_ADD(a, ret) = words.v[i];
	if (is_open_ssh(&words))
		add_options(deadline_ns, a, ret);
	hide_password(&words);
	*LIST_ADD(a, &words) = NULL;
	*ret_way = (struct rsh_way){.name = words.v[0], .typed = shell_quote_words(a, words.v)};
	return 0;
}

const char *rsh_shown(struct arena *a, const char *rsh)
{
	str_list words = {0};
	struct err ignored;

	if (split_words(rsh, a, &words, &ignored) < 0 || !hide_password(&words))
		return rsh;
	*LIST_ADD(a, &words) = NULL;
	return shell_quote_words(a, words.v);
}

const char *rsh_typed(struct arena *a, const char *given)
{
	if (!given)
		given = getenv(RSH_TYPED) ?: getenv("WINDSOCK_RSH");
	return given && *given ? rsh_shown(a, given) : "ssh";
}
