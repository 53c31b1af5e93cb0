// SPDX-License-Identifier: MIT
// The addon: built for this platform beforehand, or by node-gyp on this machine.
'use strict';

const folders = [`./prebuilds/${process.platform}-${process.arch}`, './build/Release'];

function load() {
    const reasons = [];
    for (const folder of folders) {
        try {
            return require(`${folder}/weir.node`);
        } catch (error) {
            reasons.push(error.message);
        }
    }
    throw new Error(`libweir: its native part is not built here (npm rebuild libweir): ${reasons.join('; ')}`);
}

module.exports = load();
