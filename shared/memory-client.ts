/** Memory as the shell and the bot see it. */
import type { SidecarClient } from "./client.ts";
import type {
  Memory,
  MemoryFileReply,
  MemorySearchQuery,
  MemorySearchReply,
  MemoryWriteInfo,
  MemoryWriteRequest,
} from "./memory-api.ts";
import { memory } from "./protocol/memory.ts";

/** A file by its whole path, or with `dir` by its name in that directory's memory. */
export interface MemoryPlace {
  path: string;
  dir?: string | undefined;
}

export class MemoryClient {
  readonly #client: Pick<SidecarClient, "call">;

  constructor(client: Pick<SidecarClient, "call">) {
    this.#client = client;
  }

  /** @param dir that directory's alone */
  async list(dir?: string): Promise<Memory[]> {
    return (await this.#client.call(memory.list, {}, { query: dir === undefined ? {} : { dir } })).memories;
  }

  /** @throws AppError `not_found` */
  get(place: MemoryPlace): Promise<MemoryFileReply> {
    return this.#client.call(memory.get, {}, { query: queryOf(place) });
  }

  /** @throws AppError `unavailable` if it takes too long */
  search(query: MemorySearchQuery): Promise<MemorySearchReply> {
    return this.#client.call(memory.search, {}, { query });
  }

  write(request: MemoryWriteRequest): Promise<MemoryWriteInfo> {
    return this.#client.call(memory.write, {}, { body: request });
  }

  /** @throws AppError `not_found` */
  forget(place: MemoryPlace): Promise<MemoryWriteInfo> {
    return this.#client.call(memory.forget, {}, { query: queryOf(place) });
  }

  /** @throws AppError `not_found`, `unsupported` */
  undo(writeId: string): Promise<MemoryWriteInfo> {
    return this.#client.call(memory.undo, {}, { body: { writeId } });
  }
}

function queryOf({ path, dir }: MemoryPlace) {
  return { path, ...(dir !== undefined && { dir }) };
}
