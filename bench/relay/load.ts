/** Relay, sidecar and local Discord as processes of their own, with threads that print; what comes through, and when. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type LocalDiscord, runLocalDiscord } from "../../local-discord/run.ts";
import { channels as served } from "../../shared/protocol/channels.ts";
import { STAND_IN } from "../../test/support/agents.ts";
import { relayConfigFor } from "../../test/support/relay-config.ts";
import { makeRelayProcess, type RelayProcess } from "../../test/support/relay-process.ts";
import { spawnSidecar } from "../../test/support/sidecar.ts";
import { findDifference, rowsOfLog, rowsShown } from "../../test/support/streaming.ts";
import { until } from "../../test/support/wait.ts";
import { cpuSeconds, percentile } from "../measure.ts";
import type { Figure } from "./figures.ts";

/** How long and how much: in full or in a short form. */
export interface Extent {
  pick: <T>(full: T, smoke: T) => T;
  /** What is random follows from it. */
  seed: number;
}

export type Row = (extent: Extent) => Promise<Figure[]>;

export interface Load {
  discord: LocalDiscord;
  sidecar: Awaited<ReturnType<typeof spawnSidecar>>;
  relay: RelayProcess;
  threadIds: string[];
  /** The first is the one that the relay's settings name. */
  channelIds: string[];
  /** Milliseconds from printed to visible, by thread. */
  latencies: Map<string, number[]>;
  /** Ends all printing and waits until every thread shows its log. */
  finish: (timeoutMs?: number) => Promise<{ different: string[] }>;
}

/** As people run it: `npm run bench:relay` has built it. */
const PROGRAM = { file: fileURLToPath(new URL("../../dist/relay/main.js", import.meta.url)) };
/** The last line that every program of a load prints. */
export const END = "that was all of it";
export const STAMPED = /^(\d{13}) (\d+)$/gm;

/** A line every 100 ms with the time in it, without a process for each. What is typed is recorded. */
export function printer(i: number, intervalMs = 100): string {
  return [
    "exec 3<> <(:); i=0",
    `(while [ ! -e stop ]; do i=$((i+1)); t=$EPOCHREALTIME; echo "\${t:0:10}\${t:11:3} $i"; read -rt ${intervalMs / 1_000} -u 3; done; echo "${END}") &`,
    `exec cat >> typed-${i}`,
  ].join("\n");
}

export interface LoadThread {
  command: string;
  /** The indexes of the thread's person and channel; 0 is the first. */
  person?: number;
  channel?: number;
}

/** @param agents the commands are prompts, for the stand-in as the agent. */
export async function withLoad<T>(
  commands: readonly (string | LoadThread)[],
  work: (load: Load) => Promise<T>,
  { agents = false, people = 1, channels = 1 }: { agents?: boolean; people?: number; channels?: number } = {},
): Promise<T> {
  const agent = agents ? { AGENT_PROGRAM: STAND_IN } : {};
  const sidecar = await spawnSidecar({ MAX_THREADS: "200", MAX_AGENTS: "200", LOG_LEVEL: "info", ...agent });
  // Only the time between two logins is not Discord's: the relay is restarted again and again.
  const users = Array.from({ length: people - 1 }, (_, i) => ({ name: `Person ${i + 1}` }));
  const limits = { identify: { windowMs: 0, total: 10_000 } };
  const discord = await runLocalDiscord({ port: 0, limits, users });
  const ids = discord.users.map(({ id }) => id);
  const channelIds = Array.from({ length: channels }, (_, i) =>
    i === 0 ? discord.channelId : discord.driver.createChannel(`c${i}`).id,
  );
  const relay = makeRelayProcess(PROGRAM, relayConfigFor(sidecar, discord), sidecar.folders.home);
  try {
    await sidecar.client.putPeople(ids.map((id) => ({ id, role: "maker" })));
    const threadIds: string[] = [];
    for (const [i, wanted] of commands.entries()) {
      const {
        command,
        person = 0,
        channel = 0,
      }: LoadThread = typeof wanted === "string" ? { command: wanted } : wanted;
      const [owner = "", parentId = ""] = [ids[person], channelIds[channel]];
      const { id } = discord.driver.createThread(owner, `thread ${i}`, parentId);
      await sidecar.as(owner).createThread({
        threadId: id,
        type: agents ? "agent" : "terminal",
        dir: ".",
        command,
        home: { channelId: id, parentId },
      });
      threadIds.push(id);
    }
    for (const channelId of channelIds.slice(1))
      await sidecar.client.call(served.set, { channelId }, { body: { dir: "." } });
    relay.start();
    await relay.untilReady();
    const latencies = watchLatencies(discord);
    const finish = async (timeoutMs = 60_000) => {
      writeFileSync(join(sidecar.reposDir, "stop"), "");
      const everything = { sidecar, discord };
      // A log as rows costs up to a second, in which Discord, of this same process, stands still. So a log is read once
      // its thread shows the end, and what was equal then is not looked at again: nothing is printed after the end.
      let left: readonly string[] = threadIds;
      let different: string[] = [];
      const look = async () => {
        const differences = new Map<string, string>();
        for (const threadId of left) {
          const shown = rowsShown(everything, threadId);
          const difference = shown.includes(END)
            ? findDifference(shown, await rowsOfLog(everything, threadId))
            : `its end is not shown, but ${shown.length} rows, the last ${JSON.stringify(shown.at(-1))}`;
          if (difference !== undefined) differences.set(threadId, difference);
        }
        left = [...differences.keys()];
        different = [...differences].map(([threadId, difference]) => `${threadId}: ${difference}`);
        return left.length === 0;
      };
      await until("equal texts", look, { timeoutMs, intervalMs: 500 }).catch(() => undefined);
      return { different };
    };
    return await work({ discord, sidecar, relay, threadIds, channelIds, latencies, finish });
  } finally {
    await relay.stop();
    await discord.close();
    await sidecar.close();
  }
}

/** Every stamped line, the first time that a message with it is applied. */
function watchLatencies(discord: LocalDiscord): Map<string, number[]> {
  const latencies = new Map<string, number[]>();
  const newest = new Map<string, number>();
  discord.driver.onEvent((event) => {
    if (event.type !== "message-create" && event.type !== "message-update") return;
    const now = Date.now();
    const { channel_id: threadId, content } = event.message;
    for (const [, stamp, number] of content.matchAll(STAMPED)) {
      if (Number(number) <= (newest.get(threadId) ?? 0)) continue;
      newest.set(threadId, Number(number));
      const list = latencies.get(threadId) ?? [];
      if (list.length === 0) latencies.set(threadId, list);
      list.push(now - Number(stamp));
    }
  });
  return latencies;
}

export function overall(latencies: Map<string, number[]>, percent: number): number {
  return percentile(
    [...latencies.values()].flat().sort((a, b) => a - b),
    percent,
  );
}

/**
 * From here on only: what came before the relay had found its threads is no streaming.
 * @returns how much of a core the relay took, in percent.
 */
export async function stream(
  { discord, latencies, relay }: Load,
  seconds: number,
  settleMs = 3_000,
): Promise<number> {
  await until("the first lines", () => latencies.size > 0, { timeoutMs: 30_000 });
  await sleep(settleMs);
  latencies.clear();
  discord.driver.stats.reset();
  const before = cpuSeconds([relay.pid()]);
  await sleep(seconds * 1_000);
  return (100 * (cpuSeconds([relay.pid()]) - before)) / seconds;
}
