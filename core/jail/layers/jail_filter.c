#include "core/jail/layers/jail_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void jail_filter_free(struct jail_filter *filter) {
  if (filter != NULL)
    buf_free(&filter->program);
  free(filter);
}

int jail_filter_enter(const struct jail_filter *filter, struct err *err) {
  const struct sock_fprog program = {
      .len =
          (unsigned short)(filter->program.length / sizeof(struct sock_filter)),
      .filter = (struct sock_filter *)(void *)filter->program.data,
  };
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot install the system call filter");
  return 0;
}
