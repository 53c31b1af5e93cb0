// SPDX-License-Identifier: MIT
// The package by import and by require: the same objects, whichever way; and the README's examples that are whole.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readFileSync, rmSync, writeFileSync} from 'node:fs';
import {test} from 'node:test';

function run(file, text) {
    writeFileSync(file, text);
    const ran = spawnSync(process.execPath, [file], {encoding: 'utf8'});
    assert.equal(ran.stderr, '');
    return ran.stdout;
}

const use = `
console.log(new Limiter('1/h').take().allowed, new Table({keys: 10}).take('1/h', 'k').allowed, version,
    typeof WeirStore, typeof limit);`;
const {version} = JSON.parse(readFileSync('node_modules/libweir/package.json'));
const expected = `true true ${version} function function\n`;

test('CommonJS', () => {
    const text = `
        const {Limiter, Table, version} = require('libweir');
        const {WeirStore} = require('libweir/express');
        const {limit} = require('libweir/fastify');`;
    assert.equal(run('module.cjs', text + use), expected);
});

test('ESM: names, default and namespace', () => {
    const text = `
        import libweir, {Limiter, Table, version} from 'libweir';
        import * as all from 'libweir';
        import {WeirStore} from 'libweir/express';
        import {limit} from 'libweir/fastify';
        import {createRequire} from 'node:module';
        const required = createRequire(import.meta.url)('libweir');
        for (const name of Object.keys(required))
            if (all[name] !== required[name] || libweir[name] !== required[name]) console.log(name);`;
    assert.equal(run('module.mjs', text + use), expected);
});

test('the inside of the package is not there', () => {
    for (const name of ['native.js', 'decision.js', 'index.js'])
        assert.throws(() => import.meta.resolve(`libweir/${name}`), {code: 'ERR_PACKAGE_PATH_NOT_EXPORTED'});
});

test("the README's examples that are whole", () => {
    const readme = readFileSync(process.env.README, 'utf8');
    rmSync('/tmp/readme.weir', {force: true});
    assert.equal(run('readme.mjs', /```js\n(.*?)```/s.exec(readme)[1]), 'now\n');
    rmSync('/tmp/readme-jobs.weir', {force: true});
    assert.equal(run('hold.mjs', /## At most so many at once\n\n```js\n(.*?)```/s.exec(readme)[1]), 'one of twenty\n');
    const units = run('units.mjs', /## Costs by unit, and tenants\n\n```js\n(.*?)```/s.exec(readme)[1]);
    assert.equal(units, 'guaranteed 19 left\n');
    assert.equal(run('load.mjs', /## Load tests\n\n```js\n(.*?)```/s.exec(readme)[1]), '10 operations\n');
});
