/* Files among other users and on other file systems: whose link is followed, who else may read what
 * was replaced, and what is on the disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { NOBODY = 65534 };

static char base[] = "/tmp/t_file_foreign.XXXXXX";
static struct err e;

static int replace(const char *path)
{
	e = (struct err){0};
	return file_replace(path, "new\n", 4, NULL, &e);
}

static void put(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);

	assert_true(fd >= 0 && write(fd, "old\n", 4) == 4);
}

static const char *text(const char *path)
{
	static struct arena a;

	return file_line(&a, path);
}

static int enter(void **state UNUSED) { return mkdtemp(base) && !chdir(base) ? 0 : -1; }

static int leave(void **state UNUSED)
{
	static const char *const all[] = {"mine",     "common/theirs", "common/own",
					  "common/f", "common/roots",  "listed",
					  "plain",    "defaults/f"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		(void)unlink(all[i]);
	(void)rmdir("defaults");
	return rmdir("common") || chdir("/") || rmdir(base) ? -1 : 0;
}

/* --output /tmp/run.json as root must not write through somebody's link to /root/.bashrc. */
static void another_users_link_in_a_common_folder_is_not_followed(void **state UNUSED)
{
	assert_int_equal(mkdir("common", 0755) | chmod("common", 01777), 0);
	put("mine");
	assert_int_equal(symlink("../mine", "common/own"), 0);
	assert_int_equal(replace("common/own"), 0);
	assert_string_equal(text("mine"), "new");
	if (geteuid() != 0) {
		print_message("needs root: another user's link was not tested\n");
		skip();
	}
	assert_int_equal(unlink("mine"), 0);
	put("mine");
	assert_int_equal(symlink("../mine", "common/theirs") | symlink("f", "common/roots") |
				 lchown("common/theirs", NOBODY, NOBODY),
			 0);
	assert_int_equal(replace("common/theirs"), -1);
	assert_int_equal(errno, EACCES);
	assert_non_null(strstr(e.msg, "another user's link"));
	assert_string_equal(text("mine"), "old");
	assert_int_equal(chdir("common"), 0);
	assert_int_equal(replace("theirs"), -1);
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(replace("common/roots"), 0);
	/* the folder's owner may lead where he likes, as the kernel has it */
	assert_int_equal(chown("common", NOBODY, NOBODY), 0);
	assert_int_equal(replace("common/theirs"), 0);
	assert_string_equal(text("mine"), "new");
}

/* user::rw-, user:NOBODY:r--, group::---, mask::r--, other::--- */
struct entry {
	uint16_t tag, perm;
	uint32_t id;
};
static const struct entry entries[] = {
	{1, 6, -1u}, {2, 4, NOBODY}, {4, 0, -1u}, {16, 4, -1u}, {32, 0, -1u}};

static bool give_list(const char *path, const char *kind)
{
	unsigned char raw[4 + sizeof(entries)];
	uint32_t version = htole32(2);

	memcpy(raw, &version, 4);
	for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
		struct entry x = {htole16(entries[i].tag), htole16(entries[i].perm),
				  htole32(entries[i].id)};

		memcpy(raw + 4 + i * sizeof(x), &x, sizeof(x));
	}
	return setxattr(path, kind, raw, sizeof(raw), 0) == 0;
}

static ssize_t list_of(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0);
}

static void who_else_may_read_stays(void **state UNUSED)
{
	struct stat st;

	put("listed");
	if (!give_list("listed", "system.posix_acl_access")) {
		print_message("no access lists on this file system\n");
		skip();
	}
	assert_int_equal(replace("listed"), 0);
	assert_string_equal(text("listed"), "new");
	assert_int_equal(list_of("listed"), 4 + sizeof(entries));
	assert_int_equal(stat("listed", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640); /* the mask: the group itself has nothing */
	/* an old file without a list gets none from its folder */
	put("plain");
	assert_int_equal(mkdir("defaults", 0755) | rename("plain", "defaults/f"), 0);
	assert_true(give_list("defaults", "system.posix_acl_default"));
	assert_int_equal(replace("defaults/f"), 0);
	assert_int_equal(list_of("defaults/f"), -1);
	assert_int_equal(stat("defaults/f", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

/* A sync is asked of the folder, and where its file system knows none that is no failure. */
static void a_folder_is_synced_where_that_can_be(void **state UNUSED)
{
	put("synced");
	assert_int_equal(file_sync_folder("synced"), 0);
	assert_int_equal(file_sync_folder("./synced"), 0);
	assert_int_equal(file_sync_folder("/synced"), 0);
	assert_int_equal(file_sync_folder("/proc/self/synced"), 0);
	assert_int_equal(file_sync_folder("nowhere/synced"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(file_sync_folder("synced/x"), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(unlink("synced"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_users_link_in_a_common_folder_is_not_followed),
		cmocka_unit_test(who_else_may_read_stays),
		cmocka_unit_test(a_folder_is_synced_where_that_can_be),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
