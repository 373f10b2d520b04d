#include "fcgi/mcp/running.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct running *first;

void running_add(struct running *running) {
  pthread_mutex_lock(&mutex);
  running->next = first;
  first = running;
  pthread_mutex_unlock(&mutex);
}

void running_remove(const struct running *running) {
  pthread_mutex_lock(&mutex);
  struct running **at = &first;
  while (*at != NULL && *at != running)
    at = &(*at)->next;
  if (*at != NULL)
    *at = running->next;
  pthread_mutex_unlock(&mutex);
}

bool running_find(const char *session, const struct json *request,
                  char run[ID_UUID_SIZE]) {
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (const struct running *at = first; at != NULL && !found; at = at->next) {
    if (session == NULL || at->session == NULL ||
        strcmp(at->session, session) != 0 || !json_equal(at->request, request))
      continue;
    snprintf(run, ID_UUID_SIZE, "%s", at->run);
    found = true;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}
