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
    discord.driver.messages(threadId).find(({ author, content }) => author.isBot && content.startsWith(text)),
  );

/** Presses the button below the bot's message with this text, once it is there. */
async function press(all: Everything, threadId: string, text: string, label: RegExp | string): Promise<void> {
  const isWanted = (shown: string | undefined) =>
    typeof label === "string" ? shown === label : label.test(shown ?? "");
  const found = await until(`a button ${label} below ${text}`, () =>
    all.discord.driver
      .messages(threadId)
      .filter(({ author, content }) => author.isBot && content.includes(text))
      .flatMap(({ id, buttons }) => buttons.map((button) => ({ id, button })))
      .find(({ button }) => isWanted(button.label)),
  );
  await all.discord.driver.press(all.you, found.id, found.button.customId ?? "");
}

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
    label: "asks by buttons in Discord",
    isDeclared: ({ asks = false }) => asks,
    tests: {
      "a press lets the call run": (world) =>
        inDiscord(world, async (all) => {
          const rounds = [{ tools: [world.engine.bash("touch made")] }, { text: "Thanks." }];
          const message = post(all, script("Do it", ...rounds));
          await press(all, message.id, "May the agent do this?", /^(Allow once|Yes)$/);
          await untilInThread(all, message.id, "Thanks.");
          expect(existsSync(join(all.sidecar.reposDir, "made"))).toBe(true);
        }),
    },
  },
  choices: {
    label: "asks questions by buttons in Discord",
    isDeclared: ({ questions }) => questions.length > 0,
    tests: {
      "a press answers": (world) =>
        inDiscord(world, async (all) => {
          const asked = { tools: [world.engine.ask("Which one?", "SQLite", "Postgres")] };
          const message = post(all, script("Do it", asked, { text: "Thanks." }));
          await press(all, message.id, "Which one?", "Postgres");
          await untilInThread(all, message.id, "Thanks.");
        }),
    },
  },
};
