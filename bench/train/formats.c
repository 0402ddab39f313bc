#include "bench/train/formats.h"

#include "lib/core/quote.h"

#include <endian.h>

enum { IDX_IMAGES = 0x803, IDX_LABELS = 0x801, IDX_HEAD = 16, IDX_LABEL_HEAD = 8 };

static int bad(const struct file_bytes *f, struct err *e, const char *why)
{
	err_set(e, ERR_SYS, "%s: %s", f->path, why);
	return err_hint(e, "get the file again, and compare its checksum with the publisher's");
}

/* As it was downloaded? */
static bool is_packed(const struct file_bytes *f)
{
	return f->n > 2 && f->p[0] == 0x1f && f->p[1] == 0x8b;
}

int file_packed(const char *path, const char *as, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *name = shell_quote(&a, path), *packed = shell_quote(&a, as ? as : path);

	err_set(e, ERR_SYS, "%s: it is still packed by gzip", as ? as : path);
	if (as)
		return err_command(e, "gunzip %s", packed);
	packed = shell_quote(&a, arena_printf(&a, "%s.gz", path));
	return err_command(e, "mv %s %s && gunzip %s", name, packed, packed);
}

static int packed(const struct file_bytes *f, struct err *e)
{
	return file_packed(f->path, NULL, e);
}

static int check_labels(const struct chunk *c, const struct file_bytes *f, struct err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		int label = c->labels[i * c->label_step] - c->label_base;

		if (label < 0 || label >= IMAGE_CLASSES) {
			err_set(e, ERR_SYS, "%s: sample %zu has label %d, not one of ten", f->path,
				i, c->labels[i * c->label_step]);
			return err_hint(e, "get the file again");
		}
	}
	return 0;
}

static uint32_t word(const struct file_bytes *f, int at)
{
	uint32_t w;

	memcpy(&w, f->p + 4 * at, sizeof(w));
	return be32toh(w);
}

static int check_idx(const struct file_bytes *f, size_t head, uint32_t magic, const char *why,
		     struct err *e)
{
	if (is_packed(f))
		return packed(f, e);
	return f->n < head || word(f, 0) != magic ? bad(f, e, why) : 0;
}

int idx_parse(const struct file_bytes *images, const struct file_bytes *labels, struct chunk *ret,
	      struct image_shape *ret_shape, struct err *e)
{
	struct chunk c = {.image_step = 0, .label_step = 1};
	uint32_t side;

	if (check_idx(images, IDX_HEAD, IDX_IMAGES, "not an IDX file of images", e) ||
	    check_idx(labels, IDX_LABEL_HEAD, IDX_LABELS, "not an IDX file of labels", e))
		return -1;
	side = word(images, 2);
	c.n = word(images, 1);
	if (!c.n)
		return bad(images, e, "there is no image in it");
	if (!side || side > IMAGE_SIDE_MAX || word(images, 3) != side)
		return bad(images, e, "its images are not square, or of no sensible size");
	c.image_step = (size_t)side * side;
	if (images->n - IDX_HEAD != c.n * c.image_step)
		return bad(images, e, "its length is not what its header says: truncated?");
	if (word(labels, 1) != c.n || labels->n - IDX_LABEL_HEAD != c.n)
		return bad(labels, e, "it does not have one label for each image: truncated?");
	c.images = images->p + IDX_HEAD;
	c.labels = labels->p + IDX_LABEL_HEAD;
	*ret_shape = (struct image_shape){1, (int)side, false};
	*ret = c;
	return check_labels(ret, labels, e);
}

int cifar_parse(const struct file_bytes *f, struct chunk *ret, struct err *e)
{
	enum { STEP = 1 + 3 * CIFAR_SIDE * CIFAR_SIDE };

	if (f->n % STEP && is_packed(f))
		return packed(f, e);
	if (!f->n || f->n % STEP)
		return bad(f, e, "its length is no multiple of 3073 bytes: truncated?");
	*ret = (struct chunk){f->p + 1, f->p, f->n / STEP, STEP, STEP, 0};
	return check_labels(ret, f, e);
}

int stl_parse(const struct file_bytes *images, const struct file_bytes *labels, struct chunk *ret,
	      struct err *e)
{
	enum { STEP = 3 * STL_SIDE * STL_SIDE };

	if (images->n % STEP && is_packed(images))
		return packed(images, e);
	if (!images->n || images->n % STEP)
		return bad(images, e, "its length is no multiple of 27648 bytes: truncated?");
	if (labels->n != images->n / STEP)
		return is_packed(labels)
			       ? packed(labels, e)
			       : bad(labels, e, "it does not have one label for each image");
	*ret = (struct chunk){images->p, labels->p, labels->n, STEP, 1, 1};
	return check_labels(ret, labels, e);
}

/* --- pixels ----------------------------------------------------------------------- */

static const float MEAN = 0.45f, SPREAD = 0.25f;

static float pixel(const uint8_t *channel, const struct image_shape *s, int y, int x)
{
	return channel[s->by_column ? x * s->side + y : y * s->side + x];
}

/* Where output place @i is in the input: the neighbour before it, and how far on. */
static int place(int i, int from, int to, float *ret_rest)
{
	float at = ((float)i + 0.5f) * (float)from / (float)to - 0.5f;
	int low = at < 0 ? 0 : (int)at;

	low = low > from - 2 ? (from > 1 ? from - 2 : 0) : low;
	at -= (float)low;
	*ret_rest = from < 2 || at < 0 ? 0 : at > 1 ? 1 : at;
	return low;
}

static void resize(const uint8_t *channel, const struct image_shape *s, int side, float weight,
		   float *ret)
{
	for (int y = 0; y < side; y++) {
		float v, u;
		int top = place(y, s->side, side, &v), below = s->side > 1 ? top + 1 : top;

		for (int x = 0; x < side; x++) {
			int left = place(x, s->side, side, &u),
			    right = s->side > 1 ? left + 1 : left;
			float a = pixel(channel, s, top, left) * (1 - u) +
				  pixel(channel, s, top, right) * u;
			float b = pixel(channel, s, below, left) * (1 - u) +
				  pixel(channel, s, below, right) * u;

			ret[y * side + x] += weight * (a * (1 - v) + b * v);
		}
	}
}

int chunk_image(const struct chunk *c, const struct image_shape *s, size_t i, int channels,
		int side, float *ret)
{
	static const float grey[] = {0.299f, 0.587f, 0.114f};
	const uint8_t *image = c->images + i * c->image_step;
	size_t area = (size_t)side * (size_t)side, from = (size_t)s->side * (size_t)s->side;

	for (size_t k = 0; k < area * (size_t)channels; k++)
		ret[k] = -MEAN / SPREAD;
	for (int ch = 0; ch < (channels > s->channels ? channels : s->channels); ch++) {
		const uint8_t *in = image + (s->channels > 1 ? from * (size_t)ch : 0);
		float part = channels < s->channels ? grey[ch] : 1;

		resize(in, s, side, part / (255 * SPREAD),
		       ret + (channels > 1 ? area * (size_t)ch : 0));
	}
	return c->labels[i * c->label_step] - c->label_base;
}
