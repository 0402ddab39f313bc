/* What breaks training on a machine outside the network: disk, clocks, huge pages, containers. */
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/host/answers.h"
#include "lib/host/memory.h"
#include "lib/host/mounts.h"
#include "lib/host/sysroot.h"
#include "probes/node/limits.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#define MIB (1ull << 20)
#define DISK_NONE MIB
#define DISK_LOW (256 * MIB)
static const uint64_t SLOW_NS = 200 * NS_PER_MS;

/* A file system that counts none makes them as it needs them. */
bool limit_files(struct node_look *look, struct finding *f, const struct statvfs *s,
		 const char *dir)
{
	enum { FEW = 1000 };
	unsigned long long left = s->f_favail;

	if (!s->f_files || left >= FEW)
		return false;
	if (left)
		finding_set(f, ST_WARN, "has room for %llu files more (inodes)", left);
	else
		finding_set(f, ST_FAIL,
			    "takes no file more, however much is free (inodes): \"No space left on "
			    "device\"");
	finding_expect(f, ">= %d more", FEW);
	finding_fix(f,
		    "du --inodes -xS %s | sort -n | tail   # where they are; remove what nobody "
		    "needs",
		    shell_quote(look->a, dir));
	return true;
}

static const char *temporary(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

static bool takes_files(const char *dir)
{
	return folder_answers(dir) && !access(dir, W_OK | X_OK);
}

/* Where temporary files go usually, but @but, and have room; what PyTorch and Triton compile there
 * must be loaded from there, too. NULL: nowhere. */
static const char *another_place(const char *but)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm"};
	struct statvfs s;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (!streq(places[i], but) && takes_files(places[i]) &&
		    !mount_room(places[i], &s) && !(s.f_flag & (ST_RDONLY | ST_NOEXEC)) &&
		    (uint64_t)s.f_bavail * s.f_frsize >= DISK_LOW)
			return places[i];
	return NULL;
}

/* A container's tmpfs, or another that never was larger: nothing fills it that could go. */
static void fix_small(struct finding *f, const char *dir)
{
	const char *place = streq(dir, temporary()) ? another_place(dir) : NULL;
	const char *all = shell_quote(f->a, dir);

	if (place)
		finding_fix(f, "export TMPDIR=%s   # %s is too small in all", place, all);
	else
		finding_fix(f, "findmnt -T %s   # it is too small in all", all);
}

static void disk_of(struct node_look *look, const char *dir)
{
	struct finding *f = limit_finding(look, "limits.disk", dir);
	const char *quoted = shell_quote(look->a, dir);
	struct unit_buf left;
	struct statvfs s;
	uint64_t avail;

	if (mount_room(dir, &s) || !s.f_blocks) {
		finding_set(f, ST_SKIP, "could not be looked at");
		return;
	}
	avail = (uint64_t)s.f_bavail * s.f_frsize;
	finding_value(f, (double)avail, "B");
	if (s.f_flag & ST_RDONLY) {
		finding_set(f, ST_INFO, "can only be read");
		return;
	}
	if (avail >= DISK_NONE && limit_files(look, f, &s, dir))
		return;
	finding_set(f,
		    avail < DISK_NONE  ? ST_FAIL
		    : avail < DISK_LOW ? ST_WARN
				       : ST_PASS,
		    "has %s free%s", format_size(&left, avail),
		    avail < DISK_NONE ? ": nothing more can be written there" : "");
	if (f->status == ST_PASS)
		return;
	finding_expect(f, ">= 256 MiB free");
	if ((uint64_t)s.f_blocks * s.f_frsize < DISK_LOW) /* there is nothing to remove */
		fix_small(f, dir);
	else
		finding_fix(
			f,
			"du -xah %s | sort -h | tail   # what fills it; remove what nobody needs",
			quoted);
}

