/** What a log's content keeps of itself, and the keys of its messages. Pure. */
import * as z from "zod";

export const logMarkSchema = z.object({
  kind: z.literal("log"),
  offset: z.int(),
  /** The first page that is not delivered for good, and the document's state there. */
  page: z.int(),
  state: z.string(),
  /** How many bells were told. */
  bells: z.int().default(0),
  /** `endedAt` of the last end that was told. */
  end: z.string().optional(),
  /** `heldSmallUntil` of the last time that the terminal was made small and this was told. */
  small: z.string().optional(),
  /** How many full-screen programs there were until then. */
  alternates: z.int(),
});
export type LogMark = z.infer<typeof logMarkSchema>;

/** The page's index is counted over the whole thread. */
export function pageKey(index: number): string {
  return `page.${index}`;
}

export function pictureKey(index: number): string {
  return `screen.${index}`;
}

/** Undefined for the key of anything but a page of the log. */
export function pageIndex(key: string): number | undefined {
  return numberOf(key, "page");
}

/** Whether a document that goes on from `mark` can list this key again. Keys that are not the log's are not needed. */
export function isNeeded(key: string, mark: LogMark): boolean {
  const page = pageIndex(key);
  if (page !== undefined) return page >= mark.page;
  const picture = numberOf(key, "screen");
  if (picture !== undefined) return picture >= mark.alternates - 1;
  const bells = numberOf(key, "bell");
  if (bells !== undefined) return bells > mark.bells;
  const isAfter = (number: number, told: string | undefined) => number > Date.parse(told ?? NEVER);
  const small = numberOf(key, "small");
  if (small !== undefined) return isAfter(small, mark.small);
  const end = numberOf(key, "end");
  return end !== undefined && isAfter(end, mark.end);
}

const NEVER = new Date(0).toISOString();

function numberOf(key: string, kind: string): number | undefined {
  const [name, number] = key.split(".");
  return name === kind ? Number(number) : undefined;
}
