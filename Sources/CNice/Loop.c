#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // pthread_setname_np
#endif
#include "CNice.h"

#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

// MARK: Main loop

// The opaque type is the GMainContext itself: there is nothing to add to it.
static GMainContext *glib_context(rnice_context *context) { return (GMainContext *)context; }

rnice_context *rnice_context_new(void) { return (rnice_context *)g_main_context_new(); }

void rnice_context_free(rnice_context *context) { g_main_context_unref(glib_context(context)); }

int rnice_context_acquire(rnice_context *context) {
    if (!g_main_context_acquire(glib_context(context))) return 0;
    g_main_context_push_thread_default(glib_context(context));
    return 1;
}

void rnice_context_iterate(rnice_context *context, int may_block) {
    g_main_context_iteration(glib_context(context), may_block ? TRUE : FALSE);
}

void rnice_name_thread(const char *name) {
#ifdef __linux__
    pthread_setname_np(pthread_self(), name);
#else
    pthread_setname_np(name);
#endif
}

int rnice_hurry_thread(int level) {
#ifdef __linux__
    if (level > 0) {
        struct sched_param parameters = {.sched_priority = sched_get_priority_min(SCHED_RR) + level - 1};
        return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameters);
    }
    struct sched_param parameters = {.sched_priority = 0};
    int result = sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters);
    return result != 0 ? result : setpriority(PRIO_PROCESS, (id_t)gettid(), -10);
#else
    (void)level;
    return pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
#endif
}

void rnice_context_wake(rnice_context *context) { g_main_context_wakeup(glib_context(context)); }

// MARK: Timer

struct rnice_timer {
    GSource *source;
};

typedef struct {
    void (*fire)(void *user);
    void *user;
    void (*release)(void *user);
} timer_callback;

static gboolean timer_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    g_source_set_ready_time(source, -1);  // first: the callback may set it again
    return callback(data);
}

static GSourceFuncs timer_functions = {.dispatch = timer_dispatch};

static gboolean timer_fire(gpointer data) {
    timer_callback *callback = data;
    callback->fire(callback->user);
    return G_SOURCE_CONTINUE;
}

static void timer_release(gpointer data) {
    timer_callback *callback = data;
    callback->release(callback->user);
    g_free(callback);
}

rnice_timer *rnice_timer_new(rnice_context *context, void (*fire)(void *user), void *user, void (*release)(void *user)) {
    rnice_timer *timer = g_new0(rnice_timer, 1);
    timer_callback *callback = g_new0(timer_callback, 1);
    callback->fire = fire;
    callback->user = user;
    callback->release = release;
    timer->source = g_source_new(&timer_functions, sizeof(GSource));
    g_source_set_callback(timer->source, timer_fire, callback, timer_release);
    g_source_attach(timer->source, glib_context(context));
    return timer;
}

void rnice_timer_set(rnice_timer *timer, int64_t microseconds) {
    g_source_set_ready_time(timer->source, microseconds < 0 ? -1 : microseconds);
}

void rnice_timer_free(rnice_timer *timer) {
    g_source_destroy(timer->source);
    g_source_unref(timer->source);
    g_free(timer);
}
