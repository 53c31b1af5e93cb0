// SPDX-License-Identifier: MIT
// node install.js            after `npm install`: builds the addon unless one for this platform is in the package
// node install.js sources    before `npm pack`: writes the two files of the library, which a package brings with it
// node install.js prebuilt   builds prebuilds/PLATFORM-ARCH/weir.node, for a package that needs no compiler
'use strict';

const {spawnSync} = require('node:child_process');
const {cpSync, existsSync} = require('node:fs');

const what = process.argv[2] ?? 'install';

function run(command) {
    const ended = spawnSync(command, {stdio: 'inherit', shell: true, cwd: __dirname});
    if (ended.status === 0) return;
    console.error(`libweir: ${command} failed; it needs python3, make and a C compiler`);
    process.exit(1);
}

function writeSources() {
    const tree = existsSync(`${__dirname}/../../tools/amalgamation`);
    if (!tree || (what === 'install' && existsSync(`${__dirname}/weir/weir.c`))) return;
    run('../../tools/amalgamation weir && cp ../../LICENSE weir/');
}

function loads() {
    try {
        return require('./native.js') !== undefined;
    } catch {
        return false;
    }
}

if (what !== 'install' || !loads()) writeSources();
if (what === 'prebuilt' || (what === 'install' && !loads())) run('node-gyp rebuild');
if (what === 'prebuilt')
    cpSync(
        `${__dirname}/build/Release/weir.node`,
        `${__dirname}/prebuilds/${process.platform}-${process.arch}/weir.node`,
    );
