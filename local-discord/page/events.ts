/** The stream of events, kept open. By fetch, since an EventSource can send no header. */
import type { PageEvent } from "../seen.ts";
import { authorization } from "./session.ts";

const RETRY_MS = 1_000;

export interface EventsOptions {
  onOpen: () => void;
  onEvent: (event: PageEvent) => void;
  /** It is tried again. */
  onLost: () => void;
  /** The key is none, or of an earlier start: for good. */
  onRefused: () => void;
}

export async function followEvents(options: EventsOptions): Promise<void> {
  for (;;) {
    const response = await fetch("/page/events", { headers: authorization(), cache: "no-store" }).catch(lost);
    if (response?.status === 403) return options.onRefused();
    if (response?.ok && response.body) {
      options.onOpen();
      await readEvents(response.body, options.onEvent);
    }
    options.onLost();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Until the stream ends, in whatever way. */
async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: PageEvent) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const chunk = await reader.read().catch(lost);
    if (!chunk || chunk.done) return;
    const frames = (rest + decoder.decode(chunk.value, { stream: true })).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      if (!frame.startsWith("data: ")) continue; // a sign of life
      try {
        onEvent(JSON.parse(frame.slice("data: ".length)) as PageEvent);
      } catch (error) {
        reportError(error); // a fault in one event must not cost the page the next ones
      }
    }
  }
}

/** Browsers do not say why a connection was lost. */
function lost(): undefined {
  return undefined;
}
