#include "lib/core/packed.h"

#include "lib/core/quote.h"

#define TAR "tar -xOf", "tar -xOf -", "tar -xf", " -C"

/* Of two that a name ends in, the longer is first. */
static const struct packed known[] = {
	{".tar.gz", TAR},
	{".tgz", TAR},
	{".tar.zst", TAR},
	{".tar.xz", TAR},
	{".tar.bz2", TAR},
	{".tar", TAR},
	{".zip", "unzip -p", "funzip", "unzip -q", " -d"},
	{".gz", "zcat", "zcat", "gunzip -k", NULL},
	{".zst", "zstdcat", "zstdcat", "unzstd", NULL},
	{".xz", "xzcat", "xzcat", "unxz -k", NULL},
	{".bz2", "bzcat", "bzcat", "bunzip2 -k", NULL},
};

const struct packed *packed_named(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (ends_with(path, known[i].end))
			return &known[i];
	return NULL;
}

const struct packed *packed_begins(const char *head, size_t n)
{
	static const struct {
		const char *magic;
		size_t n, at;
		const char *name;
	} begins[] = {{"\x1f\x8b\x08", 3, 0, "a.gz"},
		      {"\x28\xb5\x2f\xfd", 4, 0, "a.zst"},
		      {"\xfd"
		       "7zXZ",
		       5, 0, "a.xz"},
		      {"BZh", 3, 0, "a.bz2"},
		      {"PK\x03\x04", 4, 0, "a.zip"},
		      {"ustar", 5, 257, "a.tar"}};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (n >= begins[i].at + begins[i].n &&
		    memcmp(head + begins[i].at, begins[i].magic, begins[i].n) == 0)
			return packed_named(begins[i].name);
	return NULL;
}

static void say(const struct packed *p, const char *path, struct err *e)
{
	(void)err_set(e, ERR_SYS, "%s is %s", streq(path, "-") ? "what comes in" : path,
		      p->into ? "an archive" : "compressed");
}

/* Its name says more where a tar is within. */
static const struct packed *by_name(const struct packed *p, const char *path)
{
	const struct packed *named = packed_named(path);

	return named && named->into ? named : p;
}

int packed_refuse(const struct packed *p, const char *path, const char *reader, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};

	p = by_name(p, path);
	say(p, path, e);
	if (streq(path, "-"))
		return err_command(e, "%s | %s", p->pipe, reader);
	return err_command(e, "%s %s | %s", p->cat, shell_quote(&a, path), reader);
}

int packed_refuse_named(const struct packed *p, const char *path, const char *reader, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *out = arena_strndup(&a, path, strlen(path) - strlen(p->end));

	say(p, path, e);
	return err_command(e, "%s %s && %s %s", p->unpack, shell_quote_path(&a, path), reader,
			   shell_quote_path(&a, out));
}

/* The folder is a new one: what else lies there is no part of it. */
static int refuse_archive(const struct packed *p, const char *path, const char *reader,
			  struct arena *a, struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name) - (ends_with(name, p->end) ? strlen(p->end) : 0);
	const char *in = ends_with(name, p->end) ? arena_strndup(a, name, n)
						 : arena_printf(a, "%s.files", name);

	return err_command(e, "mkdir %s && %s %s%s %s && %s %s/*", shell_quote(a, in), p->unpack,
			   shell_quote(a, path), p->into, shell_quote(a, in), reader,
			   shell_quote(a, in));
}

int packed_refuse_files(const struct packed *p, const char *path, const char *reader, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *out;

	p = by_name(p, path);
	out = ends_with(path, p->end) ? arena_strndup(&a, path, strlen(path) - strlen(p->end))
				      : arena_printf(&a, "%s.unpacked", path);
	say(p, path, e);
	if (p->into)
		return refuse_archive(p, path, reader, &a, e);
	return err_command(e, "%s %s > %s && %s %s", p->cat, shell_quote(&a, path),
			   shell_quote(&a, out), reader, shell_quote(&a, out));
}

int packed_refuse_folder(const struct packed *p, const char *folder, const char *reader,
			 struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *in = shell_quote(&a, folder);
	const char *slash = ends_with(folder, "/") ? "" : "/";

	err_set(e, ERR_SYS, "the files in %s are %s", folder, p->into ? "archives" : "compressed");
	if (p->into)
		return err_hint(e, "unpack them: %s FILE%s FOLDER, then %s FOLDER", p->unpack,
				p->into, reader);
	return err_command(e, "%s %s%s*%s && %s %s", p->unpack, in, slash, p->end, reader, in);
}
