/** The rows of the surface that people in Discord see: real relay, local Discord. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { script } from "./agents.ts";
import type { Row } from "./engine-row.ts";
import type { EngineWorld } from "./engine-world.ts";
import { type Everything, startEverything } from "./relay.ts";
import { makeSidecarFolders } from "./sidecar.ts";
import { until } from "./wait.ts";

async function inDiscord({ engine }: EngineWorld, use: (all: Everything) => Promise<void>): Promise<void> {
  const folders = makeSidecarFolders();
  const all = await startEverything({
    vm: engine.settings(folders),
    folders,
    isQuick: true,
    relay: { channelMode: "threads", channelDir: "." },
  });
  try {
    await use(all);
  } finally {
    await all.close();
  }
}

const post = ({ discord, you }: Everything, text: string, replyTo?: string) =>
  discord.driver.post(you, discord.channelId, text, replyTo === undefined ? {} : { replyTo });

const untilAnswer = ({ discord }: Everything, messageId: string, text: string) =>
  until(
    `an answer to say ${text}`,
    () =>
      discord.driver
        .messages(discord.channelId)
        .find(
          ({ author, replyTo, content }) =>
            author.isBot && replyTo?.id === messageId && content.includes(text),
        ),
    { timeoutMs: 60_000 },
  );

const untilInThread = ({ discord }: Everything, threadId: string, text: string) =>
  until(`a message ${text}`, () =>
    discord.driver.messages(threadId).find(({ author, content }) => author.isBot && content.includes(text)),
  );

export const CHANNEL_ROWS: Readonly<Record<string, Row>> = {
  channel: {
    label: "begins a thread of a message in the channel",
    isDeclared: () => true,
    tests: {
      "its last words stand in the channel, and an answer to them goes into the thread": (world) =>
        inDiscord(world, async (all) => {
          const message = post(all, script("Count the files", { text: "There are **three**." }));
          const words = await untilAnswer(all, message.id, "There are **three**.");
          await untilInThread(all, message.id, "There are **three**.");
          post(all, script("And the folders?", { text: "Two." }), words.id);
          await untilAnswer(all, message.id, "Two.");
          const threads = await all.sidecar.client.listThreads({ status: "all" });
          expect(threads.map(({ threadId }) => threadId)).toEqual([message.id]);
        }),
    },
  },
  buttons: {
    label: "asks and questions by buttons in Discord",
    isDeclared: ({ asks = false, questions }) => asks && questions.length > 0,
    tests: {
      "a press decides": (world) =>
        inDiscord(world, async (all) => {
          const { engine } = world;
          const rounds = [
            { tools: [engine.bash("touch made")] },
            { tools: [engine.ask("Which one?", "SQLite", "Postgres")] },
            { text: "Thanks." },
          ];
          const message = post(all, script("Do it", ...rounds));
          const press = async (text: string, label: string) => {
            const found = await until(`a button ${label} below ${text}`, () =>
              all.discord.driver
                .messages(message.id)
                .filter(({ author, content }) => author.isBot && content.includes(text))
                .flatMap(({ id, buttons }) => buttons.map((button) => ({ id, button })))
                .find(({ button }) => button.label === label),
            );
            await all.discord.driver.press(all.you, found.id, found.button.customId ?? "");
          };
          await press("May the agent do this?", "Allow once");
          await press("Which one?", "Postgres");
          await untilInThread(all, message.id, "Thanks.");
          expect(existsSync(join(all.sidecar.reposDir, "made"))).toBe(true);
        }),
    },
  },
};
