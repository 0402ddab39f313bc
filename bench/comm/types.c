#include "bench/comm/types.h"

const char *const dtype_names[] = {"int8",   "uint8",  "int32", "uint32", "int64",
				   "uint64", "half",   "float", "double", "bfloat16",
				   "f8e4m3", "f8e5m2", "all",	NULL};
const char *const redop_names[] = {"sum", "prod", "max", "min", "avg", "mulsum", "all", NULL};

static const uint8_t sizes[DT_COUNT] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

const char *dtype_name(enum dtype t) { return dtype_names[t]; }
size_t dtype_size(enum dtype t) { return sizes[t]; }
bool dtype_is_float(enum dtype t) { return t >= DT_HALF; }
const char *redop_name(enum redop op) { return redop_names[op]; }

int dtype_find(const char *name, enum dtype *ret)
{
	static const struct {
		const char *name;
		enum dtype type;
	} others[] = {
		{"char", DT_INT8},	    {"int", DT_INT32},	     {"float16", DT_HALF},
		{"fp16", DT_HALF},	    {"float32", DT_FLOAT},   {"fp32", DT_FLOAT},
		{"float64", DT_DOUBLE},	    {"fp64", DT_DOUBLE},     {"bf16", DT_BFLOAT16},
		{"float8_e4m3", DT_F8E4M3}, {"fp8_e4m3", DT_F8E4M3}, {"float8_e5m2", DT_F8E5M2},
		{"fp8_e5m2", DT_F8E5M2}};

	for (enum dtype t = 0; t < DT_COUNT; t++)
		if (streq(name, dtype_names[t]))
			return *ret = t, 0;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (streq(name, others[i].name))
			return *ret = others[i].type, 0;
	return -1;
}

int redop_find(const char *name, enum redop *ret)
{
	for (enum redop op = 0; op < OP_COUNT; op++)
		if (streq(name, redop_names[op]))
			return *ret = op, 0;
	return -1;
}

void dtype_put(enum dtype t, void *to, size_t i, int64_t v)
{
	switch (t) {
	case DT_INT8:
	case DT_UINT8:
		((uint8_t *)to)[i] = (uint8_t)v;
		break;
	case DT_INT32:
	case DT_UINT32:
		((uint32_t *)to)[i] = (uint32_t)v;
		break;
	case DT_INT64:
	case DT_UINT64:
		((int64_t *)to)[i] = v;
		break;
	case DT_HALF:
		((uint16_t *)to)[i] = float_to_half((float)v);
		break;
	case DT_BFLOAT16:
		((uint16_t *)to)[i] = float_to_bf16((float)v);
		break;
	case DT_F8E4M3:
		((uint8_t *)to)[i] = float_to_f8e4m3((float)v);
		break;
	case DT_F8E5M2:
		((uint8_t *)to)[i] = float_to_f8e5m2((float)v);
		break;
	case DT_FLOAT:
		((float *)to)[i] = (float)v;
		break;
	default:
		((double *)to)[i] = (double)v;
	}
}
