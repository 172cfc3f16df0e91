/** AGENT_SANDBOX=workspace: commands of our own engine reach no network, unless that is allowed. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findSandbox } from "../../vm/agents/sandbox.ts";
import { type Model, startModel } from "../agents/model.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { bash, envOf } from "../support/own-agent.ts";
import { makeSidecarFolders, startSidecar } from "../support/sidecar.ts";

const place = makeFolder();
const env = { PATH: process.env["PATH"] ?? "", HOME: place.path };
const found = await findSandbox("workspace", place.path, env, { reposDir: "", network: "off" });
place.remove();

/** Prints a word each for: the model's port, a server of its own, and the network and the memory of the engine. */
const TRIES = (port: string) =>
  [
    `(: < /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo port-open || echo port-closed`,
    `node -e 'const n = require("net"), s = n.createServer().listen(0, "127.0.0.1", () => n.connect(s.address().port, "127.0.0.1", () => { console.log("own-open"); process.exit() }))'`,
    "e=$(pgrep -of engines/own/main.cjs)",
    "nsenter -t $e -n true 2>/dev/null && echo net-open || echo net-closed",
    "head -c1 /proc/$e/environ >/dev/null 2>&1 && echo engine-open || echo engine-closed",
  ].join("; ");

describe.runIf(found.sandbox !== undefined)("a command of our own engine", () => {
  let model: Model;
  beforeAll(async () => {
    model = await startModel();
  });
  afterAll(() => model?.close());

  async function printed(sandboxNetwork: "on" | "off" | undefined): Promise<string[]> {
    const folders = makeSidecarFolders();
    const threadEnv = {
      ...{ PATH: folders.env["PATH"] ?? "", HOME: folders.home },
      ...envOf("anthropic", model.url),
    };
    const sidecar = await startSidecar(
      { ...BYPASS_CONFIG, threadEnv, sandbox: "workspace", ...(sandboxNetwork && { sandboxNetwork }) },
      { folders },
    );
    try {
      mkdirSync(join(sidecar.reposDir, "shop"));
      await sidecar.client.createThread({
        ...({ threadId: "net", type: "agent", dir: "shop" } as const),
        command: script("try", { tools: [bash(TRIES(new URL(model.url).port))] }, { text: "Done." }),
        agent: { engine: "own", permissionMode: "bypassPermissions" },
      });
      await untilStatus(sidecar, "net", "idle");
      const events = await transcriptOf(sidecar, "net");
      const [end] = events.filter((event) => event.type === "tool_call_update" && event.content);
      return JSON.stringify(end).match(/(port|own|net|engine)-(open|closed)/g) ?? [];
    } finally {
      await sidecar.close();
    }
  }

  test("reaches its own loopback alone, and nothing of its engine's; the engine reaches its model", async () => {
    expect(await printed(undefined)).toEqual(["port-closed", "own-open", "net-closed", "engine-closed"]);
  });

  test("reaches the network if AGENT_SANDBOX_NETWORK is on", async () => {
    expect((await printed("on")).slice(0, 2)).toEqual(["port-open", "own-open"]);
  });
});
