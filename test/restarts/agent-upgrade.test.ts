/** Agent threads of an older threadmux, which ran the agent's program once a message, in every state. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../vm/store/store.ts";
import { STAND_IN_CONFIG, script, transcriptOf, wordsOf } from "../support/agents.ts";
import { makeSidecarFolders, type SidecarFolders, startSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let folders: SidecarFolders;
beforeEach(() => {
  folders = makeSidecarFolders();
});
afterEach(() => folders.close());

/** As the older version left it: rows alone, no folder. */
function leave(
  status: "idle" | "running",
  turns: { text: string; state: "waiting" | "running" | "done" }[],
): void {
  mkdirSync(folders.stateDir, { recursive: true, mode: 0o700 });
  const store = openStore(join(folders.stateDir, "threadmux.db"));
  store.threads.insert({
    threadId: "old",
    type: "agent",
    dir: ".",
    path: folders.reposDir,
    command: turns[0]?.text ?? "",
    title: "old",
    createdBy: "42",
    createdAt: Date.now(),
    cols: 80,
    rows: 24,
    marker: "THREADMUX_THREAD=00000000-0000-4000-8000-000000000000",
    agentSession: "11111111-1111-4111-8111-111111111111",
  });
  store.threads.update("old", { isMade: true, status });
  for (const [i, { text, state }] of turns.entries()) {
    store.turns.add("old", text, Date.now());
    store.turns.set("old", i + 1, state, state === "done" ? 0 : null);
  }
  store.close();
}

test("what waited is answered once, in order, and what was done before is not done again", async () => {
  leave("idle", [
    { text: script("done", { text: "never again" }), state: "done" },
    { text: script("first", { text: "One." }), state: "waiting" },
    { text: "second", state: "waiting" },
  ]);
  const sidecar = await startSidecar(STAND_IN_CONFIG, { folders });
  try {
    await until("the answer", async () => (await wordsOf(sidecar, "old")).length === 1);
    const events = await transcriptOf(sidecar, "old");
    const messages = events.flatMap((event) => (event.type === "user_message" ? [event.messageId] : []));
    const delivered = events.flatMap((event) => (event.type === "delivery" ? event.messageIds : []));
    expect(messages).toEqual(["turn-2", "turn-3"]);
    expect(delivered).toEqual(["turn-2", "turn-3"]);
    expect(await wordsOf(sidecar, "old")).toEqual(["One."]);
  } finally {
    await sidecar.close();
  }
});

test("a turn whose session is gone is not run again; the thread takes the next message", async () => {
  leave("running", [{ text: script("cut off", { text: "never again" }), state: "running" }]);
  const sidecar = await startSidecar(STAND_IN_CONFIG, { folders });
  try {
    await until(
      "the thread to be idle",
      async () => (await sidecar.client.getThread("old")).status === "idle",
    );
    await sidecar.client.sendInput("old", { text: script("next", { text: "Here." }) });
    await until("the answer", async () => (await wordsOf(sidecar, "old")).length === 1);
    expect(await wordsOf(sidecar, "old")).toEqual(["Here."]);
  } finally {
    await sidecar.close();
  }
});
