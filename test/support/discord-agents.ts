/** Agent threads as a person has them in Discord: asks for one, reads it, presses its buttons. */
import type { Invocation } from "../../local-discord/invocation.ts";
import type { SeenMessage } from "../../local-discord/seen.ts";
import type { Everything } from "./relay.ts";
import { until } from "./wait.ts";

export class AgentTalk {
  readonly #all: Pick<Everything, "discord" | "you">;

  constructor(all: Pick<Everything, "discord" | "you">) {
    this.#all = all;
  }

  /** Uses /agent in a directory below the repositories' folder. @returns the Discord thread's id */
  async open(prompt: string, dir = "."): Promise<string> {
    const asked = this.ask(prompt, dir);
    return this.#all.discord.driver.until(() => /<#(\d+)>/.exec(asked.find()?.content ?? "")?.[1], {
      what: "the thread",
      timeoutMs: 60_000,
    });
  }

  /** Uses /agent, whatever comes of it. */
  ask(prompt: string, dir = "."): Invocation {
    const { discord, you } = this.#all;
    return discord.driver.command(you, discord.channelId, "agent", { dir, prompt });
  }

  say(threadId: string, text: string): SeenMessage {
    return this.#all.discord.driver.post(this.#all.you, threadId, text);
  }

  /** The bot's messages, but the first, which says what was asked for. */
  messages(threadId: string): SeenMessage[] {
    const { driver } = this.#all.discord;
    return driver
      .messages(threadId)
      .filter(({ author }) => author.isBot)
      .slice(1);
  }

  /** The bot's messages that contain a text, or match it. */
  find(threadId: string, text: string | RegExp): SeenMessage[] {
    return this.messages(threadId).filter(({ content }) =>
      typeof text === "string" ? content.includes(text) : text.test(content),
    );
  }

  async untilMessage(threadId: string, text: string | RegExp, timeoutMs = 25_000): Promise<SeenMessage> {
    try {
      return await until(`a message ${text}`, () => this.find(threadId, text)[0], { timeoutMs });
    } catch (cause) {
      const shown = this.messages(threadId).map(({ content }) => content);
      throw new Error(`no message ${text} in ${JSON.stringify(shown, null, 1)}`, { cause });
    }
  }

  /** Presses the button of that label below a message. @throws Error if it has none now */
  press(message: Pick<SeenMessage, "id" | "channelId">, label: string, userId = this.#all.you): Invocation {
    const { driver } = this.#all.discord;
    const { buttons = [] } = driver.messages(message.channelId).find(({ id }) => id === message.id) ?? {};
    const button = buttons.find((one) => one.label === label);
    if (button?.customId === undefined) throw new Error(`no button ${label} in ${JSON.stringify(buttons)}`);
    return driver.press(userId, message.id, button.customId);
  }
}