/* How long it takes there to look for a file that is not there, which no cache knows. */
static uint64_t lookup_ns(struct node_look *look, const char *dir)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < 2; i++) { /* once this process may have had to wait itself */
		const char *name =
			arena_printf(look->a, "%s/.windsock-%d-%u", dir, (int)getpid(), i);
		uint64_t began = now_ns(), took;

		(void)!access(name, F_OK);
		took = now_ns() - began;
		least = took < least ? took : least;
		if (least < SLOW_NS)
			break;
	}
	return least;
}

static void slowness_of(struct node_look *look, const char *dir)
{
	uint64_t took = lookup_ns(look, dir);
	struct finding *f;
	struct unit_buf b;

	if (took < SLOW_NS)
		return;
	f = limit_finding(look, "limits.slow", dir);
	finding_value(f, (double)took / 1e9, "s");
	finding_set(f, ST_WARN,
		    "takes %s to say that a file is not there: every login, and every import "
		    "there, waits for hundreds of those",
		    format_duration(&b, took));
	finding_expect(f, "a few milliseconds");
	finding_fix(f, "findmnt -T %s; nfsstat -m; uptime   # whose is it, and is its server busy?",
		    shell_quote(look->a, dir));
}

/* Everything that looks there hangs: shells, imports, the ranks of a job. */
static bool is_dead(struct node_look *look, const char *dir)
{
	struct finding *f;

	if (folder_answers(dir))
		return false;
	f = limit_finding(look, "limits.dead", arena_strdup(look->a, dir));
	finding_set(f, ST_FAIL,
		    "does not answer: its file server is gone, and whatever looks there hangs for "
		    "ever, a login and a job as well");
	finding_expect(f, "an answer within 3 s");
	finding_fix(f,
		    FOLDERS_SERVERS "   # which server; when it is back, or for good: sudo umount "
				    "-f -l there");
	return true;
}

/* Each file system once: where temporary files, caches and checkpoints usually go. */
static void disks(struct node_look *look)
{
	char cwd[4096];
	const char *dirs[] = {temporary(), getenv("HOME"), getcwd(cwd, sizeof(cwd))};
	dev_t seen[ARRAY_LEN(dirs)];
	struct stat st;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		bool again = false;

		if (!dirs[i] || !*dirs[i] || is_dead(look, dirs[i]) || stat(dirs[i], &st))
			continue;
		for (size_t k = 0; k < n; k++)
			again |= seen[k] == st.st_dev;
		if (again)
			continue;
		seen[n++] = st.st_dev;
		disk_of(look, arena_strdup(look->a, dirs[i]));
		slowness_of(look, arena_strdup(look->a, dirs[i]));
	}
}

/* A line with a place that can be written, and is not @but, between its words. */
static void advise_place(struct finding *f, const char *but, const char *before, const char *behind)
{
	const char *place = another_place(but);

	if (place)
		finding_fix(f, "export %s%s%s", before, place, behind);
	else
		finding_fix(f, "df -h /tmp /var/tmp /dev/shm; findmnt -lo TARGET,FSTYPE,OPTIONS   "
			       "# which has room, and is neither ro nor noexec?");
}

/* Where temporary files go, and where libraries keep what they downloaded and compiled. */
static void writable(struct node_look *look)
{
	const char *tmp = temporary(), *home = getenv("HOME");
	struct finding *f;

	if (folder_answers(tmp) && access(tmp, W_OK | X_OK)) {
		f = limit_finding(look, "limits.writable", arena_strdup(look->a, tmp));
		finding_set(f, ST_WARN, "%s: temporary files have no place",
			    access(tmp, F_OK) ? "is not there" : "cannot be written here");
		finding_expect(f, "a folder of this user's");
		advise_place(f, tmp, "TMPDIR=", "");
	}
	if (home && *home && folder_answers(home) && access(home, W_OK | X_OK)) {
		f = limit_finding(look, "limits.writable", arena_strdup(look->a, home));
		finding_set(f, ST_INFO,
			    "%s: the home of this user, where PyTorch and others keep what they "
			    "downloaded and compiled",
			    access(home, F_OK) ? "is not there" : "cannot be written here");
		advise_place(f, home, "HOME=", "/home && mkdir -p \"$HOME\"");
	}
}

