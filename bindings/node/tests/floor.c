/* SPDX-License-Identifier: MIT
   An empty Node-API call: the price that every call into an addon has. */
#include <node_api.h>

static napi_value nothing(napi_env env, napi_callback_info info)
{
    (void)env;
    (void)info;
    return NULL;
}

static napi_value init(napi_env env, napi_value exports)
{
    napi_value function;
    napi_create_function(env, "nothing", NAPI_AUTO_LENGTH, nothing, NULL, &function);
    napi_set_named_property(env, exports, "nothing", function);
    return exports;
}

NAPI_MODULE(floor, init)
