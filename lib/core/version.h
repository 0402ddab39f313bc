#ifndef LIB_CORE_VERSION_H
#define LIB_CORE_VERSION_H

#define WINDSOCK_VERSION "0.1.0"
#define WINDSOCK_DATE "2026-11-20" /* of that version, for the man pages */

#endif
