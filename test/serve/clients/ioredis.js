// SPDX-License-Identifier: MIT
// ioredis.js WEIR PORT PID: what programs do with ioredis, against the weir serve that has this port, this process and
// the password of weir.yaml here.  It is stopped, and another one started and stopped.  Prints "done".
"use strict";
const assert = require("node:assert");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const Redis = require("ioredis");

const [weir, port, pid] = process.argv.slice(2);
const password = "open sesame";
const day = "5/day";

async function commands(redis) {
    assert.strictEqual(await redis.ping(), "PONG");
    assert.match(await redis.info(), /redis_version:/);
    const answer = await redis.call("WEIR.TAKE", day, "one");
    assert.strictEqual(answer.length, 7);
    assert.deepStrictEqual(answer.slice(0, 5), ["allow", 0, 4, 0, 0]);
    assert.strictEqual(typeof answer[6], "string");
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

// A wrong password is told, and none of the commands is answered.
async function stranger() {
    const redis = new Redis({ port, password: "open", maxRetriesPerRequest: 0, retryStrategy: () => null });
    redis.on("error", () => {});
    await assert.rejects(redis.call("WEIR.TAKE", day, "stranger"));
    redis.disconnect();
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
    for (let turn = 0; turn < 600; turn++) {
        if (condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail(words);
}

// The server goes and comes back on its port; the client finds it by itself, and gives its password again.
async function again(redis) {
    process.kill(Number(pid));
    await until(() => ended(Number(pid)), "it does not stop");
    const serve = spawn(weir, ["serve", "weir.yaml", "--resp", `127.0.0.1:${port}`, "--http", "127.0.0.1:0"],
        { stdio: ["ignore", fs.openSync("again.out", "w"), fs.openSync("again.err", "w")] });
    try {
        const [verdict] = await redis.call("WEIR.TAKE", day, "again");
        assert.strictEqual(verdict, "allow");
    } finally {
        serve.kill();
    }
    const [status] = await once(serve, "exit");
    assert.strictEqual(status, 0, fs.readFileSync("again.err", "utf8"));
}

(async () => {
    await stranger();
    const redis = new Redis({ port, password, maxRetriesPerRequest: null });
    redis.on("error", () => {});
    await commands(redis);
    await pipeline(redis);
    await automatic();
    await again(redis);
    redis.disconnect();
    console.log("done");
})().catch((error) => {
    console.error(error);
    process.exit(1);
});
