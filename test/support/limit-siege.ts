/** Threads that run into a limit while their runner and their engine are killed, and what their model really did. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LimitName } from "../../shared/agent/limit-schema.ts";
import { MORE_OPTION, usedOf } from "../../shared/agent/limits.ts";
import { AgentThread, bash, says } from "./agent-threads.ts";
import { signal } from "./processes.ts";
import { until } from "./wait.ts";

/** What each call of the model uses. */
const CALL = { inputTokens: 10_000, outputTokens: 500 };
/** Of the stand-in's price. */
const CALL_USD = 0.05;
const CALL_TOKENS = CALL.inputTokens + CALL.outputTokens;
const CALLS = 6;

const ALLOWED: Record<LimitName, number> = {
  turns: 1,
  calls: 2,
  tokens: 2.5 * CALL_TOKENS,
  spendUsd: 0.12,
  seconds: 1,
};

export interface SiegeReport {
  asks: number;
  kills: number;
  /** Of what was allowed when it asked: how many calls, turns or seconds more were used in fact, at most. */
  over: number;
  /** Effects of the agent's calls, in order. */
  ran: string;
}

interface Use {
  input: number;
  output: number;
}

/** Every engine's output, also of those that were removed meanwhile. */
class Outputs {
  readonly #folder: string;
  readonly #files = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(): void {
    for (const name of readdirSync(this.#folder)) {
      if (!/^engine\.\d+\.jsonl$/.test(name)) continue;
      const path = join(this.#folder, name);
      if (existsSync(path)) this.#files.set(name, readFileSync(path, "utf8"));
    }
  }

  /** What every call of the model has used, as the engine printed it when it knew. */
  uses(): Use[] {
    this.read();
    return [...this.#files.values()].flatMap((text) => {
      const uses: Use[] = [];
      for (const line of text.split("\n").filter((each) => each.includes('"stream_event"'))) {
        const { event } = parse(line) ?? {};
        if (event?.type === "message_start") uses.push(useOf(event.message.usage));
        if (event?.type === "message_delta") uses[uses.length - 1] = useOf(event.usage);
      }
      return uses;
    });
  }
}

const useOf = (usage: { input_tokens: number; output_tokens: number }): Use => ({
  input: usage.input_tokens,
  output: usage.output_tokens,
});

function parse(line: string) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // torn by a kill
  }
}

/**
 * One thread from its first message to its last word. At each ask it goes on with as much again.
 * @param random from 0 to 1
 */
export async function besiege(
  name: LimitName,
  random: () => number,
  killCount: number,
): Promise<SiegeReport> {
  const thread = new AgentThread({
    agent: { limits: { [name]: ALLOWED[name] }, permissionMode: "bypassPermissions" },
    timeouts: { idleSeconds: 1 },
  });
  const outputs = new Outputs(thread.folder);
  const texts = messages(name);
  const seen = new Set<string>();
  const report: SiegeReport = { asks: 0, kills: 0, over: Number.NEGATIVE_INFINITY, ran: "" };
  let written = 0;
  let nextKillMs = Date.now() + 300;

  const look = () => {
    outputs.read();
    const fold = thread.fold();
    const limit = fold.asks.find((ask) => ask.limit && !seen.has(ask.requestId));
    // Asked and at rest: what its model did by now is all that it did.
    if (limit?.limit && !thread.runner) {
      seen.add(limit.requestId);
      report.asks += 1;
      report.over = Math.max(report.over, beyond(name, limit.limit.allowed, outputs.uses(), thread));
      thread.answer(limit.requestId, MORE_OPTION);
    }
    if (fold.failure && !seen.has(`failure ${fold.turnCount}`)) {
      seen.add(`failure ${fold.turnCount}`);
      thread.control("resume");
    }
    if (isDone(thread, written)) {
      const next = texts[written];
      if (next === undefined) return true;
      thread.write(next);
      written += 1;
    }
    if (!thread.runner) thread.start();
    if (report.kills < killCount && Date.now() > nextKillMs && fold.turn !== null) {
      const chosen = random();
      const engine = thread.enginePid();
      if (chosen > 0.3) thread.killRunner();
      if (chosen < 0.7 && engine) signal(engine, "SIGKILL");
      report.kills += 1;
      nextKillMs = Date.now() + 100 + 900 * random();
    }
    return false;
  };

  try {
    await until(`the thread with a limit of ${name} to be done`, look, {
      timeoutMs: 700_000,
      intervalMs: 30,
    });
    return { ...report, ran: readFileSync(join(thread.dir, "ran"), "utf8").replace(/\n/g, "") };
  } finally {
    await thread.close();
  }
}

function messages(name: LimitName): string[] {
  const wait = name === "seconds" ? "timeout 0.4 tail -f /dev/null; " : "";
  const rounds = Array.from({ length: CALLS }, (_, i) => ({
    tools: [bash(`${wait}echo ${i} >> ran`)],
    delayMs: 50,
    ...CALL,
  }));
  const last = { text: "Done.", ...CALL };
  return name === "turns" ? rounds.map((round) => says("go", round, last)) : [says("go", ...rounds, last)];
}

function isDone(thread: AgentThread, wanted: number): boolean {
  const said = thread.of("agent_message").filter(({ text }) => text === "Done.").length;
  const fold = thread.fold();
  return said >= wanted && fold.turn === null && fold.messages.length === 0 && fold.deliveries.length === 0;
}

/** By how many calls of the model (turns, seconds) the thread has gone beyond what it was allowed. */
function beyond(name: LimitName, allowed: number, uses: readonly Use[], thread: AgentThread): number {
  const sum = (of: (use: Use) => number) => uses.reduce((total, use) => total + of(use), 0);
  switch (name) {
    case "turns":
      return (
        new Set(
          thread
            .of("turn_start")
            .filter(({ cause }) => cause !== "resume")
            .map(({ turnId }) => turnId),
        ).size - allowed
      );
    case "calls":
      return uses.length - allowed;
    case "tokens":
      return (sum(({ input, output }) => input + output) - allowed) / CALL_TOKENS;
    case "spendUsd":
      return (sum(({ input, output }) => input * 4e-6 + output * 2e-5) - allowed) / CALL_USD;
    case "seconds":
      return usedOf(thread.fold(), Date.now()).seconds - allowed;
  }
}
