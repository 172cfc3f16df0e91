/** `threadmux acp`: an editor that speaks the Agent Client Protocol works on threads. */
import { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import { editorAgent } from "../acp/editor-agent.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";

export function addAcp(program: Command, act: Act): void {
  program
    .command("acp")
    .summary("let an editor (Zed) work on agent threads, over ACP on standard input and output")
    .description(
      "speak the Agent Client Protocol on standard input and output: an editor lists agent threads, opens them, writes to them, stops them and answers what they ask. The first answer counts, here or in Discord; the other dialog closes.",
    )
    .addHelpText("after", examples("threadmux acp        an editor starts it"))
    .addHelpText(
      "after",
      `
In Zed's settings:
  "agent_servers": { "threadmux": { "command": "threadmux", "args": ["acp"] } }`,
    )
    .action((_: unknown, command: Command) => act(command, serve));
}

async function serve(context: Context): Promise<number> {
  const client = context.client();
  const { stdin, stdout } = context.streams;
  // It is large, and no other command needs it.
  const acp = await import("@agentclientprotocol/sdk");
  const stream = acp.ndJsonStream(
    Writable.toWeb(stdout as unknown as Writable) as WritableStream<Uint8Array>,
    Readable.toWeb(stdin) as ReadableStream<Uint8Array>,
  );
  await editorAgent(acp, client).connect(stream).closed;
  return EXIT.ok;
}
