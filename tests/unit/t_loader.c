/* Which file the loader would take, without asking it to. */
#include "lib/host/loader.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

/* As glibc's ldconfig writes it: 48 bytes of head, entries of 24, texts. */
static const char texts[] = "libb.so.1\0/b/libb.so.1\0liba.so.1\0/first/liba.so.1\0/next/liba.so.1";

static size_t compose(char *to, bool has_older)
{
	static const uint32_t entries[][2] = {{0, 10}, {23, 33}, {23, 50}};
	uint32_t n = ARRAY_LEN(entries), at = 48 + 24 * n;
	char *head = to;

	if (has_older) {
		memcpy(to, "ld.so-1.7.0\0\0\0\0", 16);
		head += 16;
	}
	memset(head, 0, at);
	memcpy(head, "glibc-ld.so.cache1.1", 20);
	memcpy(head + 20, &n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		uint32_t text[] = {at + entries[i][0], at + entries[i][1]};

		memcpy(head + 48 + i * 24 + 4, text, sizeof(text));
	}
	memcpy(head + at, texts, sizeof(texts));
	return (size_t)(head - to) + at + sizeof(texts);
}

static void the_cache(void **state)
{
	char bytes[512];

	(void)state;
	for (int older = 0; older < 2; older++) {
		size_t n = compose(bytes, older);

		assert_string_equal(loader_in_cache(bytes, n, "liba.so.1"), "/first/liba.so.1");
		assert_string_equal(loader_in_cache(bytes, n, "libb.so.1"), "/b/libb.so.1");
		assert_null(loader_in_cache(bytes, n, "liba.so"));
	}
}

/* A cut one, one with other numbers in it: nothing beyond its end is read. */
static void a_damaged_cache(void **state)
{
	char bytes[512];
	size_t n = compose(bytes, false);

	(void)state;
	for (size_t cut = 0; cut < n; cut++) {
		char *exact = malloc(cut ? cut : 1);
		const char *path;

		assert_non_null(exact);
		memcpy(exact, bytes, cut);
		path = loader_in_cache(exact, cut, "liba.so.1");
		assert_true(!path || streq(path, "/first/liba.so.1"));
		assert_null(loader_in_cache(exact, cut, "none"));
		free(exact);
	}
	memset(bytes + 20, 0xff, 4); /* entries without end, */
	assert_null(loader_in_cache(bytes, n, "none"));
	memset(bytes + 48, 0xff, 3 * 24); /* and texts nowhere */
	assert_null(loader_in_cache(bytes, n, "liba.so.1"));
}

