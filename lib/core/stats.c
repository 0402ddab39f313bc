#include "lib/core/stats.h"

#include <math.h>

#define BY_VALUE(name, type)                                                                       \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		return (*x > *y) - (*x < *y);                                                      \
	}
BY_VALUE(by_double, double)
BY_VALUE(by_float, float)
BY_VALUE(by_int, int)

/* No samples may have no address, which qsort() would not take. */
void sort_doubles(double *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_double);
}

void sort_floats(float *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_float);
}

void sort_ints(int *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_int);
}

double sorted_quantile(const double *v, size_t n, double q)
{
	return n ? v[(size_t)(q * (double)(n - 1) + 0.5)] : NAN;
}

double median(double *v, size_t n)
{
	sort_doubles(v, n);
	return sorted_quantile(v, n, 0.5);
}
