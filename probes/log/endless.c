#include "probes/log/endless.h"

#include "lib/core/text.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MEM_MAJOR = 1, NULL_MINOR = 3 };

static bool is_kernels(const struct statfs *fs)
{
	static const unsigned long magic[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,	      DEBUGFS_MAGIC,
		TRACEFS_MAGIC,	  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		SECURITYFS_MAGIC, SELINUX_MAGIC,      BPF_FS_MAGIC};

	for (size_t i = 0; i < ARRAY_LEN(magic); i++)
		if ((unsigned long)fs->f_type == magic[i])
			return true;
	return false;
}

bool endless_is_kernel(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && is_kernels(&fs);
}

int endless_refuse(const char *path, int fd, const struct stat *st, struct err *e)
{
	bool is_null = S_ISCHR(st->st_mode) && major(st->st_rdev) == MEM_MAJOR &&
		       minor(st->st_rdev) == NULL_MINOR;

	if (!S_ISBLK(st->st_mode) && (!S_ISCHR(st->st_mode) || is_null || isatty(fd)))
		return 0;
	err_set(e, ERR_SYS, "%s is a device, and no file of lines that ends", path);
	if (ends_with(path, "/kmsg"))
		return err_command(e, "sudo dmesg -T | ncclwhy");
	return err_hint(e, "give the files that hold what the ranks printed (stdout and stderr)");
}

int endless_refuse_folder(const char *path, struct err *e)
{
	struct statfs fs;

	if (statfs(path, &fs) || !is_kernels(&fs))
		return 0;
	err_set(e, ERR_SYS, "%s is no folder of logs: the kernel makes what is in it as it is read",
		path);
	return err_hint(e, "name the one file of it that is meant, or the folder that holds what "
			   "the ranks printed");
}
