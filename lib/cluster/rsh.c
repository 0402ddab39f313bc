#include "lib/cluster/rsh.h"

bool rsh_is_ssh(const char *program)
{
	const char *slash = strrchr(program, '/');

	return streq(slash ? slash + 1 : program, "ssh");
}

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

/* An ssh that somebody named with a key or a port waits as long for a host as ours does, and asks
 * as little: the terminal is not its own, and would stop it. Its own words stand first, and of one
 * option ssh takes the first. */
static int add_patience(const char *ours, struct arena *a, str_list *ret, struct err *e)
{
	str_list words = {0};

	if (split_words(ours, a, &words, e) < 0)
		return -1;
	for (size_t i = 1; i < words.n; i++) {
		if (!starts_with(words.v[i], "BatchMode=") &&
		    !starts_with(words.v[i], "ConnectTimeout=") &&
		    !starts_with(words.v[i], "ServerAliveInterval="))
			continue;
		*LIST_ADD(a, ret) = "-o";
		*LIST_ADD(a, ret) = words.v[i];
	}
	return 0;
}

int rsh_words(const char *given, const char *ours, struct arena *a, str_list *ret,
	      struct rsh_way *ret_way, struct err *e)
{
	const char *rsh = given ?: getenv("WINDSOCK_RSH");
	bool own = !rsh || !*rsh;
	str_list words = {0};

	if (split_words(own ? ours : rsh, a, &words, e) < 0)
		return -1;
	if (!words.n)
		return err_set(e, ERR_USAGE, "the remote shell (--rsh, WINDSOCK_RSH) is blank");
	for (size_t i = 0; i < words.n; i++)
		*LIST_ADD(a, ret) = words.v[i];
	if (!own && is_open_ssh(&words) && add_patience(ours, a, ret, e))
		return -1;
	*LIST_ADD(a, &words) = NULL;
	*ret_way = (struct rsh_way){words.v[0], own ? "ssh" : shell_quote_words(a, words.v)};
	return 0;
}

const char *rsh_typed(const char *given)
{
	if (!given)
		given = getenv(RSH_TYPED) ?: getenv("WINDSOCK_RSH");
	return given && *given ? given : "ssh";
}
