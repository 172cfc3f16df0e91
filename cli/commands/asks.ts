/** What agents ask of people, and the answers. */
import type { Command } from "commander";
import type { AskReply } from "../../shared/agent/api.ts";
import { isOpen, type Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { askLines, MAX_DETAIL_LINES } from "../agents/ask-text.ts";
import { approval, chooseAsk, type Decision, denial, reply } from "../agents/choose-ask.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { argumentOf, findAgent, nameOf } from "../find-thread.ts";
import { formatDuration } from "../table.ts";

const ASK_OPTION = [
  "--ask <id>",
  "which one, by the start of its id, if the thread asks several things",
] as const;

export function addAsks(program: Command, act: Act): void {
  program
    .command("asks")
    .description("what agents wait for people to decide, the oldest first, with how to answer")
    .argument("[thread]", `one agent alone: ${THREAD_ARGUMENT}`)
    .option("--full", "commands, diffs and plans in full, however long")
    .addHelpText(
      "after",
      examples("threadmux asks", "threadmux asks --full '#12'", "threadmux asks --json | jq '.asks[].title'"),
    )
    .action((thread: string | undefined, { full = false }: { full?: boolean }, command: Command) =>
      act(command, (context) => asks(context, thread, full)),
    );
}

export function addApprove(program: Command, act: Act): void {
  program
    .command("approve")
    .description("allow what an agent asks for, or approve its plan")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--always", "for the whole thread, by the rule that `asks` names; a plan: and let it edit")
    .option(...ASK_OPTION)
    .addHelpText(
      "after",
      examples("threadmux approve 12", "threadmux approve --always 12", "threadmux approve --ask 4f1c 12"),
    )
    .action((thread: string, { always = false, ask }: { always?: boolean; ask?: string }, command: Command) =>
      act(command, (context) => decide(context, thread, ask, (found) => approval(found, { always }))),
    );
}

export function addDeny(program: Command, act: Act): void {
  program
    .command("deny")
    .description("refuse what an agent asks for, send its plan back, or leave its question unanswered")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--because <text>", "why; the agent reads it")
    .option(...ASK_OPTION)
    .addHelpText("after", examples("threadmux deny 12", 'threadmux deny 12 --because "not on a Friday"'))
    .action((thread: string, { because, ask }: { because?: string; ask?: string }, command: Command) =>
      act(command, (context) => decide(context, thread, ask, (found) => denial(found, { because }))),
    );
}

export function addAnswer(program: Command, act: Act): void {
  program
    .command("answer")
    .description(
      "answer an agent's question: by the number or the label of a choice, or in words of your own",
    )
    .argument("<thread>", THREAD_ARGUMENT)
    .argument("<answer...>", "one for each question, in their order; several choices as 1,3")
    .option("--text", "a number is an answer in words, not a choice")
    .option(...ASK_OPTION)
    .addHelpText(
      "after",
      examples(
        "threadmux answer 12 2",
        "threadmux answer 12 Postgres",
        "threadmux answer 12 the one that we have already",
        'threadmux answer 12 1,3 "only on weekdays"     two questions',
      ),
    )
    .action(
      (thread: string, words: string[], { text, ask }: { text?: boolean; ask?: string }, command: Command) =>
        act(command, (context) =>
          decide(context, thread, ask, (found) => reply(found, { words, isText: text === true })),
        ),
    );
}

async function asks(context: Context, wanted: string | undefined, isFull: boolean): Promise<number> {
  const { out, isJson, note } = context;
  const client = context.client();
  const threads = await client.listThreads({ status: "open" });
  const one = wanted === undefined ? undefined : await findAgent(client, wanted);
  const found = await client.listAsks(one?.threadId);
  if (isJson) {
    await out.json({ asks: found });
    return EXIT.ok;
  }
  if (found.length === 0 && out.isTty) await note("nothing is asked");
  for (const line of describeAsks(found, threads, isFull ? Number.POSITIVE_INFINITY : MAX_DETAIL_LINES)) {
    await out.line(line);
  }
  return EXIT.ok;
}

/** Each ask below the name of its thread. */
export function describeAsks(
  found: readonly AskReply[],
  threads: readonly Thread[],
  maxLines: number,
): string[] {
  const now = Date.now();
  return found.flatMap((ask) => {
    const thread = threads.find(({ threadId }) => threadId === ask.threadId);
    const name = thread ? nameOf(thread) : ask.threadId;
    const title = thread ? cleanLine(thread.title) : "";
    const age = formatDuration(now - Date.parse(ask.askedAt));
    const isOneOfMany = found.filter(({ threadId }) => threadId === ask.threadId).length > 1;
    const argument = thread ? argumentOf(thread) : ask.threadId;
    return [`${name} ${title} · ${age}`, ...askLines(ask, { thread: argument, maxLines, isOneOfMany }), ""];
  });
}

async function decide(
  context: Context,
  wanted: string,
  askId: string | undefined,
  choose: (ask: AskReply) => Decision,
): Promise<number> {
  const { out, isJson } = context;
  const client = context.client();
  const thread = await findAgent(client, wanted);
  const { threadId } = thread;
  const found = isOpen(thread.status) ? await client.listAsks(threadId) : [];
  const ask = chooseAsk(found, nameOf(thread), askId);
  const { answer, said } = choose(ask);
  await client.answerAsk(threadId, ask.requestId, answer);
  // What was decided is named: another ask may have come since the person looked.
  if (isJson)
    await out.json({ answered: true, threadId, requestId: ask.requestId, title: ask.title, answer: said });
  else await out.line(`${nameOf(thread)} ${cleanLine(ask.title)}: ${said}`);
  return EXIT.ok;
}
