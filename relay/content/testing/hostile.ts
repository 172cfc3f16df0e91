/** Programs that print what costs a terminal most: every sequence of its grammar, repeated and mixed. Seeded. */
import { type Chunk, textChunk } from "../../../shared/chunk.ts";
import { seededRandom } from "../../../shared/random.ts";

export interface HostileProgram {
  readonly name: string;
  /** What it prints again and again. */
  readonly period: string;
}

const FINALS = Array.from({ length: 0x7e - 0x40 + 1 }, (_, index) => String.fromCharCode(0x40 + index));
const INTERMEDIATES = ["", "", "", " ", "!", '"', "#", "$", "'", "*"];
const PREFIXES = ["", "", "", "?", ">", "=", "<"];
const NUMBERS = ["", "0", "1", "2", "3", "7", "12", "80", "199", "200", "499", "500", "999", "2147483647"];
const MODES = "4 20 ?1 ?3 ?5 ?6 ?7 ?12 ?25 ?45 ?47 ?66 ?67 ?1000 ?1004 ?1047 ?1048 ?1049 ?2004 ?2026".split(
  " ",
);
const CONTROLS = "\x00\x05\x07\b\t\n\v\f\r\x0e\x0f\x18\x1a\x1b\x7f\x84\x85\x88\x8d\x90\x9b\x9c\x9d".split("");
/** ESC and its second byte, or a charset, a test pattern, … */
const ESCAPES = [
  ..."78=>DEHMNOZcno|}~ \\^_PXk",
  ..."0AB45".split("").flatMap((set) => [`(${set}`, `)${set}`]),
  "#3",
  "#8",
  "%G",
];
const STRINGS = [
  "]0;",
  "]2;",
  "]4;1;",
  "]8;;http://x",
  "]10;?",
  "]52;c;",
  "]104;",
  "]1337;",
  "P$q",
  "P+q",
  "P1$t",
  "Pq",
  "_",
  "^",
  "X",
  "k",
];
const TEXTS = [
  "x",
  "`",
  "```",
  "日本",
  "👩\u200d💻",
  "e\u0301\u0301\u0301\u0301",
  "\u0301",
  "\u200d",
  "\u200b",
  "\u202e",
  "\ufe0f",
  "\u0e01\u0e33",
  "🇩🇪",
  "a\u200d\u200c",
  "<@1>",
  "\ufffd",
  " ",
  "E".repeat(60),
  "\u0301".repeat(40),
  "word ".repeat(12),
];
const COLOURS = ["\x1b[41m", "\x1b[7m", "\x1b[m", "\x1b[38;2;1;2;3m", "\x1b[4:3;58;5;1m", "\x1b[1;4;44m"];
/** What fills or moves a whole screen in a few bytes: the worst alone, and worse together. */
export const HEAVY = [
  "\x1b#8",
  "\x1bc",
  "\x1b[2J",
  "\x1b[H\x1b[J",
  "\x1b[1J",
  "\x1b[3J",
  "\x1b[999S",
  "\x1b[999T",
  "\x1b[999L",
  "\x1b[999M",
  "\x1b[999b",
  "\x1b[999@",
  "\x1b[999P",
  "\x1b[999X",
  "\x1b[999 @",
  "\x1b[999 A",
  "\x1b[999'}",
  "\x1b[999'~",
  "\x1b[?1049h",
  "\x1b[?1049l",
  "\x1b[?47h\x1b[?47l",
  "\x1b[?3h",
  "\x1bM",
  "\x1bD",
  "\n",
  "\x1b[H",
  "\x1b[999;999H",
  "\x1b[2;199r",
  "\x1b[r",
  "\x1b[4h",
  "\x1b[?7l",
  "\x1b[3g",
  "\x1b[999I",
  "\x1b[999Z",
  "\x1b[?2J",
  "\x1b[!p",
  "\x1b[8;200;500t",
  "\x1b[1;1;200;500$z",
];

/** The program with this number. The same seed gives the same program for ever. */
export function hostileProgram(seed: number): HostileProgram {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const numbers = (): string => {
    const count = random() < 0.02 ? 300 : Math.floor(random() * 4);
    return Array.from({ length: count }, () => pick(NUMBERS)).join(random() < 0.1 ? ":" : ";");
  };
  const kinds: readonly (() => string)[] = [
    () => `\x1b[${pick(PREFIXES)}${numbers()}${pick(INTERMEDIATES)}${pick(FINALS)}`,
    () => `\x1b[${pick(["", "", "2", "200", "999"])}${pick(FINALS)}`,
    () => `\x1b[${pick(MODES)}${pick(["h", "l"])}`,
    () => pick(CONTROLS),
    () => `\x1b${pick(ESCAPES)}`,
    () =>
      `\x1b${pick(STRINGS)}${pick(TEXTS).repeat(random() < 0.1 ? 500 : 1)}${pick(["\x07", "\x1b\\", "\x18", ""])}`,
    () => pick(TEXTS),
    () => pick(COLOURS),
    () => pick(HEAVY),
    () => pick(HEAVY),
    () => pick(HEAVY),
  ];
  const used = Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(kinds)());
  const period = used
    .map((part) => part.repeat(random() < 0.15 ? 1 + Math.floor(random() * 60) : 1))
    .join("");
  return { name: `seed ${seed}`, period: period.replace(/\p{Cs}/gu, "\ufffd") };
}

/** At least `bytes` bytes of it, in whole periods. */
export function printed({ period }: HostileProgram, bytes: number): string {
  return period.repeat(Math.ceil(bytes / Math.max(1, Buffer.byteLength(period))));
}

export interface Feed {
  /** The time of the whole process, until all was taken and shown. */
  readonly cpuMs: number;
  /** The longest that the event loop stood still: by the clock, and in CPU time, which others on the machine do not lengthen. */
  readonly holdMs: number;
  readonly holdCpuMs: number;
}

/** Feeds a document as a thread's stream does, asks it for its pages and its mark, and watches the event loop. */
export async function measureFeed(
  document: { feedLong(chunk: Chunk): Promise<void>; pages(): unknown; mark(): unknown },
  text: string,
): Promise<Feed> {
  let [holdMs, holdCpuMs, isDone] = [0, 0, false];
  const watched = (async () => {
    let [lastMs, lastCpuMs] = [performance.now(), cpuMs()];
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      const [nowMs, nowCpuMs] = [performance.now(), cpuMs()];
      holdMs = Math.max(holdMs, nowMs - lastMs);
      holdCpuMs = Math.max(holdCpuMs, nowCpuMs - lastCpuMs);
      [lastMs, lastCpuMs] = [nowMs, nowCpuMs];
    }
  })();
  const before = cpuMs();
  await document.feedLong(textChunk(text, Buffer.byteLength(text)));
  for (const ask of [() => document.pages(), () => document.mark()]) {
    await new Promise((resolve) => setImmediate(resolve));
    ask();
  }
  const spent = cpuMs() - before;
  isDone = true;
  await watched;
  return { cpuMs: spent, holdMs, holdCpuMs };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
