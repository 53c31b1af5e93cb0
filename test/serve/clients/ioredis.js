// SPDX-License-Identifier: MIT
// ioredis.js WEIR PORT PID: what programs do with ioredis, against the weir serve that has this port, this process and
// the password of weir.yaml here.  It is stopped, and another one started and stopped.  Prints "done".  A client that
// tries again for ever is given a minute in all, and what it was about is said then.
// Its address is not named: the client asks for localhost, and takes the first that it gets.
"use strict";
const assert = require("node:assert");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const { six } = require("./localhost.js");
const Redis = require("ioredis");

const [weir, port, pid] = process.argv.slice(2);
const password = "open sesame";
const day = "5/day";
const patience_ms = 60000;
let doing = "nothing yet", last_error = "none", next_service = null;

async function commands(redis) {
    assert.strictEqual(await redis.ping(), "PONG");
    assert.match(await redis.info(), /redis_version:/);
    const answer = await redis.call("WEIR.TAKE", day, "one");
    assert.strictEqual(answer.length, 8);
    assert.deepStrictEqual(answer.slice(0, 5), ["allow", 0, 4, 0, 0]);
    assert.strictEqual(typeof answer[6], process.env.NO_RECEIPTS ? "object" : "string");
    assert.deepStrictEqual(await redis.call("CL.THROTTLE", "user", 15, 30, 60), [0, 16, 15, -1, 2]);
    redis.addBuiltinCommand("cl.throttle");
    const [refused] = await redis["cl.throttle"]("user", 15, 30, 60);
    assert.strictEqual(refused, 0);
    await assert.rejects(redis.call("WEIR.TAKE", "10/", "one"), /BADLIMIT/);
    await assert.rejects(redis.get("one"), /ERR/);
}

async function pipeline(redis) {
    const asked = redis.pipeline();
    for (let i = 0; i < 8; i++) asked.call("WEIR.TAKE", day, "pipeline");
    asked.ping();
    const answers = await asked.exec();
    assert.deepStrictEqual(answers.map(([error]) => error), Array(9).fill(null));
    const verdicts = answers.slice(0, 8).map(([, answer]) => answer[0]);
    assert.deepStrictEqual(verdicts, [...Array(5).fill("allow"), ...Array(3).fill("deny")]);
    assert.strictEqual(answers[7][1][6], null); // a refusal has no receipt
    assert.strictEqual(answers[8][1], "PONG");
}

async function automatic() {
    const redis = new Redis({ port, password, enableAutoPipelining: true });
    const asked = Array.from({ length: 300 }, () => redis.call("WEIR.TAKE", "100/day", "automatic"));
    const allowed = (await Promise.all(asked)).filter(([verdict]) => verdict === "allow");
    assert.strictEqual(allowed.length, 100);
    await redis.quit();
}

// By the name, which is ::1 here where there is one, and by each address.
async function everywhere() {
    const ways = [{}, { host: "localhost" }, { host: "localhost", family: 4 }, { host: "127.0.0.1" }];
    if (six) ways.push({ host: "localhost", family: 6 }, { host: "::1" });
    for (const way of ways) {
        const redis = new Redis({ port, password, ...way });
        redis.on("error", remember);
        assert.strictEqual(await redis.ping(), "PONG", JSON.stringify(way));
        const address = redis.stream.remoteAddress;
        assert.strictEqual(address, (way.host || "localhost") !== "localhost" ? way.host :
            way.family === 4 || !six ? "127.0.0.1" : "::1");
        await redis.quit();
    }
}

// A wrong password is told, and none of the commands is answered.
async function stranger() {
    const redis = new Redis({ port, password: "open", maxRetriesPerRequest: 0, retryStrategy: () => null });
    redis.on("error", () => {});
    await assert.rejects(redis.call("WEIR.TAKE", day, "stranger"));
    redis.disconnect();
}

function begin(words) {
    doing = words;
}

function remember(error) {
    last_error = error.message;
}

function ended(process_id) {
    try {
        process.kill(process_id, 0);
        return fs.readFileSync(`/proc/${process_id}/stat`, "utf8").split(") ")[1][0] === "Z";
    } catch (error) {
        return true;
    }
}

async function until(condition, words) {
    for (;;) {
        if (condition()) return;
        begin(words);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

// The server goes and comes back on its port; the client finds it by itself, and gives its password again.
async function again(redis) {
    process.kill(Number(pid));
    await until(() => ended(Number(pid)), "the service stops");
    begin("the next service is found");
    const serve = spawn(weir, ["serve", "weir.yaml", "--resp", `localhost:${port}`, "--http", "none"],
        { stdio: ["ignore", fs.openSync("again.out", "w"), fs.openSync("again.err", "w")] });
    next_service = serve;
    const end = once(serve, "exit");
    const too_early = end.then(([status]) => assert.fail(`weir serve ended with ${status}`));
    try {
        const [verdict] = await Promise.race([redis.call("WEIR.TAKE", day, "again"), too_early]);
        assert.strictEqual(verdict, "allow");
    } finally {
        serve.kill();
    }
    begin("the next service ends");
    const [status] = await end;
    assert.strictEqual(status, 0, fs.readFileSync("again.err", "utf8"));
}

setTimeout(() => {
    console.error(`waited for ${patience_ms / 1000} s, in vain: ${doing}; the last error: ${last_error}`);
    if (next_service) next_service.kill("SIGKILL");
    process.exit(1);
}, patience_ms).unref();

(async () => {
    begin("a wrong password is refused");
    await stranger();
    const redis = new Redis({ port, password, maxRetriesPerRequest: null });
    redis.on("error", remember);
    begin("commands are answered");
    await commands(redis);
    begin("a pipeline is answered");
    await pipeline(redis);
    begin("commands at once are answered");
    await automatic();
    begin("all ways to name this machine");
    await everywhere();
    await again(redis);
    redis.disconnect();
    console.log("done");
})().catch((error) => {
    console.error(error);
    process.exit(1);
});
