/** A disk that is really full, under agent threads of a real sidecar with a real relay. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderOf, processesOf } from "../support/agent-siege.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { startEverything } from "../support/relay.ts";
import { makeSidecarFolders } from "../support/sidecar.ts";
import { canMount, mountDisk } from "../support/small-disk.ts";
import { until } from "../support/wait.ts";

const MIB = 1024 * 1024;

// Promise: R13
test.runIf(canMount)(
  "a full disk: agents end and say why, nothing is lost, and Go on works once there is room",
  { timeout: 120_000 },
  async ({ onTestFinished }) => {
    const folders = makeSidecarFolders();
    const disk = mountDisk(folders.stateDir, 160);
    const all = await startEverything({ vm: STAND_IN_CONFIG, folders });
    onTestFinished(async () => {
      disk.unmount();
      await all.close();
    });
    const talk = new AgentTalk(all);
    const go = join(folders.reposDir, "go");
    const effects = join(folders.reposDir, "effects");
    const writer = await talk.open(script("Write", { text: "Never lost.", waitFor: go }));
    const bash = { name: "Bash", input: { command: `echo once >> ${effects}` } };
    const asker = await talk.open(script("Ask", { tools: [bash] }, { text: "Done once." }));
    const ask = await talk.untilMessage(asker, "May the agent do this?");
    await talk.untilMessage(writer, /^◌/);

    disk.fill(40 * MIB);
    const why = /can't go on.*Less than 64 MiB of disk are free at .*Make room, then go on\./;
    for (const threadId of [writer, asker]) await talk.untilMessage(threadId, why);
    const left = () => [writer, asker].flatMap((threadId) => processesOf(folderOf(all.sidecar, threadId)));
    await until("no engine and no runner to be left", () => left().length === 0);
    disk.fill(0);
    const refused = await talk.ask(script("Hi", { text: "Hello." })).reply({ timeoutMs: 20_000 });
    expect(refused.content).toBe("⚠️ The VM's disk is full; nothing was changed.");

    disk.empty();
    writeFileSync(go, "");
    for (const threadId of [writer, asker]) talk.press(await talk.untilMessage(threadId, why), "Go on");
    await talk.untilMessage(writer, "Never lost.");
    // The ask was parked with its engine: its button still decides.
    talk.press(ask, "Allow once");
    await talk.untilMessage(asker, "Done once.");
    expect(readFileSync(effects, "utf8")).toBe("once\n");
    expect(talk.find(writer, "Never lost.")).toHaveLength(1);
  },
);
