/* What a container or a login session takes away from training: limits of this process. */
#include "probes/node/limits.h"
#include "lib/core/units.h"
#include "lib/host/memory.h"
#include "lib/host/mounts.h"
#include "lib/host/rdma.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)
#define LOCKED_LEAST (1024 * MIB)
#define SHM_NONE MIB
#define SHM_LOW (32 * MIB)
#define SHM_FEW (64 * MIB) /* what docker gives */
enum { FILES_NONE = 256, FILES_LEAST = 1024, FILES_GOOD = 4096 };

struct finding *limit_finding(struct node_look *look, const char *check, const char *subject)
{
	return tally_add(look->t, look->stage, look->stage_name, check, subject);
}

/* CAP_IPC_LOCK: for such a process the limit is none. */
static bool may_lock_all(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = {0};

	return !syscall(SYS_capget, &h, d) && d[0].effective & 1u << CAP_IPC_LOCK;
}

static void judge_locked(struct finding *f, uint64_t most)
{
	uint64_t good = memory_info("MemTotal:") * 1024 / 16;
	const char *why = most < LOCKED_LEAST ? ": RDMA must lock its buffers"
			  : most < good	      ? ": large models register more with RDMA"
					      : "";
	struct unit_buf b;

	finding_set(f,
		    most < LOCKED_LEAST ? ST_FAIL
		    : most < good	? ST_WARN
					: ST_PASS,
		    "is limited to %s%s", format_size(&b, most), why);
	if (f->status == ST_PASS)
		return;
	finding_expect(f, "unlimited");
	finding_fix(f, "for u in '*' root; do echo \"$u - memlock unlimited\"; done | sudo tee "
		       "/etc/security/limits.d/90-memlock.conf   # then log in again; "
		       "docker: --ulimit memlock=-1; Slurm: LimitMEMLOCK=infinity for "
		       "slurmd");
}

static void memlock(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.memlock", "locked memory");
	struct unit_buf b;
	struct rlimit l;

	if (getrlimit(RLIMIT_MEMLOCK, &l))
		finding_set(f, ST_SKIP, "its limit could not be read");
	else if (l.rlim_cur == RLIM_INFINITY)
		finding_set(f, ST_PASS, "is not limited");
	else if (!rdma_is_usable(look->a))
		finding_set(f, ST_PASS,
			    "is limited to %s; no RDMA device can be used here that needs more",
			    format_size(&b, l.rlim_cur));
	else if (may_lock_all())
		finding_set(f, l.rlim_cur < LOCKED_LEAST ? ST_INFO : ST_PASS,
			    "is limited to %s, but not for root here (CAP_IPC_LOCK)",
			    format_size(&b, l.rlim_cur));
	else
		judge_locked(f, l.rlim_cur);
}

static void files(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.nofile", "open files");
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l)) {
		finding_set(f, ST_SKIP, "their limit could not be read");
		return;
	}
	finding_set(f,
		    l.rlim_cur >= FILES_GOOD	? ST_PASS
		    : l.rlim_cur >= FILES_LEAST ? ST_INFO
		    : l.rlim_cur >= FILES_NONE	? ST_WARN
						: ST_FAIL,
		    "may be %llu at once%s", (unsigned long long)l.rlim_cur,
		    l.rlim_cur >= FILES_GOOD ? "" : ": many ranks and data workers need more");
	if (l.rlim_cur >= FILES_GOOD)
		return;
	finding_expect(f, ">= %d", FILES_GOOD);
	if (l.rlim_max >= FILES_GOOD)
		finding_fix(f, "ulimit -n %llu",
			    (unsigned long long)(l.rlim_max < 65536 ? l.rlim_max : 65536));
	finding_fix(f, "for u in '*' root; do echo \"$u - nofile 65536\"; done | sudo tee "
		       "/etc/security/limits.d/90-nofile.conf   "
		       "# then log in again; docker: --ulimit nofile=65536; Slurm: LimitNOFILE= "
		       "for slurmd");
}

