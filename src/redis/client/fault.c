/* SPDX-License-Identifier: MIT
   Errors of an engine: what each means for who asked.

   Redis refuses a command before anything of it is executed, or a function says what is wrong before it writes: what
   has an error was not counted, and may be asked again.

   An error that is not known concerns only the question. */
#include <string.h>

#include "redis/client/wire.h"

enum fault fault_of(const redisReply *reply)
{
    static const struct {
        const char *start;
        enum fault fault;
    } known[] = {
        {"MOVED ", FAULT_MOVED},
        {"ASK ", FAULT_ASK},
        {"TRYAGAIN", FAULT_LATER},
        {"NOSCRIPT", FAULT_SCRIPT},
        {"ERR Function not found", FAULT_FUNCTION},
        {"ERR unknown command", FAULT_COMMAND},
        {"READONLY", FAULT_PRIMARY},
        {"LOADING", FAULT_SERVER},
        {"BUSY", FAULT_SERVER},
        {"MASTERDOWN", FAULT_SERVER},
        {"CLUSTERDOWN", FAULT_SERVER},
        {"MISCONF", FAULT_SERVER},
        {"NOREPLICAS", FAULT_SERVER},
        {"OOM", FAULT_SERVER},
        {"NOAUTH", FAULT_SERVER},
        {"WRONGPASS", FAULT_SERVER},
        {"ERR max number of clients", FAULT_SERVER},
    };
    const char *const text = link_reply_error(reply);
    if (text == NULL) return FAULT_NONE;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (link_reply_begins(reply, known[i].start)) return known[i].fault;
    }
    if (link_reply_begins(reply, "NOPERM") && strstr(text, "to run the") != NULL) return FAULT_COMMAND;
    return FAULT_QUESTION;
}
