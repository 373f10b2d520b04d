#include "core/text/amount.h"

int amount_of_time(int64_t milliseconds, struct buf *out) {
  if (milliseconds < 1000)
    return buf_format(out, "%lld ms", (long long)milliseconds);
  int64_t tenths = (milliseconds + 50) / 100;
  if (tenths % 10 == 0 || tenths >= 1000)
    return buf_format(out, "%lld s", (long long)(tenths / 10));
  return buf_format(out, "%lld.%lld s", (long long)(tenths / 10),
                    (long long)(tenths % 10));
}

int amount_of_bytes(int64_t bytes, struct buf *out) {
  if (bytes >= INT64_C(1) << 30)
    return buf_format(out, "%.1f GiB", (double)bytes / (1 << 30));
  return buf_format(out, "%lld MiB", (long long)(bytes >> 20));
}