static void shm_closed(struct finding *f, bool read_only)
{
	finding_set(f, ST_FAIL, "%s: ranks of one host share memory through it",
		    read_only ? "is mounted read-only" : "may not be written by this user");
	finding_expect(f, "that anybody may make files there");
	finding_fix(f,
		    read_only ? "sudo mount -o remount,rw /dev/shm" : "sudo chmod 1777 /dev/shm");
}

/* NCCL's ranks of one host and PyTorch's data workers talk through it. */
static void shm(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.shm", "/dev/shm");
	struct unit_buf total, left;
	uint64_t all, avail;
	struct statvfs s;
	double memory;

	if (mount_room("/dev/shm", &s) || !s.f_blocks) {
		finding_set(f, ST_FAIL, "is not there: ranks of one host share memory through it");
		finding_expect(f, "a tmpfs");
		finding_fix(f, "sudo mkdir -p /dev/shm && sudo mount -t tmpfs tmpfs /dev/shm");
		return;
	}
	if (access("/dev/shm", W_OK | X_OK)) {
		shm_closed(f, errno == EROFS);
		return;
	}
	all = (uint64_t)s.f_blocks * s.f_frsize;
	avail = (uint64_t)s.f_bavail * s.f_frsize;
	if (avail >= SHM_NONE && limit_files(look, f, &s, "/dev/shm"))
		return;
	finding_set(f,
		    avail < SHM_NONE			? ST_FAIL
		    : all <= SHM_FEW || avail < SHM_LOW ? ST_WARN
							: ST_PASS,
		    "has %s, %s free%s", format_size(&total, all), format_size(&left, avail),
		    avail < SHM_NONE
			    ? ": NCCL and data workers stop with \"No space left on device\""
			    : "");
	finding_value(f, (double)avail, "B");
	if (f->status == ST_PASS)
		return;
	finding_expect(f, "more than 64 MiB, 32 MiB of them free");
	/* half of the memory is what it has where nobody made it smaller */
	memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	finding_fix(
		f,
		"sudo mount -o remount,size=%d%% /dev/shm   # docker: --shm-size=8g or --ipc=host",
		(double)all < 0.4 * memory ? 50 : 80);
	if (all > SHM_FEW)
		finding_fix(f, "ls -lS /dev/shm   # what dead jobs left there: rm it");
}

static void stack(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.stack", "stack");
	struct unit_buf b;
	struct rlimit l;

	if (getrlimit(RLIMIT_STACK, &l)) {
		finding_set(f, ST_SKIP, "its limit could not be read");
		return;
	}
	finding_set(f, l.rlim_cur < MIB ? ST_WARN : ST_PASS, "%s for each thread",
		    l.rlim_cur == RLIM_INFINITY ? "no limit" : format_size(&b, l.rlim_cur));
	if (f->status == ST_WARN) {
		finding_expect(f, ">= 1 MiB");
		finding_fix(f, "ulimit -s 8192");
	}
}

/* A driver reserves room for the memory of all GPUs and of the host before it touches any. */
static void address_space(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.address_space", "address space");
	struct unit_buf b;
	struct rlimit l;

	if (getrlimit(RLIMIT_AS, &l)) {
		finding_set(f, ST_SKIP, "its limit could not be read");
	} else if (l.rlim_cur == RLIM_INFINITY) {
		finding_set(f, ST_PASS, "is not limited");
	} else {
		finding_set(f, ST_WARN,
			    "is limited to %s: CUDA reserves far more than it uses, and ends with "
			    "\"out of memory\"",
			    format_size(&b, l.rlim_cur));
		finding_expect(f, "unlimited");
		finding_fix(f, "ulimit -v unlimited   # Slurm: VSizeFactor=0; Grid Engine: h_vmem "
			       "sets it");
	}
}

void node_limits(struct node_look *look)
{
	memlock(look);
	files(look);
	shm(look);
	limits_groups(look);
	stack(look);
	address_space(look);
	limits_machine(look);
	limits_numa(look);
}
