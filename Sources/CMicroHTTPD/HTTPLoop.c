// The library gives every daemon an epoll descriptor; the thread polls those in one of its own. Two things raise no event
// there: a connection that is resumed (without a thread of its own the library has no descriptor for that), and what the
// library has already read. The first comes as `is_due`, the second as a timeout of nothing.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "HTTPLoop.h"

#ifdef __linux__

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// The lock is never held while the library runs: its callbacks take locks under which others resume.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    http_loop_entry *entries;
    int descriptor, wake;
    bool is_running;
} loop = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, -1, -1, false};

enum { EVENTS_AT_ONCE = 64, LAST_RUNS = 16, LONGEST_WAIT = 3600000 };

static int64_t milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wake_loop(void) {
    uint64_t one = 1;
    (void)!write(loop.wake, &one, sizeof one);
}

// MARK: - On the thread

// Without the lock.
static void let_run(http_loop_entry *entry) {
    MHD_run(entry->daemon);
    MHD_UNSIGNED_LONG_LONG wait;
    if (MHD_get_timeout(entry->daemon, &wait) != MHD_YES) {
        entry->deadline = -1;
    } else {
        // Rounded up: the clock's fraction is cut off.
        entry->deadline = milliseconds_now() + (int64_t)(wait < LONGEST_WAIT ? wait : LONGEST_WAIT) + (wait > 0);
    }
}

// Without the lock. What was resumed for the end is still said.
static void say_goodbye(http_loop_entry *entry) {
    for (int i = 0; i < LAST_RUNS; i++) {
        let_run(entry);
        if (entry->deadline < 0 || entry->deadline > milliseconds_now()) break;
    }
    epoll_ctl(loop.descriptor, EPOLL_CTL_DEL, entry->descriptor, NULL);
}

// With the lock, which is not held meanwhile. Entries leave the list only here.
static void let_go(void) {
    http_loop_entry *leaving = NULL;
    for (http_loop_entry **place = &loop.entries; *place != NULL;) {
        http_loop_entry *entry = *place;
        if (entry->is_leaving) {
            *place = entry->next;
            entry->next_to_run = leaving;
            leaving = entry;
        } else {
            place = &entry->next;
        }
    }
    if (leaving == NULL) return;
    pthread_mutex_unlock(&loop.lock);
    for (http_loop_entry *entry = leaving; entry != NULL; entry = entry->next_to_run) say_goodbye(entry);
    pthread_mutex_lock(&loop.lock);
    // An entry may be gone as soon as the lock is.
    for (http_loop_entry *entry = leaving; entry != NULL; entry = entry->next_to_run) entry->has_left = true;
    pthread_cond_broadcast(&loop.changed);
}

// With the lock. The entries to run now, and for how long all others can wait.
static http_loop_entry *take_due(int *wait) {
    http_loop_entry *due = NULL;
    int64_t now = milliseconds_now(), earliest = -1;
    for (http_loop_entry *entry = loop.entries; entry != NULL; entry = entry->next) {
        if (entry->is_due || (entry->deadline >= 0 && entry->deadline <= now)) {
            entry->is_due = false;
            entry->next_to_run = due;
            due = entry;
        } else if (entry->deadline >= 0 && (earliest < 0 || entry->deadline < earliest)) {
            earliest = entry->deadline;
        }
    }
    // The deadlines of those that run are known only then.
    *wait = due != NULL ? 0 : earliest < 0 ? -1 : (int)(earliest - now);
    return due;
}

static void *run_loop(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "reactor-http");
    struct epoll_event ready[EVENTS_AT_ONCE];
    pthread_mutex_lock(&loop.lock);
    while (true) {
        let_go();
        if (loop.entries == NULL) break;
        int wait;
        http_loop_entry *due = take_due(&wait);
        pthread_mutex_unlock(&loop.lock);
        for (http_loop_entry *entry = due; entry != NULL; entry = entry->next_to_run) let_run(entry);
        int count = epoll_wait(loop.descriptor, ready, EVENTS_AT_ONCE, wait);
        for (int i = 0; i < count; i++) {
            uint64_t number;
            if (ready[i].data.ptr == NULL) (void)!read(loop.wake, &number, sizeof number);
            else let_run(ready[i].data.ptr);
        }
        pthread_mutex_lock(&loop.lock);
    }
    close(loop.descriptor);
    close(loop.wake);
    loop.is_running = false;
    pthread_mutex_unlock(&loop.lock);
    return NULL;
}

// MARK: - From elsewhere

// With the lock, for which the new thread waits.
static bool start_loop(void) {
    if (loop.is_running) return true;
    loop.descriptor = epoll_create1(EPOLL_CLOEXEC);
    loop.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
    if (loop.descriptor >= 0 && loop.wake >= 0 && epoll_ctl(loop.descriptor, EPOLL_CTL_ADD, loop.wake, &event) == 0) {
        // The thread takes the mask over: signals are for others.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        loop.is_running = pthread_create(&thread, NULL, run_loop, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (loop.is_running) {
            pthread_detach(thread);
            return true;
        }
    }
    if (loop.descriptor >= 0) close(loop.descriptor);
    if (loop.wake >= 0) close(loop.wake);
    return false;
}

unsigned http_loop_flags(void) { return MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME; }

bool http_loop_join(http_loop_entry *entry, struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL || info->epoll_fd < 0) return false;
    entry->daemon = daemon;
    entry->descriptor = info->epoll_fd;
    entry->deadline = -1;
    entry->is_due = true;
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = entry}};
    pthread_mutex_lock(&loop.lock);
    bool joins = start_loop() && epoll_ctl(loop.descriptor, EPOLL_CTL_ADD, entry->descriptor, &event) == 0;
    if (joins) {
        entry->next = loop.entries;
        loop.entries = entry;
    }
    if (loop.is_running) wake_loop();
    pthread_mutex_unlock(&loop.lock);
    return joins;
}

void http_loop_resume(http_loop_entry *entry, struct MHD_Connection *connection) {
    pthread_mutex_lock(&loop.lock);
    entry->is_due = true;
    // From here on connection and entry may be gone.
    MHD_resume_connection(connection);
    if (loop.is_running) wake_loop();
    pthread_mutex_unlock(&loop.lock);
}

void http_loop_leave(http_loop_entry *entry) {
    pthread_mutex_lock(&loop.lock);
    entry->is_leaving = true;
    wake_loop();
    while (!entry->has_left) pthread_cond_wait(&loop.changed, &loop.lock);
    pthread_mutex_unlock(&loop.lock);
}

#else

// Without epoll the library runs a thread for each daemon.
unsigned http_loop_flags(void) { return MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME; }

bool http_loop_join(http_loop_entry *entry, struct MHD_Daemon *daemon) {
    entry->daemon = daemon;
    return true;
}

void http_loop_resume(http_loop_entry *entry, struct MHD_Connection *connection) {
    (void)entry;
    MHD_resume_connection(connection);
}

void http_loop_leave(http_loop_entry *entry) { (void)entry; }

#endif
