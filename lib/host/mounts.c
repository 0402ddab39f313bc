#include "lib/host/mounts.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/cgroup.h"
#include "lib/host/memory.h"

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

enum { MOUNTINFO_MAX = 16 << 20 }; /* hosts of containers have thousands of lines */

static bool is_octal(const char *s)
{
	return s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
	       s[3] >= '0' && s[3] <= '7';
}

/* Blanks in names are written as \040. */
static const char *unescape(const char *s, size_t n, struct arena *a)
{
	char *copy = arena_strndup(a, s, n), *to = copy;

	for (const char *at = copy; *at; at++) {
		if (!is_octal(at)) {
			*to++ = *at;
			continue;
		}
		*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
		at += 3;
	}
	*to = '\0';
	return copy;
}

/* The next word of the line, "": there is none. */
static const char *word(const char **at, struct arena *a)
{
	size_t n = strcspn(*at, " \n");
	const char *w = unescape(*at, n, a);

	*at += n;
	*at += **at == ' ';
	return w;
}

/* "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw" */
static bool take(const char *line, struct arena *a, struct mount *ret)
{
	enum { POINT = 4 };
	const char *w = "";

	for (int i = 0; i <= POINT; i++)
		w = word(&line, a);
	ret->point = w;
	while (*w && !streq(w, "-"))
		w = word(&line, a);
	ret->kind = word(&line, a);
	ret->source = word(&line, a);
	return *ret->point && *ret->kind;
}

bool mount_in(const char *text, uint64_t id, struct arena *a, struct mount *ret)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = line;
		uint64_t its;

		if (!parse_uint(word(&at, a), &its) && its == id)
			return take(line, a, ret);
	}
	return false;
}

bool mount_of(int fd, struct arena *a, struct mount *ret)
{
	static const char key[] = "\nmnt_id:";
	struct err unknown = {0};
	const char *at;
	uint64_t id;
	char *text;
	size_t n;

	if (file_read(arena_printf(a, "/proc/self/fdinfo/%d", fd), 1 << 16, a, &text, &n, &unknown))
		return false;
	at = strstr(text, key);
	if (!at)
		return false;
	at += sizeof(key) - 1;
	at += strspn(at, " \t");
	if (parse_uint(arena_strndup(a, at, strcspn(at, "\n")), &id) ||
	    file_read("/proc/self/mountinfo", MOUNTINFO_MAX, a, &text, &n, &unknown))
		return false;
	return mount_in(text, id, a, ret);
}

bool mount_is_local(const char *kind)
{
	static const char *const local[] = {"ext2",	"ext3", "ext4",	  "xfs",   "btrfs",
					    "f2fs",	"zfs",	"tmpfs",  "ramfs", "rootfs",
					    "squashfs", "vfat", "exfat",  "ntfs3", "bcachefs",
					    "jfs",	"udf",	"overlay"};

	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if (streq(kind, local[i]))
			return true;
	return false;
}

int mount_room(const char *path, struct statvfs *ret)
{
	uint64_t most = cgroup_memory().most, all = memory_info("MemTotal:") * 1024;
	struct statfs kind;

	if (statvfs(path, ret))
		return -1;
	if (ret->f_blocks || statfs(path, &kind) || kind.f_type != TMPFS_MAGIC)
		return 0;
	ret->f_blocks = (most < all ? most : all) / ret->f_frsize;
	ret->f_bfree = ret->f_bavail = memory_available() / ret->f_frsize;
	return 0;
}
