import type { Context } from "./context.ts";

const NOTE_MS = 3_000;

/** Does what takes a while, and tells a person after some seconds what is waited for. */
export async function noteIfSlow<T>(
  context: Pick<Context, "note">,
  text: string,
  work: Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => void context.note(text), NOTE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
