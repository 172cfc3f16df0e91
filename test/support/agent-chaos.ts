/** An agent thread whose runner and engine are killed at random moments, and what must be true at its end. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32, deflateSync } from "node:zlib";
import type { Call } from "../../agent/engines/demo/script.ts";
import { statusOf } from "../../shared/agent/fold.ts";
import { findAsk } from "../../shared/agent/fold-asks.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { type AgentThread, bash, says } from "./agent-threads.ts";
import { signal } from "./processes.ts";
import { untilValue } from "./wait.ts";

export type Victim = "runner" | "engine" | "both";

export interface ChaosOptions {
  thread: AgentThread;
  victims: readonly Victim[];
  kills: number;
  /** 0 to below 1, the same each time for one seed. */
  random: () => number;
  /** Of the files that the agent is told to write; both they and the pictures are longer than a pipe holds. */
  fileBytes?: number;
  /** The call by which this agent runs a command; not set: Claude Code's, and its calls that write files. */
  run?: (command: string) => Call;
  /** The longest time between two kills. */
  paceMs?: number;
  /** How often a person stops the turn before a kill, 0 to 1. */
  stops?: number;
}

export interface ChaosReport {
  messages: string[];
  fileBytes: number;
  /** That found their victim alive. */
  kills: Record<string, number>;
  /** How often a person had to press *Go on*. */
  goOns: number;
}

/** Sends messages in bursts and answers asks while it kills; ends when all is done. */
export async function runChaos({
  thread,
  victims,
  kills,
  random,
  fileBytes = 1_000_000,
  run,
  paceMs = 1_050,
  stops = 0,
}: ChaosOptions): Promise<ChaosReport> {
  const report: ChaosReport = { messages: [], fileBytes, kills: {}, goOns: 0 };
  const answered = new Set<string>();
  const send = () => {
    const name = `M${report.messages.length + 1}M`;
    report.messages.push(name);
    const command = `echo ${name} >> ${join(thread.dir, "effects")}; timeout 0.3 tail -f /dev/null; true`;
    const effect = run?.(command) ?? bash(command);
    const kind = random();
    // Longer than the engine's pipe holds: a runner that dies in between leaves half a line in it.
    // A picture's bytes count as tokens with the loopback model, and a conversation that is compacted begins anew.
    if (kind < 0.12 && !run) {
      const picture = { name: `${name}.png`, bytes: noisePicture() };
      thread.writeWhole(says(`please ${name}.`, { text: `saw ${name}` }), picture);
      return;
    }
    if (kind < 0.24 && !run) {
      const input = { file_path: join(thread.dir, `${name}.txt`), content: bigText(name, fileBytes) };
      thread.writeWhole(
        says(`please ${name}.`, { tools: [{ name: "Write", input }] }, { text: `wrote ${name}` }),
      );
      return;
    }
    const quiet = kind < 0.5;
    const script = quiet
      ? [{ text: `said ${name}`, delayMs: 200 }]
      : [{ text: `doing ${name}`, tools: [effect], delayMs: 100 }, { text: `did ${name}` }];
    thread.write(says(`please ${name}.`, ...script));
  };
  /** What the sidecar and a person do meanwhile. */
  const tend = () => {
    if (!thread.runner) thread.start();
    const fold = thread.fold();
    if (fold.failure?.code === "cut_off") {
      report.goOns++;
      thread.control("resume");
    }
    for (const ask of fold.asks) {
      if (answered.has(ask.requestId)) continue;
      answered.add(ask.requestId);
      thread.answer(ask.requestId, "once");
    }
    return fold;
  };
  for (let kill = 0; kill < kills; kill++) {
    const turns = thread.of("turn_start").length;
    // One that is short may be over before it is seen.
    const hasTurn = ({ turn }: ThreadFold) => turn !== null || thread.of("turn_start").length > turns;
    if (report.messages.length < kills || run) for (let n = 0; n < 1 + Math.floor(random() * 2); n++) send();
    // A real agent takes long to start: killed before it has a message, it shows nothing.
    if (run) await untilValue("a turn", tend, hasTurn, { timeoutMs: 120_000 });
    const until = Date.now() + 150 + random() * (paceMs - 150);
    while (Date.now() < until) {
      tend();
      await sleep(20);
    }
    if (stops > 0 && random() < stops) pressStop(thread, random() < 0.5);
    const victim = victims[Math.floor(random() * victims.length)] ?? "both";
    const engine = thread.enginePid();
    if (victim !== "engine") thread.killRunner();
    if (victim !== "runner" && engine) signal(engine, "SIGKILL");
    const hasHit = victim === "engine" ? engine !== undefined : true;
    if (hasHit) report.kills[victim] = (report.kills[victim] ?? 0) + 1;
    if (victim !== "engine") await thread.runnerDied();
  }
  const isDone = (fold: ThreadFold) => statusOf(fold) === "idle" && isQuiet(thread, report.messages.length);
  await untilValue("everything to be done", tend, isDone, {
    timeoutMs: run ? 240_000 : 60_000,
    intervalMs: 50,
  });
  return report;
}

