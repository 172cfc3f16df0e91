/** The secrets of hooks: a file of its own for each, which nobody else may read. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readPrivateFile } from "../../shared/private-file.ts";
import { writeWhole } from "../../shared/whole-file.ts";

export class HookSecrets {
  readonly #folder: string;
  readonly #known = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** @param name of a job: letters, digits and hyphens */
  set(name: string, secret: string): void {
    writeWhole(this.#fileOf(name), secret, { isDurable: true });
    this.#known.set(name, secret);
  }

  find(name: string): string | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    try {
      const secret = readPrivateFile(this.#fileOf(name));
      this.#known.set(name, secret);
      return secret;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  remove(name: string): void {
    this.#known.delete(name);
    rmSync(this.#fileOf(name), { force: true });
  }

  #fileOf(name: string): string {
    return join(this.#folder, name);
  }
}
