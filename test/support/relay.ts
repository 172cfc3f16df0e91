/** The whole of it for a test: sidecar, local Discord and relay, each the real one, in this process. */
import type { TestContext } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { type LocalDiscord, type LocalDiscordOptions, runLocalDiscord } from "../../local-discord/run.ts";
import type { RelayConfig } from "../../relay/config.ts";
import { joinPages } from "../../relay/content/pages.ts";
import { type Relay, type RelayOptions, runRelay } from "../../relay/run.ts";
import { createLog } from "../../shared/log.ts";
import type { VmConfig } from "../../vm/config.ts";
import type { SidecarOptions } from "../../vm/run.ts";
import { QUICK_WAIT_SCALE, relayConfigFor } from "./relay-config.ts";
import { type SidecarFolders, startSidecar, type TestSidecar } from "./sidecar.ts";

export interface Everything {
  sidecar: TestSidecar;
  discord: LocalDiscord;
  /** The person of most tests; allowed to use the bot. */
  you: string;
  /** Somebody in the same server who is not allowed to. */
  stranger: string;
  relayConfig: RelayConfig;
  stopRelay: () => Promise<void>;
  startRelay: () => Promise<void>;
  /** Uses /terminal and returns the Discord thread's id once it is there. */
  openTerminal: (command: string, dir?: string) => Promise<string>;
  /** The terminal's text as the thread shows it: its pages, joined. */
  terminalText: (threadId: string) => string;
  /** Waits until the thread's terminal text satisfies `expected`. */
  untilShown: (
    threadId: string,
    expected: string | ((text: string) => boolean),
    timeoutMs?: number,
  ) => Promise<string>;
  close: () => Promise<void>;
}

export async function startEverything(
  options: {
    vm?: Partial<VmConfig>;
    discord?: LocalDiscordOptions;
    relay?: Partial<RelayConfig>;
    /** The clock of relay and local Discord. */
    now?: () => number;
    /** The sidecar's. */
    vmNow?: () => number;
    /** The sidecar's. */
    folders?: SidecarFolders;
    /** The test starts one of its own. */
    isWithoutRelay?: boolean;
    /** For tests that are not about pace: Discord has no limits, and what the relay takes its time for comes soon. */
    isQuick?: boolean;
    /** Kinds of threads beside ours, at the sidecar. */
    guestKinds?: NonNullable<SidecarOptions["guestKinds"]>;
    /** All kinds that the relay serves. */
    relayKinds?: NonNullable<RelayOptions["kinds"]>;
  } = {},
): Promise<Everything> {
  const sidecar = await startSidecar(options.vm, {
    ...(options.vmNow ? { now: options.vmNow } : {}),
    ...(options.folders ? { folders: options.folders } : {}),
    ...(options.guestKinds ? { guestKinds: options.guestKinds } : {}),
  });
  const discord = await runLocalDiscord({
    port: 0,
    users: [{ name: "Mallory" }],
    limits: { identify: { windowMs: 0, total: 1_000 } },
    ...(options.isQuick ? { limits: WIDE_LIMITS } : {}),
    ...(options.now ? { now: options.now } : {}),
    ...options.discord,
  });
  const you = discord.you.id;
  const stranger = discord.users.find((user) => user.name === "Mallory")?.id ?? "";
  const relayConfig: RelayConfig = {
    ...relayConfigFor(sidecar, discord),
    pollIntervalMs: options.isQuick ? 100 : 250,
    logLevel: "silent",
    ...options.relay,
  };
  let relay: Relay | undefined;
  const startRelay = async () => {
    const log = createLog("relay", relayConfig.logLevel);
    relay = await runRelay(relayConfig, {
      log,
      ...(options.now ? { now: options.now } : {}),
      ...(options.isQuick ? { waitScale: QUICK_WAIT_SCALE } : {}),
      ...(options.relayKinds ? { kinds: options.relayKinds } : {}),
    });
  };
  const stopRelay = async () => {
    await relay?.close();
    relay = undefined;
  };
  if (!options.isWithoutRelay) await startRelay();
  const terminalText = (threadId: string) => {
    const pages = discord.driver
      .messages(threadId)
      .filter(({ author, content }) => author.isBot && content.startsWith("```"));
    return joinPages(pages.map(({ content }) => content));
  };
  return {
    sidecar,
    discord,
    you,
    stranger,
    relayConfig,
    startRelay,
    stopRelay,
    openTerminal: async (command, dir = ".") => {
      const asked = discord.driver.command(you, discord.channelId, "terminal", { dir, command });
      // While Discord makes the bot wait for a new thread, the answer says so.
      await asked.reply();
      const isOver = () => !asked.find()?.content.startsWith("⏳");
      await discord.driver.until(isOver, { what: "the wait for a thread to end", timeoutMs: 60_000 });
      const { content } = await asked.reply();
      const threadId = /<#(\d+)>/.exec(content)?.[1];
      if (threadId === undefined) throw new Error(`/terminal was refused: ${content}`);
      return threadId;
    },
    terminalText,
    untilShown: async (threadId, expected, timeoutMs = 25_000) => {
      const isMet = typeof expected === "string" ? (text: string) => text.includes(expected) : expected;
      try {
        await discord.driver.until(() => isMet(terminalText(threadId)), { what: "terminal text", timeoutMs });
      } catch (cause) {
        const shown = JSON.stringify(
          discord.driver.messages(threadId).map(({ content }) => content),
          null,
          1,
        );
        throw new Error(`not shown within ${timeoutMs} ms: ${expected}; the thread shows ${shown}`, {
          cause,
        });
      }
      return terminalText(threadId);
    },
    close: async () => {
      await stopRelay();
      const fetched = discord.driver.messagesWithFetchedLinks().map(({ content }) => content);
      await discord.close();
      await sidecar.close();
      if (fetched.length > 0) throw new Error(`Discord fetches links in: ${JSON.stringify(fetched)}`);
    },
  };
}

/** The same, until the test ends. */
export async function startForTest(
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  options: Parameters<typeof startEverything>[0] = {},
): Promise<Everything> {
  const all = await startEverything(options);
  onTestFinished(() => all.close());
  return all;
}