static void clocks(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.clock", "clock");
	const char *source = sysroot_line(
		look->a, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	bool slow = source && (streq(source, "hpet") || streq(source, "acpi_pm"));
	struct timex t = {0};
	const int state = adjtimex(&t);

	if (slow) {
		finding_set(f, ST_WARN, "is read from %s: every time stamp costs a microsecond",
			    source);
		finding_expect(f, "tsc");
		finding_fix(f, "echo tsc | sudo tee "
			       "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	} else if (state < 0) { /* a container's filter of system calls */
		finding_set(f, ST_SKIP, "may not be asked here whether it is kept in step");
	} else if (t.status & STA_UNSYNC) {
		finding_set(f, ST_INFO,
			    "is not kept in step with others here: logs of several hosts will not "
			    "line up, and certificates may look expired");
	} else {
		finding_set(f, ST_PASS, "is kept in step%s%s", source ? ", read from " : "",
			    source ? source : "");
	}
}

/* Memory that is set aside for them is missing everywhere else. */
static void huge_pages(struct node_look *look)
{
	uint64_t unused = memory_info("HugePages_Free:") * memory_info("Hugepagesize:");
	uint64_t all = memory_info("MemTotal:");
	struct finding *f;
	struct unit_buf b;

	if (!all)
		return;
	f = limit_finding(look, "limits.hugepages", "huge pages");
	finding_set(f, unused > all / 4 ? ST_WARN : ST_PASS,
		    unused ? "%s are set aside and unused" : "%s set aside and unused",
		    unused ? format_size(&b, unused << 10) : "nothing");
	if (f->status == ST_PASS)
		return;
	finding_expect(f, "less than a quarter of the memory");
	finding_fix(f, "sudo sysctl -w vm.nr_hugepages=0");
}

const char *limits_container(void)
{
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return "Kubernetes pod";
	if (sysroot_exists("/.dockerenv"))
		return "container";
	return sysroot_exists("/run/.containerenv") ? "container" : NULL;
}

/*
 * A container behind its own bridge has an address that no other host can
 * reach. One end of a pair whose other end is elsewhere (ifindex differs from
 * iflink) is what such a network looks like from inside.
 */
static void network_of_container(struct node_look *look)
{
	const char *what = limits_container(), *behind = NULL;
	struct finding *f;
	str_list links;

	if (!what || !sysroot_is_real() || look->asked)
		return; /* where hosts were named, what is between them is tested itself */
	sysroot_list(look->a, &links, "/sys/class/net");
	for (size_t i = 0; i < links.n; i++) {
		const char *name = links.v[i];

		if (sysroot_exists("/sys/class/net/%s/device", name))
			return; /* a card of its own: the host's network */
		if (sysroot_int(look->a, 0, "/sys/class/net/%s/ifindex", name) !=
		    sysroot_int(look->a, 0, "/sys/class/net/%s/iflink", name))
			behind = name;
	}
	if (!behind)
		return;
	f = limit_finding(look, "limits.container", behind);
	finding_set(f, streq(what, "container") ? ST_WARN : ST_INFO,
		    "is this %s's own network, not the host's: other hosts may not reach it", what);
	finding_expect(f, "the host's network");
	finding_fix(f, streq(what, "container")
			       ? "docker run --network=host ..."
			       : "kubectl explain pod.spec.hostNetwork   # true in "
				 "the pod's spec gives it the host's network");
}

void limits_machine(struct node_look *look)
{
	disks(look);
	writable(look);
	clocks(look);
	huge_pages(look);
	network_of_container(look);
}
