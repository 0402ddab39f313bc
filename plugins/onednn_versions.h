#ifndef PLUGINS_ONEDNN_VERSIONS_H
#define PLUGINS_ONEDNN_VERSIONS_H
/*
 * What oneDNN 2 (2.3 and later) and oneDNN 3 say differently: descriptions of memory, which
 * are values or objects, and how a primitive is described. A desc_t is owned by what it was
 * asked of; one of desc_new() is for desc_free().
 */
#include <dnnl.h>

#if DNNL_VERSION_MAJOR == 2
typedef const dnnl_memory_desc_t *desc_t;
#else
typedef const_dnnl_memory_desc_t desc_t;
#endif

/* A convolution, or a pooling (which has no weights). */
struct window {
	desc_t x, y, weights;
	dnnl_dims_t k, stride, pad;
};

#if DNNL_VERSION_MAJOR == 2

static dnnl_status_t desc_new(desc_t *ret, int ndims, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t *d = calloc(1, sizeof(*d));

	*ret = d;
	return d ? dnnl_memory_desc_init_by_tag(d, ndims, dims, dnnl_f32, tag) : dnnl_out_of_memory;
}
static void desc_free(desc_t d) { free((void *)(uintptr_t)d); }

/* What comes of @init, which fills in a description. */
#define WITH_DESC(kind, init, pd, engine, hint)                                                    \
	dnnl_##kind##_desc_t d;                                                                    \
	dnnl_status_t st = init;                                                                   \
                                                                                                   \
	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &d, NULL, engine, hint) : st

static dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
			       const struct window *w)
{
	WITH_DESC(convolution,
		  dnnl_convolution_forward_desc_init(&d, dnnl_forward_training,
						     dnnl_convolution_direct, w->x, w->weights,
						     NULL, w->y, w->stride, w->pad, w->pad),
		  pd, engine, NULL);
}
static dnnl_status_t conv_back_data_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
					 const struct window *w, dnnl_primitive_desc_t fwd)
{
	WITH_DESC(convolution,
		  dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, w->x,
							   w->weights, w->y, w->stride, w->pad,
							   w->pad),
		  pd, engine, fwd);
}
static dnnl_status_t conv_back_weights_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
					    const struct window *w, dnnl_primitive_desc_t fwd)
{
	WITH_DESC(convolution,
		  dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, w->x,
							      w->weights, NULL, w->y, w->stride,
							      w->pad, w->pad),
		  pd, engine, fwd);
}
static dnnl_status_t norm_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
			       dnnl_prop_kind_t prop, desc_t x, float epsilon, unsigned flags)
{
	WITH_DESC(batch_normalization,
		  dnnl_batch_normalization_forward_desc_init(&d, prop, x, epsilon, flags), pd,
		  engine, NULL);
}
static dnnl_status_t norm_back_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, desc_t x,
				    float epsilon, unsigned flags, dnnl_primitive_desc_t fwd)
{
	WITH_DESC(batch_normalization,
		  dnnl_batch_normalization_backward_desc_init(&d, dnnl_backward, x, x, epsilon,
							      flags),
		  pd, engine, fwd);
}
static dnnl_status_t pool_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
			       const struct window *w)
{
	WITH_DESC(pooling,
		  dnnl_pooling_forward_desc_init(&d, dnnl_forward_training, dnnl_pooling_max, w->x,
						 w->y, w->stride, w->k, w->pad, w->pad),
		  pd, engine, NULL);
}
static dnnl_status_t pool_back_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
				    const struct window *w, dnnl_primitive_desc_t fwd)
{
	WITH_DESC(pooling,
		  dnnl_pooling_backward_desc_init(&d, dnnl_pooling_max, w->x, w->y, w->stride, w->k,
						  w->pad, w->pad),
		  pd, engine, fwd);
}
#undef WITH_DESC

#else

static dnnl_status_t desc_new(desc_t *ret, int ndims, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t d = NULL;
	dnnl_status_t st = dnnl_memory_desc_create_with_tag(&d, ndims, dims, dnnl_f32, tag);

	*ret = d;
	return st;
}
static void desc_free(desc_t d)
{
	if (d)
		(void)dnnl_memory_desc_destroy((dnnl_memory_desc_t)(uintptr_t)d);
}

static const dnnl_dims_t NOT_DILATED;

static dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
			       const struct window *w)
{
	return dnnl_convolution_forward_primitive_desc_create(
		pd, engine, dnnl_forward_training, dnnl_convolution_direct, w->x, w->weights, NULL,
		w->y, w->stride, NOT_DILATED, w->pad, w->pad, NULL);
}
static dnnl_status_t conv_back_data_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
					 const struct window *w, dnnl_primitive_desc_t fwd)
{
	return dnnl_convolution_backward_data_primitive_desc_create(
		pd, engine, dnnl_convolution_direct, w->x, w->weights, w->y, w->stride, NOT_DILATED,
		w->pad, w->pad, fwd, NULL);
}
static dnnl_status_t conv_back_weights_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
					    const struct window *w, dnnl_primitive_desc_t fwd)
{
	return dnnl_convolution_backward_weights_primitive_desc_create(
		pd, engine, dnnl_convolution_direct, w->x, w->weights, NULL, w->y, w->stride,
		NOT_DILATED, w->pad, w->pad, fwd, NULL);
}
static dnnl_status_t norm_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
			       dnnl_prop_kind_t prop, desc_t x, float epsilon, unsigned flags)
{
	return dnnl_batch_normalization_forward_primitive_desc_create(pd, engine, prop, x, x,
								      epsilon, flags, NULL);
}
static dnnl_status_t norm_back_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, desc_t x,
				    float epsilon, unsigned flags, dnnl_primitive_desc_t fwd)
{
	return dnnl_batch_normalization_backward_primitive_desc_create(
		pd, engine, dnnl_backward, x, x, x, epsilon, flags, fwd, NULL);
}
static dnnl_status_t pool_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
			       const struct window *w)
{
	return dnnl_pooling_forward_primitive_desc_create(pd, engine, dnnl_forward_training,
							  dnnl_pooling_max, w->x, w->y, w->stride,
							  w->k, NOT_DILATED, w->pad, w->pad, NULL);
}
static dnnl_status_t pool_back_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
				    const struct window *w, dnnl_primitive_desc_t fwd)
{
	return dnnl_pooling_backward_primitive_desc_create(pd, engine, dnnl_pooling_max, w->x, w->y,
							   w->stride, w->k, NOT_DILATED, w->pad,
							   w->pad, fwd, NULL);
}

#endif
#endif
