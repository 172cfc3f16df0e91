/** What the kernel does with the keys of a terminal before its program reads them. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface LineDiscipline {
  /** The program reads whole lines, which the kernel edits and cuts at 4,095 bytes. */
  isByLine: boolean;
  /** Keys are shown as they are typed. */
  isEchoing: boolean;
}

/** Each line that it reads is a terminal; a line with a dot ends what it says of it. */
const SCRIPT = 'while IFS= read -r tty; do stty -a -F "$tty" 2>/dev/null; echo .; done';
const TERMINAL = /^\/dev\/[\w/-]+$/;
const ANSWER_MS = 2_000;

type Shell = ChildProcessByStdio<Writable, Readable, null>;

/**
 * Asks `stty`. A shell that is kept starts it: a message waits for the answer before it is typed, 6 ms if Node.js starts
 * `stty` and 2 ms if the shell does (bench, "message → echo" without "key → echo").
 */
export class LineDisciplines {
  #shell: Shell | undefined;
  #said = "";
  /** Callers that wait for an answer, in the order in which they asked. */
  #waiting: ((said: string | undefined) => void)[] = [];
  #isClosed = false;

  /** Undefined if nobody can say: the terminal is gone, or `stty` is not there or does not answer. */
  async find(tty: string): Promise<LineDiscipline | undefined> {
    if (this.#isClosed || !TERMINAL.test(tty)) return undefined;
    this.#shell ??= this.#start();
    const shell = this.#shell;
    const said = await new Promise<string | undefined>((resolve) => {
      const timer = setTimeout(() => this.#giveUp(shell), ANSWER_MS);
      this.#waiting.push((text) => {
        clearTimeout(timer);
        resolve(text);
      });
      shell.stdin.write(`${tty}\n`);
    });
    if (said === undefined || said === "") return undefined;
    const settings = new Set(said.split(/\s+/));
    return { isByLine: !settings.has("-icanon"), isEchoing: !settings.has("-echo") };
  }

  /** Ends the shell. Who asks afterwards is told that nobody can say. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const shell = this.#shell;
    if (!shell) return;
    const ended = new Promise((resolve) => shell.once("close", resolve));
    this.#giveUp(shell);
    await ended;
  }

  #start(): Shell {
    const shell = spawn("sh", ["-c", SCRIPT], { stdio: ["pipe", "pipe", "ignore"] });
    this.#said = "";
    shell.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(shell, text));
    shell.stdin.on("error", () => this.#giveUp(shell)); // it has ended
    shell.on("error", () => this.#giveUp(shell)).on("exit", () => this.#giveUp(shell));
    // It ends when its input does, also if we are killed. It must not keep us alive.
    shell.unref();
    for (const stream of [shell.stdin, shell.stdout]) (stream as unknown as { unref: () => void }).unref();
    return shell;
  }

  #take(shell: Shell, text: string): void {
    if (shell !== this.#shell) return;
    this.#said += text;
    for (;;) {
      const at = this.#said.search(/^\.$/m);
      if (at < 0 || this.#said[at + 1] !== "\n") return;
      const said = this.#said.slice(0, at);
      this.#said = this.#said.slice(at + 2);
      this.#waiting.shift()?.(said);
    }
  }

  /** Answers every caller that waits with "nobody can say". The next call starts another shell. */
  #giveUp(shell: Shell): void {
    if (shell !== this.#shell) return;
    this.#shell = undefined;
    shell.kill("SIGKILL");
    for (const tell of this.#waiting.splice(0)) tell(undefined);
  }
}
