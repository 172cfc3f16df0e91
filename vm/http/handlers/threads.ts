/** Threads as such: made, listed, described, named, seen, resized, ended. */

import type { KillReply } from "../../../shared/api.ts";
import { AppError } from "../../../shared/errors.ts";
import type { ThreadId } from "../../../shared/ids.ts";
import type { KillRequest } from "../../../shared/kill-api.ts";
import type { Principal } from "../../../shared/principal.ts";
import type { threads as routes } from "../../../shared/protocol/threads.ts";
import type { Branches } from "../../agents/branches.ts";
import type { ThreadDetails } from "../../agents/thread-details.ts";
import type { People } from "../../callers/people.ts";
import type { Directives } from "../../directives/directives.ts";
import type { Homes } from "../../threads/homes.ts";
import type { LastWordsReader } from "../../threads/last-words.ts";
import type { Threads } from "../../threads/threads.ts";
import type { Handlers } from "./handler.ts";

export interface ThreadServices {
  threads: Threads;
  branches: Branches;
  threadDetails: ThreadDetails;
  directives: Directives;
  lastWords: LastWordsReader;
  homes: Pick<Homes, "resolve" | "channelsOf">;
  people: Pick<People, "filterReadable">;
  /** As `killThread`. */
  kill: (threadId: ThreadId, by: Principal, request?: KillRequest) => Promise<KillReply>;
}

export function threadHandlers({
  threads,
  branches,
  threadDetails,
  directives,
  lastWords,
  homes,
  people,
  kill,
}: ThreadServices): Handlers<typeof routes> {
  return {
    create: async ({ body, by }) => {
      const { agent } = refuseChild(body);
      const known = agent?.originThreadId;
      const asked = {
        ...body,
        ...(agent && { agent: { ...agent, ...(known && { originThreadId: homes.resolve(known) }) } }),
      };
      const request = await directives.applied(asked);
      const { tmuxSession } = await branches.createKnowing({ ...request, createdBy: by });
      return {
        created: body.dryRun !== true,
        tmuxSession,
        ...(request.notes?.length && { notes: [...request.notes] }),
      };
    },
    branch: ({ params, body, by }) => branches.branch(params.id, body, by),
    list: ({ query, by }) => ({
      threads: people.filterReadable(by, threads.list(query.status), homes.channelsOf()),
    }),
    listLastWords: ({ by }) => ({
      threads: people.filterReadable(by, lastWords.list(), homes.channelsOf()),
    }),
    get: ({ params }) => threadDetails.get(params.id),
    setTitle: ({ params, body }) => threads.setTitle(params.id, body.title),
    getScreen: ({ params, query }) => threads.getScreen(params.id, query.format),
    resize: async ({ params, body }) => {
      await threads.resize(params.id, body);
      return { resized: true };
    },
    kill: ({ params, by, body }) => kill(params.id, by, body),
  };
}

/** Children are made by their parents' tools alone, and main agents by their channels: those look after whose rights they have. */
function refuseChild<
  T extends {
    agent?: { parentThreadId?: string | undefined; mainAgent?: string | undefined } | undefined;
  },
>(request: T): T {
  if (request.agent?.mainAgent !== undefined)
    throw new AppError("unsupported", "agent.mainAgent: a channel of mode main makes its agent itself.");
  if (request.agent?.parentThreadId === undefined) return request;
  throw new AppError(
    "unsupported",
    "agent.parentThreadId: an agent makes its children itself (spawn_thread).",
  );
}
