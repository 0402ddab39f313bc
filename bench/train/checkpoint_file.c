#include "bench/train/checkpoint_file.h"

#include "bench/train/random.h"
#include "lib/core/file.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char MAGIC[8] = "WSCKPT\r\n"; /* no text file's, and a copy as text shows */
enum { VERSION = 1 };
enum { BITE = 4 << 20, WINDOW = 8 * BITE }; /* what is on its way to the disk at a time */

static uint64_t data_bytes(const struct checkpoint_head *h)
{
	uint64_t n = h->filler;

	for (int i = 0; i < CHECKPOINT_PARTS; i++)
		n += h->floats[i] * sizeof(float);
	return n;
}

uint64_t checkpoint_bytes(const struct checkpoint_head *h)
{
	return CHECKPOINT_HEAD + data_bytes(h);
}

static uint64_t hash_head(const struct checkpoint_head *h)
{
	return hash_bytes(h, offsetof(struct checkpoint_head, own_hash));
}

/* --- what lies where --------------------------------------------------------------------- */

/* File systems that compress or find what they have already must not get away with less. */
static void fill(uint64_t from, unsigned char *to, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint64_t word = random_mix((from + i) / sizeof(word));
		size_t at = (from + i) % sizeof(word), k = sizeof(word) - at;

		k = k < n - i ? k : n - i;
		memcpy(to + i, (const unsigned char *)&word + at, k);
		i += k;
	}
}

/* Calls @move with each piece of the numbers that lies in [from, from + n). */
static uint64_t numbers_in(const struct checkpoint_head *h, uint64_t from, size_t n,
			   void (*move)(void *arg, int part, uint64_t at, unsigned char *buf,
					size_t n),
			   void *arg, unsigned char *buf)
{
	uint64_t begin = 0, moved = 0;

	for (int i = 0; i < CHECKPOINT_PARTS; i++) {
		uint64_t end = begin + h->floats[i] * sizeof(float), at = from + moved;

		if (at >= begin && at < end && moved < n) {
			uint64_t k = end - at < n - moved ? end - at : n - moved;

			move(arg, i, at - begin, buf + moved, (size_t)k);
			moved += k;
		}
		begin = end;
	}
	return moved;
}

static void put(void *arg, int part, uint64_t at, unsigned char *buf, size_t n)
{
	const float *const *numbers = arg;

	memcpy(buf, (const unsigned char *)numbers[part] + at, n);
}

static void get(void *arg, int part, uint64_t at, unsigned char *buf, size_t n)
{
	float *const *to = arg;

	if (to[part])
		memcpy((unsigned char *)to[part] + at, buf, n);
}

static void make(const struct checkpoint_head *h, const float *const *numbers, uint64_t from,
		 unsigned char *buf, size_t n)
{
	uint64_t k = numbers_in(h, from, n, put, (void *)(uintptr_t)numbers, buf);

	fill(from + k, buf + k, n - (size_t)k);
}

/* --- writing ------------------------------------------------------------------------------ */

