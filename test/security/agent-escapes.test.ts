/** The stand-in tries to get out, in each mode: what is refused, and what a person is asked about. */
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bash, openThreads } from "../support/agent-threads.ts";
import { BYPASS_CONFIG, openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { expectKeptIn } from "../support/escapes.ts";
import { makeSidecarFolders, startSidecar } from "../support/sidecar.ts";

const open = openThreads();

// Promise: S12
test.each(["default", "acceptEdits", "bypassPermissions"])(
  "in mode %s the state folder is refused, and what looks like a secret is asked about",
  async (permissionMode) => {
    const thread = open({ agent: { permissionMode }, stateDir: true });
    await expectKeptIn(thread);
  },
);

// Promise: S12
test("a sidecar's own state folder is refused to its agents, also where STATE_DIR is a link", async () => {
  const folders = makeSidecarFolders();
  const real = join(folders.path, "real");
  mkdirSync(real, { mode: 0o700 });
  symlinkSync(real, folders.stateDir);
  const sidecar = await startSidecar({ ...BYPASS_CONFIG, token: undefined }, { folders });
  try {
    const token = readFileSync(join(real, "token"), "utf8").trim();
    const calls = [folders.stateDir, real].flatMap((state) => [
      { name: "Read", input: { file_path: join(state, "token") } },
      bash(`cat ${state}/token`),
    ]);
    const rounds = calls.map((call) => ({ tools: [call] }));
    await openAgent(sidecar, "spy", script("look", ...rounds, { text: "Done." }), {
      agent: { permissionMode: "bypassPermissions" },
    });
    await untilStatus(sidecar, "spy", "idle");
    const events = await transcriptOf(sidecar, "spy");
    const ends = events.flatMap((event) => (event.type === "tool_call_update" ? [event.status] : []));
    expect(ends.filter((status) => status === "failed")).toHaveLength(calls.length);
    expect(JSON.stringify(events)).not.toContain(token);
  } finally {
    await sidecar.close();
  }
});
