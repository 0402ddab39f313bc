#ifndef LIB_CORE_BASE_H
#define LIB_CORE_BASE_H
/*
 * Tiny helpers every other file may use. No state, no I/O. The functions at
 * the end do not compile here: each has a bounded or checked replacement.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h> /* names what is poisoned below */
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))

/* AUTO(fn) runs fn(&variable) when the variable goes out of scope. */
#define AUTO(fn) __attribute__((cleanup(fn)))
#define AUTO_FREE AUTO(auto_freep)
#define AUTO_CLOSE AUTO(auto_closep)
#define AUTO_FILE AUTO(auto_filep)
#define AUTO_DIR AUTO(auto_dirp)

static inline void auto_freep(void *p) { free(*(void **)p); }
static inline void auto_closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
static inline void auto_filep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}
static inline void auto_dirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static inline bool streq(const char *a, const char *b) { return strcmp(a, b) == 0; }
static inline bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static inline bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), len = strlen(end);

	return n >= len && !strcmp(s + n - len, end);
}

/* Is @s one of the @n words? */
static inline bool is_among(const char *s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(s, words[i]))
			return true;
	return false;
}

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atof gets localtime gmtime ctime

#endif