static void put(struct arena *a, const char *folder, const char *below)
{
	FILE *f;

	assert_int_equal(mkdir(arena_printf(a, "%s/%s", folder, below), 0700), 0);
	f = fopen(arena_printf(a, "%s/%s/libodd.so.1", folder, below), "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
}

static void the_environment(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	char home[] = "/tmp/t_loader.XXXXXX";
	static const char *const names[] = {"one", "two"};

	(void)state;
	assert_non_null(mkdtemp(home));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put(&a, home, names[i]);
	assert_null(loader_finds(&a, "libodd.so.1"));
	setenv("LD_LIBRARY_PATH", arena_printf(&a, "%s/none;%s/two:%s/one", home, home, home), 1);
	assert_string_equal(loader_finds(&a, "libodd.so.1"),
			    arena_printf(&a, "%s/two/libodd.so.1", home));
	assert_int_equal(chdir(arena_printf(&a, "%s/one", home)), 0);
	setenv("LD_LIBRARY_PATH", arena_printf(&a, "%s/none:", home), 1);
	assert_string_equal(loader_finds(&a, "libodd.so.1"), "./libodd.so.1");
	unsetenv("LD_LIBRARY_PATH");
	assert_int_equal(chdir("/"), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(remove(arena_printf(&a, "%s/%s/libodd.so.1", home, names[i])), 0);
		assert_int_equal(rmdir(arena_printf(&a, "%s/%s", home, names[i])), 0);
	}
	assert_int_equal(rmdir(home), 0);
}

/* This machine's own loader took the same. */
static void this_process(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct stat has, finds;

	(void)state;
	assert_null(loader_has(&a, "libnothing.so.1"));
	assert_int_equal(stat(loader_has(&a, "libc.so.6"), &has), 0);
	assert_int_equal(stat(loader_finds(&a, "libc.so.6"), &finds), 0);
	assert_true(has.st_ino == finds.st_ino && has.st_dev == finds.st_dev);
}

/* A library of nothing but its dynamic part: loaded at an address of its own, as those are. */
struct made {
	Elf64_Ehdr head;
	Elf64_Phdr parts[2];
	Elf64_Dyn entries[4];
	char texts[64];
};
enum { AT = 0x10000 };

static struct made made(Elf64_Sxword tag, const char *list)
{
	struct made m = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			 .e_phoff = offsetof(struct made, parts),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2},
		.parts = {{.p_type = PT_LOAD, .p_vaddr = AT, .p_filesz = sizeof(m)},
			  {.p_type = PT_DYNAMIC, .p_offset = offsetof(struct made, entries)}},
		.entries = {{tag, {8}}, {DT_STRTAB, {AT + offsetof(struct made, texts)}}}};

	(void)snprintf(m.texts + 8, sizeof(m.texts) - 8, "%s", list);
	return m;
}

static void write_made(const char *path, const void *m, size_t n)
{
	AUTO_FILE FILE *f = fopen(path, "we");

	assert_true(f && fwrite(m, 1, n, f) == n);
}

static void built_in_folders(void **state UNUSED)
{
	static const struct {
		Elf64_Sxword tag;
		const char *list;
		bool is_found;
	} cases[] = {
		{DT_RPATH, "$ORIGIN/plug", true},    {DT_RUNPATH, "/nowhere:${ORIGIN}/plug", true},
		{DT_RUNPATH, "$ORIGIN/plug:", true}, {DT_RPATH, "/nowhere::$ORIGIN", false},
		{DT_SONAME, "$ORIGIN/plug", false},
	};
	char home[] = "/tmp/t_loader.XXXXXX";
	AUTO(arena_done) struct arena a = {0};
	const char *library, *plugin;
	struct made m;

	assert_non_null(mkdtemp(home));
	library = arena_printf(&a, "%s/lib.so", home);
	plugin = arena_printf(&a, "%s/plug/libodd.so.1", home);
	put(&a, home, "plug");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *found;

		m = made(cases[i].tag, cases[i].list);
		write_made(library, &m, sizeof(m));
		found = loader_finds_for(&a, library, "libodd.so.1");
		assert_int_equal(found != NULL, cases[i].is_found);
		assert_true(!found || streq(found, plugin));
		assert_null(loader_finds_for(&a, library, "libeven.so.1"));
	}
	/* cut, and with other numbers in it */
	m = made(DT_RPATH, "$ORIGIN/plug");
	for (size_t cut = 0; cut < offsetof(struct made, texts) + 20; cut += 4) {
		write_made(library, &m, cut);
		assert_null(loader_finds_for(&a, library, "libodd.so.1"));
	}
	for (size_t at = sizeof(m.head.e_ident); at < offsetof(struct made, texts); at++) {
		struct made odd = m;

		memset((char *)&odd + at, 0xff, 8);
		write_made(library, &odd, sizeof(odd));
		(void)loader_finds_for(&a, library, "libodd.so.1");
	}
	assert_null(loader_finds_for(&a, home, "libodd.so.1"));
	assert_int_equal(remove(library) | remove(plugin), 0);
	assert_int_equal(rmdir(arena_printf(&a, "%s/plug", home)) | rmdir(home), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cache),	    cmocka_unit_test(a_damaged_cache),
		cmocka_unit_test(the_environment),  cmocka_unit_test(this_process),
		cmocka_unit_test(built_in_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
