/**
 * All tables over one connection: the truth about threads. A new noun is an entry in migrations.ts, a file with its
 * table, and its line here. A table whose rows belong to a thread says `REFERENCES threads ON DELETE CASCADE`.
 */
import * as z from "zod";
import type { DiscordId, ThreadId } from "../../shared/ids.ts";
import type { KindFacts } from "../../shared/kinds.ts";
import { AgentTable } from "./agents.ts";
import { AskTable } from "./asks.ts";
import { BudgetTable } from "./budgets.ts";
import { ChannelTable } from "./channels.ts";
import { Database, damaged } from "./database.ts";
import { DeliveryTable } from "./deliveries.ts";
import { EventTable } from "./events.ts";
import { HandleTable } from "./handles.ts";
import { HomeTable } from "./homes.ts";
import { HookRequestTable } from "./hook-requests.ts";
import { InputTable } from "./inputs.ts";
import { JobNewsTable } from "./job-news.ts";
import { JobRunTable } from "./job-runs.ts";
import { JobTable } from "./jobs.ts";
import { KeptMessageTable } from "./kept-messages.ts";
import { MemoryWriteTable } from "./memory-writes.ts";
import { IN_CHANNELS, IN_THREADS, MessageTable } from "./messages.ts";
import { PeopleTable } from "./people.ts";
import { RoomTable } from "./rooms.ts";
import { SpokenTable } from "./spoken.ts";
import { StepTable } from "./steps.ts";
import { ThreadTable } from "./threads.ts";

/** In place of a thread's id: one wants a Discord thread. */
export const HOMELESS = "";
/** As {@link HOMELESS}: the channels that the relay serves, or their settings, are others. */
export const CHANNELS = "#";
/** As {@link HOMELESS}: an agent wants something said in a channel. */
export const SPOKEN = "@";

export interface Store {
  readonly threads: ThreadTable;
  readonly inputs: InputTable;
  readonly deliveries: DeliveryTable;
  readonly messages: MessageTable<ThreadId>;
  readonly keptMessages: KeptMessageTable;
  readonly channelMessages: MessageTable<DiscordId>;
  readonly agents: AgentTable;
  readonly steps: StepTable;
  readonly asks: AskTable;
  readonly events: EventTable;
  readonly homes: HomeTable;
  readonly budgets: BudgetTable;
  readonly people: PeopleTable;
  readonly handles: HandleTable;
  readonly spoken: SpokenTable;
  readonly rooms: RoomTable;
  readonly channels: ChannelTable;
  readonly hookRequests: HookRequestTable;
  readonly jobs: JobTable;
  readonly jobRuns: JobRunTable;
  readonly memoryWrites: MemoryWriteTable;
  readonly jobNews: JobNewsTable;
  /** All of `work`, over any tables, or nothing. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/**
 * Opens or makes the database; `:memory:` for one that is not kept.
 * @param onChange is told each thread that has changed, before a surrounding transaction ends, {@link HOMELESS}, {@link CHANNELS}, and {@link SPOKEN}.
 * @param kinds those beside the kinds that come with threadmux
 * @throws Error if it is of a version that this threadmux does not know, or damaged.
 */
export function openStore(
  file: string,
  onChange: (key: string) => void = () => undefined,
  kinds: Readonly<Record<string, KindFacts>> = {},
): Store {
  const db = new Database(file);
  try {
    const events = new EventTable(db);
    const channels = new ChannelTable(db, () => onChange(CHANNELS));
    return {
      events,
      threads: new ThreadTable(db, onChange, events, kinds),
      inputs: new InputTable(db),
      deliveries: new DeliveryTable(db),
      messages: new MessageTable(db, IN_THREADS),
      keptMessages: new KeptMessageTable(db),
      channelMessages: new MessageTable(db, IN_CHANNELS),
      agents: new AgentTable(db),
      steps: new StepTable(db),
      asks: new AskTable(db),
      homes: new HomeTable(db, () => onChange(HOMELESS)),
      budgets: new BudgetTable(db),
      people: new PeopleTable(db, () => channels.noteChange()),
      handles: new HandleTable(db),
      spoken: new SpokenTable(db, () => onChange(SPOKEN)),
      rooms: new RoomTable(db),
      hookRequests: new HookRequestTable(db),
      channels,
      jobs: new JobTable(db),
      jobRuns: new JobRunTable(db),
      memoryWrites: new MemoryWriteTable(db),
      jobNews: new JobNewsTable(db),
      transaction: (work) => db.transaction(work),
      close: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error instanceof z.ZodError
      ? damaged(file, `rows that make no sense: ${z.prettifyError(error)}`)
      : error;
  }
}
