/* Why what was to run on a host did not run there, although the way to it was well. */
#include "lib/cluster/trouble_words.h"

#include "lib/cluster/mend.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/quote.h"

#include <ctype.h>

/* Those that our programs need, by the start of their names. */
static const struct {
	const char *name, *debian, *fedora;
} libraries[] = {
	{"libcjson", "libcjson1", "cjson"},
	{"libsodium", "libsodium23", "libsodium"},
	{"libnl-3", "libnl-3-200", "libnl3"},
	{"libnl-route-3", "libnl-route-3-200", "libnl3"},
};

static const char *install(const struct fanout_result *r, const struct rsh_way *rsh,
			   const char *program, const char *library, struct arena *a)
{
	const char *slash = strrchr(library, '/');

	for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
		if (starts_with(slash ? slash + 1 : library, libraries[i].name))
			return mend_by_hand(r, rsh,
					    arena_printf(a,
							 "'sudo apt-get install -y %s || sudo dnf "
							 "install -y %s'",
							 libraries[i].debian, libraries[i].fedora),
					    "from here", a);
	return mend_by_hand(
		r, rsh, arena_printf(a, "'ldd \"$(command -v %s)\" | grep \"not found\"'", program),
		"all that it lacks; --copy-self carries what a run of ranks needs", a);
}

/* It is there, and the loader could not make a program of it. */
struct trouble trouble_not_loaded(const struct fanout_result *r, const struct rsh_way *rsh,
				  const char *program, struct arena *a)
{
	static const char loader[] = "error while loading shared libraries: ";
	const char *at = strstr(r->err, loader), *lib;

	if (at) {
		at += sizeof(loader) - 1;
		lib = trouble_first_line(a, arena_strndup(a, at, strcspn(at, ":\r\n")));
		return trouble_why(
			arena_printf(a, "%s cannot run on %s: the library %s %s", program, r->host,
				     lib,
				     starts_with(at + strlen(lib), ": cannot open shared object")
					     ? "is not there"
					     : "cannot be used"),
			install(r, rsh, program, lib, a));
	}
	lib = trouble_word_before(r->err, "' not found (required by ", a);
	if (lib)
		return trouble_why(
			arena_printf(a,
				     "%s cannot run on %s: it was built for a newer system "
				     "(%s is not there); build it on the oldest",
				     program, r->host, lib + (*lib == '`')),
			mend_by_hand(r, rsh, "'ldd --version; uname -m'", "what that host has", a));
	return (struct trouble){0};
}

/* Which file a shell was denied: it names it, or itself by that name (`sh -c ... PATH`). */
static const char *denied(const char *said, const char *program, struct arena *a)
{
	const char *path = trouble_word_before(said, ": Permission denied", a);

	if (!path || *path != '/')
		path = trouble_word_before(said, ": 1: exec: ", a)
			       ?: trouble_word_before(said, ": line ", a);
	return path && *path == '/' ? path : program;
}

/* The kernel would not begin it: by its mode, by its mount, or because it is no program for it. */
struct trouble trouble_not_executed(const struct fanout_result *r, const struct rsh_way *rsh,
				    const char *program, struct arena *a)
{
	const char *said = trouble_last_line(a, r->err), *path;

	if (!strstr(said, "Permission denied"))
		return trouble_why(
			arena_printf(a, "%s cannot run on %s (%s); is it built for that machine?",
				     program, r->host, said),
			mend_by_hand(r, rsh, "uname -m", "and here: uname -m", a));
	path = shell_quote(a, denied(r->err, program, a));
	return trouble_why(
		arena_printf(a,
			     "%s may not be run on %s (%s): its mode lacks x, or it lies on a "
			     "file system mounted noexec",
			     program, r->host, said),
		mend_by_hand(
			r, rsh,
			shell_quote(a, arena_printf(a, "chmod +x %s; findmnt -no OPTIONS -T %s",
						    path, path)),
			"noexec? then copy it to another folder there", a));
}

/* One file of it would not run there without its libraries and its folder: --copy-self, of whoever
 * has it, brings these. */
static struct trouble not_there(const struct fanout_result *r, const char *program, struct arena *a)
{
	return (struct trouble){
		.missing = true,
		.said = arena_printf(a, TROUBLE_NOT_THERE "; install it there, or give its path",
				     program, r->host)};
}

/* A login script's, or sh itself: what is not found there is another program than ours. */
static struct trouble another_missing(const struct fanout_result *r, const struct rsh_way *rsh,
				      const char *program, struct arena *a)
{
	const char *said = trouble_last_line(a, r->err);
	const char *here = rsh_is_exact(rsh) ? "" : arena_printf(a, " or in %s here", rsh->name);

	if (strstr(said, program) ||
	    !(strstr(said, "not found") || strstr(said, "Unknown command")))
		return (struct trouble){0};
	return trouble_why(
		arena_printf(a, "%s was not begun on %s, another program is missing there%s: %.*s",
			     program, r->host, here, TROUBLE_QUOTED, said),
		mend_by_hand(r, rsh, "echo works",
			     "says the same? then ~/.bashrc or ~/.profile there runs what is not "
			     "installed, or sets no PATH",
			     a));
}

struct trouble trouble_not_begun(const struct fanout_result *r, const struct rsh_way *rsh,
				 const char *program, struct arena *a)
{
	struct trouble t = trouble_not_loaded(r, rsh, program, a);

	if (!t.said)
		t = another_missing(r, rsh, program, a);
	return t.said ? t : not_there(r, program, a);
}
