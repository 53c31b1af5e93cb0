// SPDX-License-Identifier: MIT
// A hook for Fastify: 429 with headers above a limit for each client.
//
//     fastify.addHook('onRequest', limit('10/s burst=20', new Table({path: '/run/app.weir'})))
'use strict';

const {headers} = require('./index.js');

// key(request): who is limited; undefined lets the request pass.
function limit(text, table, {key = (request) => request.ip, cost = 1} = {}) {
    table.peek(text, ''); // a limit that is wrong is told now
    return async function onRequest(request, reply) {
        const name = key(request);
        if (name === undefined) return;
        const decision = table.take(text, name, cost);
        reply.headers(headers(decision));
        if (!decision.allowed) {
            await reply.code(429).send({statusCode: 429, error: 'Too Many Requests', message: 'Too many requests'});
        }
    };
}

module.exports = {limit};
