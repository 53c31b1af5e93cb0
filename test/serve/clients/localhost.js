// SPDX-License-Identifier: MIT
// localhost.js: what Debian's /etc/hosts says of localhost, ::1 and 127.0.0.1 in this order, whatever this machine's
// says or whether it has one; and the first address is taken, as Node did up to version 18.  Of a machine without ::1:
// 127.0.0.1 alone.
"use strict";
const dns = require("node:dns");
const net = require("node:net");
const os = require("node:os");

const six = Object.values(os.networkInterfaces()).flat().some(({ address }) => address === "::1");
const found = [...(six ? [{ address: "::1", family: 6 }] : []), { address: "127.0.0.1", family: 4 }];

dns.lookup = (name, options, done) => {
    const { all, family } = typeof options === "function" ? {} : options;
    const answer = typeof options === "function" ? options : done;
    if (name !== "localhost") throw new Error(`${name} is asked for`);
    const fit = found.filter((one) => !family || one.family === family);
    setImmediate(() => (all ? answer(null, fit) : answer(null, fit[0].address, fit[0].family)));
};
if (net.setDefaultAutoSelectFamily) net.setDefaultAutoSelectFamily(false);

module.exports = { six };
