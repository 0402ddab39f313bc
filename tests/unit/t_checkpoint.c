/* The file of a checkpoint: what was written is read again, and what was not is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/checkpoint_file.h"
#include "lib/core/arena.h"
#include "lib/host/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { PARAMS = 70001, STATS = 33, FILLER = (9 << 20) + 5 }; /* over the ends of pieces */

static char folder[] = "/tmp/t_checkpoint.XXXXXX";
static struct arena arena;
static float params[PARAMS], momentum[PARAMS], stats[STATS];
static const float *const numbers[CHECKPOINT_PARTS] = {params, momentum, stats};

static const char *path(void) { return arena_printf(&arena, "%s/rank-00001", folder); }
static const char *temp(void) { return arena_printf(&arena, "%s/.rank-00001", folder); }

static struct checkpoint_head head(void)
{
	return (struct checkpoint_head){.run = 7,
					.rank = 1,
					.ranks = 2,
					.model = "cnn",
					.nparams = PARAMS,
					.seed = 3,
					.epoch = 1,
					.step = 32,
					.floats = {PARAMS, PARAMS, STATS},
					.filler = FILLER,
					.scale = 65536};
}

static int make_folder(void **state)
{
	(void)state;
	for (int i = 0; i < PARAMS; i++) {
		params[i] = (float)i;
		momentum[i] = (float)-i;
	}
	for (int i = 0; i < STATS; i++)
		stats[i] = (float)i / 2;
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	(void)state;
	(void)unlink(path());
	(void)unlink(temp());
	arena_done(&arena);
	return rmdir(folder);
}

static void write_it(void)
{
	struct checkpoint_head h = head();
	struct checkpoint_pass p = {0};
	struct err e = {0};

	(void)unlink(path());
	assert_int_equal(checkpoint_write(path(), temp(), &h, numbers, &p, &e), 0);
	assert_true(p.seconds > 0);
	assert_int_equal(access(temp(), F_OK), -1);
}

static void moved(void *arg, uint64_t bytes) { *(uint64_t *)arg += bytes; }

static void what_was_written_is_read(void **state)
{
	static float got[2][PARAMS], got_stats[STATS];
	float *const to[] = {got[0], got[1], got_stats};
	struct checkpoint_head want = head(), h;
	uint64_t bytes = 0;
	struct checkpoint_pass p = {.moved = moved, .arg = &bytes};
	struct stat st;
	struct err e = {0};

	(void)state;
	write_it();
	want.filler = 0; /* is the writer's to choose */
	assert_int_equal(checkpoint_read(path(), &want, to, &h, &p, &e), 0);
	assert_memory_equal(got[0], params, sizeof(params));
	assert_memory_equal(got[1], momentum, sizeof(momentum));
	assert_memory_equal(got_stats, stats, sizeof(stats));
	assert_int_equal(h.epoch, 1);
	assert_int_equal(h.step, 32);
	assert_true(h.scale > 65535);
	assert_int_equal(stat(path(), &st), 0);
	assert_int_equal(st.st_size, checkpoint_bytes(&h));
	assert_int_equal(bytes + CHECKPOINT_HEAD, st.st_size);
}

static void refuses(const struct checkpoint_head *want, const char *why)
{
	float *const to[CHECKPOINT_PARTS] = {0};
	struct checkpoint_pass p = {0};
	struct checkpoint_head h;
	struct err e = {0};

	errno = 0;
	if (!checkpoint_read(path(), want, to, &h, &p, &e))
		fail_msg("%s: it was taken", why);
	if (errno != EBADMSG || !strstr(e.msg, why))
		fail_msg("%s expected, not %s", why, e.msg);
}

static void flip(off_t at)
{
	AUTO_CLOSE int fd = open(path(), O_RDWR | O_CLOEXEC);
	unsigned char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
}

