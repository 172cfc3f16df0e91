/** What is to be said besides the content: one after the other, each until it is said or refused. */
import type { Post } from "./outgoing.ts";

export interface WaitingPost {
  readonly key: string;
  readonly post: Post;
  resolve(): void;
  reject(error: unknown): void;
}

export class Posts {
  #waiting: WaitingPost[] = [];
  #isClosed = false;

  /** Resolves once it is said. @throws what {@link fail} is told, or Error if nothing is said any more. */
  add(key: string, post: Post): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, post, resolve, reject });
      if (this.#isClosed) this.close();
    });
  }

  /** The next one to say. Those before it that are said already are done. */
  next(isSaid: (key: string) => boolean): WaitingPost | undefined {
    for (let post = this.#waiting[0]; post; post = this.#waiting[0]) {
      if (!isSaid(post.key)) return post;
      this.done(post);
    }
    return undefined;
  }

  done(post: WaitingPost): void {
    this.#waiting = this.#waiting.filter((other) => other !== post);
    post.resolve();
  }

  /** None of them can be said. */
  fail(error: unknown): void {
    for (const post of this.#waiting.splice(0)) post.reject(error);
  }

  /** Whatever waits, or comes from now on, is never said: whoever waits for it must not wait for ever. */
  close(): void {
    this.#isClosed = true;
    this.fail(new Error("the thread's delivery has ended"));
  }
}
