#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CCurl.h"
#include <pthread.h>

void reactor_thread_set_name(const char *name) {
#ifdef __APPLE__
    pthread_setname_np(name);
#else
    pthread_setname_np(pthread_self(), name);
#endif
}
