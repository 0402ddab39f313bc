#include "bench/train/data.h"

#include "bench/train/digits.h"
#include "bench/train/random.h"
#include "lib/core/quote.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PATH = 4096, MADE = 2048, MADE_VALIDATION = 512, VALIDATION = 1024 };

struct opening {
	struct data *d;
	const char *folder;
	char path[PATH]; /* of the latest file */
	char pair[PATH]; /* of the labels before it */
	struct err *e;
};

/* --- files ------------------------------------------------------------------------- */

/* In the folder, or in the one that the archive unpacks to. Never waits: it may be a pipe. Many
 * mirrors have MNIST's "train-images-idx3-ubyte" as "train-images.idx3-ubyte". */
static int open_in(struct opening *o, const char *sub, const char *name)
{
	enum { HOW = O_RDONLY | O_CLOEXEC | O_NONBLOCK };
	const char *dash = strstr(name, "-idx");
	int fd;

	if (dash) {
		(void)snprintf(o->path, sizeof(o->path), "%s/%s%.*s.%s", o->folder, sub,
			       (int)(dash - name), name, dash + 1);
		fd = open(o->path, HOW);
		if (fd >= 0 || errno != ENOENT)
			return fd;
	}
	(void)snprintf(o->path, sizeof(o->path), "%s/%s%s", o->folder, sub, name);
	return open(o->path, HOW);
}

/* What people have in the folder instead. */
static bool is_another_form(struct opening *o, const char *sub)
{
	static const struct {
		const char *sub, *has, *advice;
	} forms[] = {
		{"cifar-10-batches-bin/", "cifar-10-binary.tar.gz", NULL},
		{"cifar-10-batches-bin/", "cifar-10-batches-py",
		 "is CIFAR-10 as Python reads it, and torchvision gets it; the binary version is "
		 "another download: cifar-10-binary.tar.gz"},
		{"stl10_binary/", "stl10_binary.tar.gz", NULL},
	};
	char path[PATH];

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		AUTO(arena_done) struct arena a = {0};

		(void)snprintf(path, sizeof(path), "%s/%s", o->folder, forms[i].has);
		if (!streq(sub, forms[i].sub) || access(path, F_OK))
			continue;
		if (forms[i].advice)
			(void)err_hint(o->e, "%s %s", path, forms[i].advice);
		else
			(void)err_command(o->e, "tar -xzf %s -C %s", shell_quote(&a, path),
					  shell_quote(&a, o->folder));
		return true;
	}
	return false;
}

/* It is not there; as it was downloaded? */
static int no_file(struct opening *o, const char *sub, const char *name)
{
	struct err opened = {0};
	char packed[PATH + 4];

	err_sys(&opened, "cannot open %s", o->path);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(o->path, sizeof(o->path), "%s/%s%s", o->folder, i ? sub : "", name);
		(void)snprintf(packed, sizeof(packed), "%s.gz", o->path);
		if (!access(packed, F_OK))
			return file_packed(o->path, packed, o->e);
	}
	*o->e = opened;
	if (is_another_form(o, sub))
		return -1;
	if (*o->folder == '~') /* in the middle of a word the shell leaves it */
		return err_hint(o->e, "write $HOME%s: behind the colon no shell expands ~",
				o->folder + 1);
	return err_hint(o->e, "unpack the data set below %s, on every host", o->folder);
}

static const struct data_file *map_file(struct opening *o, const char *sub, const char *name)
{
	AUTO_CLOSE int fd = open_in(o, "", name);
	struct data_file *f = &o->d->files[o->d->nfiles];
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		fd = open_in(o, sub, name);
	if (fd < 0 || fstat(fd, &st)) {
		no_file(o, sub, name);
		return NULL;
	}
	*f = (struct data_file){.name = name, .n = (size_t)st.st_size};
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		err_set(o->e, ERR_SYS, "%s is empty, or no file", o->path);
		return NULL;
	}
	f->map = mmap(NULL, f->n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (f->map == MAP_FAILED) {
		f->map = NULL;
		err_sys(o->e, "cannot read %s", o->path);
		return NULL;
	}
	o->d->nfiles++;
	f->hash = hash_bytes(f->map, f->n);
	return f;
}

