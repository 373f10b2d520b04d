#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/notebook/writer/notebook.h"
#include "core/notebook/writer/publish.h"

/* Two files with these names are made and removed. */
struct probe {
  int directory;
  char names[2][48];
};

static int make(const struct probe *probe, int which) {
  return openat(probe->directory, probe->names[which],
                O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int try_lease(int file, struct err *err) {
  return publish_take_lease(file)
             ? 0
             : err_errno(
                   err, ERR_UNAVAILABLE, errno,
                   "the filesystem has no write leases (fcntl F_SETLEASE)");
}

static int try_exchange(const struct probe *probe, struct err *err) {
  return renameat2(probe->directory, probe->names[0], probe->directory,
                   probe->names[1], RENAME_EXCHANGE) == 0
             ? 0
             : err_errno(err, ERR_UNAVAILABLE, errno,
                         "the filesystem cannot exchange two files (renameat2 "
                         "RENAME_EXCHANGE)");
}

static int try_all(const struct probe *probe, struct err *err) {
  CLEANUP(mem_close_descriptor) int first = make(probe, 0);
  CLEANUP(mem_close_descriptor) int second = make(probe, 1);
  if (first < 0 || second < 0)
    return err_errno(err, ERR_IO, errno, "making a file to try it with");
  return try_lease(first, err) < 0 || try_exchange(probe, err) < 0 ? -1 : 0;
}

int notebook_probe(int directory, struct err *err) {
  struct probe probe = {.directory = directory};
  char random[17];
  id_random_hex(random, 8);
  for (int i = 0; i < 2; i++)
    snprintf(probe.names[i], sizeof probe.names[i], ".notebook.probe-%s-%d",
             random, i);
  int result = try_all(&probe, err);
  for (int i = 0; i < 2; i++)
    unlinkat(directory, probe.names[i], 0);
  return result;
}
