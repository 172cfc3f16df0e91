/** Threads under load for the fault tests: programs that print and record, and what must be shown of them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalDiscord } from "../../local-discord/run.ts";
import { Document } from "../../relay/content/document.ts";
import { joinPages } from "../../relay/content/pages.ts";
import { textChunk } from "../../shared/chunk.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { readAll } from "./threads.ts";

const STOP = "stop";

export interface Sides {
  sidecar: { client: SidecarClient; reposDir: string };
  discord: Pick<LocalDiscord, "driver">;
}

/** Prints a line every `intervalMs` and records what is typed, both until {@link stopPrinting}. */
export function lines(name: string, intervalMs = 100): string {
  return printer(name, `echo "${name} line $i"; sleep ${intervalMs / 1_000}`);
}

/** As {@link lines}, with what terminals do: a progress bar, colours, wide characters, bells, clearing, a full screen. */
export function messy(name: string): string {
  return printer(
    name,
    [
      `for p in 20 60 100; do printf '\\r\\033[3%dm${name} %d: %d%%\\033[0m' $((i % 8)) $i $p; sleep 0.04; done; echo`,
      `[ $((i % 5)) -ne 0 ] || printf '%0200d 日本語 🙂 ¼\\n' $i`,
      `[ $((i % 9)) -ne 0 ] || printf '\\a\`\`\` **not bold**\\n\\n'`,
      `[ $((i % 23)) -ne 0 ] || printf '\\033[H\\033[2J'`,
      `[ $((i % 31)) -ne 0 ] || { printf '\\033[?1049h\\033[Hfull screen %d' $i; sleep 0.3; printf '\\033[?1049l'; }`,
    ].join("; "),
  );
}

function printer(name: string, step: string): string {
  // A file of bytes as they come: what goes in twice, late or changed is seen.
  return `(i=0; while [ ! -e ${STOP} ]; do i=$((i+1)); ${step}; done; echo ${name} has printed all) & exec cat >> ${typedFile(name)}`;
}

function typedFile(name: string): string {
  return `typed-${name}`;
}

export function stopPrinting(all: Sides): void {
  writeFileSync(join(all.sidecar.reposDir, STOP), "");
}

/** What has reached the process, line by line. */
export function typedLines(all: Sides, name: string): string[] {
  const file = join(all.sidecar.reposDir, typedFile(name));
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** The rows of the whole log, read in one piece by an emulator of its own. */
export async function rowsOfLog(all: Sides, threadId: string): Promise<string[]> {
  const { output, offset, cols, rows } = await readAll(all.sidecar.client, threadId);
  const document = new Document({ cols, rows, maxBacklogPages: Number.POSITIVE_INFINITY });
  document.feed(textChunk(output, offset));
  const pages = document.pages().filter(({ kind }) => kind === "log");
  return toRows(pages.map(({ text }) => text));
}

/** The rows that the thread shows; a gap is one row that begins with `…`. */
export function rowsShown(all: Sides, threadId: string): string[] {
  const pages = all.discord.driver
    .messages(threadId)
    .filter(({ author, content }) => author.isBot && (content.startsWith("```") || isGap(content)));
  return toRows(pages.map(({ content }) => content));
}

/**
 * Whether a thread shows what its log says, but for what its gaps name.
 * @returns what is wrong; undefined when nothing is.
 */
export function findDifference(shown: readonly string[], log: readonly string[]): string | undefined {
  let at = 0;
  for (const [index, row] of shown.entries()) {
    if (isGap(row)) {
      at += Number(/[\d,]+/.exec(row)?.[0].replaceAll(",", ""));
    } else if (row === log[at]) {
      at++;
    } else {
      const near = (rows: readonly string[], i: number) =>
        JSON.stringify(rows.slice(Math.max(0, i - 3), i + 3));
      return `row ${index} of ${shown.length}, ${at} of the log's ${log.length}: shown ${near(shown, index)}, log ${near(log, at)}`;
    }
  }
  return at === log.length ? undefined : `${log.length - at} rows are missing at the end`;
}

function isGap(text: string): boolean {
  return /^… [\d,]+ lines? \(.*\) not shown/.test(text);
}

/** Pages that have shrunk away leave blank ones at the end. */
function toRows(texts: readonly string[]): string[] {
  return joinPages(texts).trimEnd().split("\n");
}
