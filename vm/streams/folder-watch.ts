/** File notifications of one folder, for as long as the file system gives any. */
import { type FSWatcher, watch } from "node:fs";

export class FolderWatch {
  readonly #onFailure: (error: unknown) => void;
  #watcher: FSWatcher | undefined;

  /**
   * @param onName is told what has changed.
   * @param onFailure is told, once, that nothing will be told any more.
   */
  constructor(folder: string, onName: (name: string) => void, onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
    try {
      this.#watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name !== null) onName(name);
      });
      this.#watcher.on("error", (error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  get isWorking(): boolean {
    return this.#watcher !== undefined;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #fail(error: unknown): void {
    this.close();
    this.#onFailure(error);
  }
}
