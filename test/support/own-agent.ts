/** Threads of the engine `own` before a scripted model, in both wire formats. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Model, type ModelRequest, startModel } from "../agents/model.ts";
import type { AgentThread, ThreadOptions } from "./agent-threads.ts";
import { programFile } from "./programs.ts";

export const WIRES = ["anthropic", "openai-compatible"] as const;
export type Wire = (typeof WIRES)[number];

/** What a person sets for this provider. */
export function envOf(wire: Wire, url: string): Record<string, string> {
  return wire === "anthropic"
    ? { ANTHROPIC_API_KEY: "a-dummy-key", ANTHROPIC_BASE_URL: url }
    : { OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`, THREADMUX_MODEL: "openai-compatible/local" };
}

export function ownOptions(env: Record<string, string>, options: ThreadOptions = {}): ThreadOptions {
  return {
    ...options,
    agent: { engine: "own", ...options.agent },
    program: { program: process.execPath, args: [programFile("agent/engines/own")], env },
  };
}

export const bash = (command: string) => ({ name: "bash", input: { command } });

/** Where a request is not the one before it and more, by its number. Marks of what is cached are no part of it. */
export function prefixBreaks({ requests }: Pick<Model, "requests">): number[] {
  const texts = requests.map(textOf);
  return texts.flatMap((text, at) => (at === 0 || text.startsWith(texts[at - 1] ?? "") ? [] : [at]));
}

/** Without what closes it, down to the text at its end: more may be said in the same message. */
function textOf({ messages, system, tools }: ModelRequest): string {
  const text = JSON.stringify({ system, tools, messages }, (name, value) =>
    name === "cache_control" ? undefined : value,
  );
  return text.replace(/"?[\]}]+$/, "");
}

/** How often the newest request has this text. */
export function timesHeard(model: Model, text: string): number {
  return model.timesInContext(text);
}

/** Kills the runner and the engine with all that it started, as a machine that is switched off. */
export async function killAll(thread: AgentThread): Promise<void> {
  thread.killRunner();
  const pids = thread.engineProcesses().map(({ pid }) => pid);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it ended with its parent
    }
  }
  await thread.runnerDied();
}

/** A loopback model for all tests of a file. Each test begins with none of its requests. */
export function modelOfFile(): Omit<Model, "close"> {
  let started: Model | undefined;
  const model = () => {
    if (!started) throw new Error("the model is there in tests alone");
    return started;
  };
  beforeAll(async () => {
    started = await startModel();
  });
  beforeEach(() => model().requests.splice(0));
  afterAll(() => started?.close());
  return {
    get url() {
      return model().url;
    },
    get requests() {
      return model().requests;
    },
    get faults() {
      return model().faults;
    },
    timesInContext: (text) => model().timesInContext(text),
  };
}
