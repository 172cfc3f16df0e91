/** Asks docker and journald, by their own programs and never with a word of a person, what they have on this machine. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { cleanLine } from "../../shared/clean-text.ts";
import { findProgram } from "../../shared/find-program.ts";

type MachineProgram = "docker" | "journalctl";

/** A list, or half a sentence that says why there is none. `isPart`: its program may not read all that there is. */
export type Listed = { names: readonly string[]; isPart?: boolean } | { problem: string };

export interface Lists {
  containers: Listed;
  units: Listed;
  userUnits: Listed;
}

type Failure = Error & { killed?: boolean; stderr?: string };
const run = promisify(execFile);

/** Neither is worth a longer wait; docker's daemon may hang. */
const TIMEOUT_MS = 3_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_NAMES = 5_000;
/** Completion asks at every key. */
const FRESH_MS = 5_000;
const MAX_PROBLEM = 200;

const CONTAINER = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,199}$/;
const UNIT = /^[a-zA-Z0-9_][a-zA-Z0-9:_.\\@-]{0,254}$/;

export class MachineServices {
  readonly #env: Record<string, string>;
  readonly #now: () => number;
  #found: Lists | undefined;
  #asked: { at: number; lists: Promise<Lists> } | undefined;

  /** @param env in which threads' programs run. */
  constructor(env: Record<string, string>, now: () => number) {
    this.#env = env;
    this.#now = now;
  }

  /** The program's file. */
  find(program: MachineProgram): string | undefined {
    return findProgram(program, this.#env["PATH"] ?? "");
  }

  /** As the last look found it: starting programs takes longer than a person's next key. */
  known(): Promise<Lists> {
    return this.#found ? Promise.resolve(this.#found) : (this.#asked?.lists ?? this.look());
  }

  /** Looks again for who asks next; all who ask at once share one look. */
  refresh(): void {
    if (this.#now() - (this.#asked?.at ?? 0) >= FRESH_MS) void this.look();
  }

  /** As it is now. */
  look(): Promise<Lists> {
    const lists = this.#askAll().then((found) => {
      this.#found = found;
      return found;
    });
    this.#asked = { at: this.#now(), lists };
    return lists;
  }

  async #askAll(): Promise<Lists> {
    const [containers, units, userUnits] = await Promise.all([
      this.#ask("docker", ["ps", "--all", "--format", "{{.Names}}"], CONTAINER),
      // Without --quiet it says if its user may not read the system's part.
      this.#ask("journalctl", ["--no-pager", "--field=_SYSTEMD_UNIT"], UNIT),
      this.#ask("journalctl", ["--no-pager", "--quiet", "--field=_SYSTEMD_USER_UNIT"], UNIT),
    ]);
    return { containers, units, userUnits };
  }

  async #ask(program: MachineProgram, args: readonly string[], fits: RegExp): Promise<Listed> {
    const file = this.find(program);
    if (file === undefined) return { problem: `there is no ${program} on this machine` };
    const options = {
      env: this.#env,
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
      killSignal: "SIGKILL",
    } as const;
    try {
      // A machine without memory for one more process throws at once.
      const { stdout, stderr } = await run(file, args, options);
      const names = stdout.split("\n").filter((name) => fits.test(name));
      const isPart = stderr.includes("currently not seeing messages");
      return { names: [...new Set(names)].slice(0, MAX_NAMES).sort(), ...(isPart && { isPart }) };
    } catch (error) {
      return { problem: `${program} does not answer: ${whyNot(error as Failure)}` };
    }
  }
}

function whyNot(error: Failure): string {
  if (error.killed) return `it took more than ${TIMEOUT_MS / 1_000} s`;
  const said = (error.stderr ?? "").trim().split("\n")[0] ?? "";
  return cleanLine((said === "" ? error.message : said).slice(0, MAX_PROBLEM)).replace(/\.$/, "");
}
