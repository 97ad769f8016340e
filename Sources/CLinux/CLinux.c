#include "CLinux.h"

#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

void clinux_trim_heap(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}
