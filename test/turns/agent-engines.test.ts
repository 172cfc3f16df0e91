/** Which engine and which program a thread gets: chosen by its creator, by default the sidecar's own. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EngineName } from "../../shared/agent/engines/engines.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { VmConfig } from "../../vm/config.ts";
import { STAND_IN_CONFIG, script, standIn, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

function program(name: string, text: string): string {
  const file = join(folder.path, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** The demo answers it at once; a program is given it as it is. */
const HELLO = script("hello", { text: "One." });
const loud = program("loud", 'printf "%s|" "$@"; cat');

const agentOf: Partial<Record<EngineName, VmConfig["agent"]>> = {
  claude: standIn(),
  demo: { ...standIn(), program: "demo" },
  command: { ...standIn(), program: loud, engine: "command" },
};

describe.each(Object.entries(agentOf))("on a sidecar whose default is %s", (name, agent) => {
  let sidecar: TestSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar({ ...STAND_IN_CONFIG, agent });
  });
  afterAll(() => sidecar?.close());

  const begin = (threadId: string, asked?: CreateRequest["agent"]) => {
    mkdirSync(join(sidecar.reposDir, threadId), { recursive: true });
    const request = { threadId, type: "agent", dir: threadId, command: HELLO } as const;
    return sidecar.client.createThread({ ...request, ...(asked && { agent: asked }) });
  };
  /** The engine that drives the thread, by its own words and by the API. */
  const enginesOf = async (threadId: string) => {
    await untilStatus(sidecar, threadId, "idle");
    const start = (await transcriptOf(sidecar, threadId)).find(({ type }) => type === "engine_start");
    const told = start?.type === "engine_start" ? start.engine : undefined;
    return [told, (await sidecar.client.getThread(threadId)).engine];
  };

  test("that one runs if nobody chooses", async () => {
    await begin("usual");
    expect(await enginesOf("usual")).toEqual([name, name]);
  });

  test("the chosen one runs and is shown, and a branch has it and its program", async () => {
    const asked = { engine: "command", program: loud, args: ["-m", "a b"] } as const;
    await begin("demo", { engine: "demo" });
    await begin("command", { ...asked, args: [...asked.args] });
    expect(await enginesOf("demo")).toEqual(["demo", "demo"]);
    expect(await enginesOf("command")).toEqual(["command", "command"]);
    await sidecar.client.branchThread("command", { threadId: "branch", text: "and" });
    expect(await enginesOf("branch")).toEqual(["command", "command"]);
    expect(await wordsOf(sidecar, "command")).toEqual([`-m|a b|${HELLO}`]);
    expect((await wordsOf(sidecar, "branch")).at(-1)).toMatch(/^-m\|a b\|.*and$/s);
  });

  test("a program that is not there is named, with the field", async () => {
    const refused = await refusal(begin("no", { engine: "command", program: "/nowhere/agent" }));
    expect(refused).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("/nowhere/agent"),
    });
    expect(refused.message).toContain("agent.program");
  });
});
