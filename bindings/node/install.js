// SPDX-License-Identifier: MIT
// After `npm install`: builds the addon unless one for this platform is in the package.
'use strict';

const {spawnSync} = require('node:child_process');

try {
    require('./native.js');
} catch {
    const built = spawnSync('node-gyp', ['rebuild'], {stdio: 'inherit', shell: true});
    process.exitCode = built.status ?? 1;
}
