/** Rooms of scripted agents: made, awaited, and what each member heard and said. */
import type { Round } from "../../agent/engines/demo/script.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { RoomClient } from "../../shared/room-client.ts";
import type { Room } from "../../shared/rooms/api.ts";
import { script, transcriptOf, untilStatus } from "./agents.ts";
import { untilValue } from "./wait.ts";

interface Side {
  client: SidecarClient;
  reposDir: string;
}

/** A round in which the agent says this in its room, and ends its turn. */
export const saying = (content: string): Round[] => [
  { tools: [{ name: "mcp__threadmux__message", input: { to: "room", content } }] },
  { text: "said" },
];
export const passing = (end = false): Round[] => [
  { tools: [{ name: "mcp__threadmux__done", input: end ? { end } : {} }] },
  { text: "passed" },
];

/** An agent that can be a member: it is at rest, and does so in its turns. */
export async function openMember(
  side: Side,
  threadId: string,
  rounds: readonly Round[] = [],
  more: Partial<CreateRequest> = {},
): Promise<void> {
  await side.client.createThread({
    ...{ threadId, title: threadId, type: "agent", dir: "." },
    command: script("You are a member.", { text: "Ready." }, ...rounds),
    agent: { voice: "message" },
    ...more,
  });
  await untilStatus(side, threadId, "idle");
}

export const roomsOf = ({ client }: Side) => new RoomClient(client);

/** The room rests, and says why. */
export function untilRests(side: Side, id: string, timeoutMs = 30_000): Promise<Room> {
  return untilValue(
    `the room ${id} to rest`,
    () => roomsOf(side).get(id),
    ({ why }) => why !== null,
    {
      timeoutMs,
      intervalMs: 50,
    },
  );
}

/** Lists the texts of the room that a member has read, in order. */
export async function heardBy(side: Side, threadId: string): Promise<string[]> {
  const events = await transcriptOf(side, threadId);
  return events.flatMap((event) =>
    event.type === "user_message" && event.handle?.startsWith("room/")
      ? [
          `${event.handle.slice("room/".length)}: ${event.content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("")}`,
        ]
      : [],
  );
}
