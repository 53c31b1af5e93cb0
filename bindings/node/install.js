// SPDX-License-Identifier: MIT
// After `npm install`: builds the addon unless one for this platform is in the package.  In weir's own tree the two
// files of the library are written first; a package has them.
'use strict';

const {spawnSync} = require('node:child_process');
const {existsSync} = require('node:fs');

function run(command, ...options) {
    const ended = spawnSync(command, options, {stdio: 'inherit', shell: true, cwd: __dirname});
    if (ended.status !== 0) process.exit(ended.status ?? 1);
}

try {
    require('./native.js');
} catch {
    if (!existsSync(`${__dirname}/weir/weir.c`)) run('../../tools/amalgamation', 'weir');
    run('node-gyp', 'rebuild');
}
