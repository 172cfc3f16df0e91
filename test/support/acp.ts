/** The scripted ACP agent as a program, and threads that have it behind them. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Step } from "./acp-agent.ts";
import type { AgentThread } from "./agent-threads.ts";
import { makeFolder } from "./folders.ts";

/** Puts a program of this name into a folder of its own: a file that can be run, with the flags that it is given. */
export async function buildAcpAgent(): Promise<{
  /** @param name of the program */
  program: (name?: string, ...flags: string[]) => string;
  /** Where the programs are. */
  path: string;
  remove: () => void;
}> {
  const folder = makeFolder();
  const script = join(folder.path, "agent.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("./acp-agent.ts", import.meta.url))],
    outfile: script,
    bundle: true,
    platform: "node",
    format: "esm",
    minify: true,
    logLevel: "warning",
  });
  return {
    program: (name = "scripted", ...flags) => {
      const file = join(folder.path, name);
      const args = [process.execPath, script, ...flags].map((word) => `'${word}'`).join(" ");
      writeFileSync(file, `#!/bin/sh\nexec ${args} "$@"\n`);
      chmodSync(file, 0o755);
      return file;
    },
    path: folder.path,
    remove: () => folder.remove(),
  };
}

export const told = (text: string, ...steps: Step[]): string =>
  steps.length === 0 ? text : `${text} @@${JSON.stringify(steps)}`;

/** What the agent was told in all its sessions. */
export function heardBy(thread: Pick<AgentThread, "home">): string[] {
  const folder = join(thread.home, ".acp-test");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      const saved = JSON.parse(readFileSync(join(folder, name), "utf8")) as { told: { text: string }[] };
      return saved.told.map(({ text }) => text);
    });
}

/** All that was told and said in one session, in its order. */
export function conversationOf(thread: Pick<AgentThread, "home">, sessionId: string): string[] {
  const file = join(thread.home, ".acp-test", `${sessionId}.json`);
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, "utf8")) as { conversation: string[] }).conversation;
}

/** Its sessions are gone, as if somebody had tidied up. */
export function forget({ home }: Pick<AgentThread, "home">): void {
  const folder = join(home, ".acp-test");
  for (const name of readdirSync(folder)) if (name.endsWith(".json")) rmSync(join(folder, name));
}

/** It has not saved what it was told last, as if it had been killed before it did. */
export function forgetLast({ home }: Pick<AgentThread, "home">): void {
  const folder = join(home, ".acp-test");
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".json"))) {
    const saved = JSON.parse(readFileSync(join(folder, name), "utf8")) as { told: unknown[] };
    writeFileSync(join(folder, name), JSON.stringify({ ...saved, told: saved.told.slice(0, -1) }));
  }
}

/** What else came to it: sessions, modes, answers. */
export function notesOf(thread: Pick<AgentThread, "home">): string[] {
  const file = join(thread.home, ".acp-test", "heard");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

export function effectsIn(dir: string): string[] {
  const file = join(dir, "effects");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}
