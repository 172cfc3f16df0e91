/** What the kernel does with the keys of a terminal before its program reads them. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface LineDiscipline {
  /** The program reads whole lines, which the kernel edits and cuts at 4,095 bytes. */
  isByLine: boolean;
  /** Keys are shown as they are typed. */
  isEchoing: boolean;
}

/** Undefined if nobody can say: the terminal is gone, or `stty` is not there or does not answer. */
export async function findLineDiscipline(tty: string): Promise<LineDiscipline | undefined> {
  try {
    const { stdout } = await run("stty", ["-a", "-F", tty], { timeout: 2_000 });
    const settings = new Set(stdout.split(/\s+/));
    return { isByLine: !settings.has("-icanon"), isEchoing: !settings.has("-echo") };
  } catch {
    return undefined;
  }
}
