/* Processes named without reuse: a pid and its start time. */
#ifndef CELLPOST_PROCESS_PROCESS_H
#define CELLPOST_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Field 22 of /proc/<pid>/stat (clock ticks since boot; proc(5)), or -1. */
int64_t process_start_time(int64_t pid);

/* True when that very process exists and is no zombie. */
bool process_is_alive(int64_t pid, int64_t start_time);

/* A pidfd of that very process (pidfd_open(2), then the start time is checked),
 * or -1 when it is gone. Readable when it has ended. */
int process_open(int64_t pid, int64_t start_time);

/* CPU time of the process so far (user + system, microseconds), or -1. Cheap:
 * one clock_gettime(2). */
int64_t process_cpu(int64_t pid);

/* CPU time so far (user + system, microseconds, from the process's CPU-time
 * clock, clock_getcpuclockid(3)) and peak resident memory (VmHWM, proc(5)) of
 * one process; 0 on success. */
int process_usage(int64_t pid, int64_t *cpu_us, int64_t *memory_peak_bytes);

/* Resident memory now, in bytes, or -1. */
int64_t process_memory(int64_t pid);

/* Calls `visit` for every process that /proc shows; `proc` is an open
 * descriptor of /proc. -1 when that cannot be read. */
int process_each(void (*visit)(int proc, pid_t pid, void *context),
                 void *context);

/* Reads <pid>/<name> beneath `proc` with one read(2), at most size - 1 bytes;
 * the text ends with NUL. -1: no such process, or an empty file. */
int process_read(int proc, int64_t pid, const char *name, char *text,
                 size_t size);

/* True when the process has installed a handler for the signal (SigCgt,
 * proc(5)), so that the signal would not end it. */
bool process_catches(int64_t pid, int signal);

#endif
