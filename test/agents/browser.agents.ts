/** A browser as a tool, before the real program and the engine `own`: asked about, let through for the thread, and seen. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { USUAL_BROWSERS } from "../../vm/browser/settings.ts";
import { BYPASS_CONFIG, script, standIn, transcriptOf, wordsOf } from "../support/agents.ts";
import { START_MS } from "../support/browsers.ts";
import { envOf } from "../support/own-agent.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { type Site, startSite } from "../support/site.ts";
import { until, untilValue } from "../support/wait.ts";
import { type Model, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

let model: Model | undefined;
let sidecar: TestSidecar | undefined;
let site: Site | undefined;
afterEach(async () => {
  await sidecar?.close();
  await model?.close();
  await site?.close();
});

test.each(["claude", "own"] as const)(
  "%s: it opens pages once a person let it for the thread, and its model gets the picture",
  { timeout: START_MS },
  async (engine) => {
    model = await startModel();
    site = await startSite();
    const folders = makeSidecarFolders();
    mkdirSync(join(folders.reposDir, "shop"));
    const known = engine === "claude" ? claudeEnvironment(model) : envOf("anthropic", model.url);
    sidecar = await startSidecar(
      {
        ...BYPASS_CONFIG,
        browser: { ...USUAL_BROWSERS, hosts: [site.host] },
        threadEnv: { PATH: process.env["PATH"] ?? "", HOME: folders.home, ...known },
        agent: { ...standIn(), engine, ...(engine === "claude" && { program: claudeProgram() }) },
      },
      { folders },
    );
    const { client } = sidecar;
    const side = sidecar;
    const call = (name: string, input: object) => ({
      tools: [{ name: `mcp__threadmux__browser_${name}`, input: { ...input } }],
    });
    const rounds = [
      call("open", { url: site.at("/") }),
      call("open", { url: site.at("/about") }),
      call("look", { picture: true }),
      { text: "Seen." },
    ];
    await client.createThread({
      ...({ threadId: "a", type: "agent", dir: "shop" } as const),
      command: script("look", ...rounds),
    });
    const asks = () => client.listAsks("a");
    const [ask] = await untilValue("its ask", asks, (all) => all.length > 0, { timeoutMs: 60_000 });
    expect(ask?.request).toMatchObject({ toolName: "mcp__threadmux__browser_open" });
    expect(site.asked).toEqual([]);
    await client.answerAsk("a", ask?.requestId ?? "", { optionId: "thread" });
    await until("its words", async () => (await wordsOf(side, "a")).includes("Seen."), { timeoutMs: 90_000 });
    const events = await transcriptOf(side, "a");
    expect(events.filter(({ type }) => type === "permission_request")).toHaveLength(1);
    const last = JSON.stringify(model.requests.at(-1)?.messages);
    expect(last).toContain("| 1 link About us");
    expect(last).toContain("| 1 link Home");
    expect(last.match(/"media_type":"image\/png"/g)).toHaveLength(1);
    await client.killThread("a");
  },
);
