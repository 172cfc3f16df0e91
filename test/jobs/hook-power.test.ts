/** A loss of power at the hook's door: each request that was answered 202 is on the disk. */
import { rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { pause } from "../../shared/lifecycle.ts";
import { seededRandom } from "../../shared/random.ts";
import { statePaths } from "../../vm/config.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { openStore } from "../../vm/store/store.ts";
import { inFull } from "../support/faults.ts";
import { canTrace, PowerMeter } from "../support/power-loss.ts";
import { freePort, spawnSidecar } from "../support/sidecar.ts";

const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const ROUNDS = inFull(30, 3);
/** Those who send at once. */
const SENDERS = 8;

test.runIf(canTrace)(
  "the power fails while requests come: each 202 has its row",
  {
    timeout: inFull(900_000, 120_000),
  },
  async () => {
    const port = await freePort();
    const sidecar = await spawnSidecar({ HOOK_HOST: "127.0.0.1", HOOK_PORT: `${port}` });
    onTestFinished(() => sidecar.close());
    const meter = new PowerMeter();
    onTestFinished(() => meter.remove());
    const { database } = statePaths(sidecar.stateDir);
    const coalesce = { windowSeconds: 3_600, maxWaitSeconds: 3_600 };
    const what = { type: "command", dir: ".", command: "true" } as const;
    await new VmJobs(sidecar.client).create({
      name: "hook",
      when: { type: "webhook", proof: PROOF, secret: SECRET, perMinute: 60_000, coalesce },
      what,
    });
    const random = seededRandom(SEED);
    let count = 0;
    const taken: string[] = [];
    const send = async () => {
      const id = `d${count++}`;
      const body = Buffer.from(JSON.stringify({ id, log: "x".repeat(Math.floor(random() * 6_000)) }));
      const headers = signRequest(PROOF, SECRET, body, { id, nowSeconds: Date.now() / 1_000 });
      const url = `http://127.0.0.1:${port}/hook/hook`;
      const reply = await fetch(url, { method: "POST", body, headers }).catch(() => undefined);
      if (reply?.status === 202) taken.push(id);
      await reply?.arrayBuffer().catch(() => undefined);
    };
    let lostBytes = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await meter.attach(sidecar.pid());
      let isOver = false;
      const senders = Array.from({ length: SENDERS }, async () => {
        while (!isOver) await send();
      });
      // Others write to the same database, and wait for no disk.
      const writer = (async () => {
        for (let at = 0; !isOver; at++)
          await new VmJobs(sidecar.client)
            .create({ name: `other-${round}-${at % 40}`, when: { type: "every", seconds: 3_600 }, what })
            .catch(() => pause(10));
      })();
      await pause(300 + random() * 700);
      await sidecar.kill9();
      isOver = true;
      await Promise.all([...senders, writer]);
      for (const file of [`${database}-wal`, database]) lostBytes += await meter.cut(file);
      rmSync(`${database}-shm`, { force: true });
      const store = openStore(database);
      const lost = taken.filter((id) => store.hookRequests.find("hook", id, Date.now()) === undefined);
      store.close();
      expect(lost, `of ${taken.length}, round ${round}, seed ${SEED}`).toEqual([]);
      await sidecar.start();
    }
    console.log(`power: ${JSON.stringify({ seed: SEED, rounds: ROUNDS, taken: taken.length, lostBytes })}`);
    expect(taken.length).toBeGreaterThan(ROUNDS);
    // Else nothing was tried: some of what was written had not reached the disk.
    expect(lostBytes).toBeGreaterThan(0);
  },
);
