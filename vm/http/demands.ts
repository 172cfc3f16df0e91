/** What a request demands of the person in whose name it is made: rights, each in the channel of what it is about. */
import * as z from "zod";
import type { Right } from "../../shared/rights.ts";

export interface Demand {
  right: Right;
  /** Undefined: in all channels. */
  channelId: string | undefined;
}

/** A request, as far as it says what it is about. */
export interface Asked {
  params: Readonly<Record<string, string>>;
  body: unknown;
}

export interface Whereabouts {
  /**
   * The channel in which somebody must have the right for a thread. Of an agent that hears several channels it is, to
   * write to it, any of those in which they may.
   */
  channelFor: (right: Right, threadName: string) => string | undefined;
  /** The channel of a thread by any name of it; undefined if it is in none, or there is no such thread. */
  channelOfThread: (name: string) => string | undefined;
  /** The channel of the agent of this name that hears channels; undefined if there is none. */
  channelOfMain: (name: string) => string | undefined;
  /** The channel of a job; undefined if it is in none, or there is no such job. */
  channelOfJob: (name: string) => string | undefined;
}

/** The fields by which a body names channels and threads, in whichever route. */
const fields = z.object({
  channelId: z.string().nullish(),
  home: z.union([z.string(), z.object({ parentId: z.string().optional() })]).optional(),
  /** It knows the conversation of that thread. */
  agent: z.object({ originThreadId: z.string().optional() }).optional(),
  /** A job writes into that thread, or to the agent of that name. */
  what: z.object({ threadId: z.string().optional(), main: z.string().optional() }).optional(),
  /** A job's news are told in that channel. */
  report: z.string().optional(),
  since: z.record(z.string(), z.unknown()).optional(),
  transcripts: z.record(z.string(), z.unknown()).optional(),
});

/** @returns empty if neither path nor body say what it is about */
export function demandsOf(right: Right, { params, body }: Asked, where: Whereabouts): Demand[] {
  const { id, channelId, job } = params;
  const named = fields.safeParse(body).data ?? {};
  const parentId = typeof named.home === "object" ? named.home.parentId : undefined;
  const { threadId: into, main: hearer } = named.what ?? {};
  const written = [
    ...(into === undefined ? [] : [where.channelOfThread(into)]),
    ...(hearer === undefined ? [] : [where.channelOfMain(hearer)]),
  ];
  const read = [...Object.keys(named.since ?? {}), ...Object.keys(named.transcripts ?? {})];
  const main = [
    ...(id === undefined ? [] : [where.channelFor(right, id)]),
    ...(job === undefined ? [] : [where.channelOfJob(job)]),
    ...written,
    ...read.map(where.channelOfThread),
    ...[channelId, named.channelId, parentId].flatMap((place) => place ?? []),
  ];
  const origin = named.agent?.originThreadId;
  return [
    ...main.map((place) => ({ right, channelId: place })),
    ...(origin === undefined ? [] : [{ right: "read" as const, channelId: where.channelOfThread(origin) }]),
    ...written.map((place) => ({ right: "type" as const, channelId: place })),
    ...(named.report === undefined ? [] : [{ right: "type" as const, channelId: named.report }]),
  ];
}
