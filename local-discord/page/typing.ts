/** The line below the message box: who is typing in the channel that is shown. */
import { byId } from "./dom.ts";

/** Time for which Discord shows that somebody types, in milliseconds; their message ends it. */
const TYPING_MS = 10_000;

export interface TypingContext {
  currentId: () => string | undefined;
  ofUser: (id: string) => string | undefined;
}

export class Typing {
  readonly #context: TypingContext;
  /** The timers that take users off again, by channel and user. */
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(context: TypingContext) {
    this.#context = context;
  }

  note(channelId: string, userId: string): void {
    this.stop(channelId, userId);
    this.#timers.set(
      `${channelId} ${userId}`,
      setTimeout(() => this.stop(channelId, userId), TYPING_MS),
    );
    this.draw();
  }

  stop(channelId: string, userId: string): void {
    const key = `${channelId} ${userId}`;
    clearTimeout(this.#timers.get(key));
    if (this.#timers.delete(key)) this.draw();
  }

  draw(): void {
    const names = [...this.#timers.keys()].flatMap((key) => {
      const [channelId, userId = ""] = key.split(" ");
      return channelId === this.#context.currentId() ? [this.#context.ofUser(userId) ?? "Somebody"] : [];
    });
    byId("typing").textContent = textFor(names);
  }
}

function textFor(names: readonly string[]): string {
  if (names.length === 0) return "";
  if (names.length > 3) return "Several people are typing…";
  return `${names.join(", ")} ${names.length === 1 ? "is" : "are"} typing…`;
}
