/** Wakes the runner when its folder changes. Changes may go unnoticed (network disks), so waits are short too. */
import type { FSWatcher } from "node:fs";
import { watchFolder } from "./folder/watch-folder.ts";

export class Waker {
  readonly #watcher: FSWatcher | undefined;
  #isDue = false;
  #wake: () => void = () => {};

  constructor(folder: string) {
    this.#watcher = watchFolder(folder, () => this.wake());
  }

  wake(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Until something has happened since the last wait, or `ms` have passed. */
  async wait(ms: number): Promise<void> {
    if (!this.#isDue) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isDue = false;
    this.#wake = () => {};
  }

  close(): void {
    this.#watcher?.close();
  }
}
