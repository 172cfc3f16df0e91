/** What the demo says to someone who wants to see agent threads without an agent. */
import type { Round } from "./script.ts";

const FILE = "threadmux-demo.md";

const questions = [
  {
    question: "What shall the demo's note be about?",
    header: "Topic",
    multiSelect: false,
    options: [
      { label: "Kettles", description: "How to make tea" },
      { label: "Trains", description: "How to catch one" },
      { label: "Neither", description: "The note stays as it is" },
    ],
  },
];

const plan = [
  "# Plan",
  "1. Look at the note once more.",
  "2. Remove it, so that nothing of the demo stays behind.",
  "",
  "Approve it, or press *Keep planning* and say what is missing.",
].join("\n");

const speak = { pieceMs: 120 };

export const tour: readonly Round[] = [
  {
    ...speak,
    text: "No model is behind this agent: it is threadmux's demo, and all it says is a script. It shows you what an agent thread looks like. First a step that needs nobody's leave: it looks around.",
    tools: [{ name: "Bash", input: { command: "ls", description: "Look around" } }],
  },
  {
    ...speak,
    delayMs: 600,
    text: `Now it wants to write a file, ${FILE}, and has to ask you first.`,
    tools: [{ name: "Write", input: { file_path: FILE, content: "# A note\n\nNothing yet.\n" } }],
  },
  {
    ...speak,
    delayMs: 600,
    text: "A question, with answers to choose from:",
    tools: [{ name: "AskUserQuestion", input: { questions } }],
  },
  {
    ...speak,
    delayMs: 600,
    text: "An edit shows as a diff:",
    tools: [
      {
        name: "Edit",
        input: {
          file_path: FILE,
          old_string: "Nothing yet.",
          new_string: "Put the kettle on.\nCatch the train.",
        },
      },
    ],
  },
  { delayMs: 600, tools: [{ name: "EnterPlanMode", input: {} }] },
  {
    ...speak,
    delayMs: 600,
    text: "And a plan, which waits for your approval:",
    tools: [{ name: "ExitPlanMode", input: { plan } }],
  },
  { delayMs: 600, tools: [{ name: "Read", input: { file_path: FILE } }] },
  {
    delayMs: 600,
    tools: [{ name: "Bash", input: { command: `rm ${FILE}`, description: "Remove the demo's note" } }],
  },
  {
    ...speak,
    text: [
      "**That was the demo.** You have seen:",
      "",
      "- text, and steps as they happen",
      "- an ask, a question and a plan, which you answered",
      "- a diff",
      "",
      "To talk to a real agent, install Claude Code where threadmux runs, take `AGENT_PROGRAM=demo` out of its settings if it is there, and start threadmux again.",
    ].join("\n"),
  },
];

export const tourIsOver: Round = {
  text: "No model is behind this agent, so it has nothing more to say. Start a new agent thread to see the demo again.",
};