static struct file_bytes bytes(const struct data_file *f, const char *path)
{
	return (struct file_bytes){f->map, f->n, path};
}

/* The labels first: whose images are looked for has them. */
static bool map_pair(struct opening *o, const char *sub, const char *const names[2],
		     struct file_bytes ret[2])
{
	const struct data_file *labels = map_file(o, sub, names[1]), *images;

	(void)snprintf(o->pair, sizeof(o->pair), "%s", o->path);
	images = labels ? map_file(o, sub, names[0]) : NULL;
	if (!images)
		return false;
	ret[0] = bytes(images, o->path);
	ret[1] = bytes(labels, o->pair);
	return true;
}

static struct chunk *new_chunk(struct opening *o, enum data_part part)
{
	return &o->d->chunks[part][o->d->nchunks[part]++];
}

/* One shape serves for all samples. */
static int check_side(struct opening *o, const struct image_shape *before)
{
	if (before->side == o->d->shape.side)
		return 0;
	err_set(o->e, ERR_SYS, "%s: its images are %d pixels wide, those to train on %d", o->path,
		o->d->shape.side, before->side);
	return err_hint(o->e, "get both files of one data set");
}

static int open_mnist(struct opening *o)
{
	static const char *const names[DATA_PARTS][2] = {
		{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
		{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};

	for (int part = 0; part < DATA_PARTS; part++) {
		struct image_shape before = o->d->shape;
		struct file_bytes pair[2];

		if (!map_pair(o, "MNIST/raw/", names[part], pair) ||
		    idx_parse(&pair[0], &pair[1], new_chunk(o, part), &o->d->shape, o->e) ||
		    (part && check_side(o, &before)))
			return -1;
	}
	return 0;
}

static int open_cifar(struct opening *o)
{
	static const char *const names[] = {"data_batch_1.bin", "data_batch_2.bin",
					    "data_batch_3.bin", "data_batch_4.bin",
					    "data_batch_5.bin", "test_batch.bin"};

	o->d->shape = (struct image_shape){3, CIFAR_SIDE, false};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct data_file *f = map_file(o, "cifar-10-batches-bin/", names[i]);
		enum data_part part = i < 5 ? DATA_TRAIN : DATA_VALIDATION;
		struct file_bytes all;

		if (!f)
			return -1;
		all = bytes(f, o->path);
		if (cifar_parse(&all, new_chunk(o, part), o->e))
			return -1;
	}
	return 0;
}

static int open_stl(struct opening *o)
{
	static const char *const names[DATA_PARTS][2] = {{"train_X.bin", "train_y.bin"},
							 {"test_X.bin", "test_y.bin"}};

	o->d->shape = (struct image_shape){3, STL_SIDE, true};
	for (int part = 0; part < DATA_PARTS; part++) {
		struct file_bytes pair[2];

		if (!map_pair(o, "stl10_binary/", names[part], pair) ||
		    stl_parse(&pair[0], &pair[1], new_chunk(o, part), o->e))
			return -1;
	}
	return 0;
}

/* --- any of them --------------------------------------------------------------------- */

static const struct kind {
	const char *name;
	int (*open)(struct opening *o);
} kinds[] = {{"mnist", open_mnist}, {"cifar10", open_cifar}, {"stl10", open_stl}};

static const struct kind *find(const char *spec)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t n = strlen(kinds[i].name);

		if (starts_with(spec, kinds[i].name) && spec[n] == ':' && spec[n + 1])
			return &kinds[i];
	}
	return NULL;
}

