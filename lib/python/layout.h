#ifndef LIB_PYTHON_LAYOUT_H
#define LIB_PYTHON_LAYOUT_H
/*
 * Where CPython keeps what a stack is made of, by version: offsets in bytes,
 * on 64-bit machines. From 3.13 on the interpreter says them itself, in a
 * table at the beginning of _PyRuntime; before, a minor version never changed
 * them once it was released.
 */
#include "lib/core/base.h"
#include "lib/python/lines.h"

struct py_layout {
	unsigned version;			 /* 0x030b: 3.11 */
	uint16_t interpreters, interpreter_next; /* in _PyRuntime; in an interpreter */
	uint16_t threads;			 /* the newest, in an interpreter */
	uint16_t next;				 /* the one before it, in a thread */
	uint16_t frame;				 /* in a thread, or in what in_cframe points to */
	uint16_t cframe;			 /* of a thread; 0: the frame is the thread's own */
	uint16_t caller, code, instruction;	 /* of a frame */
	uint16_t owner;				 /* of a frame, 0: it has none */
	uint16_t file, name, first_line, lines;	 /* of a code object */
	uint16_t bytecode;			 /* in one; 0: a frame's instruction is an index */
	uint16_t head;				 /* what each object begins with */
	uint16_t ascii, wide;			 /* the characters of a string: ASCII, others */
	uint8_t kind_bit;			 /* of a string's state */
	enum line_table table;
	bool no_lines; /* free-threaded: each thread has its own copy of the bytecode */
};

enum { PY_TOLD = 8 * 49 /* bytes of the table that are read */ };

/* Of the table at the beginning of _PyRuntime. False: there is none, or none that can be used. */
bool layout_told(const uint8_t *table, size_t n, struct py_layout *ret);
/* Of a version without one (0x0308 to 0x030c). */
bool layout_known(unsigned version, struct py_layout *ret);

#endif
