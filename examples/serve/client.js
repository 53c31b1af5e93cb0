// SPDX-License-Identifier: MIT
// A server of Node, limited for each client through ioredis:   npm install ioredis
//     weir serve &  node client.js 8080 '1/s burst=5'     then    curl -i http://127.0.0.1:8080/
"use strict";
const http = require("node:http");
const Redis = require("ioredis");

const weir = new Redis({
    host: "127.0.0.1",
    port: Number(process.env.PORT || 9347),
    password: process.env.WEIR_PASSWORD,
    enableAutoPipelining: true, // what is asked in one turn of Node's loop leaves in one packet
    maxRetriesPerRequest: 1,
});
weir.on("error", (error) => console.error("weir:", error.message));

// Seconds to wait, 0: may pass.  weir is away: it passes (fail open).
async function wait(limit, key) {
    try {
        const [verdict, , , , retryNs] = await weir.call("WEIR.TAKE", limit, key);
        return verdict === "allow" ? 0 : Math.ceil(retryNs / 1e9);
    } catch (error) {
        return 0;
    }
}

const [port, limit] = process.argv.slice(2);
const server = http.createServer(async (request, response) => {
    const seconds = await wait(limit, request.socket.remoteAddress);
    if (seconds > 0) response.writeHead(429, { "Retry-After": seconds }).end("too many requests\n");
    else response.end("hello\n");
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