int data_check(const char *spec, struct err *e)
{
	if (streq(spec, "synthetic") || find(spec))
		return 0;
	return err_set(e, ERR_USAGE,
		       "--data: '%.60s' is not synthetic, mnist:DIR, cifar10:DIR or stl10:DIR",
		       spec);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static int count(struct data *d, const char *spec, size_t samples, size_t validation, struct err *e)
{
	for (int part = 0; part < DATA_PARTS; part++)
		for (int i = 0; i < d->nchunks[part]; i++)
			d->n[part] += d->chunks[part][i].n;
	if (samples > d->n[DATA_TRAIN]) {
		err_set(e, ERR_USAGE, "--samples: %s has %zu samples, not %zu", spec,
			d->n[DATA_TRAIN], samples);
		return err_hint(e, "--samples %zu, or all of them without it", d->n[DATA_TRAIN]);
	}
	if (validation > d->n[DATA_VALIDATION]) {
		err_set(e, ERR_USAGE, "--validation: %s has %zu samples for that, not %zu", spec,
			d->n[DATA_VALIDATION], validation);
		return err_hint(e, "--validation %zu is all of them", d->n[DATA_VALIDATION]);
	}
	d->n[DATA_TRAIN] = samples ? samples : d->n[DATA_TRAIN];
	d->n[DATA_VALIDATION] = least(d->n[DATA_VALIDATION], validation ? validation : VALIDATION);
	return 0;
}

int data_open(struct data *d, const char *spec, uint64_t seed, size_t samples, size_t validation,
	      struct err *e)
{
	const struct kind *k = find(spec);
	struct opening o = {.d = d, .e = e};

	*d = (struct data){.name = k ? k->name : "synthetic", .is_made = !k, .seed = seed};
	if (!k) {
		d->n[DATA_TRAIN] = samples ? samples : MADE;
		d->n[DATA_VALIDATION] = validation ? validation : MADE_VALIDATION;
		return 0;
	}
	o.folder = strchr(spec, ':') + 1;
	if (!k->open(&o) && !count(d, spec, samples, validation, e))
		return 0;
	data_close(d);
	return -1;
}

void data_close(struct data *d)
{
	for (int i = 0; i < d->nfiles; i++)
		(void)munmap(d->files[i].map, d->files[i].n);
	d->nfiles = 0;
}

/* Each pixel several times over, or not at all; all channels are the same. */
static void stretch(const float *pixels, int channels, int side, float *ret)
{
	size_t row = (size_t)side * sizeof(*ret), area = (size_t)side * (size_t)side;

	for (int x = 0; x < side; x++)
		ret[x] = pixels[x * DIGITS_SIDE / side];
	for (int y = 1; y < side; y++) {
		int from = y * DIGITS_SIDE / side;
		float *to = ret + y * side;

		if (from == (y - 1) * DIGITS_SIDE / side)
			memcpy(to, to - side, row);
		else
			for (int x = 0; x < side; x++)
				to[x] = pixels[from * DIGITS_SIDE + x * DIGITS_SIDE / side];
	}
	for (int ch = 1; ch < channels; ch++)
		memcpy(ret + (size_t)ch * area, ret, area * sizeof(*ret));
}

/* What is made has 28 x 28 grey pixels; they are repeated for a larger input. */
static int make(const struct data *d, enum data_part part, size_t i, int channels, int side,
		float *ret)
{
	float pixels[DIGITS_SIDE * DIGITS_SIDE];
	uint64_t index = part == DATA_VALIDATION ? DIGITS_VALIDATION + i : i;
	bool is_same = channels == 1 && side == DIGITS_SIDE;
	int label = digit_make(d->seed, index, is_same ? ret : pixels);

	if (!is_same)
		stretch(pixels, channels, side, ret);
	return label;
}

int data_get(const struct data *d, enum data_part part, size_t i, int channels, int side,
	     float *ret)
{
	const struct chunk *c = d->chunks[part];

	if (d->is_made)
		return make(d, part, i, channels, side, ret);
	while (i >= c->n)
		i -= c++->n;
	return chunk_image(c, &d->shape, i, channels, side, ret);
}
