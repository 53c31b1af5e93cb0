// SPDX-License-Identifier: MIT
// Compiled, not run: the types of CommonJS.
import libweir = require('libweir');
import express = require('libweir/express');
import fastify = require('libweir/fastify');

const table: libweir.Table = new libweir.Table({path: '/tmp/x', mode: 0o660, whenFull: 'deny', plan: '1/s'});
table.take('1/s', 'k').allowed satisfies boolean;
table.cancel('1/s', 'k', table.reserve('1/s', 'k', 1, {maxMs: 5}));
new express.WeirStore({path: '/tmp/y', prefix: 'a:', mode: 0o660}).increment('k').totalHits satisfies number;
fastify.limit('1/s', table, {key: (request: {ip: string; user?: string}) => request.user, cost: 2});
// @ts-expect-error an option that is not there
new libweir.Table({pth: '/tmp/x'});