static void one_bit_elsewhere_is_seen(void **state)
{
	const struct checkpoint_head want = head();
	const off_t places[] = {CHECKPOINT_HEAD, CHECKPOINT_HEAD + 4 * PARAMS + 5,
				(off_t)checkpoint_bytes(&want) - 1};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		write_it();
		flip(places[i]);
		refuses(&want, "its content is not what was written");
	}
	write_it();
	flip(offsetof(struct checkpoint_head, step));
	refuses(&want, "its head is not what was written");
	write_it();
	flip(0);
	refuses(&want, "does not begin as a checkpoint");
	write_it();
	flip(offsetof(struct checkpoint_head, version));
	refuses(&want, "another version");
}

static void a_cut_one_is_seen(void **state)
{
	const struct checkpoint_head want = head();
	const off_t lengths[] = {(off_t)checkpoint_bytes(&want) - 1, CHECKPOINT_HEAD, 100, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		write_it();
		assert_int_equal(truncate(path(), lengths[i]), 0);
		refuses(&want, "bytes long");
	}
	write_it();
	assert_int_equal(truncate(path(), (off_t)checkpoint_bytes(&want) + 1), 0);
	refuses(&want, "bytes long");
}

static void one_of_something_else_is_refused(void **state)
{
	struct checkpoint_head want = head();

	(void)state;
	write_it();
	(void)snprintf(want.model, sizeof(want.model), "mlp");
	refuses(&want, "another model");
	want = head();
	want.ranks = 4;
	refuses(&want, "another number of ranks");
	want = head();
	want.is_sharded = 1;
	refuses(&want, "another number of ranks, or sharded");
	want = head();
	want.rank = 0;
	refuses(&want, "another rank's");
	want = head();
	want.run = 8;
	refuses(&want, "of another run");
	want = head();
	want.floats[CHECKPOINT_STATS]++;
	refuses(&want, "another number of values");
}

static void a_test_can_tear_one(void **state)
{
	struct checkpoint_head h = head();
	struct checkpoint_pass p = {.is_torn = true};
	struct err e = {0};

	(void)state;
	(void)unlink(path());
	assert_int_equal(checkpoint_write(path(), temp(), &h, numbers, &p, &e), 0);
	refuses(&h, "its content is not what was written");
}

/* --- where it lies ------------------------------------------------------------------------- */

static const char mountinfo[] = "22 1 252:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n"
				"122 22 0:51 /a\\040b /mnt/my\\040data rw shared:2 master:7 - nfs4 "
				"nas:/export rw,vers=4.2\n"
				"2 22 0:5 / /dev rw - devtmpfs udev rw\n"
				"30 22 broken\n";

static void a_mount_is_found_by_its_number(void **state)
{
	struct mount m;

	(void)state;
	assert_true(mount_in(mountinfo, 122, &arena, &m));
	assert_string_equal(m.kind, "nfs4");
	assert_string_equal(m.source, "nas:/export");
	assert_string_equal(m.point, "/mnt/my data");
	assert_true(mount_in(mountinfo, 22, &arena, &m));
	assert_string_equal(m.point, "/");
	assert_true(mount_in(mountinfo, 2, &arena, &m));
	assert_string_equal(m.kind, "devtmpfs");
	assert_false(mount_in(mountinfo, 30, &arena, &m));
	assert_false(mount_in(mountinfo, 12, &arena, &m));
	assert_false(mount_in("", 1, &arena, &m));
	assert_true(mount_is_local("ext4") && mount_is_local("tmpfs"));
	assert_false(mount_is_local("nfs4") || mount_is_local("fuse.s3fs"));
}

static void the_kernel_says_it_of_proc(void **state)
{
	AUTO_CLOSE int fd = open("/proc/self", O_PATH | O_CLOEXEC);
	struct mount m;

	(void)state;
	assert_true(mount_of(fd, &arena, &m));
	assert_string_equal(m.kind, "proc");
	assert_string_equal(m.point, "/proc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(one_bit_elsewhere_is_seen),
		cmocka_unit_test(a_cut_one_is_seen),
		cmocka_unit_test(one_of_something_else_is_refused),
		cmocka_unit_test(a_test_can_tear_one),
		cmocka_unit_test(a_mount_is_found_by_its_number),
		cmocka_unit_test(the_kernel_says_it_of_proc),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