/** @param isButton a button names its turn, which may have been cut off by now; a command does not */
function pressStop(thread: AgentThread, isButton: boolean): void {
  const turnId = thread.of("turn_start").at(-1)?.turnId;
  thread.control("interrupt", isButton && turnId !== undefined ? { turnId } : {});
}

function bigText(name: string, bytes: number): string {
  return `${name} begins\n${"a line of the file\n".repeat(bytes / 19)}${name} ends\n`;
}

/** A picture of some 800 KB that nothing can make smaller. */
export function noisePicture(): Buffer {
  const size = 512;
  const rows = randomBytes((3 * size + 1) * size);
  for (let row = 0; row < size; row++) rows[row * (3 * size + 1)] = 0; // no filter
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2, 0, 0, 0], 8); // 8 bits of red, green and blue
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const chunks = [chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Nothing is left to do, and the runner has read as many messages: a new thread is idle too. */
function isQuiet(thread: AgentThread, count: number): boolean {
  const fold = thread.fold();
  if (thread.of("user_message").length < count) return false;
  return fold.deliveries.length === 0 && fold.messages.length === 0 && fold.turn === null;
}

/** What is wrong with the thread at its end, a line each; nothing if all is well. */
export function findFaults(thread: AgentThread, { messages, fileBytes }: ChaosReport): string[] {
  const faults: string[] = [];
  const events = thread.events();
  for (const [index, event] of events.entries()) {
    if (event.seq !== index + 1) faults.push(`line ${index + 1} has seq ${event.seq}`);
  }
  const ids = events.map(({ id }) => id);
  for (const id of new Set(ids)) {
    if (ids.filter((other) => other === id).length > 1) faults.push(`id ${id} twice`);
  }
  for (const message of thread.of("user_message")) {
    const deliveries = thread
      .of("delivery")
      .filter(({ messageIds }) => messageIds.includes(message.messageId));
    if (deliveries.length !== 1) faults.push(`message ${message.seq} is in ${deliveries.length} deliveries`);
  }
  for (const { deliveryId } of thread.of("delivery")) {
    const ends = thread
      .of("delivery_update")
      .filter((update) => update.deliveryId === deliveryId && update.status === "completed");
    if (ends.length !== 1) faults.push(`delivery ${deliveryId} was completed ${ends.length} times`);
  }
  for (const name of messages) {
    const path = join(thread.dir, `${name}.txt`);
    if (existsSync(path) && readFileSync(path, "utf8") !== bigText(name, fileBytes))
      faults.push(`${path} is not whole`);
  }
  const effects = readEffects(thread);
  for (const name of messages) {
    const count = effects.filter((effect) => effect === name).length;
    if (count > 1) faults.push(`the effect of ${name} happened ${count} times`);
  }
  const fold = thread.fold();
  for (const ask of fold.asks) if (findAsk(fold, ask.requestId)) faults.push(`ask ${ask.requestId} is open`);
  for (const { turnId } of thread.of("turn_start")) {
    const ends = thread.of("turn_end").filter((end) => end.turnId === turnId);
    if (ends.length !== 1) faults.push(`turn ${turnId} has ${ends.length} ends`);
  }
  return faults;
}

function readEffects(thread: AgentThread): string[] {
  const path = join(thread.dir, "effects");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}
