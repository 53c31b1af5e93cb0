// SPDX-License-Identifier: MIT
// A server of Node, limited for each client through ioredis:   npm install ioredis
//     weir serve &  node client.js 8080 '1/s burst=5'     then    curl -i http://127.0.0.1:8080/
"use strict";
// When weir cannot be reached, a request passes: a site without limits beats no site.  false: it gets 503.
const FAIL_OPEN = true;

const http = require("node:http");
const Redis = require("ioredis");

const weir = new Redis({
    host: "127.0.0.1",
    port: Number(process.env.PORT || 9347),
    password: process.env.WEIR_PASSWORD,
    enableAutoPipelining: true, // what is asked in one turn of Node's loop leaves in one packet
    maxRetriesPerRequest: 1,
    commandTimeout: 200, // ms; one that does not answer is away, too
});
weir.on("error", (error) => console.error("weir:", error.message));

// The status of the answer, and the seconds to wait where that helps.  Only "allow" is 200: never, or an error, is not.
async function ask(limit, key) {
    try {
        const [verdict, , , , retryNs] = await weir.call("WEIR.TAKE", limit, key);
        if (verdict === "allow") return { status: 200 };
        return retryNs > 0 ? { status: 429, seconds: Math.ceil(retryNs / 1e9) } : { status: 403 };
    } catch (error) {
        console.error("weir:", error.message);
        if (error.name === "ReplyError") return { status: 403 }; // it answered: a mistake in the question
        return { status: FAIL_OPEN ? 200 : 503 };
    }
}

const [port, limit] = process.argv.slice(2);
const server = http.createServer(async (request, response) => {
    const { status, seconds } = await ask(limit, request.socket.remoteAddress);
    if (status === 200) response.end("hello\n");
    else response.writeHead(status, seconds ? { "Retry-After": seconds } : {}).end("refused\n");
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
