/* SPDX-License-Identifier: MIT
   A request in each protocol, answered or queued.  Called by handle.c.

   See resp/commands.c, http/routes.c. */
#ifndef WEIR_SERVE_PROTOCOLS_H
#define WEIR_SERVE_PROTOCOLS_H

#include "format/resp.h"
#include "serve/batch.h"

struct http_request;

/* false: not now, for the session is parked. */
bool resp_command(struct batch *batch, struct session *session, const struct resp_command *command);

void http_route(struct batch *batch, struct session *session, const struct http_request *request);

#endif
