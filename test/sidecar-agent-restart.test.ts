import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { endedTurnsOf, FAKE_AGENT, openAgent, turnsOf, untilIdle } from "./support/agents.ts";
import { type SpawnedSidecar, spawnSidecar } from "./support/sidecar.ts";
import { readAll, untilOutput } from "./support/threads.ts";
import { until } from "./support/wait.ts";

let sidecar: SpawnedSidecar;

afterEach(() => sidecar.close());

const start = async () => {
  sidecar = await spawnSidecar({ AGENT_PROGRAM: FAKE_AGENT });
  return sidecar;
};

describe("an agent's messages", () => {
  test("over a kill in the middle of a turn: none is lost, none goes in twice", async () => {
    const { client, kill9, start: startAgain, reposDir } = await start();
    await openAgent(sidecar, "mid", "wait for go");
    await untilOutput(client, "mid", "message 1");
    for (const text of ["two", "three"]) await client.sendInput("mid", { text });
    await kill9();
    await startAgain();
    expect(await client.getThread("mid")).toMatchObject({ status: "running", waiting: 2 });
    await client.sendInput("mid", { text: "four" });
    await kill9();
    writeFileSync(join(reposDir, "mid/go"), ""); // the turn ends while nobody looks
    await until("the end of the turn", () => endedTurnsOf(sidecar, "mid").length === 1);
    await startAgain();
    await untilIdle(client, "mid");
    expect(turnsOf(sidecar, "mid").map((turn) => turn.text)).toEqual(["wait for go", "two", "three", "four"]);
    expect(endedTurnsOf(sidecar, "mid")).toHaveLength(4);
    const log = (await readAll(client, "mid")).output;
    expect(log.match(/message \d of my conversation/g)).toHaveLength(4);
  });

  test("over kills at any moment: each goes in once, in order", async () => {
    const { client, kill9, start: startAgain } = await start();
    await openAgent(sidecar, "any", "message 0");
    const sent = ["message 0"];
    for (let round = 1; round <= 3; round++) {
      for (const half of ["a", "b"]) {
        const text = `message ${round}${half}`;
        await client.sendInput("any", { text });
        sent.push(text);
      }
      await until("a turn to begin", () => turnsOf(sidecar, "any").length >= round);
      await kill9();
      await startAgain();
    }
    await untilIdle(client, "any", 30_000);
    expect(turnsOf(sidecar, "any").map((turn) => turn.text)).toEqual(sent);
  }, 120_000);

  test("between turns: an idle agent is idle still, and resumes its conversation", async () => {
    const { client, kill9, start: startAgain } = await start();
    await openAgent(sidecar, "between", "hello");
    await untilIdle(client, "between");
    await kill9();
    await startAgain();
    expect(await client.getThread("between")).toMatchObject({ status: "idle", exitCode: 0 });
    await client.sendInput("between", { text: "again" });
    await untilIdle(client, "between");
    expect((await readAll(client, "between")).output).toContain("message 2 of my conversation: again");
  });
});
