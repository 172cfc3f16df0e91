/** An agent thread as people in Discord use it: what they see, press, choose and write. */
import type { Round } from "../../agent/engines/demo/script.ts";
import type { Invocation } from "../../local-discord/invocation.ts";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { script } from "./agents.ts";
import type { Everything } from "./relay.ts";
import { until } from "./wait.ts";

export const bash = (command: string, fields: object = {}): Round => ({
  tools: [{ name: "Bash", input: { command, ...fields } }],
});

/** A call that asks the person; `questions` as the tool takes them. */
export const asks = (...questions: object[]): Round => ({
  tools: [{ name: "AskUserQuestion", input: { questions } }],
});

export interface AgentTalk {
  /** Uses /agent and returns the Discord thread's id. */
  open: (text: string, ...rounds: Round[]) => Promise<string>;
  /** The bot's, but the first, which says what was asked for. */
  messages: (threadId: string) => SeenMessage[];
  untilMessage: (threadId: string, text: string | RegExp) => Promise<SeenMessage>;
  /** Presses the button of that label below a message. */
  press: (message: SeenMessage, label: string, by?: string) => Invocation;
  /** Chooses from the list of that name below a message, by the shown labels' places. */
  choose: (message: SeenMessage, list: string, ...places: number[]) => Invocation;
  /** The message as it is now. */
  now: (message: SeenMessage) => SeenMessage;
}

export function agentTalk(get: () => Everything): AgentTalk {
  const messages = (threadId: string) =>
    get()
      .discord.driver.messages(threadId)
      .filter(({ author }) => author.isBot)
      .slice(1);
  const now = (message: SeenMessage) => {
    const found = get()
      .discord.driver.messages(message.channelId)
      .find(({ id }) => id === message.id);
    if (!found) throw new Error(`message ${message.id} is gone`);
    return found;
  };
  return {
    messages,
    now,
    open: async (text, ...rounds) => {
      const { discord, you } = get();
      const options = { dir: ".", prompt: script(text, ...rounds) };
      const asked = discord.driver.command(you, discord.channelId, "agent", options);
      return discord.driver.until(() => /<#(\d+)>/.exec(asked.find()?.content ?? "")?.[1], {
        what: "the thread",
        timeoutMs: 60_000,
      });
    },
    untilMessage: (threadId, text) =>
      until(`a message ${text}`, () =>
        messages(threadId).find(({ content }) =>
          typeof text === "string" ? content.includes(text) : text.test(content),
        ),
      ),
    press: (message, label, by = get().you) => {
      const { buttons } = now(message);
      const id = buttons.find((button) => button.label === label)?.customId;
      if (id === undefined) throw new Error(`no button ${label} among ${buttons.map((one) => one.label)}`);
      return get().discord.driver.press(by, message.id, id);
    },
    choose: (message, list, ...places) => {
      const lists = now(message).components.flatMap(({ components = [] }) => components);
      const found = lists.find((one) => one.type === 3 && one["placeholder"] === list);
      if (!found) throw new Error(`no list ${list} in ${JSON.stringify(lists)}`);
      const { you, discord } = get();
      return discord.driver.select(you, message.id, String(found["custom_id"]), places.map(String));
    },
  };
}
