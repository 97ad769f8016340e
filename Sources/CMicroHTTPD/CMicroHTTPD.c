#include "CMicroHTTPD.h"

#include <microhttpd.h>

const char *chttpd_version(void) { return MHD_get_version(); }