static int write_at(int fd, const unsigned char *data, size_t n, uint64_t at)
{
	while (n) {
		ssize_t k = pwrite(fd, data, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			errno = k ? errno : ENOSPC;
			return -1;
		}
		data += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

static void tell(const struct checkpoint_pass *p, uint64_t bytes)
{
	if (p->moved)
		p->moved(p->arg, bytes);
}

/* Writing goes on while what came before is on its way, and the sync at the end is a short one: so
 * a file server that stands still is told from one that has much to do. */
static void push(int fd, uint64_t end)
{
	if (end % WINDOW)
		return;
	(void)sync_file_range(fd, (off_t)(end - WINDOW), WINDOW, SYNC_FILE_RANGE_WRITE);
	if (end >= 2 * WINDOW)
		(void)sync_file_range(fd, (off_t)(end - 2 * WINDOW), WINDOW,
				      SYNC_FILE_RANGE_WAIT_BEFORE);
}

static int write_data(int fd, struct checkpoint_head *h, const float *const *numbers,
		      unsigned char *buf, struct checkpoint_pass *p)
{
	uint64_t all = data_bytes(h), began;

	for (uint64_t at = 0; at < all;) {
		size_t n = all - at < BITE ? (size_t)(all - at) : BITE;

		make(h, numbers, at, buf, n);
		h->data_hash = random_mix(h->data_hash ^ hash_bytes(buf, n));
		buf[0] ^= (unsigned char)(p->is_torn && !at);
		began = now_ns();
		if (write_at(fd, buf, n, CHECKPOINT_HEAD + at))
			return -1;
		at += n;
		push(fd, at);
		p->seconds += (double)(now_ns() - began) / 1e9;
		tell(p, n);
	}
	return 0;
}

static int write_head(int fd, struct checkpoint_head *h, unsigned char *buf)
{
	memcpy(h->magic, MAGIC, sizeof(MAGIC));
	h->version = VERSION;
	h->own_hash = hash_head(h);
	memset(buf, 0, CHECKPOINT_HEAD);
	memcpy(buf, h, sizeof(*h));
	return write_at(fd, buf, CHECKPOINT_HEAD, 0);
}

static int finish(int fd, const char *path, const char *temp, struct checkpoint_pass *p)
{
	uint64_t began = now_ns();
	int result = fsync(fd);

	if (!result)
		result = rename(temp, path) || file_sync_folder(path) ? -1 : 0;
	p->seconds += (double)(now_ns() - began) / 1e9;
	tell(p, 0);
	return result;
}

int checkpoint_write(const char *path, const char *temp, struct checkpoint_head *h,
		     const float *const *numbers, struct checkpoint_pass *p, struct err *e)
{
	AUTO_FREE unsigned char *buf = malloc(BITE);
	AUTO_CLOSE int fd = -1;

	if (!buf)
		return err_sys(e, "no memory to write %s", path);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "cannot make a file in it");
	h->data_hash = 0;
	if (write_data(fd, h, numbers, buf, p) || write_head(fd, h, buf) ||
	    finish(fd, path, temp, p))
		return err_sys(e, "cannot write %zu bytes there", (size_t)checkpoint_bytes(h));
	return 0;
}

/* --- reading ------------------------------------------------------------------------------ */

static int unlike(struct err *e, const char *what)
{
	errno = EBADMSG;
	return err_set(e, ERR_SYS, "%s", what);
}

static int check_head(const struct checkpoint_head *h, const struct checkpoint_head *want,
		      struct err *e)
{
	if (memcmp(h->magic, MAGIC, sizeof(MAGIC)))
		return unlike(e, "it does not begin as a checkpoint of ddpsmoke does");
	if (h->version != VERSION)
		return unlike(e, "it is of another version of ddpsmoke");
	if (h->own_hash != hash_head(h))
		return unlike(e, "its head is not what was written: the hash differs");
	if (memcmp(h->model, want->model, sizeof(h->model)) || h->nparams != want->nparams)
		return unlike(e, "it is of another model");
	if (h->ranks != want->ranks || h->is_sharded != want->is_sharded)
		return unlike(e, "it is of another number of ranks, or sharded in another way");
	if (h->run != want->run || h->rank != want->rank || h->seed != want->seed)
		return unlike(e, "it is another rank's, or of another run");
	if (memcmp(h->floats, want->floats, sizeof(h->floats)))
		return unlike(e, "it has another number of values than that rank has");
	return 0;
}

static int check_length(uint64_t is, const struct checkpoint_head *h, struct err *e)
{
	uint64_t must = checkpoint_bytes(h);

	if (is == must)
		return 0;
	errno = EBADMSG;
	return err_set(e, ERR_SYS, "it is %zu bytes long, %zu were written", (size_t)is,
		       (size_t)must);
}

/* 1: all; 0: it ends before. */
static int read_at(int fd, unsigned char *to, size_t n, uint64_t at)
{
	while (n) {
		ssize_t k = pread(fd, to, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -1 : 0;
		to += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 1;
}

/* Of its beginning, more than a few pages: this machine has it in memory, and no disk or server is
 * asked. What a server has in its own, nobody tells us. */
static bool is_in_memory(int fd, uint64_t length)
{
	enum { LOOKED_AT = 64 << 20, PAGE = 4096, SHARE = 8 };
	size_t n = length < LOOKED_AT ? (size_t)length : LOOKED_AT, pages = (n + PAGE - 1) / PAGE;
	AUTO_FREE unsigned char *there = calloc(pages ? pages : 1, 1);
	void *p = n && there ? mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	size_t found = 0;

	if (p == MAP_FAILED)
		return false;
	if (!mincore(p, n, there))
		for (size_t i = 0; i < pages; i++)
			found += there[i] & 1;
	(void)munmap(p, n);
	return found * SHARE > pages;
}

static int read_data(int fd, const struct checkpoint_head *h, float *const *to, unsigned char *buf,
		     struct checkpoint_pass *p, struct err *e)
{
	uint64_t all = data_bytes(h), hash = 0, began;

	for (uint64_t at = 0; at < all;) {
		size_t n = all - at < BITE ? (size_t)(all - at) : BITE;
		int whole;

		began = now_ns();
		whole = read_at(fd, buf, n, CHECKPOINT_HEAD + at);
		p->seconds += (double)(now_ns() - began) / 1e9;
		if (whole < 0)
			return err_sys(e, "cannot read it");
		if (!whole)
			return unlike(e, "it ends before all of it was read");
		hash = random_mix(hash ^ hash_bytes(buf, n));
		(void)numbers_in(h, at, n, get, (void *)(uintptr_t)to, buf);
		at += n;
		tell(p, n);
	}
	return hash == h->data_hash ? 0
				    : unlike(e, "its content is not what was written: the hash "
						"differs");
}

int checkpoint_read(const char *path, const struct checkpoint_head *want, float *const *to,
		    struct checkpoint_head *ret, struct checkpoint_pass *p, struct err *e)
{
	AUTO_FREE unsigned char *buf = malloc(BITE);
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int whole;

	if (!buf)
		return err_sys(e, "no memory to read %s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return err_sys(e, "cannot read it");
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p->is_cached = is_in_memory(fd, (uint64_t)st.st_size);
	whole = read_at(fd, buf, CHECKPOINT_HEAD, 0);
	if (whole < 0)
		return err_sys(e, "cannot read it");
	if (!whole)
		return check_length((uint64_t)st.st_size, want, e) ? -1 : unlike(e, "it was cut");
	memcpy(ret, buf, sizeof(*ret));
	if (check_head(ret, want, e) || check_length((uint64_t)st.st_size, ret, e))
		return -1;
	return read_data(fd, ret, to, buf, p, e);
}
