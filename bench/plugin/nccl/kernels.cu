/*
 * Filling and comparing on the GPU. The pattern repeats, so one period of it is
 * all that travels there. Compiled by nvcc for GPUs, and as plain C++ into the
 * stand-in for the driver that the tests have.
 */
#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__
#define FIRST ((unsigned long)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((unsigned long)gridDim.x * blockDim.x)
#else
#define KERNEL extern "C" void
#define DEVICE static
#define FIRST 0ul
#define STRIDE 1ul
DEVICE void atomicAdd(unsigned long long *p, unsigned long long n) { *p += n; }
#endif

enum kind { BITS, HALF, BFLOAT16, FLOAT, DOUBLE, F8E4M3, F8E5M2 };

/* @size bytes, of which all that exist are aligned to themselves. */
DEVICE unsigned long long load(const unsigned char *p, unsigned long i, unsigned size)
{
	switch (size) {
	case 1:
		return p[i];
	case 2:
		return ((const unsigned short *)p)[i];
	case 4:
		return ((const unsigned *)p)[i];
	default:
		return ((const unsigned long long *)p)[i];
	}
}

DEVICE double half_value(unsigned h)
{
	int exponent = h >> 10 & 31;
	double fraction = h & 1023, v;

	if (exponent == 31)
		v = fraction == 0 ? 1e300 : 0.0 / 0.0;
	else
		v = exponent ? (1024 + fraction) / 1024 : fraction / 512;
	for (int i = exponent; i < 15; i++)
		v /= 2;
	for (int i = 15; i < exponent && exponent != 31; i++)
		v *= 2;
	return h & 0x8000 ? -v : v;
}

/* It has no infinity, and one NaN of each sign. */
DEVICE double f8e4m3_value(unsigned h)
{
	int exponent = h >> 3 & 15;
	double v = exponent ? 8 + (h & 7) : 2 * (h & 7);

	if ((h & 0x7f) == 0x7f)
		return 0.0 / 0.0;
	for (int i = exponent; i < 10; i++)
		v /= 2;
	for (int i = 10; i < exponent; i++)
		v *= 2;
	return h & 0x80 ? -v : v;
}

DEVICE double value(unsigned long long bits, int kind)
{
	union {
		unsigned u;
		float f;
	} f;
	union {
		unsigned long long u;
		double d;
	} d;

	if (kind == HALF)
		return half_value((unsigned)bits);
	if (kind == F8E5M2)
		return half_value((unsigned)bits << 8);
	if (kind == F8E4M3)
		return f8e4m3_value((unsigned)bits);
	f.u = kind == BFLOAT16 ? (unsigned)bits << 16 : (unsigned)bits;
	d.u = bits;
	return kind == DOUBLE ? d.d : f.f;
}

/* An average of whole numbers, however it was rounded on the way; NaN is not one. */
DEVICE int is_near(unsigned long long a, unsigned long long b, int kind)
{
	double difference = value(a, kind) - value(b, kind);

	return difference < 1 && difference > -1;
}

KERNEL windsock_fill(unsigned char *to, const unsigned char *table, unsigned long first,
		     unsigned long period, unsigned long n, unsigned size)
{
	for (unsigned long i = FIRST; i < n; i += STRIDE) {
		unsigned long long v = load(table, (first + i) % period, size);

		if (size == 1)
			to[i] = (unsigned char)v;
		else if (size == 2)
			((unsigned short *)to)[i] = (unsigned short)v;
		else if (size == 4)
			((unsigned *)to)[i] = (unsigned)v;
		else
			((unsigned long long *)to)[i] = v;
	}
}

KERNEL windsock_wrong(const unsigned char *is, const unsigned char *table, unsigned long first,
		      unsigned long period, unsigned long n, unsigned size, int kind,
		      unsigned long long *count)
{
	unsigned long long wrong = 0;

	for (unsigned long i = FIRST; i < n; i += STRIDE) {
		unsigned long long a = load(is, i, size);
		unsigned long long b = load(table, (first + i) % period, size);

		wrong += a != b && (kind == BITS || !is_near(a, b, kind));
	}
	if (wrong)
		atomicAdd(count, wrong);
}
