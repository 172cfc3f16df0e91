/** Agents that take 40 steps in a minute: what a turn costs in requests and notifications, and when a step is seen. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { script, transcriptOf } from "../../test/support/agents.ts";
import { until } from "../../test/support/wait.ts";
import { percentile } from "../measure.ts";
import { atMost, equality, type Figure, requests, told } from "./figures.ts";
import { type Extent, type Load, type Row, withLoad } from "./load.ts";

const STEPS = 40;
/** With what the agent itself needs, so many steps take a minute. */
const STEP_MS = 1_450;

export const oneTurn: Row = (extent) => turns(1, extent);
export const tenTurns: Row = (extent) => turns(10, extent);

async function turns(count: number, { pick }: Extent): Promise<Figure[]> {
  const row = `${count} ${count === 1 ? "agent" : "agents"}, ${STEPS} steps`;
  const steps = pick(STEPS, 4);
  const prompts = Array.from({ length: count }, () => script("Begin", { text: "Begun." }));
  return withLoad(prompts, (load) => measure(row, load, steps, pick(STEP_MS, 300)), { agents: true });
}

async function measure(row: string, load: Load, steps: number, delayMs: number): Promise<Figure[]> {
  const { discord, sidecar, threadIds } = load;
  const { driver } = discord;
  for (let i = 1; i <= steps; i++) writeFileSync(join(sidecar.reposDir, `step-${i}`), "");
  await until("the first words", () => threadIds.every((id) => driver.text(id).includes("Begun.")), {
    timeoutMs: 60_000,
  });
  const seen = watchSteps(load);
  const rounds = Array.from({ length: steps }, (_, i) => ({
    delayMs,
    tools: [{ name: "Read", input: { file_path: join(sidecar.reposDir, `step-${i + 1}`) } }],
  }));
  const text = script("Work", ...rounds, { text: "Worked." });
  const newest = new Map(threadIds.map((id) => [id, driver.messages(id).at(-1)?.id]));
  driver.stats.reset();
  const startedAt = Date.now();
  await Promise.all(threadIds.map((id) => sidecar.client.sendInput(id, { text })));
  const isShown = (id: string) => seen.get(id)?.size === steps + 1;
  await until("all steps", () => threadIds.every(isShown), { timeoutMs: 180_000, intervalMs: 200 }).catch(
    () => undefined,
  );
  const seconds = (Date.now() - startedAt) / 1_000;
  // What is paid for the turn comes with its last words at the latest.
  await until("the last edits", () => threadIds.every((id) => !driver.text(id).includes("◌"))).catch(
    () => undefined,
  );
  const latencies: number[] = [];
  for (const id of threadIds) latencies.push(...(await latenciesOf(load, id, seen.get(id) ?? new Map())));
  latencies.sort((a, b) => a - b);
  const costs = threadIds.map((id) => driver.stats.requests.filter(({ path }) => path.includes(id)).length);
  const loud = threadIds.map((id) => {
    const messages = driver.messages(id);
    const before = messages.findIndex((message) => message.id === newest.get(id));
    return messages.slice(before + 1).filter(({ isSilent, author }) => author.isBot && !isSilent).length;
  });
  return [
    told(row, "the turn, s", seconds),
    atMost(row, "requests of a turn", Math.max(...costs), 40),
    atMost(row, "notifications of a turn", Math.max(...loud), 3),
    told(row, "p50 from event to visible, ms", percentile(latencies, 50)),
    atMost(row, "p95 from event to visible, ms", percentile(latencies, 95), 2_500),
    ...requests(row, load),
    equality(
      row,
      threadIds.filter((id) => !isShown(id)),
    ),
  ];
}

/** When each step, and the last words, were shown first: by thread, by the step's title. */
function watchSteps({ discord }: Load): Map<string, Map<string, number>> {
  const seen = new Map<string, Map<string, number>>();
  discord.driver.onEvent((event) => {
    if (event.type !== "message-create" && event.type !== "message-update") return;
    const { channel_id: id, content } = event.message;
    const ofThread = seen.get(id) ?? new Map<string, number>();
    seen.set(id, ofThread);
    for (const [, title = ""] of content.matchAll(/^(?:✓ (Read step-\d+)|(?=Worked\.))/gm)) {
      if (!ofThread.has(title)) ofThread.set(title, Date.now());
    }
  });
  return seen;
}

/** From the time of the event in the transcript. */
async function latenciesOf(
  { sidecar }: Load,
  threadId: string,
  seen: ReadonlyMap<string, number>,
): Promise<number[]> {
  const titles = new Map<string, string>();
  const events = await transcriptOf(sidecar, threadId);
  return events.flatMap((event) => {
    if (event.type === "tool_call") titles.set(event.toolCallId, event.title);
    const title =
      event.type === "tool_call_update"
        ? titles.get(event.toolCallId)
        : event.type === "agent_message" && event.text === "Worked."
          ? ""
          : undefined;
    const at = title === undefined ? undefined : seen.get(title);
    return at === undefined ? [] : [at - Date.parse(event.ts)];
  });
}
