/** How soon an ask is seen in Discord, and how soon the engine has what was pressed. */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { engineOutputPath } from "../../shared/agent/paths.ts";
import { script, transcriptOf } from "../../test/support/agents.ts";
import { until } from "../../test/support/wait.ts";
import { percentile, type Row } from "../measure.ts";
import { atMost, type Sides, WAIT } from "./discord-sides.ts";
import { folderOf, untilIdle } from "./threads.ts";

/** A thread of Discord's takes five messages in this time: what the last turn wrote is not to hold the next ask up. */
const BUCKET_MS = 5_500;

const isAllow = ({ label }: { label?: string | undefined }) => label === "Allow once";

/** @param threadId of an agent thread that has answered before */
export async function measureAsks(
  { sidecar, discord }: Sides,
  threadId: string,
  count: number,
): Promise<Row[]> {
  const { driver } = discord;
  const output = engineOutputPath(folderOf(sidecar, threadId), 1);
  const answers = () =>
    existsSync(output) ? readFileSync(output, "utf8").split('"behavior":"allow"').length - 1 : 0;
  const [asked, pressed]: [number[], number[]] = [[], []];
  for (let n = 0; n < count; n++) {
    const bash = { name: "Bash", input: { command: `touch asked-${n}` } };
    await sleep(BUCKET_MS);
    driver.post(discord.you.id, threadId, script("Ask.", { tools: [bash] }, { text: "Thanks." }));
    const { message, button } = await until(
      "an ask",
      () => {
        const asking = driver.messages(threadId).filter(({ buttons }) => buttons.some(isAllow));
        const message = asking.findLast(({ content }) => content.includes(`touch asked-${n}`));
        const button = message?.buttons.find(isAllow)?.customId;
        return message && button !== undefined && { message, button };
      },
      WAIT,
    );
    const shownAt = Date.now();
    const request = (await transcriptOf(sidecar, threadId)).findLast(
      ({ type }) => type === "permission_request",
    );
    asked.push(shownAt - Date.parse(request?.ts ?? ""));
    const before = answers();
    const pressedAt = performance.now();
    driver.press(discord.you.id, message.id, button);
    await until("the engine to have the answer", () => answers() > before, WAIT);
    pressed.push(performance.now() - pressedAt);
    await untilIdle(sidecar, threadId);
  }
  const p95 = (taken: number[]) =>
    percentile(
      taken.sort((a, b) => a - b),
      95,
    );
  return [
    atMost("ask → message with buttons, p95 (ms)", p95(asked), 1_500, "ms"),
    atMost("press → engine has it, p95 (ms)", p95(pressed), 300, "ms"),
  ];
}
