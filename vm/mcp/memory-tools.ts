/** The tools by which an agent keeps things for later conversations, and finds them again. */
import * as z from "zod";
import type { Agents } from "../agents/agents.ts";
import type { AgentMemory } from "../memory/agent-memory.ts";
import type { MemorySearch } from "../memory/search.ts";
import type { Children } from "./children.ts";
import type { Tool } from "./tool.ts";

const path = z
  .string()
  .min(1)
  .max(200)
  .describe(
    "dir/<name>.md: of this directory; user/<name>.md: of the person, in every directory; main/<name>.md: of an agent that hears channels. MEMORY.md is what each agent is told when it begins; others are notes",
  );
const get = z.strictObject({
  path,
  from: z.number().int().min(1).default(1).describe("The first line"),
  lines: z.number().int().min(1).max(400).optional(),
});
const write = z.strictObject({
  path,
  text: z
    .string()
    .max(65_536)
    .default("")
    .describe("Markdown. What is worth knowing in a later conversation, short"),
  how: z
    .enum(["append", "replace", "remove"])
    .default("append")
    .describe("append: a line or more at the end; replace: the whole file; remove: the file"),
});

const search = z.strictObject({
  query: z.string().min(1).max(500).describe("Words; a line is found if it has all of them"),
  where: z
    .enum(["memory", "transcripts", "all", "others"])
    .default("all")
    .describe(
      "memory: your files; transcripts: what you and your family have said; others: transcripts of others, which only a person who asks you now lets you search",
    ),
});

interface MemoryToolsOptions {
  memory: AgentMemory;
  memorySearch: MemorySearch;
  agents: Agents;
  children: Children;
}

export function memoryTools({ memory, memorySearch, agents, children }: MemoryToolsOptions): Tool[] {
  return [
    {
      name: "memory_search",
      right: "read",
      description:
        "Finds words in your memory, then in what you and your family have said. Each hit has its file, line and day.",
      inputSchema: search,
      run: async ({ threadId, input }) => {
        const { query, where } = search.parse(input);
        const fold = await agents.foldNow(threadId);
        const family = children.familyOf(threadId);
        return memorySearch.ofAgent(threadId, { query, where, family, fold });
      },
    },
    {
      name: "memory_get",
      right: "read",
      description: "Reads a file of memory, with who wrote it and when.",
      inputSchema: get,
      run: async ({ threadId, input }) => {
        const { path, from, lines } = get.parse(input);
        return memory.read(threadId, path, from, lines);
      },
    },
    {
      name: "memory_write",
      right: "type",
      description:
        "Keeps something for later conversations. Only what this tool wrote is remembered: saying that you will remember keeps nothing. People see each write and can undo it. A write to a MEMORY.md waits until a person lets it in; a note is written at once.",
      inputSchema: write,
      run: async ({ threadId, callId, input }) => {
        const wanted = write.parse(input);
        return memory.write(threadId, callId, wanted);
      },
    },
  ];
}
