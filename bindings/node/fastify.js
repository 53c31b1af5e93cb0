// SPDX-License-Identifier: MIT
// A hook for Fastify: above a limit for each client an error 429, which Fastify's error handler answers.
//
//     fastify.addHook('onRequest', limit('10/s burst=20', new Table({path: '/run/app.weir'})))
'use strict';

const {checkOptions} = require('./arguments.js');
const {headers} = require('./index.js');

// key(request): who is limited; undefined lets the request pass.
function limit(text, table, options = {}) {
    checkOptions(options, 'key', 'cost');
    const {key = (request) => request.ip, cost = 1} = options;
    table.peek(text, ''); // what is wrong is told now
    return function onRequest(request, reply, done) {
        const name = key(request);
        if (name === undefined) return done();
        const decision = table.take(text, name, cost);
        reply.headers(headers(decision));
        if (decision.id !== 0n) reply.raw.once('close', () => table.release(text, name, decision));
        return done(decision.allowed ? undefined : Object.assign(new Error('Too many requests'), {statusCode: 429}));
    };
}

module.exports = {limit};
