/* The version of the whole. */
#ifndef CELLPOST_BASE_VERSION_H
#define CELLPOST_BASE_VERSION_H

#define CELLPOST_VERSION "0.1.0"

#endif
