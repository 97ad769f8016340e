#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

/// The version of the library in use, "0.9.75". A static string.
const char *chttpd_version(void);

#endif
